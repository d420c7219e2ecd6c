"""Local cache: a free by any thread goes into that thread's own front; a lock guards the store."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import NOTHING, Question
from heapsmith.model.policy.remote.common import goes_by_slab, keeps_nothing, lacks_nothing

NAME = "local_cache"
DEFAULT = True
OWNED = False
LOCKED = ("refill", "flush", "transfer", "take", "give", "slab", "background", "heap.exit")
"""The groups of the price's kinds whose time passes under the pool lock, which guards the store."""
CODE = Question(NOTHING)
COSTS = {f"free.remote.{NAME}": 0.0}  # no block has an owner


@kernel
def stays(state: State, heap: int, slab: int) -> bool:
    """Return True: the block goes into the front of the freeing thread."""
    return True


@kernel
def joins(state: State, heap: int, owner: int, node: int) -> None:
    """Do nothing: there are no remote lists."""


@kernel
def join_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch nothing: there are no remote lists."""


@kernel
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch nothing: there are no remote lists."""


@kernel
def leave_lines(state: State, heap: int, node: int, is_linked: bool) -> None:
    """Touch nothing: there are no remote lists."""


@kernel
def needs_heap(state: State) -> bool:
    """Return True: a free needs a front."""
    return True


@kernel
def opens(state: State, heap: int, which: int) -> int:
    """Return -1: there are no remote lists."""
    return -1


lacks, hands_over, goes_by_class = lacks_nothing, keeps_nothing, goes_by_slab


def chains(state: State, heap: int) -> list[tuple[int, int]]:
    """Return nothing: there are no remote lists."""
    return []


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"drains": "drains_whole"}
