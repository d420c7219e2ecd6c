"""Page release: when pages go back to the OS (docs/machine-rooms.md).

A row has Params, AGES (whether the library keeps the age queues), BUDGETED (whether a budget bounds
them), and what it answers (model/parts/front_questions.py). A row with a clock gives NUMBERS.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("AGES", "BUDGETED", "Params", "goes", "grown")
"""What each row has."""
