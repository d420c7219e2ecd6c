"""Opening: when a thread's array stack begins to keep blocks (docs/machine-rooms.md)."""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
