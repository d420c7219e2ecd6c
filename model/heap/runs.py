"""Runs of pages: boundary tags, bins by length, an age queue of the committed ones; docs/machine.md section 8.

Page records, by page of the run span: `run` is the length of the run that begins there (free or not), `free` is 1 if
that run is free, `back` is the length of the free run that ends there (0: none), `next` and `prev` link free runs in
their bin, `older` and `newer` in the age queue (or runs in a heap's cache), `dirty` counts the free run's committed
pages, `committed` is 1 for a page the OS has given. Only pages below `top` mean anything, but for `committed`.
"""

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.constants import HUGE_PAGE, PAGE, RUN_BEST_OF, RUN_BINS
from heapsmith.model.heap.age import join, leave
from heapsmith.model.heap.slabs import commit
from heapsmith.model.memory.layout import (
    BINS,
    CONTENT,
    COUNTS,
    LARGE_LOCK,
    PAGE_BYTES,
    PAGE_ELDER,
    PAGE_NEWER,
    PAGE_NEXT,
    PAGE_PREVIOUS,
    PAGE_STATE,
    PAGES,
    RUNS,
    TOTAL_COMMITTED,
    TOTAL_EXTEND,
    TOTAL_FREE,
    TOTAL_GROW,
    TOTAL_RELEASES,
    TOTAL_REUSE,
)
from heapsmith.model.memory.touches import gone, on_huge, touch, touch_bytes
from heapsmith.model.policy.dispatch import release_goes, release_grown

NO_RUN = -1
BIN_BYTES = 4
EXACT_BINS = 32
LAST_BIN = RUN_BINS - 1

HUGE_PAGES = HUGE_PAGE // PAGE
"""Pages of a transparent huge page."""


@hit_path
def page_at(page: int) -> int:
    """Where a page's record begins."""
    return PAGES + page * PAGE_BYTES


@hit_path
def tag_lines(touched: Ints, page: int) -> None:
    """A run's length and state, in the record of its first page; or the same in that of a free run's last."""
    touch(touched, page_at(page), 1)
    touch(touched, page_at(page) + PAGE_STATE, 1)


@kernel
def record_lines(touched: Ints, page: int) -> None:
    """The whole record of the first page of a free run."""
    touch_bytes(touched, page_at(page), PAGE_BYTES, 1)


@kernel
def bin_of(pages: int) -> int:
    """The bin of free runs of this length: one per length up to 32 pages, then four per doubling."""
    if pages <= EXACT_BINS:
        return pages - 1
    log2 = 5
    while pages >> (log2 + 1):
        log2 += 1
    return min(LAST_BIN, EXACT_BINS + 4 * (log2 - 5) + ((pages >> (log2 - 2)) & 3))


@kernel
def leave_age_queue(touched: Ints, machine: Records, records: Records, first: int) -> None:
    """A free run with committed pages leaves the age queue of runs."""
    older, newer = int(records[first]["older"]), int(records[first]["newer"])
    touch(touched, page_at(first) + PAGE_NEWER, 0)
    if older >= 0:
        touch(touched, page_at(older) + PAGE_NEWER, 1)
    if newer >= 0:
        touch(touched, page_at(newer) + PAGE_ELDER, 1)
    leave(records, first)
    if machine[0]["oldest_run"] == first:
        machine[0]["oldest_run"] = records[first]["newer"]
    if machine[0]["newest_run"] == first:
        machine[0]["newest_run"] = records[first]["older"]
    machine[0]["aged_run_bytes"] -= int(records[first]["dirty"]) * PAGE


@kernel
def push_run(touched: Ints, machine: Records, records: Records, bins: Ints, first: int, pages: int, dirty: int) -> None:
    """A free run becomes the head of its bin (doubly linked, LIFO), tagged at both ends; the newest if it is dirty."""
    machine[0]["run_links"] += 1
    place = bin_of(pages)
    head = int(bins[place])
    record_lines(touched, first)
    tag_lines(touched, first + pages - 1)
    touch(touched, BINS + place * BIN_BYTES, 1)
    if head >= 0:
        touch(touched, page_at(head) + PAGE_PREVIOUS, 1)
    records[first]["run"] = pages
    records[first]["free"] = 1
    records[first + pages - 1]["back"] = pages
    records[first]["next"] = head
    records[first]["prev"] = NO_RUN
    if head >= 0:
        records[head]["prev"] = first
    bins[place] = first
    records[first]["dirty"] = dirty
    if dirty > 0:
        newest = int(machine[0]["newest_run"])
        if newest >= 0:
            touch(touched, page_at(newest) + PAGE_NEWER, 1)
        join(records, newest, first)
        machine[0]["newest_run"] = first
        if machine[0]["oldest_run"] < 0:
            machine[0]["oldest_run"] = first
        machine[0]["aged_run_bytes"] += dirty * PAGE


