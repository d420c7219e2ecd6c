"""Where rows that populate slabs find the memory that is being committed."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import SPAN
from heapsmith.model.memory.state import State


@kernel
def carved_at(state: State, slab: int) -> int:
    """Return the address of the first byte of a slab that is not committed."""
    return SPAN + int(state.slabs[slab]["place"]) * state.slab_bytes + int(state.slabs[slab]["committed"])
