"""Slab choice: which slab of a class serves a refill (docs/machine-rooms.md).

A row has what it answers (model/parts/front_questions.py), and `members(state, store)` for checks. HAS_HOT,
if it has it, says that the store's hot slab is always available.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("gives", "attach", "add", "remove", "lets_go", "members")
"""What each row has."""
