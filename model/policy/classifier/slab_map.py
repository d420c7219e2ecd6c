"""Slab map: one byte per slab of the span names its class; free() learns the class with one load and no header."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "slab_map"
HEADER_BYTES = 0


@kernel
def superslab_place(state: State, mapped: int) -> int:
    """The first slab, in slabs from the span's start, of superslab number `mapped`; -1: the span is full."""
    if mapped >= state.span_superslabs:
        return -1
    return mapped * state.slabs_per_superslab
