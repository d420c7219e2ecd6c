"""Extents of free runs: adjacent pages in the same state; docs/machine-rooms.md, 'release'.

A page record where an extent begins or ends has `extent`, the extent's length in pages, and
`holds`: 1 if the extent is committed, 0 if not.
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import HUGE_PAGE, PAGE
from heapsmith.model.memory.layout import RUNS, TOTAL_RELEASES, page_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch

HUGE_PAGES = HUGE_PAGE // PAGE
"""Pages of a transparent huge page."""


@kernel
def set_extent(state: State, first: int, pages: int, holds: int) -> None:
    """Make an extent of these pages, with a tag at both ends."""
    last = first + pages - 1
    touch(state.listener, page_at(first), 1)
    touch(state.listener, page_at(last), 1)
    state.pages[first]["extent"] = pages
    state.pages[first]["holds"] = holds
    state.pages[last]["extent"] = pages
    state.pages[last]["holds"] = holds


@kernel
def join_extents(state: State, page: int) -> None:
    """Join the extents on both sides of the start of `page` if both are in the same state."""
    touch(state.listener, page_at(page - 1), 0)
    touch(state.listener, page_at(page), 0)
    before, behind = int(state.pages[page - 1]["extent"]), int(state.pages[page]["extent"])
    if state.pages[page - 1]["holds"] == state.pages[page]["holds"]:
        set_extent(state, page - before, before + behind, int(state.pages[page]["holds"]))


@kernel
def take_extents(state: State, first: int, pages: int) -> int:
    """Take the low pages out of a free run; return how many of the pages were committed."""
    committed, page, end = 0, first, first + pages
    while page < end:
        touch(state.listener, page_at(page), 0)
        state.run_extents += 1
        holds, behind = int(state.pages[page]["holds"]), page + int(state.pages[page]["extent"])
        committed += holds * (min(behind, end) - page)
        if behind > end:
            set_extent(state, end, behind - end, holds)
        page = behind
    return committed


@kernel
def release_extents(state: State, first: int, pages: int) -> None:
    """Give the committed extents of a free run to the OS, with one call for adjacent huge pages."""
    begin, end = first, first  # the piece so far
    page = first
    while page < first + pages:
        touch(state.listener, page_at(page), 0)
        state.run_extents += 1
        behind = page + int(state.pages[page]["extent"])
        if state.pages[page]["holds"]:
            low = max(page & -HUGE_PAGES, first)
            if low > end:
                release_piece(state, begin, end)
                begin = low
            end = min(huge_end(behind), first + pages)
            set_extent(state, page, behind - page, 0)
        if page > first:
            join_extents(state, page)
        page = behind
    release_piece(state, begin, end)


@kernel
def release_piece(state: State, first: int, end: int) -> None:
    """Give pages of a free run to the OS, if any."""
    if first == end:
        return
    touch(state.listener, TOTAL_RELEASES, 1)
    gone(state.listener, RUNS + first * PAGE, (end - first) * PAGE)
    state.releases += 1


@kernel
def huge_end(page: int) -> int:
    """Return the end, in pages, of the huge page that contains page `page` - 1."""
    return (page + HUGE_PAGES - 1) & -HUGE_PAGES
