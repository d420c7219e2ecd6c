"""Runs of pages: boundary tags, bins by length, an age queue of the committed ones; docs/machine.md section 8.

Page records, by page of the run span: `run` is the length of the run that begins there (free or not), `free` is 1 if
that run is free, `back` is the length of the free run that ends there (0: none), `next` and `prev` link free runs in
their bin, `older` and `newer` in the age queue (or runs in a heap's cache), `dirty` counts the free run's committed
pages, `committed` is 1 for a page the OS has given. Only pages below `top` mean anything, but for `committed`.
"""

from heapsmith.model.age import join, leave
from heapsmith.model.design import HUGE_PAGE, PAGE, RUN_BEST_OF, RUN_BINS
from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.dispatch import release_goes, release_grown
from heapsmith.model.store import commit

NO_RUN = -1
EXACT_BINS = 32
LAST_BIN = RUN_BINS - 1

HUGE_PAGES = HUGE_PAGE // PAGE
"""Pages of a transparent huge page."""


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
def leave_age_queue(machine: Records, records: Records, first: int) -> None:
    """A free run with committed pages leaves the age queue of runs."""
    leave(records, first)
    if machine[0]["oldest_run"] == first:
        machine[0]["oldest_run"] = records[first]["newer"]
    if machine[0]["newest_run"] == first:
        machine[0]["newest_run"] = records[first]["older"]
    machine[0]["aged_run_bytes"] -= int(records[first]["dirty"]) * PAGE


@kernel
def push_run(machine: Records, records: Records, bins: Ints, first: int, pages: int, dirty: int) -> None:
    """A free run becomes the head of its bin (doubly linked, LIFO), tagged at both ends; the newest if it is dirty."""
    machine[0]["run_links"] += 1
    place = bin_of(pages)
    head = int(bins[place])
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
        join(records, int(machine[0]["newest_run"]), first)
        machine[0]["newest_run"] = first
        if machine[0]["oldest_run"] < 0:
            machine[0]["oldest_run"] = first
        machine[0]["aged_run_bytes"] += dirty * PAGE


@kernel
def unlink_run(machine: Records, records: Records, bins: Ints, first: int) -> int:
    """A free run leaves its bin and the age queue and loses its tags; its length (`dirty` stays to be read)."""
    machine[0]["run_links"] += 1
    pages = int(records[first]["run"])
    after = int(records[first]["next"])
    before = int(records[first]["prev"])
    if after >= 0:
        records[after]["prev"] = before
    if before >= 0:
        records[before]["next"] = after
    else:
        bins[bin_of(pages)] = after
    records[first]["free"] = 0
    records[first + pages - 1]["back"] = 0
    if records[first]["dirty"] > 0:
        leave_age_queue(machine, records, first)
    return pages


@kernel
def best_of_bin(records: Records, first: int, pages: int) -> int:
    """Of the first runs of a bin, from `first` on, the shortest that will do, of equals the first; else NO_RUN."""
    best = NO_RUN
    for _ in range(RUN_BEST_OF):
        if first < 0:
            break
        length = int(records[first]["run"])
        if length == pages:
            return first
        if length > pages and (best < 0 or length < records[best]["run"]):
            best = first
        first = int(records[first]["next"])
    return best


@kernel
def find_run(machine: Records, records: Records, bins: Ints, pages: int) -> int:
    """The best run of the bin of this length, else of the next bin that has one; else NO_RUN."""
    place = bin_of(pages)
    best = best_of_bin(records, int(bins[place]), pages)
    while best < 0 and place < LAST_BIN:
        place += 1
        best = best_of_bin(records, int(bins[place]), pages)
    if best < 0:
        last = last_free(machine, records)
        if last < machine[0]["top"] and records[last]["run"] >= pages:
            best = last
    return best


@kernel
def last_free(machine: Records, records: Records) -> int:
    """The first page of the free run that ends at the top; the top if there is none."""
    top = int(machine[0]["top"])
    return top - int(records[top - 1]["back"]) if top > 0 else 0


@kernel
def commit_pages(machine: Records, records: Records, first: int, end: int) -> int:
    """The pages `first` .. `end - 1` are committed; the number of those that were not before."""
    fresh = 0
    for page in range(first, end):
        fresh += 1 - int(records[page]["committed"])
        records[page]["committed"] = 1
    commit(machine, fresh * PAGE)
    return fresh


