"""The run cache: freed runs that a heap keeps for its own thread, FIFO; docs/machine.md 8."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE, RUN_CACHE_SLOTS
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import heap_at, page_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.age import join, leave
from heapsmith.model.parts.runs import free_run


@kernel
def run_length_at(state: State, heap: int, place: int) -> int:
    """Return where the length of the cached run at `place` is."""
    lengths = heap_at(state, heap) + state.heap_runs + layout.RUN_CACHE_HEAD
    return lengths + layout.RUN_CACHE_LENGTH_BYTES * place


@kernel
def run_block_at(state: State, heap: int, place: int) -> int:
    """Return where the address of the cached run at `place` is."""
    return run_length_at(state, heap, RUN_CACHE_SLOTS) + layout.RUN_CACHE_BLOCK_BYTES * place


@kernel
def shift_lines(state: State, heap: int, place: int) -> None:
    """Touch what the removal of the run at `place` touches: the runs behind it move up."""
    behind = int(state.heaps[heap]["cached_runs"]) - place
    touch(state.listener, heap_at(state, heap) + state.heap_runs, 1)
    touch_bytes(state.listener, run_length_at(state, heap, place), layout.RUN_CACHE_LENGTH_BYTES * behind, 1)
    touch_bytes(state.listener, run_block_at(state, heap, place), layout.RUN_CACHE_BLOCK_BYTES * behind, 1)


@kernel
def uncache(state: State, heap: int, first: int) -> None:
    """Take a run out of the heap's cache."""
    leave(state.pages, state.heaps, heap, first)
    state.heaps[heap]["cached_runs"] -= 1
    state.heaps[heap]["cached_bytes"] -= int(state.pages[first]["run"]) * PAGE


@kernel
def cached_run(state: State, heap: int, pages: int) -> int:
    """Take the newest run of exactly `pages` pages out of the heap's cache; -1 if there is none."""
    first = int(state.heaps[heap]["newest"])
    place = int(state.heaps[heap]["cached_runs"])
    touch(state.listener, heap_at(state, heap) + state.heap_runs, 0)
    while first >= 0:
        place -= 1
        touch(state.listener, run_length_at(state, heap, place), 0)
        if state.pages[first]["run"] == pages:
            break
        first = int(state.pages[first]["older"])
        state.runs_looked_at += 1
    if first >= 0:
        shift_lines(state, heap, place)
        touch(state.listener, page_at(first), 1)
        touch(state.listener, layout.TOTAL_HIT, 1)
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
    place = int(state.heaps[heap]["cached_runs"])
    touch(state.listener, heap_at(state, heap) + state.heap_runs, 1)
    touch(state.listener, run_length_at(state, heap, place), 1)
    touch(state.listener, run_block_at(state, heap, place), 1)
    join(state.pages, state.heaps, heap, first)
    state.heaps[heap]["cached_runs"] += 1
    state.heaps[heap]["cached_bytes"] += size


@kernel
def spill_run(state: State, heap: int) -> None:
    """Free the oldest run of the heap's cache."""
    first = int(state.heaps[heap]["oldest"])
    shift_lines(state, heap, 0)
    touch(state.listener, layout.TOTAL_SPILL, 1)
    uncache(state, heap, first)
    state.run_spill += 1
    free_run(state, first)


@kernel
def empty_cache(state: State, heap: int) -> None:
    """Free all runs of the heap's cache, the oldest first."""
    while state.heaps[heap]["oldest"] >= 0:
        spill_run(state, heap)
