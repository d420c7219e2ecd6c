"""Owner's list: a free by another thread is pushed on the lock-free MPSC list of the heap that owns the slab."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import SELF, Hit, Question, total
from heapsmith.model.policy.remote.common import TO_FRONT, TO_OWNER

NAME = "owner_list"
OWNED = True
CODE = Question(total(Hit(2, 0, 1), SELF), ("!= hs_self",), ("remote_free",), frozenset({"slab_of"}))
"""The slab table's start, and the owner; is it this thread's heap?"""


@kernel
def where(state: State, heap: int, slab: int) -> int:
    """Where a freed block goes: into the front of the heap that owns its slab, else on the owner's remote list."""
    return TO_FRONT if state.slabs[slab]["owner"] == heap else TO_OWNER


@kernel
def needs_heap(state: State) -> bool:
    """Whether a thread without a heap gets one when it frees a small block: the block goes to its owner."""
    return False
