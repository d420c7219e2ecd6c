"""Page release: when pages go back to the OS (docs/machine.md sections 6 and 8).

A row has Params, BUDGETED (whether the library keeps the age queues, within a budget), and the
kernels below.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

release_goes = dispatched(ROWS, "goes", "state.release_code")
"""Whether the oldest of an age queue with so many committed bytes gives its pages back to the OS."""
release_grown = dispatched(ROWS, "grown", "state.release_code")
"""The budget of empty slabs or free runs after pages that had gone back to the OS were needed again."""
