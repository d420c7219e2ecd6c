"""Rounding: whether the fronts of larger classes serve a class whose front is empty (docs/machine-rooms.md).

The row in use gives CLASS_NUMBERS: `lend_end` (1 + the last class that lends to the class; 0: none
does) and `lend_mask` (a lender's stride has none of these bits).
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
