"""Dedicated empties: superslabs and empty slabs always belong to one class."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "dedicated"
PER_CLASS = True
COSTS = {
    f"slab.acquire.{NAME}": 254.79,
}


@kernel
def pool(state: State, cls: int) -> int:
    """Return the class's own pool."""
    return cls
