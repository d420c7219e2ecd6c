"""Slabs that are used once: an empty slab never serves again, and new slabs come from superslabs.

It shows what reuse is worth. A program whose slabs empty again and again runs out of address space.
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "once"
RARE = True
PER_CLASS = False
COSTS = {
    f"slab.acquire.{NAME}": 120.37,
}


@kernel
def pool(state: State, cls: int) -> int:
    """Return 0: there is one pool."""
    return 0


@kernel
def retired(state: State, pool: int) -> int:
    """Return -1: no retired slab serves."""
    return -1
