"""Remote frees: where a block freed by another thread goes (docs/machine.md section 7).

A row has OWNED, CODE (model/policy/emitted.py), and the kernels below. OWNED: a slab's blocks go
back to the heap that acquired the slab, and each heap has a store; else all heaps share one store.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

where = dispatched(ROWS, "where", "state.remote_code", hit=True)
"""Where a block of `slab` freed by a thread of this heap (-1: none) goes (model/policy/remote/common.py)."""
needs_heap = dispatched(ROWS, "needs_heap", "state.remote_code", hit=True)
"""Whether a thread without a heap gets one when it frees a small block."""
