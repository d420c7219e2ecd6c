"""Empty slabs: which pool keeps them (docs/machine.md section 6).

A row has ONE_POOL (whether all classes share a pool) and the kernel below.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

pool_of = dispatched(ROWS, "pool", "state.empties_code")
"""Return the pool of empty slabs that serves a class."""
