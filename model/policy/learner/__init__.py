"""Learner: whether the capacities of fronts follow their misses and flushes (docs/machine-rooms.md).

The row in use gives NUMBERS (`learn_window`: events of a heap's fronts between two decisions, 0: no
learner; `learn_often`: misses, and flushes, that make a front grow) and CLASS_NUMBERS (`learn_least`
and `learn_most`: bounds of the capacity, in blocks, 0: the class's front keeps its capacity;
`learn_step`: blocks by which the capacity changes).
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
