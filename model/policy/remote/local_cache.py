"""Local cache: a free by any thread goes into that thread's own front; the store is shared under a lock."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.policy.remote.common import TO_FRONT

NAME = "local_cache"


@kernel
def where() -> int:
    """Where a freed block goes: into the front of the thread's heap."""
    return TO_FRONT


@kernel
def needs_heap() -> bool:
    """Whether a thread without a heap gets one when it frees a small block."""
    return True
