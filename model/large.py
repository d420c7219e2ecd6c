"""Large blocks: runs of pages with boundary tags and bins by length, and huge mappings; docs/machine.md section 8.

Page records, by page of the run span: `run` is the length of the run that begins there (free or not), `free` is 1 if
that run is free, `back` is the length of the free run that ends there (0: none), `next` and `prev` link free runs in
their bin, `committed` is 1 for a page the OS has given. Only pages below `top` mean anything, but for `committed`.
"""

from heapsmith.model.design import PAGE
from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.dispatch import run_goes
from heapsmith.model.store import commit

NO_RUN = -1
RUN_CODE = 1 << 60
HUGE_CODE = 1 << 61
"""A run's handle is RUN_CODE + its first page, a huge block's is HUGE_CODE + its ordinal: their address codes, too."""

EXACT_BINS = 32
LAST_BIN = 127


@kernel
def pages_for(size: int) -> int:
    """The pages of a large block of `size` bytes."""
    return max(1, (size + PAGE - 1) // PAGE)


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
def push_run(records: Records, bins: Ints, first: int, pages: int) -> None:
    """A free run becomes the head of its bin (doubly linked, LIFO) and is tagged at both ends."""
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


@kernel
def unlink_run(records: Records, bins: Ints, first: int) -> int:
    """A free run leaves its bin and loses its tags; its length."""
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
    return pages


@kernel
def find_run(records: Records, bins: Ints, pages: int) -> int:
    """The first run long enough in the bin of this length, else the head of the next bin that has one; else NO_RUN."""
    place = bin_of(pages)
    first = int(bins[place])
    while first >= 0 and records[first]["run"] < pages:
        first = int(records[first]["next"])
    while first < 0 and place < LAST_BIN:
        place += 1
        first = int(bins[place])
    return first


@kernel
def commit_pages(machine: Records, records: Records, first: int, end: int) -> None:
    """The pages `first` .. `end - 1` are handed out."""
    fresh = 0
    for page in range(first, end):
        fresh += 1 - int(records[page]["committed"])
        records[page]["committed"] = 1
    commit(machine, fresh * PAGE)


@kernel
def raise_top(machine: Records, top: int) -> None:
    """`top` moves; the caller is told when the page records may not do for another event."""
    machine[0]["top"] = top
    if top > machine[0]["page_room"]:
        machine[0]["full"] = 1


@kernel
def allocate_run(machine: Records, records: Records, bins: Ints, pages: int) -> int:
    """The first page of a run of `pages`; NO_RUN if the run span is full."""
    first = find_run(records, bins, pages)
    if first >= 0:
        length = unlink_run(records, bins, first)
        if length > pages:
            push_run(records, bins, first + pages, length - pages)
        machine[0]["run_reuse"] += 1
    else:
        first = int(machine[0]["top"])
        if first + pages > machine[0]["run_span_pages"]:
            return NO_RUN
        raise_top(machine, first + pages)
        machine[0]["run_grow"] += 1
    records[first]["run"] = pages
    commit_pages(machine, records, first, first + pages)
    return first


@kernel
def free_run(machine: Records, records: Records, bins: Ints, first: int) -> None:
    """A run is released if the policy says so, merged with its free neighbours, and given to its bin or to the top."""
    pages = int(records[first]["run"])
    machine[0]["run_free"] += 1
    if run_goes(int(machine[0]["release_code"]), pages, int(machine[0]["release_run_pages"])):
        for page in range(first, first + pages):
            records[page]["committed"] = 0
        machine[0]["releases"] += 1
        machine[0]["released_bytes"] += pages * PAGE
        machine[0]["committed"] -= pages * PAGE
    before = int(records[first - 1]["back"]) if first > 0 else 0
    if before > 0:
        first -= before
        pages += unlink_run(records, bins, first)
    if first + pages < machine[0]["top"] and records[first + pages]["free"] == 1:
        pages += unlink_run(records, bins, first + pages)
    if first + pages == machine[0]["top"]:
        machine[0]["top"] = first
    else:
        push_run(records, bins, first, pages)


@kernel
def extend_run(machine: Records, records: Records, bins: Ints, first: int, pages: int) -> bool:
    """Whether the run at `first` could be made `pages` long (more than it is) where it stands."""
    end = first + int(records[first]["run"])
    more = pages - int(records[first]["run"])
    if end == machine[0]["top"]:
        if end + more > machine[0]["run_span_pages"]:
            return False
        raise_top(machine, end + more)
    elif records[end]["free"] == 1 and records[end]["run"] >= more:
        length = unlink_run(records, bins, end)
        if length > more:
            push_run(records, bins, end + more, length - more)
    else:
        return False
    records[first]["run"] = pages
    commit_pages(machine, records, end, end + more)
    machine[0]["run_extend"] += 1
    return True


@kernel
def allocate_huge(machine: Records, pages: int) -> int:
    """The ordinal of a new mapping."""
    ordinal = int(machine[0]["huge_map"])
    machine[0]["huge_map"] = ordinal + 1
    commit(machine, pages * PAGE)
    return ordinal


@kernel
def free_huge(machine: Records, pages: int) -> None:
    """A mapping is unmapped."""
    machine[0]["huge_unmap"] += 1
    machine[0]["committed"] -= pages * PAGE


@kernel
def resize_huge(machine: Records, old: int, new: int) -> None:
    """A mapping of `old` pages is made `new` pages long."""
    if old != new:
        machine[0]["huge_remap"] += 1
        commit(machine, (new - old) * PAGE)


@kernel
def allocate_large(machine: Records, records: Records, bins: Ints, size: int, align: int) -> int:
    """The handle of a large block of `size` bytes; NO_RUN if there is no room."""
    pages = pages_for(size)
    if size > machine[0]["huge_bytes"] or align > PAGE:
        return HUGE_CODE + allocate_huge(machine, pages)
    first = allocate_run(machine, records, bins, pages)
    if first < 0:
        machine[0]["failed_runs"] += 1
        return NO_RUN
    return RUN_CODE + first


@kernel
def free_large(machine: Records, records: Records, bins: Ints, block: int, asked: int) -> None:
    """A large block of `asked` bytes is freed."""
    if block >= HUGE_CODE:
        free_huge(machine, pages_for(asked))
    else:
        free_run(machine, records, bins, block - RUN_CODE)


@kernel
def resize_large(machine: Records, records: Records, bins: Ints, block: int, asked: int, size: int) -> bool:
    """Whether a large block of `asked` bytes could be made `size` bytes where it stands (section 9)."""
    if block >= HUGE_CODE:
        if size <= machine[0]["huge_bytes"]:
            return False
        resize_huge(machine, pages_for(asked), pages_for(size))
        return True
    if size <= machine[0]["small_limit"] or size > machine[0]["huge_bytes"]:
        return False
    first = block - RUN_CODE
    held = int(records[first]["run"])
    wanted = pages_for(size)
    if wanted > held:
        return extend_run(machine, records, bins, first, wanted)
    return 2 * wanted >= held


@kernel
def large_bytes(records: Records, block: int, asked: int) -> int:
    """The bytes that a large block of `asked` bytes occupies."""
    if block >= HUGE_CODE:
        return pages_for(asked) * PAGE
    return int(records[block - RUN_CODE]["run"]) * PAGE
