"""Block index: how the library computes a block's number in its slab (docs/machine-rooms.md).

A row has AT, the place in a class's row of the number that it loads, and DIVIDES. It changes no
decision and no address.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("AT", "DIVIDES")
"""What each row has."""
