"""Remote frees: where a block goes that another thread freed (docs/machine-rooms.md).

A row has OWNED, CODE (model/policy/emitted.py), and what it answers (model/parts/front_questions.py),
and chains(state, heap): owners and first nodes of all chains of nodes in the heap. If OWNED, a slab's blocks go
back to the heap that acquired the slab, and each heap has a store. Otherwise all heaps share a
store, and LOCKED names the kinds of the price (model/predict/cost.py) whose time passes under the
pool lock. `remote_words` of NUMBERS are the words of a remote list in struct heap besides its head.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("OWNED", "stays", "needs_heap")
"""What each row has."""
