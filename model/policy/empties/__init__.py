"""Empty slabs: which pool keeps them (docs/machine-rooms.md).

A row has PER_CLASS (whether each class has a pool of its own) and what it answers (model/parts/front_questions.py).
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("PER_CLASS", "pool")
"""What each row has."""
