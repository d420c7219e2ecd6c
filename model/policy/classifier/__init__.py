"""Classifiers: how free() finds a block's class (docs/machine.md section 1).

A row has HEADER_BYTES (taken before each block), REGIONS (whether each class has an address range
of its own), CLASS_MAP (whether the library keeps a byte per slab), CODE (model/policy/emitted.py),
and the kernels below.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of
from heapsmith.model.policy.classifier import common

ROWS = rows_of(__name__, __path__)

superslab_place = dispatched(ROWS, "superslab_place", "state.classifier_code", common.superslab_place)
"""Return the place of the next superslab, in slabs from the span's start; -1: no room."""
class_lines = dispatched(ROWS, "class_lines", "state.classifier_code", hit=True)
"""Touch what free() reads to find the class of a block."""
slab_lines = dispatched(ROWS, "slab_lines", "state.classifier_code", common.no_slab_lines)
"""Touch what is written when a slab gets or loses a class."""
