"""A run cache: FIFO, and an allocation takes the newest run that is long enough and hardly longer."""

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

NAME = "newest"
DEFAULT = True
FIELD_STEPS = {
    "run_cache_bytes": (PAGE, 1 << 30),
    "run_cache_share_percent": (1, 100),
    "run_cache_slack_percent": (1, 100),
    "run_cache_after": (1, 1 << 20),
}
MOMENTS = ("reset",)
STATE = {
    "scalars": {"freed_alone": 0},
    "heaps": {"oldest": -1, "newest": -1, "cached_runs": 0, "cached_bytes": 0, "cached_most": 0, "share_looks": 0},
}
"""Runs that threads without a heap freed. Of a heap: the ends of the run cache, its runs and their bytes,
the most bytes that it may have by its last look, and how often it looked.
"""
NUMBERS = (
    "run_cache_bytes",
    "run_cache_share_percent",
    "run_cache_slack_percent",
    "run_cache_slots",
    "run_cache_floor_bytes",
    "run_cache_least_bytes",
    "run_cache_after",
    "run_cache_alone",
)
COSTS: dict[str, float] = {}  # machines have those of runs
RUN_CACHE_SLOTS = 16
RUN_CACHE_ALONE = 256
"""Runs that threads without a heap free before such a thread gets a heap, and so a cache."""
FLOOR_BYTES, LEAST_BYTES = 1 << 20, 1 << 16
"""What all caches may have together whatever their share is, and each whatever its part of that is."""
MOST, HITS, HEAD_BYTES, RUN_BYTES = 8, 16, 24, 8
"""Where a cache has the most bytes of its last look and its hits; where its runs begin, and the bytes of each."""


def numbers(design: Any) -> dict[str, int]:
    """Return the most bytes and runs that a heap keeps, and how much longer than asked a run may be.

    A cache that may never be larger than the least part asks for no share.
    """
    shares = design.run_cache_bytes > LEAST_BYTES
    return {
        "run_cache_bytes": design.run_cache_bytes,
        "run_cache_share_percent": design.run_cache_share_percent if shares else 0,
        "run_cache_slack_percent": design.run_cache_slack_percent,
        "run_cache_slots": RUN_CACHE_SLOTS,
        "run_cache_floor_bytes": FLOOR_BYTES,
        "run_cache_least_bytes": LEAST_BYTES,
        "run_cache_after": design.run_cache_after,
        "run_cache_alone": RUN_CACHE_ALONE,
    }


def heap_fields(design: Any) -> list[Field]:
    """Return the runs of a heap."""
    return [
        Field("uint32_t cached_runs, cached_pages", 1, "of the run cache: the thread's alone", BEHIND_COUNTS),
        Field("uint32_t cached_most, share_looks", 1, "pages that it may have by its last look; looks", BEHIND_COUNTS),
        Field("uint64_t run_hits", 1, "any thread may read it", BEHIND_COUNTS),
        Field(
            "uint64_t cached_run[RUN_CACHE_SLOTS]",
            RUN_CACHE_SLOTS,
            "first page, pages << 32; oldest first",
            BEHIND_COUNTS,
        ),
    ]


@kernel
def cache_at(state: State, heap: int) -> int:
    """Return where a heap's run cache begins."""
    return heap_at(state, heap) + state.run_cache_bytes_at


@kernel
def run_at(state: State, heap: int, place: int) -> int:
    """Return where the cached run at `place` is."""
    return cache_at(state, heap) + HEAD_BYTES + RUN_BYTES * place


@kernel
def look_at_share(state: State, heap: int) -> None:
    """Note the most bytes that the heap's cache may have now."""
    most = state.run_cache_bytes
    touch(state.listener, cache_at(state, heap) + MOST, 1)
    if state.heaps[heap]["share_looks"] < state.run_cache_after:
        state.heaps[heap]["share_looks"] += 1
        most = 0
    elif state.run_cache_share_percent > 0:
        touch(state.listener, layout.TOTAL_COMMITTED, 0)
        touch(state.listener, layout.TOTAL_HEAPS, 0)
        share = state.committed // 100 * state.run_cache_share_percent
        part = max(share, state.run_cache_floor_bytes) // state.heaps_made
        most = min(most, max(part, state.run_cache_least_bytes))
    state.heaps[heap]["cached_most"] = most // PAGE * PAGE


