"""Unmapping: whether superslabs whose slabs are all empty go back to the OS (docs/machine-rooms.md).

The row in use gives NUMBERS: `unmap_from`, the empty superslabs at which one is unmapped.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
