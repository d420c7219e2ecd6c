"""Foreign pointers: what free() does with a block of another malloc. A row has only NAME."""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
