"""Owner's list: a free by another thread goes on the lock-free list of the slab's owner."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import SELF, Hit, Question, total

NAME = "owner_list"
OWNED = True
CODE = Question(total(Hit(2, 0, 1), SELF), ("!= hs_self",), ("remote_free",), frozenset({"slab_of"}))
"""Loads: the slab table's start, and the owner. Branch: is the owner this thread's heap?"""


@kernel
def stays(state: State, heap: int, slab: int) -> bool:
    """Return whether the heap owns the slab."""
    return bool(state.slabs[slab]["owner"] == heap)


@kernel
def needs_heap(state: State) -> bool:
    """Return False: the block goes to its owner."""
    return False
