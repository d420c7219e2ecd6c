"""Runs of pages: boundary tags, bins by length, an age queue; docs/machine.md, 'runs'.

Fields of a page record: `run` is the length of the run that begins at the page; `free` is 1 if that
run is free; `back` is the length of the free run that ends at the page (0: none). `next` and `previous`
link free runs in their bin. `older` and `newer` link runs in the age queue or in a heap's cache.
`dirty` is the number of committed pages of the free run. model/parts/extents.py defines `extent` and
`holds`. `stamp` is the clock when the run joined the age queue. Only the records of pages below
`top` are valid.
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE, RUN_BEST_OF, RUN_BINS
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import page_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import on_huge, touch
from heapsmith.model.parts.age import RUN_AGE, join, leave
from heapsmith.model.parts.committed import commit, commit_calls, uncommit
from heapsmith.model.parts.extents import huge_end, join_extents, release_extents, set_extent, take_extents
from heapsmith.model.parts.moments import memory_freed, run_taken
from heapsmith.model.parts.slab_questions import (
    commit_stamps,
    huge_runs_from,
    keeps_small,
    populate,
    release_goes,
    release_grown,
    run_stamp,
    spills_run,
    stamp_run,
)

NO_RUN = -1
BIN_BYTES = 4
EXACT_BINS = 32
LAST_BIN = RUN_BINS - 1


@kernel
def bin_of(pages: int) -> int:
    """Return the bin of this length: one per length up to 32 pages, then four per doubling."""
    if pages <= EXACT_BINS:
        return pages - 1
    log2 = 5
    while pages >> (log2 + 1):
        log2 += 1
    return min(LAST_BIN, EXACT_BINS + 4 * (log2 - 5) + ((pages >> (log2 - 2)) & 3))


@kernel
def leave_age_queue(state: State, first: int) -> None:
    """Take a free run with committed pages out of the age queue."""
    older, newer = int(state.pages[first]["older"]), int(state.pages[first]["newer"])
    if older >= 0:
        touch(state.listener, page_at(older), 1)
    if newer >= 0:
        touch(state.listener, page_at(newer), 1)
    leave(state.pages, state.scalars, RUN_AGE, first)
    state.aged_run_bytes -= int(state.pages[first]["dirty"]) * PAGE


@kernel
def push_run(state: State, first: int, pages: int, dirty: int) -> None:
    """Push a free run on its bin (doubly linked, LIFO) and, if dirty, on the age queue."""
    state.run_links += 1
    place = bin_of(pages)
    head = int(state.bins[place])
    touch(state.listener, page_at(first), 1)
    touch(state.listener, page_at(first + pages - 1), 1)
    touch(state.listener, layout.BINS + place * BIN_BYTES, 1)
    if head >= 0:
        touch(state.listener, page_at(head), 1)
        state.pages[head]["previous"] = first
    state.pages[first]["run"] = pages
    state.pages[first]["free"] = 1
    state.pages[first + pages - 1]["back"] = pages
    state.pages[first]["next"] = head
    state.pages[first]["previous"] = NO_RUN
    state.bins[place] = first
    state.pages[first]["dirty"] = dirty
    if dirty > 0:
        newest = int(state.scalars[RUN_AGE]["newest"])
        if newest >= 0:
            touch(state.listener, page_at(newest), 1)
        stamp_run(state, first)
        join(state.pages, state.scalars, RUN_AGE, first)
        state.aged_run_bytes += dirty * PAGE


@kernel
def unlink_run(state: State, first: int) -> int:
    """Take a free run out of its bin and the age queue; return its length (`dirty` stays valid)."""
    state.run_links += 1
    pages = int(state.pages[first]["run"])
    after = int(state.pages[first]["next"])
    before = int(state.pages[first]["previous"])
    touch(state.listener, page_at(first), 1)
    touch(state.listener, page_at(first + pages - 1), 1)
    touch(state.listener, layout.BINS + bin_of(pages) * BIN_BYTES, 1)
    if after >= 0:
        touch(state.listener, page_at(after), 1)
        state.pages[after]["previous"] = before
    if before >= 0:
        touch(state.listener, page_at(before), 1)
        state.pages[before]["next"] = after
    else:
        state.bins[bin_of(pages)] = after
    state.pages[first]["free"] = 0
    state.pages[first + pages - 1]["back"] = 0
    if state.pages[first]["dirty"] > 0:
        leave_age_queue(state, first)
    return pages


@kernel
def best_of_bin(state: State, first: int, pages: int) -> int:
    """Return the shortest sufficient run of the first of a bin (of equals the first), or NO_RUN."""
    best = NO_RUN
    for _ in range(RUN_BEST_OF):
        if first < 0:
            break
        touch(state.listener, page_at(first), 0)
        length = int(state.pages[first]["run"])
        if length == pages:
            return first
        if length > pages and (best < 0 or length < state.pages[best]["run"]):
            best = first
        first = int(state.pages[first]["next"])
    return best


@kernel
def find_run(state: State, pages: int) -> int:
    """Return the best run of the bin of this length or of the next bin with a run, or NO_RUN."""
    place = bin_of(pages)
    best = best_of_bin(state, int(state.bins[place]), pages)
    touch(state.listener, layout.BINS + place * BIN_BYTES, 0)
    while best < 0 and place < LAST_BIN:
        place += 1
        if state.bins[place] >= 0:
            touch(state.listener, layout.BINS + place * BIN_BYTES, 0)
        best = best_of_bin(state, int(state.bins[place]), pages)
    if best < 0:
        last = last_free(state)
        if last < state.top and state.pages[last]["run"] >= pages:
            best = last
    return best


@kernel
def last_free(state: State) -> int:
    """Return the first page of the free run that ends at the top; the top if there is none."""
    top = state.top
    if top > 0:
        touch(state.listener, page_at(top - 1), 0)
    return top - int(state.pages[top - 1]["back"]) if top > 0 else 0


@kernel
def committed_end(state: State, top: int) -> int:
    """Return the end of the committed pages for this top, apart from those of free runs."""
    if top > huge_runs_from(state):
        return huge_end(top)
    step = state.commit_step // PAGE
    return (top + step - 1) & -step


@kernel
def raise_top(state: State, top: int) -> None:
    """Raise the top, by whole huge pages or batches if asked for; `full`: the page records may be too few."""
    begin, end = committed_end(state, state.top), committed_end(state, top)
    commit(state, (end - begin) * PAGE)
    if state.huge_runs == 1:
        ahead = max(huge_runs_from(state), huge_end(state.top))
        if end > ahead:
            on_huge(state.listener, layout.RUNS + ahead * PAGE, (end - ahead) * PAGE)
    populate(state, layout.RUNS + begin * PAGE, (end - begin) * PAGE)
    if top > state.writable:
        first, step = state.writable, state.run_step_pages
        state.writable = min((top + step - 1) & -step, state.run_span_pages)
        pages = state.writable - first
        state.memory_calls += 1 + commit_calls(first, pages, layout.PAGE_BYTES)
        commit_stamps(state, first, pages)
        is_huge = state.huge_runs == 1 and state.writable > huge_runs_from(state)
        state.memory_calls += int(is_huge or keeps_small(state))
    state.top = top
    if top > state.page_room:
        state.full = 1


@kernel
def hand_out(state: State, pages: int, committed: int) -> None:
    """Hand out pages of a free run, some of them committed.

    The run budget grows by the other pages, which had gone back to the OS.
    """
    state.clean = int(committed == 0 and state.release_lazily == 0)
    size = (pages - committed) * PAGE
    commit(state, size)
    state.run_budget_bytes = release_grown(state, state.run_budget_bytes, size)


@kernel
def split_run(state: State, first: int, pages: int) -> None:
    """Take the low `pages` out of a free run and push the rest, if any, on its bin."""
    run_taken(state, first, pages)
    length = unlink_run(state, first)
    dirty = int(state.pages[first]["dirty"])
    committed = take_extents(state, first, pages)
    hand_out(state, pages, committed)
    if length > pages:
        push_run(state, first + pages, length - pages, dirty - committed)


@kernel
def grow_run(state: State, first: int, end: int) -> bool:
    """Extend the last free run, or the top, from `first` to `end`; False if the span is full."""
    if end > state.run_span_pages:
        return False
    state.clean = 1
    if first < state.top:
        run_taken(state, first, state.top - first)
        hand_out(state, unlink_run(state, first), int(state.pages[first]["dirty"]))
    raise_top(state, end)
    return True


@kernel
def find_or_spill(state: State, heap: int, pages: int) -> int:
    """Return a free run for `pages`, or NO_RUN; before that the cache of the heap (-1: none) has no run any more."""
    first = find_run(state, pages)
    if first < 0 and heap >= 0 and spills_runs(state, heap):
        first = find_run(state, pages)
    return first


@kernel
def spills_runs(state: State, heap: int) -> bool:
    """Free all runs of the heap's cache; return whether there were any."""
    spills = False
    while spills_run(state, heap):
        spills = True
    return spills


