"""Counting: what the release library counts besides the slow paths (docs/api.md).

A row has COUNTS_HITS: whether each hit of level 0 and each push adds to a counter of its class.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("COUNTS_HITS",)
"""What each row has."""
