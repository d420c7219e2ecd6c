"""Sampling: which requests are samples, for a profile of the live heap (docs/machine-rooms.md, 'sampling').

A row has ENTRY: what malloc does first; LARGE: the function to which malloc leaves large requests; and
WATCHES: whether slow paths ask if requests are watched.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("ENTRY", "LARGE", "WATCHES", "files")
"""What each row has."""
