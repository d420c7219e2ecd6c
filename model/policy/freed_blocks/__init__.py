"""Freed blocks: how a slab keeps them, and which it hands out first (docs/machine.md section 5).

A row has MARKS (whether each slab has a bitmap beside the records), `words(blocks)` (the words of
`marks` that a slab of `blocks` blocks has in the model), the kernels below, and `members(state,
slab)`, the indices of a slab's freed blocks, for checks.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of

ROWS = rows_of(__name__, __path__)

freed_take = dispatched(ROWS, "take", "state.freed_code", hit=True)
"""Take `count` freed blocks of a slab to moved[at] on."""
freed_give = dispatched(ROWS, "give", "state.freed_code", hit=True)
"""Keep a block that comes back to its slab; `freed` counts those that it has already."""
freed_begin = dispatched(ROWS, "begin", "state.freed_code")
"""Forget the freed blocks of an empty slab that a class acquires."""
freed_end_lines = dispatched(ROWS, "end_lines", "state.freed_code")
"""Touch what the library touches to forget the freed blocks of a slab that is retired."""