@kernel
def unlink_run(touched: Ints, machine: Records, records: Records, bins: Ints, first: int) -> int:
    """A free run leaves its bin and the age queue and loses its tags; its length (`dirty` stays to be read)."""
    machine[0]["run_links"] += 1
    pages = int(records[first]["run"])
    after = int(records[first]["next"])
    before = int(records[first]["prev"])
    record_lines(touched, first)
    touch(touched, page_at(first + pages - 1) + PAGE_STATE, 1)
    touch(touched, BINS + bin_of(pages) * BIN_BYTES, 1)
    if after >= 0:
        touch(touched, page_at(after) + PAGE_PREVIOUS, 1)
    if before >= 0:
        touch(touched, page_at(before) + PAGE_NEXT, 1)
    if after >= 0:
        records[after]["prev"] = before
    if before >= 0:
        records[before]["next"] = after
    else:
        bins[bin_of(pages)] = after
    records[first]["free"] = 0
    records[first + pages - 1]["back"] = 0
    if records[first]["dirty"] > 0:
        leave_age_queue(touched, machine, records, first)
    return pages


@kernel
def best_of_bin(touched: Ints, records: Records, first: int, pages: int) -> int:
    """Of the first runs of a bin, from `first` on, the shortest that will do, of equals the first; else NO_RUN."""
    best = NO_RUN
    for _ in range(RUN_BEST_OF):
        if first < 0:
            break
        touch(touched, page_at(first), 0)
        touch(touched, page_at(first) + PAGE_NEXT, 0)
        length = int(records[first]["run"])
        if length == pages:
            return first
        if length > pages and (best < 0 or length < records[best]["run"]):
            best = first
        first = int(records[first]["next"])
    return best


@kernel
def find_run(touched: Ints, machine: Records, records: Records, bins: Ints, pages: int) -> int:
    """The best run of the bin of this length, else of the next bin that has one; else NO_RUN."""
    place = bin_of(pages)
    best = best_of_bin(touched, records, int(bins[place]), pages)
    touch(touched, BINS + place * BIN_BYTES, 0)
    while best < 0 and place < LAST_BIN:
        place += 1
        if bins[place] >= 0:
            touch(touched, BINS + place * BIN_BYTES, 0)
        best = best_of_bin(touched, records, int(bins[place]), pages)
    if best < 0:
        last = last_free(touched, machine, records)
        if last < machine[0]["top"] and records[last]["run"] >= pages:
            best = last
    return best


@kernel
def last_free(touched: Ints, machine: Records, records: Records) -> int:
    """The first page of the free run that ends at the top; the top if there is none."""
    top = int(machine[0]["top"])
    if top > 0:
        touch(touched, page_at(top - 1) + PAGE_STATE, 0)
        if records[top - 1]["back"] > 0:
            touch(touched, page_at(top - 1), 0)
    return top - int(records[top - 1]["back"]) if top > 0 else 0


@kernel
def commit_pages(touched: Ints, machine: Records, records: Records, first: int, end: int) -> int:
    """The pages `first` .. `end - 1` are committed; the number of those that were not before."""
    touch_bytes(touched, CONTENT + first, end - first, 1)
    fresh = 0
    for page in range(first, end):
        fresh += 1 - int(records[page]["committed"])
        records[page]["committed"] = 1
    commit(touched, machine, fresh * PAGE)
    return fresh


@kernel
def huge_end(page: int) -> int:
    """The end, in pages, of the huge page that the pages below `page` reach into."""
    return (page + HUGE_PAGES - 1) & -HUGE_PAGES


@kernel
def raise_top(touched: Ints, machine: Records, records: Records, top: int) -> None:
    """`top` rises, with whole huge pages if they are asked for; the caller is told when the page records may not do
    for another event."""
    if machine[0]["thp_asked"] == 1:
        small = int(machine[0]["thp_runs_from_bytes"]) // PAGE
        ahead = max(small, huge_end(int(machine[0]["top"])))
        if huge_end(top) > ahead:
            on_huge(touched, RUNS + ahead * PAGE, (huge_end(top) - ahead) * PAGE)
            commit_pages(touched, machine, records, ahead, huge_end(top))
    if top > machine[0]["writable"]:
        step = int(machine[0]["run_step_pages"])
        machine[0]["writable"] = min((top + step - 1) & -step, int(machine[0]["run_span_pages"]))
        machine[0]["run_steps"] += 1
    machine[0]["top"] = top
    if top > machine[0]["page_room"]:
        machine[0]["full"] = 1


@kernel
def needed_again(machine: Records, pages: int) -> None:
    """So many pages that had gone back are handed out: the run budget grows."""
    machine[0]["run_budget_bytes"] = release_grown(
        int(machine[0]["release_code"]),
        int(machine[0]["run_budget_bytes"]),
        pages * PAGE,
        int(machine[0]["most_budget_bytes"]),
    )


@kernel
def split_run(touched: Ints, machine: Records, records: Records, bins: Ints, first: int, pages: int) -> None:
    """The low `pages` of a free run leave it, committed; the rest, if any, is pushed on its bin."""
    length = unlink_run(touched, machine, records, bins, first)
    dirty = int(records[first]["dirty"])
    fresh = commit_pages(touched, machine, records, first, first + pages)
    machine[0]["clean"] = int(fresh == pages and machine[0]["release_lazily"] == 0)
    machine[0]["pages_touched"] += pages if dirty < length else 0
    needed_again(machine, fresh)
    if length > pages:
        push_run(touched, machine, records, bins, first + pages, length - pages, dirty - (pages - fresh))


