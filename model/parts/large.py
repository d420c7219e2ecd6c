"""Large blocks: runs from a heap's cache or the bins, and huge mappings; docs/machine.md, 'large requests'."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.cold_paths import LARGE_BIRTH, LARGE_DEATH
from heapsmith.model.memory.layout import GUARDED_CODE, HUGE_CODE, RUN_CODE, page_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, moved, on_huge, takes, touch
from heapsmith.model.parts.block_questions import frees_guarded, huge_slack_lines, large_tail_lines
from heapsmith.model.parts.committed import commit, uncommit
from heapsmith.model.parts.moments import large_came, memory_freed
from heapsmith.model.parts.runs import NO_RUN, allocate_run, extend_run, free_run, leave_run
from heapsmith.model.parts.slab_questions import cached_run, huge_runs_from, keeps_huge, keeps_run, reuse_huge

GUARDED_MOVE, HELD_BACK = 3, 64
"""Hardening: system calls of a move besides mremap's (growth seldom moves: a block has room); freed
mappings whose address space is held back.
"""

HUGE_SLOTS, HUGE_SLOT_BYTES = 2048, (1 << 33) - 37 * PAGE
"""Huge blocks take slots of the model's addresses in turn; the odd size varies the cache sets."""


@kernel
def huge_at(block: int) -> int:
    """Return the model address of a huge block."""
    return layout.HUGE + (block - HUGE_CODE) % HUGE_SLOTS * HUGE_SLOT_BYTES


