"""The live map: a byte for each place where a small block may begin (docs/hardening.md)."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import block_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch


@hit_path
def live_lines(state: State, block: int, write: int) -> None:
    """Touch a small block's byte in the live map."""
    offset = block_at(state, block) - layout.SPAN
    touch(state.listener, layout.LIVE + (offset >> state.grain_shift), write)


@hit_path
def marks_live(state: State, block: int) -> None:
    """Touch a small block's byte in the live map for a write."""
    live_lines(state, block, 1)


@kernel
def map_is_released(state: State, place: int) -> None:
    """Give the live map of the slab at `place` back to the OS if the map has pages of its own."""
    size = state.slab_bytes >> state.grain_shift
    if size >= PAGE:
        state.memory_calls += 1
        gone(state.listener, layout.LIVE + place * size, size)
