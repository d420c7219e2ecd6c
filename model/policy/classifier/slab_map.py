"""Slab map: one byte per slab of the span holds its class; free() needs one load and no header."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory.layout import SLAB_CLASS, SLAB_SHIFT
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import Hit, Question

NAME = "slab_map"
DEFAULT = True
HEADER_BYTES = 0
REGIONS = False
CLASS_MAP = True
CODE = Question(Hit(3, 0, 1))
"""Loads: the span's start and end, and the slab's byte. Branch: is the block in the span?"""
COSTS = {
    f"free.class.stack.{NAME}": 1.45,
    f"free.class.table.{NAME}": 0.24,
    f"free.class.restartable.{NAME}": 1.45,  # as for stacks
    f"take.{NAME}": 0.00,
    f"call.realloc.{NAME}": 3.91,
}


@hit_path
def class_lines(state: State, block: int) -> None:
    """Touch the byte of the block's slab for a read."""
    touch(state.listener, SLAB_CLASS + int(state.slabs[block >> SLAB_SHIFT]["place"]), 0)


@kernel
def slab_lines(state: State, slab: int) -> None:
    """Touch the byte of the slab for a write."""
    touch(state.listener, SLAB_CLASS + int(state.slabs[slab]["place"]), 1)
