"""Remote frees: where a block goes that another thread freed (docs/machine.md section 7).

A row has OWNED, CODE (model/policy/emitted.py), and the kernels below. If OWNED, a slab's blocks go
back to the heap that acquired the slab, and each heap has a store. Otherwise all heaps share a
store.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

where = dispatched(ROWS, "where", "state.remote_code", hit=True)
"""Return where a block of `slab` goes when a thread of `heap` (-1: none) frees the block."""
needs_heap = dispatched(ROWS, "needs_heap", "state.remote_code", hit=True)
"""Return whether a thread without a heap gets a heap when it frees a small block."""
