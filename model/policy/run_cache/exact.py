"""A run cache: FIFO, and an allocation takes the newest run of exactly its pages."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import heap_at, page_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.age import join, leave
from heapsmith.model.parts.equations import equal, fifo
from heapsmith.model.parts.runs import free_run
from heapsmith.model.policy.emitted import BEHIND_COUNTS, Field

NAME = "exact"
DEFAULT = True
FIELD_STEPS = {"run_cache_bytes": (PAGE, 1 << 30)}
STATE = {"heaps": {"oldest": -1, "newest": -1, "cached_runs": 0, "cached_bytes": 0}}
"""Ends of the run cache, its runs and their bytes."""
NUMBERS = ("run_cache_bytes", "run_cache_slots")
COSTS: dict[str, float] = {}  # machines have those of runs
RUN_CACHE_SLOTS = 16
HEAD_BYTES, LENGTH_BYTES, BLOCK_BYTES = 8, 4, 8


def numbers(design: Any) -> dict[str, int]:
    """Return the most bytes and runs that a heap keeps."""
    return {"run_cache_bytes": design.run_cache_bytes, "run_cache_slots": RUN_CACHE_SLOTS}


def heap_fields(design: Any) -> list[Field]:
    """Return the runs of a heap."""
    words = RUN_CACHE_SLOTS * LENGTH_BYTES // layout.WORD
    return [
        Field("uint32_t cached_runs, cached_pages", 1, "of the run cache: the thread's alone", BEHIND_COUNTS),
        Field("uint32_t cached_length[RUN_CACHE_SLOTS]", words, "pages of each, the oldest first", BEHIND_COUNTS),
        Field("void *cached_run[RUN_CACHE_SLOTS]", RUN_CACHE_SLOTS, "where each begins", BEHIND_COUNTS),
    ]


@kernel
def cache_at(state: State, heap: int) -> int:
    """Return where a heap's run cache begins."""
    return heap_at(state, heap) + state.run_cache_bytes_at


@kernel
def run_length_at(state: State, heap: int, place: int) -> int:
    """Return where the length of the cached run at `place` is."""
    return cache_at(state, heap) + HEAD_BYTES + LENGTH_BYTES * place


@kernel
def run_block_at(state: State, heap: int, place: int) -> int:
    """Return where the address of the cached run at `place` is."""
    return run_length_at(state, heap, RUN_CACHE_SLOTS) + BLOCK_BYTES * place


@kernel
def shift_lines(state: State, heap: int, place: int) -> None:
    """Touch what the removal of the run at `place` touches: the runs behind it move up."""
    behind = int(state.heaps[heap]["cached_runs"]) - place
    touch(state.listener, cache_at(state, heap), 1)
    touch_bytes(state.listener, run_length_at(state, heap, place), LENGTH_BYTES * behind, 1)
    touch_bytes(state.listener, run_block_at(state, heap, place), BLOCK_BYTES * behind, 1)


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
    touch(state.listener, cache_at(state, heap), 0)
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
def keeps_run(state: State, heap: int, first: int) -> bool:
    """Put a freed run that fits into the heap's cache; the oldest runs make room for it."""
    size = int(state.pages[first]["run"]) * PAGE
    limit = state.run_cache_bytes
    if size > limit:
        return False
    spilled = state.run_spill
    while state.heaps[heap]["cached_runs"] == RUN_CACHE_SLOTS or state.heaps[heap]["cached_bytes"] + size > limit:
        spill_run(state, heap)
    state.locks_run_spill += int(state.run_spill > spilled)
    place = int(state.heaps[heap]["cached_runs"])
    touch(state.listener, cache_at(state, heap), 1)
    touch(state.listener, run_length_at(state, heap, place), 1)
    touch(state.listener, run_block_at(state, heap, place), 1)
    join(state.pages, state.heaps, heap, first)
    state.heaps[heap]["cached_runs"] += 1
    state.heaps[heap]["cached_bytes"] += size
    return True


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
def spills_run(state: State, heap: int) -> bool:
    """Free the oldest run of the heap's cache; return whether there was one."""
    if state.heaps[heap]["oldest"] < 0:
        return False
    spill_run(state, heap)
    return True


@kernel
def spill_locks(state: State) -> int:
    """Return 1: the runs go under one lock, if any go."""
    return 1


@kernel
def cache_lines(state: State, heap: int) -> None:
    """Touch how many runs the heap's cache has."""
    touch(state.listener, cache_at(state, heap), 0)


def cached_runs(state: State) -> list[int]:
    """Check the bounds of each heap's cache; return the first pages of all cached runs."""
    cached: list[int] = []
    for heap, record in enumerate(state.heaps):
        runs = fifo(f"run cache {heap}", state.pages, record)
        size = sum(int(state.pages[run]["run"]) for run in runs) * PAGE
        found = int(record["cached_runs"]), int(record["cached_bytes"])
        equal(f"run cache {heap}: runs, bytes", found, (len(runs), size))
        in_bounds = len(runs) <= RUN_CACHE_SLOTS and size <= state.run_cache_bytes
        equal(f"run cache {heap} within its bounds", in_bounds, True)
        cached += runs
    return cached


def held_bytes(state: State) -> int:
    """Return the bytes of all cached runs."""
    return int(state.heaps["cached_bytes"].sum())