@kernel
def pages_for(size: int, tail_bytes: int) -> int:
    """Return the pages of a run of `size` bytes, or with no tail bytes of a huge block."""
    return max(1, (size + tail_bytes + PAGE - 1) // PAGE)


@kernel
def huge_pages(state: State, size: int) -> int:
    """Return the pages of a huge block of `size` bytes; with hardening none for no bytes."""
    return 0 if size == 0 and state.live_map == 1 else pages_for(size, 0)


@kernel
def allocate_huge(state: State, pages: int) -> int:
    """Map a huge block; return its ordinal."""
    touch(state.listener, layout.LARGE_LOCK, 1)
    state.locks_huge_take += 1
    state.clean = 1
    touch(state.listener, layout.TOTAL_MAP, 1)
    ordinal = state.huge_map
    state.huge_map = ordinal + 1
    commit_huge(state, pages)
    state.memory_calls += state.live_map * int(pages > 0)  # a block of no pages has nothing to open between its guards
    advise_huge(state, HUGE_CODE + ordinal, pages)
    return ordinal


@kernel
def commit_huge(state: State, pages: int) -> None:
    """Add the pages of huge blocks to the committed bytes, or take -pages."""
    state.huge_committed += pages * PAGE
    commit(state, pages * PAGE)


@kernel
def advise_huge(state: State, block: int, pages: int) -> None:
    """Put the mapping on huge pages if the first page of the run span is on huge pages."""
    if huge_runs_from(state) == 0:
        on_huge(state.listener, huge_at(block), pages * PAGE)


@kernel
def unmap_huge(state: State, block: int, pages: int) -> None:
    """Unmap a huge block's mapping."""
    gone(state.listener, huge_at(block), pages * PAGE)
    touch(state.listener, layout.LARGE_LOCK, 1)
    touch(state.listener, layout.TOTAL_UNMAP, 1)
    touch(state.listener, layout.TOTAL_COMMITTED, 1)
    memory_freed(state, pages * PAGE)
    if state.live_map == 1:  # its pages go at once, the address space of an older mapping with it
        state.memory_calls += int(pages > 0) + int(state.huge_unmap >= HELD_BACK) - 1
    state.huge_unmap += 1
    state.huge_committed -= pages * PAGE
    uncommit(state, pages * PAGE)


@kernel
def resize_huge(state: State, block: int, old: int, new: int) -> None:
    """Resize the mapping of a huge block from `old` to `new` pages."""
    if new < old:
        gone(state.listener, huge_at(block) + new * PAGE, (old - new) * PAGE)
    if old != new:
        advise_huge(state, block, new)
        touch(state.listener, layout.TOTAL_REMAP, 1)
        state.huge_remap += 1
        state.memory_calls += GUARDED_MOVE * state.live_map * int(new < old)
        commit_huge(state, new - old)


@kernel
def huge_block(state: State, size: int, align: int) -> int:
    """Return the handle of a huge block for `size` bytes."""
    pages = huge_pages(state, size)
    state.locks_huge_take += int(align <= PAGE)
    block = reuse_huge(state, pages) if align <= PAGE else -1
    if block < 0:
        block = HUGE_CODE + allocate_huge(state, pages)
    huge_slack_lines(state, huge_at(block) + size, pages * PAGE - size, 1)
    return block


@kernel
def allocate_large(state: State, heap: int, size: int, align: int) -> int:
    """Return the handle of a large block of `size` bytes for a thread of `heap` (-1: none).

    A full run span makes a large request a mapping; a small request gets NO_RUN.
    """
    takes(state.listener, LARGE_BIRTH)
    if (size == 0 and state.live_map == 1) or size > state.huge_bytes or align > PAGE:
        return huge_block(state, size, align)
    pages = pages_for(size, state.tail_bytes)
    state.clean = 0
    first = cached_run(state, heap, pages) if heap >= 0 else NO_RUN
    if first < 0:
        first = allocate_run(state, heap, pages)
    if first >= 0:
        large_tail_lines(state, layout.RUNS + first * PAGE, int(state.pages[first]["run"]), size, 1)
        return RUN_CODE + first
    if size > state.small_limit:
        return huge_block(state, size, 1)
    state.failed_runs += 1
    return NO_RUN


@kernel
def free_large(state: State, heap: int, block: int, asked: int) -> None:
    """Free a large block of `asked` bytes by a thread of `heap` (-1: none)."""
    takes(state.listener, LARGE_DEATH)
    if frees_guarded(state, block, asked):
        return
    if block >= HUGE_CODE:
        pages = huge_pages(state, asked)
        huge_slack_lines(state, huge_at(block) + asked, pages * PAGE - asked, 0)
        state.locks_huge_give += 1
        if not keeps_huge(state, block, pages):
            unmap_huge(state, block, pages)
        return
    state.runs_freed += 1
    first = block - RUN_CODE
    touch(state.listener, page_at(first), 1)
    large_tail_lines(state, layout.RUNS + first * PAGE, int(state.pages[first]["run"]), asked, 0)
    if heap < 0 or not keeps_run(state, heap, first):
        state.locks_run_give += 1
        free_run(state, first)


@kernel
def resize_large(state: State, block: int, asked: int, size: int) -> bool:
    """Return whether a large block of `asked` bytes could be resized in place (docs/machine.md, 'realloc')."""
    state.large_resizes += 1
    if block >= GUARDED_CODE:
        return False
    if block >= HUGE_CODE:
        touch(state.listener, layout.LARGE_LOCK, 1)
        old, new = huge_pages(state, asked), huge_pages(state, size)
        if size <= state.huge_bytes and size < state.remap_bytes:
            return False
        state.locks_huge_resize += 1 + int(old > 0)
        if old == 0:
            return False
        resize_huge(state, block, old, new)
        huge_slack_lines(state, huge_at(block) + size, new * PAGE - size, 1)
        return True
    wanted = pages_for(size, state.tail_bytes)
    first = block - RUN_CODE
    held = int(state.pages[first]["run"])
    large_tail_lines(state, layout.RUNS + first * PAGE, held, asked, 0)
    if size <= state.small_limit or size > state.huge_bytes:
        return False
    touch(state.listener, page_at(first), 0)
    fits = extend_run(state, first, wanted) if wanted > held else 2 * wanted >= held
    if fits:
        large_tail_lines(state, layout.RUNS + first * PAGE, max(wanted, held), size, 1)
    return fits


@kernel
def run_becomes_huge(state: State, block: int, size: int) -> int:
    """Return the huge block that a run became, which must move to grow (docs/machine.md, 'realloc'), or NO_RUN."""
    if block >= HUGE_CODE:
        return NO_RUN
    first, pages = block - RUN_CODE, huge_pages(state, size)
    held = int(state.pages[first]["run"])
    if size < state.remap_bytes or pages <= held:
        return NO_RUN
    uncommit(state, held * PAGE)
    grown = HUGE_CODE + allocate_huge(state, pages)
    moved(state.listener, layout.RUNS + first * PAGE, huge_at(grown), held * PAGE)
    state.memory_calls += 1
    leave_run(state, first)
    return grown


@kernel
def large_bytes(state: State, block: int, asked: int) -> int:
    """Return the bytes that a large block of `asked` bytes occupies."""
    if block >= HUGE_CODE:
        return huge_pages(state, asked) * PAGE
    return int(state.pages[block - RUN_CODE]["run"]) * PAGE


@kernel
def large_block(state: State, heap: int, size: int, align: int) -> int:
    """Allocate as allocate_large, and tell the rooms of the block."""
    block = allocate_large(state, heap, size, align)
    if block >= 0:
        large_came(state, heap)
    return block


@kernel
def resized(state: State, heap: int, block: int, asked: int, size: int) -> int:
    """Return the large block that has the new size, and tell the rooms of it; NO_RUN if the block must move."""
    found = block if resize_large(state, block, asked, size) else run_becomes_huge(state, block, size)
    if found >= 0:
        large_came(state, heap)
    return found