@kernel
def allocate_run(state: State, heap: int, pages: int) -> int:
    """Return the first page of a run of `pages` for a thread of `heap` (-1: none); NO_RUN if the run span is full."""
    touch(state.listener, layout.LARGE_LOCK, 1)
    state.locks_run_take += 1
    first = find_or_spill(state, heap, pages)
    reused = first >= 0
    if reused:
        split_run(state, first, pages)
        state.run_reuse += 1
    else:
        first = last_free(state)
        if not grow_run(state, first, first + pages):
            return NO_RUN
        state.run_grow += 1
    touch(state.listener, layout.TOTAL_REUSE if reused else layout.TOTAL_GROW, 1)
    touch(state.listener, page_at(first), 1)
    state.pages[first]["run"] = pages
    return first


@kernel
def free_run(state: State, first: int) -> None:
    """Merge a run with its free neighbours and push it; release the oldest that are due."""
    merge_run(state, first, 1)


@kernel
def leave_run(state: State, first: int) -> None:
    """Do `free_run` for a run whose pages are a huge block's now."""
    state.locks_run_give += 1
    merge_run(state, first, 0)


@kernel
def merge_run(state: State, first: int, holds: int) -> None:
    """Do `free_run` for a run whose pages are all committed, or all not."""
    pages = int(state.pages[first]["run"])
    dirty = pages * holds
    state.run_free += 1
    touch(state.listener, layout.LARGE_LOCK, 1)
    touch(state.listener, layout.TOTAL_FREE, 1)
    memory_freed(state, pages * PAGE)
    set_extent(state, first, pages, holds)
    if first > 0:
        touch(state.listener, page_at(first - 1), 0)
    before = int(state.pages[first - 1]["back"]) if first > 0 else 0
    if before > 0:
        join_extents(state, first)
        first -= before
        pages += unlink_run(state, first)
        dirty += int(state.pages[first]["dirty"])
    after = first + pages
    if after < state.top:
        touch(state.listener, page_at(after), 0)
    if after < state.top and state.pages[after]["free"] == 1:
        join_extents(state, after)
        pages += unlink_run(state, after)
        dirty += int(state.pages[after]["dirty"])
    push_run(state, first, pages, dirty)
    release_runs(state)


