"""Sampling: which requests are samples, for a profile of the live heap (docs/machine.md section 12).

A row has ENTRY: what malloc does first.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("ENTRY",)
"""What each row has."""
