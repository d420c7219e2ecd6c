"""Empty slabs: which pool keeps them (docs/machine.md section 6).

A row has PER_CLASS (whether each class has a pool of its own) and the kernels below.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of
from heapsmith.model.policy.empties.common import last_retired

ROWS = rows_of(__name__, __path__)

pool_of = dispatched(ROWS, "pool", "state.empties_code")
"""Return the pool of empty slabs that serves a class."""
retired_of = dispatched(ROWS, "retired", "state.empties_code", last_retired)
"""Return the slab of a pool that serves next, or -1 if the pool serves none."""
