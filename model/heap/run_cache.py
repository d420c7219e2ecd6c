"""The run cache: freed runs that a heap keeps for its own thread, FIFO by age; docs/machine.md section 8."""

from heapsmith.model.compile.kernel import Ints, Records, kernel
from heapsmith.model.constants import PAGE, RUN_CACHE_SLOTS
from heapsmith.model.heap.age import join, leave
from heapsmith.model.heap.runs import free_run
from heapsmith.model.memory.layout import (
    COUNTS,
    PAGE_BYTES,
    PAGE_STATE,
    PAGES,
    RUN_CACHE_BLOCK_BYTES,
    RUN_CACHE_HEAD,
    RUN_CACHE_LENGTH_BYTES,
    TOTAL_HIT,
    TOTAL_SPILL,
    heap_at,
)
from heapsmith.model.memory.touches import touch, touch_bytes


@kernel
def shift_lines(touched: Ints, machine: Records, heaps: Records, heap: int, place: int) -> None:
    """The lines of a run cache of which the run at `place` leaves: those behind it move up."""
    at = heap_at(machine, heap) + int(machine[0]["heap_runs"])
    behind = int(heaps[heap]["cached_runs"]) - place
    touch(touched, at, 1)
    touch_bytes(touched, at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * place, RUN_CACHE_LENGTH_BYTES * behind, 1)
    blocks = at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * RUN_CACHE_SLOTS
    touch_bytes(touched, blocks + RUN_CACHE_BLOCK_BYTES * place, RUN_CACHE_BLOCK_BYTES * behind, 1)


@kernel
def uncache(touched: Ints, heaps: Records, records: Records, heap: int, first: int) -> None:
    """A run leaves the heap's cache."""
    leave(records, first)
    if heaps[heap]["oldest_run"] == first:
        heaps[heap]["oldest_run"] = records[first]["newer"]
    if heaps[heap]["newest_run"] == first:
        heaps[heap]["newest_run"] = records[first]["older"]
    heaps[heap]["cached_runs"] -= 1
    heaps[heap]["cached_bytes"] -= int(records[first]["run"]) * PAGE


@kernel
def cached_run(touched: Ints, machine: Records, heaps: Records, records: Records, heap: int, pages: int) -> int:
    """The newest run of exactly so many pages leaves the heap's cache; -1 if there is none."""
    first = int(heaps[heap]["newest_run"])
    place = int(heaps[heap]["cached_runs"])
    at = heap_at(machine, heap) + int(machine[0]["heap_runs"])
    touch(touched, at, 0)
    while first >= 0:
        place -= 1
        touch(touched, at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * place, 0)
        if records[first]["run"] == pages:
            break
        first = int(records[first]["older"])
        machine[0]["runs_looked_at"] += 1
    if first >= 0:
        shift_lines(touched, machine, heaps, heap, place)
        touch(touched, PAGES + first * PAGE_BYTES + PAGE_STATE, 1)
        touch(touched, COUNTS + TOTAL_HIT, 1)
        uncache(touched, heaps, records, heap, first)
        machine[0]["run_hit"] += 1
    return first


@kernel
def cache_run(
    touched: Ints, machine: Records, heaps: Records, records: Records, bins: Ints, heap: int, first: int
) -> None:
    """A freed run that fits the heap's cache becomes its newest; the oldest are freed to make room."""
    size = int(records[first]["run"]) * PAGE
    limit = int(machine[0]["run_cache_bytes"])
    while heaps[heap]["cached_runs"] == RUN_CACHE_SLOTS or heaps[heap]["cached_bytes"] + size > limit:
        spill_run(touched, machine, heaps, records, bins, heap)
    at = heap_at(machine, heap) + int(machine[0]["heap_runs"])
    place = int(heaps[heap]["cached_runs"])
    touch(touched, at, 1)
    touch(touched, at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * place, 1)
    touch(touched, at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * RUN_CACHE_SLOTS + RUN_CACHE_BLOCK_BYTES * place, 1)
    join(records, int(heaps[heap]["newest_run"]), first)
    heaps[heap]["newest_run"] = first
    if heaps[heap]["oldest_run"] < 0:
        heaps[heap]["oldest_run"] = first
    heaps[heap]["cached_runs"] += 1
    heaps[heap]["cached_bytes"] += size


@kernel
def spill_run(touched: Ints, machine: Records, heaps: Records, records: Records, bins: Ints, heap: int) -> None:
    """The oldest run of the heap's cache is freed."""
    first = int(heaps[heap]["oldest_run"])
    shift_lines(touched, machine, heaps, heap, 0)
    touch(touched, COUNTS + TOTAL_SPILL, 1)
    uncache(touched, heaps, records, heap, first)
    machine[0]["run_spill"] += 1
    free_run(touched, machine, records, bins, first)


@kernel
def empty_cache(touched: Ints, machine: Records, heaps: Records, records: Records, bins: Ints, heap: int) -> None:
    """All runs of the heap's cache are freed, the oldest first."""
    while heaps[heap]["oldest_run"] >= 0:
        spill_run(touched, machine, heaps, records, bins, heap)
