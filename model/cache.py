"""Caches and TLBs: what each touch of a line hits and misses, in true LRU order; coherent between cores.

L1 and L2 are private to a core, the last level is shared; all allocate on reads and writes, and none includes or
excludes another's lines: a level sees what the one before it missed, and forgets by its own LRU alone. (Without an L2
this is what cachegrind simulates.) Writes back are not simulated.

A line in a private level is modified (M) once its core wrote it, until another core reads it. A write to a line that is
not M here takes it out of all other cores. A line that no private level of this core holds comes out of the other core
that has it M, if there is one (a transfer; the last level then has it too), else out of the last level, else out of
memory.

An entry of a level is line << 1 | M (last level: | 1), of a TLB number << 2 | huge << 1 | 1, where number counts pages
of 4 KiB or 2 MiB; -1 is empty. The first levels are stamped sets (model/sets.py), the others ordered ones. The first
level of a core and its first-level TLBs have hints: where a line, or a page, of these low bits was last found.
"""

from heapsmith.model.directory import drop_elsewhere, taken_from_another
from heapsmith.model.kernel import Ints, hit_path, kernel
from heapsmith.model.resident import FRAME_SHIFT, PAGE_SHIFT, page_is_huge
from heapsmith.model.sets import find, find_stamped, oldest, put, stamp, to_front, use
from heapsmith.model.touched_words import (
    ACCESSES,
    CORE,
    CORE_WORDS,
    CORES,
    CORES_AT,
    CORES_MOST,
    FULL,
    HUGE_MASK,
    HUGE_OFFSET,
    HUGE_WAYS,
    L1_MASK,
    L1_MISSES,
    L1_OFFSET,
    L1_WAYS,
    L2_MASK,
    L2_MISSES,
    L2_OFFSET,
    L2_WAYS,
    LINE_HINTS,
    LINE_SHIFT,
    LLC_AT,
    LLC_MASK,
    LLC_MISSES,
    LLC_SETS,
    LLC_WAYS,
    PAGE_HINTS,
    ROW,
    SMALL_MASK,
    SMALL_OFFSET,
    SMALL_WAYS,
    THREAD,
    TLB1_MISSES,
    TLB2_MASK,
    TLB2_MISSES,
    TLB2_OFFSET,
    TLB2_WAYS,
    TRANSFERS,
    WHOLE_FRAMES,
)

SPREAD = 0x4F1BBCDCBFA55
"""2^51 divided by the golden ratio, odd. The product may wrap: its bits 40 to 50 are the same."""
INDEX = (1 << 31) - 1
"""Masks what is no less than 0: an index that is known to be so is compiled without a test."""


@hit_path
def hint_of(number: int, hints: int) -> int:
    """The place of the hint of a line or page: those of aligned regions far apart must not share a few (Fibonacci)."""
    return (int(number) * SPREAD >> 40) & (hints - 1)


@hit_path
def look(touched: Ints, address: int, write: int) -> None:
    """One access within a line: what a hint finds costs no search, all else is a call."""
    now = int(touched[ACCESSES]) + 1
    touched[ACCESSES] = now
    look_up(touched, address >> PAGE_SHIFT, now)
    look_at(touched, address >> int(touched[LINE_SHIFT]), write, now)


@hit_path
def look_up(touched: Ints, page: int, now: int) -> None:
    """The translation of a page is used; bit 0 of a hint: it lies on a huge page."""
    row = int(touched[ROW]) & INDEX
    hint = int(touched[row + LINE_HINTS + hint_of(page, PAGE_HINTS)]) & INDEX
    place = row + (hint >> 1)
    if touched[place] == (page >> (hint & 1) * FRAME_SHIFT) << 2 | (hint & 1) << 1 | 1:
        stamp(touched, place, now)
    else:
        translate(touched, page, now)


@hit_path
def look_at(touched: Ints, line: int, write: int, now: int) -> None:
    """A line is read, or written if it is M."""
    row = int(touched[ROW]) & INDEX
    place = row + (int(touched[row + hint_of(line, LINE_HINTS)]) & INDEX)
    if int(touched[place]) | (1 - write) == line << 1 | 1:
        stamp(touched, place, now)
    else:
        access(touched, line, write, now)


@kernel
def look_through(touched: Ints, address: int, size: int, write: int) -> None:
    """Every line of [address, address + size), size > 0."""
    shift = int(touched[LINE_SHIFT])
    page = -1
    now = int(touched[ACCESSES])
    for line in range(address >> shift, ((address + size - 1) >> shift) + 1):
        now += 1
        if (line << shift) >> PAGE_SHIFT != page:
            page = (line << shift) >> PAGE_SHIFT
            look_up(touched, page, now)
        look_at(touched, line, write, now)
    touched[ACCESSES] = now


