"""Empty slabs: which pool keeps them (docs/machine.md section 6).

A row has NAME, DEFAULT where it is the default, ONE_POOL (all classes have the same), and a kernel.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

pool_of = dispatched(ROWS, "pool", "state.empties_code")
"""The pool of empty slabs that serves a class."""
