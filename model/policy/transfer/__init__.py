"""The transfer cache: flushed batches that wait for another heap's refill (docs/machine-rooms.md).

A design states its bytes for each class: 0 names the row without one. The row in use gives NUMBERS
(`transfer_slots` of all classes, which each shard with records has; `transfer_idle`) and CLASS_FIELDS
(`transfer`, the most batches of a class, and `transfer_slot`, where its first begins). Each row has
`batches(design, size)`, the most of a class; `waiting(state)`, by class how many blocks wait;
`waiting_blocks(state)`, which; `check_batches(state)`; and `unkept(plan, simulation)`, how often a
class with batches went to the store instead.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("batches", "waiting", "waiting_blocks", "check_batches", "unkept")
"""What each row has."""