@kernel
def uncache(state: State, heap: int, first: int, place: int) -> None:
    """Take the run at `place` out of the heap's cache: those behind it move up."""
    behind = int(state.heaps[heap]["cached_runs"]) - place
    touch(state.listener, cache_at(state, heap), 1)
    touch_bytes(state.listener, run_at(state, heap, place), RUN_BYTES * behind, 1)
    leave(state.pages, state.heaps, heap, first)
    state.heaps[heap]["cached_runs"] -= 1
    state.heaps[heap]["cached_bytes"] -= int(state.pages[first]["run"]) * PAGE


@kernel
def cached_run(state: State, heap: int, pages: int) -> int:
    """Take the newest run of `pages` pages, or a few more, out of the heap's cache; -1: none, and it has its share."""
    most = pages + pages * state.run_cache_slack_percent // 100
    first = int(state.heaps[heap]["newest"])
    place = int(state.heaps[heap]["cached_runs"])
    touch(state.listener, cache_at(state, heap), 0)
    while first >= 0:
        place -= 1
        touch(state.listener, run_at(state, heap, place), 0)
        if pages <= state.pages[first]["run"] <= most:
            break
        first = int(state.pages[first]["older"])
        state.runs_looked_at += 1
    if first >= 0:
        touch(state.listener, page_at(first), 1)
        uncache(state, heap, first, place)
        touch(state.listener, cache_at(state, heap) + HITS, 1)
        state.run_hit += 1
        return first
    look_at_share(state, heap)
    while state.heaps[heap]["cached_bytes"] > state.heaps[heap]["cached_most"]:
        spill_run(state, heap)
    return -1


@kernel
def lacks_room(state: State, heap: int, size: int) -> bool:
    """Return whether the heap's cache has no room for a run of `size` bytes."""
    record = state.heaps[heap]
    return bool(record["cached_runs"] == RUN_CACHE_SLOTS or record["cached_bytes"] + size > record["cached_most"])


@kernel
def claims_heap(state: State) -> bool:
    """Return whether a thread without a heap, which frees a run, gets one; it counts the run otherwise."""
    if state.freed_alone >= state.run_cache_alone:
        return True
    state.freed_alone += 1
    return False


@kernel
def keeps_run(state: State, heap: int, first: int) -> bool:
    """Put a freed run that fits into the heap's cache; the oldest runs make room for it."""
    size = int(state.pages[first]["run"]) * PAGE
    touch(state.listener, cache_at(state, heap), 1)
    touch(state.listener, cache_at(state, heap) + MOST, 0)
    if lacks_room(state, heap, size):
        look_at_share(state, heap)
        if size > state.heaps[heap]["cached_most"]:
            return False
        spilled = state.run_spill
        while lacks_room(state, heap, size):
            spill_run(state, heap)
        state.locks_run_spill += int(state.run_spill > spilled)
    touch(state.listener, run_at(state, heap, int(state.heaps[heap]["cached_runs"])), 1)
    join(state.pages, state.heaps, heap, first)
    state.heaps[heap]["cached_runs"] += 1
    state.heaps[heap]["cached_bytes"] += size
    return True


@kernel
def spill_run(state: State, heap: int) -> None:
    """Free the oldest run of the heap's cache."""
    first = int(state.heaps[heap]["oldest"])
    touch(state.listener, layout.TOTAL_SPILL, 1)
    uncache(state, heap, first, 0)
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
        size = sum(int(state.pages[run]["run"]) for run in runs) * int(state.page_bytes)
        found = int(record["cached_runs"]), int(record["cached_bytes"])
        equal(f"run cache {heap}: runs, bytes", found, (len(runs), size))
        in_bounds = len(runs) <= RUN_CACHE_SLOTS and size <= state.run_cache_bytes
        equal(f"run cache {heap} within its bounds", in_bounds, True)
        cached += runs
    return cached


def held_bytes(state: State) -> int:
    """Return the bytes of all cached runs."""
    return int(state.heaps["cached_bytes"].sum())
