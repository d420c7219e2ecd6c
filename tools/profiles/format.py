"""What a format of profiles is: its name, who writes it, and what of a table it needs and can hold."""

from collections.abc import Callable
from typing import IO, NamedTuple

from heapsmith.tools.profiles.table import StackTable


class Format(NamedTuple):
    """A format. write: gets the table, the file, and the place of the quantity to show first or alone.

    needs: quantities that it cannot do without. unit: of the quantities that it has, where not all.
    is_text: whether a terminal can show it. messages: returns the classes of its messages, where it has any; Missing
    without the package that has them.
    """

    name: str
    write: Callable[[StackTable, IO[bytes], int], None]
    needs: tuple[str, ...] = ()
    has_differences: bool = False
    unit: str = ""
    is_text: bool = False
    messages: Callable[[], object] | None = None
