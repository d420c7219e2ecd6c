"""Slab choice: which slab of a class serves a refill (docs/machine.md section 5).

A row has the kernels below, and `members(state, store)` for checks. HAS_HOT, if it has it, says that
the store's hot slab is always available. `store` is the index of a
store's class.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

choice_gives = dispatched(ROWS, "gives", "state.choice_code")
"""Return the slab that serves a take, or -1 if no slab is available."""
choice_attach = dispatched(ROWS, "attach", "state.choice_code")
"""Make a slab available that was just acquired."""
choice_add = dispatched(ROWS, "add", "state.choice_code")
"""Make a slab available that had no free block and now has a free block again."""
choice_remove = dispatched(ROWS, "remove", "state.choice_code")
"""Take away a slab that is exhausted or retired."""
choice_lets_go = dispatched(ROWS, "lets_go", "state.choice_code")
"""Return whether an available slab that has no block out may be retired."""
