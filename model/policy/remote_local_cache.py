"""Local cache: a free by any thread goes into that thread's own front; the store is shared under a lock."""

from heapsmith.model.kernel import kernel
from heapsmith.model.policy.remote import TO_FRONT, TO_STORE

NAME = "local_cache"


@kernel
def where(heap: int) -> int:
    """Where a freed block goes: into the front of the thread's heap, or straight to the store if it has none (-1)."""
    return TO_FRONT if heap >= 0 else TO_STORE
