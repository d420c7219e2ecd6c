"""Heap table: a byte of the heap for each size up to 1,024, and beyond it a table by the grain."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.layout import SIZE_CLASS
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import Hit

NAME = "heap_table"
DEFAULT = True
OFF = True
PER_BYTE = True
CODE = Hit(1, 0, 0)
"""Load: the byte of the size, in either table."""
COSTS: dict[str, float] = {}  # what every design does


def table_step(design: Any) -> int:
    """Return the bytes per entry of the library's table."""
    return int(design.grain)


@hit_path
def size_lines(state: State, size: int) -> None:
    """Touch the entry of a size in the table of classes."""
    touch(state.listener, SIZE_CLASS + ((size + state.bias + state.grain - 1) >> state.grain_shift), 0)
