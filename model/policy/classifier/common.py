"""What classifiers share: superslabs one after the other, and headers."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import WORD, block_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def superslab_place(state: State, cls: int, mapped: int) -> int:
    """The first slab, in slabs from the span's start, of the next superslab; -1: the span is full."""
    if state.superslabs >= state.span_superslabs:
        return -1
    return state.superslabs * state.slabs_per_superslab


@kernel
def header_lines(state: State, block: int, write: int) -> None:
    """Of a block's header, 8 bytes before it."""
    touch(state.touched, block_at(state, block) - WORD, write)


@kernel
def no_slab_lines(state: State, slab: int) -> None:
    """Nothing but the slab's record tells its class."""