@kernel
def huge_end(page: int) -> int:
    """The end, in pages, of the huge page that the pages below `page` reach into."""
    return (page + HUGE_PAGES - 1) & -HUGE_PAGES


@kernel
def raise_top(machine: Records, records: Records, top: int) -> None:
    """`top` rises, with whole huge pages if they are asked for; the caller is told when the page records may not do
    for another event."""
    if machine[0]["thp_asked"] == 1:
        small = int(machine[0]["thp_runs_from_bytes"]) // PAGE
        commit_pages(machine, records, max(small, huge_end(int(machine[0]["top"]))), huge_end(top))
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
def split_run(machine: Records, records: Records, bins: Ints, first: int, pages: int) -> None:
    """The low `pages` of a free run leave it, committed; the rest, if any, is pushed on its bin."""
    length = unlink_run(machine, records, bins, first)
    dirty = int(records[first]["dirty"])
    fresh = commit_pages(machine, records, first, first + pages)
    machine[0]["pages_touched"] += pages if dirty < length else 0
    needed_again(machine, fresh)
    if length > pages:
        push_run(machine, records, bins, first + pages, length - pages, dirty - (pages - fresh))


@kernel
def grow_run(machine: Records, records: Records, bins: Ints, first: int, end: int) -> bool:
    """Whether the pages from `first`, the top or a free run that ends there, to the new top `end` could be had."""
    if end > machine[0]["run_span_pages"]:
        return False
    if first < machine[0]["top"]:
        length = unlink_run(machine, records, bins, first)
        needed_again(machine, length - int(records[first]["dirty"]))
    raise_top(machine, records, end)
    machine[0]["pages_touched"] += end - first
    commit_pages(machine, records, first, end)
    return True


@kernel
def allocate_run(machine: Records, records: Records, bins: Ints, pages: int) -> int:
    """The first page of a run of `pages`; NO_RUN if the run span is full."""
    first = find_run(machine, records, bins, pages)
    if first >= 0:
        split_run(machine, records, bins, first, pages)
        machine[0]["run_reuse"] += 1
    else:
        first = last_free(machine, records)
        if not grow_run(machine, records, bins, first, first + pages):
            return NO_RUN
        machine[0]["run_grow"] += 1
    records[first]["run"] = pages
    return first


@kernel
def free_run(machine: Records, records: Records, bins: Ints, first: int) -> None:
    """A run is merged with its free neighbours and given to its bin; then the oldest beyond the budget are released."""
    pages = int(records[first]["run"])
    dirty = pages
    machine[0]["run_free"] += 1
    before = int(records[first - 1]["back"]) if first > 0 else 0
    if before > 0:
        first -= before
        pages += unlink_run(machine, records, bins, first)
        dirty += int(records[first]["dirty"])
    after = first + pages
    if after < machine[0]["top"] and records[after]["free"] == 1:
        pages += unlink_run(machine, records, bins, after)
        dirty += int(records[after]["dirty"])
    push_run(machine, records, bins, first, pages, dirty)
    release = int(machine[0]["release_code"])
    while release_goes(release, int(machine[0]["aged_run_bytes"]), int(machine[0]["run_budget_bytes"])):
        release_run(machine, records, int(machine[0]["oldest_run"]))


@kernel
def release_run(machine: Records, records: Records, first: int) -> None:
    """A free run leaves the age queue and its pages go back to the OS; it stays in its bin."""
    leave_age_queue(machine, records, first)
    size = int(records[first]["dirty"]) * PAGE
    records[first]["dirty"] = 0
    machine[0]["pages_forgotten"] += records[first]["run"]
    for page in range(first, first + int(records[first]["run"])):
        records[page]["committed"] = 0
    machine[0]["releases"] += 1
    machine[0]["released_bytes"] += size
    machine[0]["committed"] -= size


@kernel
def extend_run(machine: Records, records: Records, bins: Ints, first: int, pages: int) -> bool:
    """Whether the run at `first` could be made `pages` long (more than it is) where it stands."""
    end = first + int(records[first]["run"])
    top = int(machine[0]["top"])
    free = int(records[end]["run"]) if end < top and records[end]["free"] == 1 else 0
    if free >= first + pages - end:
        split_run(machine, records, bins, end, first + pages - end)
    elif end + free < top or not grow_run(machine, records, bins, end, first + pages):
        return False
    records[first]["run"] = pages
    machine[0]["run_extend"] += 1
    return True
