"""Background: whether a helper tops up the transfer cache (docs/machine-rooms.md).

The row in use gives NUMBERS (`background_every`: events between two steps where a driver or the model
performs them, 0: no helper) and CLASS_NUMBERS (`background_low`: fewer batches are too few;
`background_full`: batches up to which the helper tops up; both 0: the class has no transfer cache).
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
