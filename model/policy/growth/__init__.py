"""Growth: how much address space becomes usable at once (docs/machine-rooms.md).

The row in use gives NUMBERS, in superslabs: `growth_first`, the first step, and `growth_most`, the
largest.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
