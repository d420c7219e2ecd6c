"""Age queues: FIFO lists through the records' own `older` and `newer`; who keeps one knows its two ends and its sum."""

from heapsmith.model.compile.kernel import Records, kernel


@kernel
def join(records: Records, newest: int, item: int) -> None:
    """`item` becomes the newest, behind `newest` (-1: the queue is empty)."""
    records[item]["older"] = newest
    records[item]["newer"] = -1
    if newest >= 0:
        records[newest]["newer"] = item


@kernel
def leave(records: Records, item: int) -> None:
    """The neighbours of `item` become each other's; the caller moves the queue's ends."""
    older = int(records[item]["older"])
    newer = int(records[item]["newer"])
    if older >= 0:
        records[older]["newer"] = newer
    if newer >= 0:
        records[newer]["older"] = older
