"""Age queues: FIFO lists through the records' own `older` and `newer`; users keep both ends."""

from heapsmith.model.compile.kernel import Records, kernel


@kernel
def join(records: Records, newest: int, item: int) -> None:
    """Put `item` behind `newest` (-1: the queue is empty)."""
    records[item]["older"] = newest
    records[item]["newer"] = -1
    if newest >= 0:
        records[newest]["newer"] = item


@kernel
def leave(records: Records, item: int) -> None:
    """Link the neighbours of `item` to each other; the caller updates the ends of the queue."""
    older = int(records[item]["older"])
    newer = int(records[item]["newer"])
    if older >= 0:
        records[older]["newer"] = newer
    if newer >= 0:
        records[newer]["older"] = older
