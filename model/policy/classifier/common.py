"""Kernels that several classifiers share: adjacent superslabs, and headers."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import block_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def superslab_place(state: State, cls: int, mapped: int) -> int:
    """Return the place of the next superslab, in slabs of the span; -1: the span is full."""
    if state.superslabs >= state.region_superslabs:
        return -1
    return state.superslabs * state.slabs_per_superslab


@kernel
def header_lines(state: State, block: int, write: int) -> None:
    """Touch a block's header, before the block."""
    touch(state.listener, block_at(state, block) - state.header_bytes, write)
