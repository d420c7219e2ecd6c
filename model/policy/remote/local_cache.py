"""Local cache: a free by any thread goes into that thread's own front; the store is shared under a lock."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import NOTHING, Question
from heapsmith.model.policy.remote.common import TO_FRONT

NAME = "local_cache"
DEFAULT = True
OWNED = False
CODE = Question(NOTHING)


@kernel
def where(state: State, heap: int, slab: int) -> int:
    """Where a freed block goes: into the front of the thread's heap."""
    return TO_FRONT


@kernel
def needs_heap(state: State) -> bool:
    """Whether a thread without a heap gets one when it frees a small block."""
    return True
