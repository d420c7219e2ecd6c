"""Freed blocks: how a slab keeps them, and which it hands out first (docs/machine-rooms.md).

A row has MARKS (whether each slab has a bitmap beside the records), LINKS if the blocks are a list,
`words(blocks)` (the words of `marks` that a slab of `blocks` blocks has in the model), what it answers
(model/parts/front_questions.py), and `members(state, slab)`, for checks the indices of those of a slab's freed blocks
that serve.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("MARKS", "words", "take", "give", "begin", "end_lines", "members")
"""What each row has."""
