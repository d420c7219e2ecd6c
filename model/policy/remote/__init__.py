"""Remote frees: where a block goes that another thread freed (docs/machine.md section 7).

A row has OWNED, CODE (model/policy/emitted.py), and the kernels below. If OWNED, a slab's blocks go
back to the heap that acquired the slab, and each heap has a store. Otherwise all heaps share a
store.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

stays = dispatched(ROWS, "stays", "state.remote_code", hit=True)
"""Return whether a block of `slab` that a thread of `heap` (-1: none) frees goes into the heap's front.

Otherwise it goes on the remote list of the slab's owner.
"""
needs_heap = dispatched(ROWS, "needs_heap", "state.remote_code", hit=True)
"""Return whether a thread without a heap gets a heap when it frees a small block."""
