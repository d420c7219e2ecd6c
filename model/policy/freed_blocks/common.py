"""What every way to keep freed blocks touches."""

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.layout import SLAB_CLASS_BYTES, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@hit_path
def record_lines(state: State, slab: int) -> None:
    """Touch the record of a slab to which a block comes back: its counts, and a copy of its class's numbers."""
    touch(state.listener, slab_at(state, slab), 1)
    if state.record_counts_at > 0:
        touch(state.listener, slab_at(state, slab) - SLAB_CLASS_BYTES, 0)