@kernel
def grow_run(touched: Ints, machine: Records, records: Records, bins: Ints, first: int, end: int) -> bool:
    """Whether the pages from `first`, the top or a free run that ends there, to the new top `end` could be had."""
    if end > machine[0]["run_span_pages"]:
        return False
    machine[0]["clean"] = 1
    if first < machine[0]["top"]:
        length = unlink_run(touched, machine, records, bins, first)
        machine[0]["clean"] = int(records[first]["dirty"] == 0 and machine[0]["release_lazily"] == 0)
        needed_again(machine, length - int(records[first]["dirty"]))
    raise_top(touched, machine, records, end)
    machine[0]["pages_touched"] += end - first
    commit_pages(touched, machine, records, first, end)
    return True


@kernel
def allocate_run(touched: Ints, machine: Records, records: Records, bins: Ints, pages: int) -> int:
    """The first page of a run of `pages`; NO_RUN if the run span is full."""
    touch(touched, LARGE_LOCK, 1)
    first = find_run(touched, machine, records, bins, pages)
    reused = first >= 0
    if reused:
        split_run(touched, machine, records, bins, first, pages)
        machine[0]["run_reuse"] += 1
    else:
        first = last_free(touched, machine, records)
        if not grow_run(touched, machine, records, bins, first, first + pages):
            return NO_RUN
        machine[0]["run_grow"] += 1
    touch(touched, COUNTS + (TOTAL_REUSE if reused else TOTAL_GROW), 1)
    tag_lines(touched, first)
    records[first]["run"] = pages
    return first


@kernel
def free_run(touched: Ints, machine: Records, records: Records, bins: Ints, first: int) -> None:
    """A run is merged with its free neighbours and given to its bin; then the oldest beyond the budget are released."""
    pages = int(records[first]["run"])
    dirty = pages
    machine[0]["run_free"] += 1
    touch(touched, LARGE_LOCK, 1)
    touch(touched, COUNTS + TOTAL_FREE, 1)
    tag_lines(touched, first)
    if first > 0:
        touch(touched, page_at(first - 1) + PAGE_STATE, 0)
    before = int(records[first - 1]["back"]) if first > 0 else 0
    if before > 0:
        touch(touched, page_at(first - 1), 0)
        first -= before
        pages += unlink_run(touched, machine, records, bins, first)
        dirty += int(records[first]["dirty"])
    after = first + pages
    if after < machine[0]["top"]:
        touch(touched, page_at(after) + PAGE_STATE, 0)
    if after < machine[0]["top"] and records[after]["free"] == 1:
        pages += unlink_run(touched, machine, records, bins, after)
        dirty += int(records[after]["dirty"])
    push_run(touched, machine, records, bins, first, pages, dirty)
    release = int(machine[0]["release_code"])
    while release_goes(release, int(machine[0]["aged_run_bytes"]), int(machine[0]["run_budget_bytes"])):
        release_run(touched, machine, records, int(machine[0]["oldest_run"]))


@kernel
def release_run(touched: Ints, machine: Records, records: Records, first: int) -> None:
    """A free run leaves the age queue and its pages go back to the OS; it stays in its bin."""
    leave_age_queue(touched, machine, records, first)
    size = int(records[first]["dirty"]) * PAGE
    record_lines(touched, first)
    touch(touched, COUNTS + TOTAL_RELEASES, 1)
    touch(touched, COUNTS + TOTAL_COMMITTED, 1)
    touch_bytes(touched, CONTENT + first, int(records[first]["run"]), 1)
    gone(touched, RUNS + first * PAGE, int(records[first]["run"]) * PAGE)
    records[first]["dirty"] = 0
    machine[0]["pages_forgotten"] += records[first]["run"]
    for page in range(first, first + int(records[first]["run"])):
        records[page]["committed"] = 0
    machine[0]["releases"] += 1
    machine[0]["released_bytes"] += size
    machine[0]["committed"] -= size


@kernel
def extend_run(touched: Ints, machine: Records, records: Records, bins: Ints, first: int, pages: int) -> bool:
    """Whether the run at `first` could be made `pages` long (more than it is) where it stands."""
    end = first + int(records[first]["run"])
    top = int(machine[0]["top"])
    touch(touched, LARGE_LOCK, 1)
    touch(touched, page_at(first), 1)
    if end < top:
        touch(touched, page_at(end) + PAGE_STATE, 0)
    free = int(records[end]["run"]) if end < top and records[end]["free"] == 1 else 0
    if free > 0:
        touch(touched, page_at(end), 0)
    if free >= first + pages - end:
        split_run(touched, machine, records, bins, end, first + pages - end)
    elif end + free < top or not grow_run(touched, machine, records, bins, end, first + pages):
        return False
    records[first]["run"] = pages
    machine[0]["run_extend"] += 1
    touch(touched, COUNTS + TOTAL_EXTEND, 1)
    return True
