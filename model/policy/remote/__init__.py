"""Remote frees: where a block goes that another thread freed (docs/machine.md section 7).

A row has OWNED, CODE (model/policy/emitted.py), and the kernels below,
and chains(state, heap): owners and first nodes of all chains of nodes in the heap. If OWNED, a slab's blocks go
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
"""Put a node, freed by a thread of `heap`, where it goes on its way to its owner."""
join_lines = dispatched(ROWS, "join_lines", "state.remote_code")
"""Touch what a remote free touches: its counter, and what `joins` does not. The list is as before."""
look_lines = dispatched(ROWS, "look_lines", "state.remote_code")
"""Touch what the owner touches when it looks for remote blocks, and takes them. which: as in opens."""
opens = dispatched(ROWS, "opens", "state.remote_code")
"""Take remote blocks of a heap, and return the first node, or -1.

which: a class that has a miss, which gets as much as it needs; -1: all of them; -2 - c: of all but those
of class c. For all of them it is called until none are left.
"""
lacks = dispatched(ROWS, "lacks", "state.remote_code")
"""Return whether a refill of a class first takes remote blocks of other classes."""
hands_over = dispatched(ROWS, "hands_over", "state.remote_code")
"""Hand over all blocks that the heap's thread has freed and kept."""
goes_by_class = dispatched(ROWS, "goes_by_class", "state.remote_code")
"""Return whether a drained block goes into a front that is a stack with room, unasked whose it is."""
leave_lines = dispatched(ROWS, "leave_lines", "state.remote_code")
"""Touch what a drain touches of a node whose block leaves; is_linked: another block follows."""
