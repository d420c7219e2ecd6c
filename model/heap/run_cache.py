"""The run cache: freed runs that a heap keeps for its own thread, FIFO; docs/machine.md 8."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE, RUN_CACHE_SLOTS
from heapsmith.model.heap.age import join, leave
from heapsmith.model.heap.runs import free_run
from heapsmith.model.memory.layout import (
    COUNTS,
    RUN_CACHE_BLOCK_BYTES,
    RUN_CACHE_HEAD,
    RUN_CACHE_LENGTH_BYTES,
    TOTAL_HIT,
    TOTAL_SPILL,
    heap_at,
    page_at,
)
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes


@kernel
def shift_lines(state: State, heap: int, place: int) -> None:
    """Touch what the removal of the run at `place` touches: the runs behind it move up."""
    at = heap_at(state, heap) + state.heap_runs
    behind = int(state.heaps[heap]["cached_runs"]) - place
    touch(state.listener, at, 1)
    touch_bytes(
        state.listener, at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * place, RUN_CACHE_LENGTH_BYTES * behind, 1
    )
    blocks = at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * RUN_CACHE_SLOTS
    touch_bytes(state.listener, blocks + RUN_CACHE_BLOCK_BYTES * place, RUN_CACHE_BLOCK_BYTES * behind, 1)


@kernel
def uncache(state: State, heap: int, first: int) -> None:
    """Take a run out of the heap's cache."""
    leave(state.pages, first)
    if state.heaps[heap]["oldest_run"] == first:
        state.heaps[heap]["oldest_run"] = state.pages[first]["newer"]
    if state.heaps[heap]["newest_run"] == first:
        state.heaps[heap]["newest_run"] = state.pages[first]["older"]
    state.heaps[heap]["cached_runs"] -= 1
    state.heaps[heap]["cached_bytes"] -= int(state.pages[first]["run"]) * PAGE


@kernel
def cached_run(state: State, heap: int, pages: int) -> int:
    """Take the newest run of exactly `pages` pages out of the heap's cache; -1 if there is none."""
    first = int(state.heaps[heap]["newest_run"])
    place = int(state.heaps[heap]["cached_runs"])
    at = heap_at(state, heap) + state.heap_runs
    touch(state.listener, at, 0)
    while first >= 0:
        place -= 1
        touch(state.listener, at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * place, 0)
        if state.pages[first]["run"] == pages:
            break
        first = int(state.pages[first]["older"])
        state.runs_looked_at += 1
    if first >= 0:
        shift_lines(state, heap, place)
        touch(state.listener, page_at(first), 1)
        touch(state.listener, COUNTS + TOTAL_HIT, 1)
        uncache(state, heap, first)
        state.run_hit += 1
    return first


@kernel
def cache_run(state: State, heap: int, first: int) -> None:
    """Put a freed run that fits into the heap's cache; the oldest runs make room for it."""
    size = int(state.pages[first]["run"]) * PAGE
    limit = state.run_cache_bytes
    while state.heaps[heap]["cached_runs"] == RUN_CACHE_SLOTS or state.heaps[heap]["cached_bytes"] + size > limit:
        spill_run(state, heap)
    at = heap_at(state, heap) + state.heap_runs
    place = int(state.heaps[heap]["cached_runs"])
    touch(state.listener, at, 1)
    touch(state.listener, at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * place, 1)
    touch(
        state.listener,
        at + RUN_CACHE_HEAD + RUN_CACHE_LENGTH_BYTES * RUN_CACHE_SLOTS + RUN_CACHE_BLOCK_BYTES * place,
        1,
    )
    join(state.pages, int(state.heaps[heap]["newest_run"]), first)
    state.heaps[heap]["newest_run"] = first
    if state.heaps[heap]["oldest_run"] < 0:
        state.heaps[heap]["oldest_run"] = first
    state.heaps[heap]["cached_runs"] += 1
    state.heaps[heap]["cached_bytes"] += size


@kernel
def spill_run(state: State, heap: int) -> None:
    """Free the oldest run of the heap's cache."""
    first = int(state.heaps[heap]["oldest_run"])
    shift_lines(state, heap, 0)
    touch(state.listener, COUNTS + TOTAL_SPILL, 1)
    uncache(state, heap, first)
    state.run_spill += 1
    free_run(state, first)


@kernel
def empty_cache(state: State, heap: int) -> None:
    """Free all runs of the heap's cache, the oldest first."""
    while state.heaps[heap]["oldest_run"] >= 0:
        spill_run(state, heap)
