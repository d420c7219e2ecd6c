"""Freed blocks: how a slab keeps them, and which it hands out first (docs/machine.md section 5).

A row has MARKS (whether each slab has a bitmap beside the records), `words(blocks)` (the words of
`marks` that a slab of `blocks` blocks has in the model), what it answers (model/parts/front_questions.py),
and `members(state, slab)`, the indices of a slab's freed blocks, for checks.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
