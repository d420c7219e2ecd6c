"""Local cache: a free by any thread goes into that thread's own front; a lock guards the store."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import NOTHING, Question

NAME = "local_cache"
DEFAULT = True
OWNED = False
LOCKED = ("refill", "flush", "transfer", "take", "give", "slab", "background", "heap.exit")
"""The groups of the price's kinds whose time passes under the pool lock, which guards the store."""
CODE = Question(NOTHING)


@kernel
def stays(state: State, heap: int, slab: int) -> bool:
    """Return True: the block goes into the front of the freeing thread."""
    return True


@kernel
def joins(state: State, owner: int, node: int) -> None:
    """Do nothing: there are no remote lists."""


@kernel
def join_lines(state: State, owner: int, block: int) -> None:
    """Touch nothing: there are no remote lists."""


@kernel
def look_lines(state: State, heap: int) -> None:
    """Touch nothing: there are no remote lists."""


@kernel
def leave_lines(state: State, block: int, is_linked: bool) -> None:
    """Touch nothing: there are no remote lists."""


@kernel
def needs_heap(state: State) -> bool:
    """Return True: a free needs a front."""
    return True
