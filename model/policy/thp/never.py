"""No huge pages: all memory that the library maps keeps small pages."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.thp import common

NAME = "never"
COSTS: dict[str, float] = {}  # a call of the system
huge_runs, beyond_small_pages = common.no_runs, common.nothing_beyond


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"runs": "small_runs"}


@kernel
def keeps_small(state: State) -> bool:
    """Return True: a call says that memory keeps small pages."""
    return True
