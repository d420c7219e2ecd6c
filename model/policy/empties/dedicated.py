"""Dedicated empties: superslabs and empty slabs belong to one class for ever."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "dedicated"
ONE_POOL = False


@kernel
def pool(state: State, cls: int) -> int:
    """The pool that serves a class: its own."""
    return cls
