"""Shared empties: an empty slab serves any class that needs one."""

from heapsmith.model.compile.kernel import kernel

NAME = "shared"


@kernel
def pool(cls: int) -> int:
    """The pool that serves a class: there is one."""
    return 0
