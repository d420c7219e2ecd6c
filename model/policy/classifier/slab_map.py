"""Slab map: one byte per slab of the span names its class; free() learns the class with one load and no header."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory.layout import SLAB_CLASS, SLAB_SHIFT
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import Hit, Question

NAME = "slab_map"
DEFAULT = True
HEADER_BYTES = 0
REGIONS = False
CODE = Question(Hit(3, 0, 1))
"""The span's start and end, and the slab's byte; is the block in the span?"""


@hit_path
def class_lines(state: State, block: int) -> None:
    """The byte of the block's slab is read."""
    touch(state.touched, SLAB_CLASS + int(state.slabs[block >> SLAB_SHIFT]["place"]), 0)


@kernel
def slab_lines(state: State, slab: int) -> None:
    """The slab's byte is written."""
    touch(state.touched, SLAB_CLASS + int(state.slabs[slab]["place"]), 1)
