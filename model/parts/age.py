"""Age queues: FIFO lists through the records' own `older` and `newer`.

The ends of queue `queue`, -1 if it is empty, are ends[queue]["oldest"] and ends[queue]["newest"].
"""

from heapsmith.model.compile.kernel import Records, kernel

SLAB_AGE, RUN_AGE = 1, 2
"""The rows of `scalars` behind the first, which is the state's: each has the ends of an age queue.

An array of their own would be one more pointer in every call between kernels.
"""
AGES = {"slab": SLAB_AGE, "run": RUN_AGE}


@kernel
def join(records: Records, ends: Records, queue: int, item: int) -> None:
    """Make `item` the newest of a queue."""
    newest = int(ends[queue]["newest"])
    records[item]["older"] = newest
    records[item]["newer"] = -1
    if newest >= 0:
        records[newest]["newer"] = item
    else:
        ends[queue]["oldest"] = item
    ends[queue]["newest"] = item


@kernel
def leave(records: Records, ends: Records, queue: int, item: int) -> None:
    """Take `item` out of a queue."""
    older = int(records[item]["older"])
    newer = int(records[item]["newer"])
    if older >= 0:
        records[older]["newer"] = newer
    else:
        ends[queue]["oldest"] = newer
    if newer >= 0:
        records[newer]["older"] = older
    else:
        ends[queue]["newest"] = older
