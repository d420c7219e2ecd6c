"""Thread: each thread that allocates small blocks has a heap, which no other thread touches."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy import front
from heapsmith.model.policy.emitted import SELF, Hit, total
from heapsmith.model.policy.front.common import stack_shift

NAME = "thread"
DEFAULT = True
OFF = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
DISPATCH = "stack"
HITS = (total(SELF, Hit(3, 1, 1)), total(SELF, Hit(3, 2, 1)))
"""Allocate reads top and a slot; free reads top and end and writes a slot; both update top."""
POPS = frozenset({"count_checked", "hs_stack_popped"})
PUSHES = frozenset({"count_checked", "hs_stack_pushed"})
FULL = "== heap->end[row]"
MOMENTS = ("begin", "forget")
SPARE = 0
OPENS_ALL = False
"""Whether all stacks of a heap open with the heap, and not each with its first block."""
FRONTS = "front"
"""Where the slow paths of its fronts are."""


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"counts": "one_writer", "stacks": "at_once" if front.is_guarded(design) else "later"}


@kernel
def overflow(state: State, front: int, count: int) -> int:
    """Move the oldest blocks of a stack to `moved`."""
    return stack_shift(state, front, count, 0)
