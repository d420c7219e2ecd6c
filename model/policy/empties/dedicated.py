"""Dedicated empties: superslabs and empty slabs belong to one class for ever."""

from heapsmith.model.compile.kernel import kernel

NAME = "dedicated"


@kernel
def pool(cls: int) -> int:
    """The pool that serves a class: its own."""
    return cls
