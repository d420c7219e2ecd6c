"""Shared empties: an empty slab serves any class that needs one."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "shared"
DEFAULT = True
ONE_POOL = True


@kernel
def pool(state: State, cls: int) -> int:
    """The pool that serves a class: there is one."""
    return 0
