"""Ownership: what belongs to a heap, and how a free finds the owner of a block (docs/machine-rooms.md).

A row has CALLS, the inline function by which the emitted free finds the owner, and IN_RECORD,
whether that function reads the slab's record. The row in use gives `own_superslabs` of NUMBERS
where superslabs belong to heaps.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("CALLS", "IN_RECORD")
"""What each row has."""
