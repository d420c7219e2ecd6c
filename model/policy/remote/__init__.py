"""Remote frees: where a block goes that another thread freed (docs/machine.md section 7).

A row has OWNED, CODE (model/policy/emitted.py), and the kernels below. If OWNED, a slab's blocks go
back to the heap that acquired the slab, and each heap has a store. Otherwise all heaps share a
store, and LOCKED names the kinds of the price (model/predict/cost.py) whose time passes under the
pool lock. `remote_words` of NUMBERS are the words of a remote list in struct heap besides its head.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

stays = dispatched(ROWS, "stays", "state.remote_code", hit=True)
"""Return whether a block of `slab` that a thread of `heap` (-1: none) frees goes into the heap's front.

Otherwise it goes on the remote list of the slab's owner.
"""
needs_heap = dispatched(ROWS, "needs_heap", "state.remote_code", hit=True)
"""Return whether a thread without a heap gets a heap when it frees a small block."""
joins = dispatched(ROWS, "joins", "state.remote_code")
"""Put a node on the remote list of a heap. A drain takes the nodes from the list's head on."""
join_lines = dispatched(ROWS, "join_lines", "state.remote_code")
"""Touch what a remote free touches: its counter, the owner's list, the block. The list is as before."""
look_lines = dispatched(ROWS, "look_lines", "state.remote_code")
"""Touch what the owner touches when it looks at its remote list, and takes all of it."""
leave_lines = dispatched(ROWS, "leave_lines", "state.remote_code")
"""Touch what a drain touches of a block that leaves the list; is_linked: another block follows."""
