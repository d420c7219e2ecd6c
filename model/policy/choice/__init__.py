"""Slab choice: which slab of a class serves a refill (docs/machine.md section 5).

A row has the kernels below, and `members(state, store)` for checks. `store` is the index of a
store's class.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

choice_gives = dispatched(ROWS, "gives", "state.choice_code")
"""The slab that serves a take, -1 if none is available."""
choice_attach = dispatched(ROWS, "attach", "state.choice_code")
"""A slab just acquired is available."""
choice_add = dispatched(ROWS, "add", "state.choice_code")
"""A slab without a free block has one again."""
choice_remove = dispatched(ROWS, "remove", "state.choice_code")
"""A slab is exhausted or retired."""
choice_lets_go = dispatched(ROWS, "lets_go", "state.choice_code")
"""Whether an available slab of which no block is out may be retired."""
