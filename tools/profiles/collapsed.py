"""Collapsed stacks: a line per stack with one quantity of it, of a difference with two; flame graphs are made of it."""

from typing import IO

from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.table import Stack, StackTable


def line_of(stack: Stack) -> str:
    """The frames, the outermost first, between semicolons; none is in a name."""
    return ";".join(frame.name.replace(";", ",") for frame in reversed(stack))


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write `outermost;...;innermost VALUE`, of a difference `BEFORE AFTER`; stacks without a value are left out."""
    for stack, values in table.rows.items():
        found = [values[usual]] if table.before is None else [table.before[stack][usual], values[usual]]
        if any(found):
            file.write(f"{line_of(stack)} {' '.join(map(str, found))}\n".encode())


FORMAT = Format("collapsed", write, has_differences=True, is_text=True)