@kernel
def access(touched: Ints, line: int, write: int, now: int) -> None:
    """A line is used that its hint does not find, or written that is not M: in L1 afterwards, M if written."""
    row = int(touched[ROW])
    first = row + L1_OFFSET + (line & int(touched[L1_MASK])) * int(touched[L1_WAYS]) * 2
    place = find_stamped(touched, first, int(touched[L1_WAYS]), line << 1 | 1)
    if place >= 0:
        held = int(touched[place])
    else:
        touched[L1_MISSES] += 1
        place = oldest(touched, first, int(touched[L1_WAYS]))
        held = fetch(touched, line)
    if write > held & 1:
        own(touched, line)
        held = line << 1 | 1
    put(touched, place, held, now)
    touched[row + hint_of(line, LINE_HINTS)] = place - row


@hit_path
def fetch(touched: Ints, line: int) -> int:
    """The entry of a line that L1 lacks, out of L2 or of what is behind it."""
    if touched[L2_WAYS] > 0:
        first = int(touched[ROW]) + int(touched[L2_OFFSET]) + (line & int(touched[L2_MASK])) * int(touched[L2_WAYS])
        held = use(touched, first, int(touched[L2_WAYS]), line << 1 | 1)
        if held >= 0:
            touched[first] = held
            return held
        touched[first] = line << 1
    touched[L2_MISSES] += 1
    transferred = touched[CORES] > 1 and taken_from_another(touched, line)
    mask = int(touched[LLC_MASK])
    row = line & mask if mask >= 0 else line % int(touched[LLC_SETS])  # a division takes longer than the rest
    first = int(touched[LLC_AT]) + row * int(touched[LLC_WAYS])
    found = use(touched, first, int(touched[LLC_WAYS]), line << 1 | 1) >= 0
    if transferred:
        touched[TRANSFERS] += 1
    elif not found:
        touched[LLC_MISSES] += 1
    return line << 1


@hit_path
def own(touched: Ints, line: int) -> None:
    """A line of this core's L1 becomes M: no other core holds it any longer."""
    if touched[L2_WAYS] > 0:
        first = int(touched[ROW]) + int(touched[L2_OFFSET]) + (line & int(touched[L2_MASK])) * int(touched[L2_WAYS])
        place = find(touched, first, int(touched[L2_WAYS]), line << 1 | 1)
        if place >= 0:
            touched[place] = line << 1 | 1
    if touched[CORES] > 1:
        drop_elsewhere(touched, line)


@kernel
def translate(touched: Ints, page: int, now: int) -> None:
    """The translation of a page is used that its hint does not find; a page lies on pages of one size only."""
    row = int(touched[ROW])
    small = page << 2 | 1
    huge = (page >> FRAME_SHIFT) << 2 | 3
    small_set = page & int(touched[SMALL_MASK])
    huge_set = page >> FRAME_SHIFT & int(touched[HUGE_MASK])
    small_at = row + int(touched[SMALL_OFFSET]) + small_set * int(touched[SMALL_WAYS]) * 2
    huge_at = row + int(touched[HUGE_OFFSET]) + huge_set * int(touched[HUGE_WAYS]) * 2
    is_huge = False
    place = find_stamped(touched, small_at, int(touched[SMALL_WAYS]), small)
    if place < 0 and touched[WHOLE_FRAMES] > 0:
        place = find_stamped(touched, huge_at, int(touched[HUGE_WAYS]), huge)
        is_huge = place >= 0
    if place < 0:
        touched[TLB1_MISSES] += 1
        is_huge = is_huge_by_tlb2(touched, page, small, huge)
        if is_huge:
            place = oldest(touched, huge_at, int(touched[HUGE_WAYS]))
        else:
            place = oldest(touched, small_at, int(touched[SMALL_WAYS]))
    put(touched, place, huge if is_huge else small, now)
    touched[row + LINE_HINTS + hint_of(page, PAGE_HINTS)] = (place - row) << 1 | (1 if is_huge else 0)


@hit_path
def is_huge_by_tlb2(touched: Ints, page: int, small: int, huge: int) -> bool:
    """Whether a page lies on a huge page, out of the second level, or out of the page tables and now in it."""
    ways = int(touched[TLB2_WAYS])
    tlb_at = int(touched[ROW]) + int(touched[TLB2_OFFSET])
    small_at = tlb_at + (page & int(touched[TLB2_MASK])) * ways
    huge_at = tlb_at + (page >> FRAME_SHIFT & int(touched[TLB2_MASK])) * ways
    place = find(touched, small_at, ways, small)
    if place >= 0:
        to_front(touched, small_at, place)
        return False
    place = find(touched, huge_at, ways, huge) if touched[WHOLE_FRAMES] > 0 else -1
    if place >= 0:
        to_front(touched, huge_at, place)
        return True
    touched[TLB2_MISSES] += 1
    is_huge = page_is_huge(touched, page)
    if is_huge:
        use(touched, huge_at, ways, huge)
    else:
        use(touched, small_at, ways, small)
    return is_huge


@kernel
def switch_to(touched: Ints, thread: int) -> None:
    """The private levels are now those of this thread's core: threads are dealt to the cores in turn."""
    core = thread % int(touched[CORES_MOST])
    if core >= touched[CORES]:
        touched[FULL] = 1
        core = 0
    touched[THREAD] = thread
    touched[CORE] = core
    touched[ROW] = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
