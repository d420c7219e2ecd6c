"""Region per class: the class is the address bits above the region; no table, but no slab changes its class."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "class_region"
HEADER_BYTES = 0


@kernel
def superslab_place(state: State, cls: int, mapped: int) -> int:
    """The first slab, in slabs from the span's start, of the class's superslab `mapped`; -1: its region is full."""
    if mapped >= state.region_superslabs:
        return -1
    return cls * state.region_slabs + mapped * state.slabs_per_superslab
