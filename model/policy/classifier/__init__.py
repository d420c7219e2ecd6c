"""Classifiers: how free() finds a block's class (docs/machine.md section 1).

A row has HEADER_BYTES (taken before each block), REGIONS (whether each class has an address range
of its own), CODE (model/policy/emitted.py), and the kernels below.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of
from heapsmith.model.policy.classifier import common

ROWS = rows_of(__name__, __path__)

superslab_place = dispatched(ROWS, "superslab_place", "state.classifier_code", common.superslab_place)
"""The first slab, in slabs from the span's start, of the next superslab; -1 if there is no room for it."""
class_lines = dispatched(ROWS, "class_lines", "state.classifier_code", hit=True)
"""Of the class of a block that comes back."""
slab_lines = dispatched(ROWS, "slab_lines", "state.classifier_code", common.no_slab_lines)
"""Of a slab that gets a class or loses it."""
