"""Local cache: a free by any thread goes into that thread's own front; a lock guards the store."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import NOTHING, Question

NAME = "local_cache"
DEFAULT = True
OWNED = False
CODE = Question(NOTHING)


@kernel
def stays(state: State, heap: int, slab: int) -> bool:
    """Return True: the block goes into the front of the freeing thread."""
    return True


@kernel
def needs_heap(state: State) -> bool:
    """Return True: a free needs a front."""
    return True
