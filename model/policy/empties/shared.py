"""Shared empties: an empty slab serves any class that needs one."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "shared"
DEFAULT = True
PER_CLASS = False
COSTS = {
    f"slab.acquire.{NAME}": 26.05,
}


@kernel
def pool(state: State, cls: int) -> int:
    """Return 0: there is one pool."""
    return 0