@kernel
def release_runs(state: State) -> None:
    """Release the oldest runs of the age queue that are due."""
    gone = 0
    while run_goes(state, gone):
        release_run(state, int(state.scalars[RUN_AGE]["oldest"]))
        gone += 1


@kernel
def run_goes(state: State, gone: int) -> bool:
    """Return whether the oldest run of the age queue gives its pages back; `gone` of this event did."""
    aged, budget, least = state.aged_run_bytes, state.run_budget_bytes, state.share_run_bytes
    return bool(release_goes(state, aged, budget, least, run_stamp(state, gone), gone))


@kernel
def release_run(state: State, first: int) -> None:
    """Give the pages of a free run to the OS; the run leaves the age queue and stays in its bin."""
    leave_age_queue(state, first)
    size = int(state.pages[first]["dirty"]) * PAGE
    touch(state.listener, page_at(first), 1)
    touch(state.listener, layout.TOTAL_COMMITTED, 1)
    release_extents(state, first, int(state.pages[first]["run"]))
    state.pages[first]["dirty"] = 0
    state.released_bytes += size
    uncommit(state, size)


@kernel
def extend_run(state: State, first: int, pages: int) -> bool:
    """Return whether the run at `first` could grow to `pages` pages in place."""
    end = first + int(state.pages[first]["run"])
    top = state.top
    touch(state.listener, layout.LARGE_LOCK, 1)
    state.locks_run_extend += 1
    touch(state.listener, page_at(first), 1)
    if end < top:
        touch(state.listener, page_at(end), 0)
    free = int(state.pages[end]["run"]) if end < top and state.pages[end]["free"] == 1 else 0
    if free >= first + pages - end:
        split_run(state, end, first + pages - end)
    elif end + free < top or not grow_run(state, end, first + pages):
        return False
    touch(state.listener, page_at(end), 1)
    state.pages[first]["run"] = pages
    state.run_extend += 1
    touch(state.listener, layout.TOTAL_EXTEND, 1)
    return True
