"""Heaps: what a heap belongs to, a thread or a processor (docs/machine-rooms.md).

A row has DISPATCH, the template of malloc and free where some class has an array stack
(templates/dispatch), HITS, what a pop and a push of such a stack do in machine instructions, POPS and
PUSHES, the inline functions that they call, and FULL, the test by which a push leaves for the flush.
SPARE: slots that each stack has above its end, for a store that a push takes back. A row may have
RESTARTABLE, where both are restartable sequences (rseq(2)), which valgrind does not have. The row in use gives
`processor_batch` of NUMBERS, the most blocks of a refill or a flush, where heaps belong to processors.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("DISPATCH", "HITS", "POPS", "PUSHES", "FULL", "SPARE")
"""What each row has."""
