"""The clock of a delay, and age queues: FIFO lists through the records' own `older` and `newer`.

The ends of queue `queue`, -1 if it is empty, are ends[queue]["oldest"] and ends[queue]["newest"].
"""

from heapsmith.model.compile.kernel import Records, kernel
from heapsmith.model.constants import NS_PER_MS
from heapsmith.model.memory.state import State


@kernel
def tick(state: State, size: int) -> None:
    """Count on the clock of a delay, unless it is the time: an event that frees `size` bytes."""
    if state.release_delay > 0 and state.release_delay_in_milliseconds == 0:
        state.clock += size if state.release_delay_in_bytes == 1 else 1


@kernel
def read_clock(state: State) -> None:
    """Let the clock be the time of the event under way, where it is the time."""
    if state.release_delay_in_milliseconds > 0:
        state.clock = int(state.time_ns[state.events - state.fed]) // NS_PER_MS
        state.clock_reads += 1


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
