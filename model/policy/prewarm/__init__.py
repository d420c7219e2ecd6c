"""Prewarm: what a new heap prepares before its thread's first allocation (docs/machine-rooms.md).

The row in use gives NUMBERS (`prewarm_end`: 1 + the last class of which blocks are prepared, or 0;
`prewarm_superslabs` of each heap, or 0) and CLASS_NUMBERS (`prewarm_blocks` and `prewarm_slabs` of
each class).
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
