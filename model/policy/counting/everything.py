"""Counting "everything": the hit path too, and locks and system calls."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch

NAME = "everything"
MOMENTS = ("report",)
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
COUNTS_HITS = True
NUMBERS = ("counts_everything",)


def numbers(design: Any) -> dict[str, int]:
    """Return the flag by which the runtime counts everything."""
    return {"counts_everything": 1}


@hit_path
def hit_lines(state: State, heap: int, cls: int) -> None:
    """Touch the counter of hits of a class."""
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT0, 1)


@hit_path
def counted_push_lines(state: State, heap: int, cls: int) -> None:
    """Touch the counter of frees into the front of a class."""
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_PUSH, 1)
