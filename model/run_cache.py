"""The run cache: freed runs that a heap keeps for its own thread, FIFO by age; docs/machine.md section 8."""

from heapsmith.model.age import join, leave
from heapsmith.model.design import PAGE, RUN_CACHE_SLOTS
from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.runs import free_run


@kernel
def uncache(heaps: Records, records: Records, heap: int, first: int) -> None:
    """A run leaves the heap's cache."""
    leave(records, first)
    if heaps[heap]["oldest_run"] == first:
        heaps[heap]["oldest_run"] = records[first]["newer"]
    if heaps[heap]["newest_run"] == first:
        heaps[heap]["newest_run"] = records[first]["older"]
    heaps[heap]["cached_runs"] -= 1
    heaps[heap]["cached_bytes"] -= int(records[first]["run"]) * PAGE


@kernel
def cached_run(machine: Records, heaps: Records, records: Records, heap: int, pages: int) -> int:
    """The newest run of exactly so many pages leaves the heap's cache; -1 if there is none."""
    first = int(heaps[heap]["newest_run"])
    while first >= 0 and records[first]["run"] != pages:
        first = int(records[first]["older"])
        machine[0]["runs_looked_at"] += 1
    if first >= 0:
        uncache(heaps, records, heap, first)
        machine[0]["run_hit"] += 1
    return first


@kernel
def cache_run(machine: Records, heaps: Records, records: Records, bins: Ints, heap: int, first: int) -> None:
    """A freed run that fits the heap's cache becomes its newest; the oldest are freed to make room."""
    size = int(records[first]["run"]) * PAGE
    limit = int(machine[0]["run_cache_bytes"])
    while heaps[heap]["cached_runs"] == RUN_CACHE_SLOTS or heaps[heap]["cached_bytes"] + size > limit:
        spill_run(machine, heaps, records, bins, heap)
    join(records, int(heaps[heap]["newest_run"]), first)
    heaps[heap]["newest_run"] = first
    if heaps[heap]["oldest_run"] < 0:
        heaps[heap]["oldest_run"] = first
    heaps[heap]["cached_runs"] += 1
    heaps[heap]["cached_bytes"] += size


@kernel
def spill_run(machine: Records, heaps: Records, records: Records, bins: Ints, heap: int) -> None:
    """The oldest run of the heap's cache is freed."""
    first = int(heaps[heap]["oldest_run"])
    uncache(heaps, records, heap, first)
    machine[0]["run_spill"] += 1
    free_run(machine, records, bins, first)


@kernel
def empty_cache(machine: Records, heaps: Records, records: Records, bins: Ints, heap: int) -> None:
    """All runs of the heap's cache are freed, the oldest first."""
    while heaps[heap]["oldest_run"] >= 0:
        spill_run(machine, heaps, records, bins, heap)
