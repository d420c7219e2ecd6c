"""Page release: when pages go back to the OS (docs/machine.md sections 6 and 8).

A row has Params, BUDGETED (whether the library keeps the age queues, within a budget), and the
kernels below.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

release_goes = dispatched(ROWS, "goes", "state.release_code")
"""Return whether an age queue of `aged_bytes` committed bytes gives the oldest pages to the OS."""
release_grown = dispatched(ROWS, "grown", "state.release_code")
"""Return the budget after the program needed pages again that had gone back to the OS."""
