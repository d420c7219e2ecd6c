"""Classifiers: how free() finds a block's class (docs/machine-rooms.md).

A row has HEADER_BYTES (taken before each block), REGIONS (whether each class has an address range
of its own), CLASS_MAP (whether the library keeps a byte per slab), CODE (model/policy/emitted.py),
and what it answers (model/parts/front_questions.py).
"""

from heapsmith.model.compile.dispatch import rows_of
from heapsmith.model.policy.classifier import common

ROWS = rows_of(__name__, __path__)
NEEDED = ("HEADER_BYTES", "REGIONS", "CLASS_MAP", "class_lines")
"""What each row has."""

DEFAULTS = {"superslab_place": common.superslab_place}
"""Superslabs follow one another."""
