"""Page release: when pages go back to the OS (docs/machine.md sections 6 and 8).

A row has Params, AGES (whether the library keeps the age queues), BUDGETED (whether a budget bounds
them), and the kernels below. A row with a clock gives NUMBERS.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

release_goes = dispatched(ROWS, "goes", "state.release_code")
"""Return whether an age queue gives the pages of its oldest entry to the OS.

aged_bytes: committed bytes of the queue; least_bytes: those that no share bounds; stamp: the clock
when its oldest entry joined; gone: entries that this event has released.
"""
release_grown = dispatched(ROWS, "grown", "state.release_code")
"""Return the budget after the program needed pages again that had gone back to the OS."""
