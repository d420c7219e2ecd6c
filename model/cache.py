"""Caches and TLBs: what each touch of a line hits and misses, in true LRU order; coherent between cores.

L1 and L2 are private to a core, the last level is shared; all allocate on reads and writes, and none includes or excludes
another's lines: a level sees what the one before it missed, and forgets by its own LRU alone. (Without an L2 this is
what cachegrind simulates.) Writes back are not simulated.

A line in a private level is modified (M) once its core wrote it, until another core reads it. A write to a line that is
not M here takes it out of all other cores. A line that no private level of this core holds comes out of the other core
that has it M, if there is one (a transfer; the last level then has it too), else out of the last level, else out of memory.

An entry of a level is line << 1 | M (last level: | 1), of a TLB number << 2 | huge << 1 | 1, where number counts pages of
4 KiB or 2 MiB; -1 is empty. In a set the most recently used entry is the first one, and empty ones are the last.
"""

from heapsmith.model.directory import drop_elsewhere, taken_from_another
from heapsmith.model.kernel import Ints, hit_path, kernel
from heapsmith.model.resident import page_is_huge
from heapsmith.model.sets import find, use
from heapsmith.model.touched_words import (
    ACCESSES,
    CORE,
    CORE_WORDS,
    CORES,
    CORES_AT,
    CORES_MOST,
    FULL,
    HUGE_AT,
    HUGE_MASK,
    HUGE_OFFSET,
    HUGE_WAYS,
    L1_AT,
    L1_MASK,
    L1_MISSES,
    L1_WAYS,
    L2_AT,
    L2_MASK,
    L2_MISSES,
    L2_OFFSET,
    L2_WAYS,
    LINE_SHIFT,
    LLC_AT,
    LLC_MISSES,
    LLC_SETS,
    LLC_WAYS,
    SMALL_AT,
    SMALL_MASK,
    SMALL_OFFSET,
    SMALL_WAYS,
    THREAD,
    TLB1_MISSES,
    TLB2_AT,
    TLB2_MASK,
    TLB2_MISSES,
    TLB2_OFFSET,
    TLB2_WAYS,
    TRANSFERS,
    WHOLE_FRAMES,
)

PAGE_SHIFT = 12
FRAME_SHIFT = 9
"""Pages of 4 KiB in a frame of 2 MiB."""


@hit_path
def look(touched: Ints, address: int, write: int) -> None:
    """One access within a line: what was used last in its sets costs two comparisons, all else is a call."""
    touched[ACCESSES] += 1
    look_up(touched, address >> PAGE_SHIFT)
    look_at(touched, address >> int(touched[LINE_SHIFT]), write)


@hit_path
def look_up(touched: Ints, page: int) -> None:
    """The translation of a page is used."""
    first = int(touched[SMALL_AT]) + (page & int(touched[SMALL_MASK])) * int(touched[SMALL_WAYS])
    if touched[first] != page << 2 | 1:
        translate(touched, page)


@hit_path
def look_at(touched: Ints, line: int, write: int) -> None:
    """A line is read, or written if it is M."""
    first = int(touched[L1_AT]) + (line & int(touched[L1_MASK])) * int(touched[L1_WAYS])
    if int(touched[first]) | (1 - write) != line << 1 | 1:
        access(touched, line, write)


@kernel
def look_through(touched: Ints, address: int, size: int, write: int) -> None:
    """Every line of [address, address + size), size > 0."""
    shift = int(touched[LINE_SHIFT])
    line = address >> shift
    end = ((address + size - 1) >> shift) + 1
    touched[ACCESSES] += end - line
    page = -1
    while line < end:
        if (line << shift) >> PAGE_SHIFT != page:
            page = (line << shift) >> PAGE_SHIFT
            look_up(touched, page)
        look_at(touched, line, write)
        line += 1


@kernel
def access(touched: Ints, line: int, write: int) -> None:
    """A line goes to the front of its L1 set, fetched if it was not there, made M by a write."""
    first = int(touched[L1_AT]) + (line & int(touched[L1_MASK])) * int(touched[L1_WAYS])
    held = use(touched, first, int(touched[L1_WAYS]), line << 1 | 1)
    if held < 0:
        touched[L1_MISSES] += 1
        held = fetch(touched, line)
    if write > held & 1:
        own(touched, line)
        held = line << 1 | 1
    touched[first] = held


@kernel
def fetch(touched: Ints, line: int) -> int:
    """The entry of a line that L1 lacks, out of L2 or of what is behind it."""
    if touched[L2_WAYS] > 0:
        first = int(touched[L2_AT]) + (line & int(touched[L2_MASK])) * int(touched[L2_WAYS])
        held = use(touched, first, int(touched[L2_WAYS]), line << 1 | 1)
        if held >= 0:
            touched[first] = held
            return held
        touched[first] = line << 1
    touched[L2_MISSES] += 1
    transferred = touched[CORES] > 1 and taken_from_another(touched, line)
    first = int(touched[LLC_AT]) + line % int(touched[LLC_SETS]) * int(touched[LLC_WAYS])
    found = use(touched, first, int(touched[LLC_WAYS]), line << 1 | 1) >= 0
    if transferred:
        touched[TRANSFERS] += 1
    elif not found:
        touched[LLC_MISSES] += 1
    return line << 1


@kernel
def own(touched: Ints, line: int) -> None:
    """A line of this core's L1 becomes M: no other core holds it any longer."""
    if touched[L2_WAYS] > 0:
        first = int(touched[L2_AT]) + (line & int(touched[L2_MASK])) * int(touched[L2_WAYS])
        place = find(touched, first, int(touched[L2_WAYS]), line << 1 | 1)
        if place >= 0:
            touched[place] = line << 1 | 1
    if touched[CORES] > 1:
        drop_elsewhere(touched, line)


@kernel
def translate(touched: Ints, page: int) -> None:
    """The translation of a page is used that is not the most recent of its set of small pages."""
    small = page << 2 | 1
    huge = (page >> FRAME_SHIFT) << 2 | 3
    small_at = int(touched[SMALL_AT]) + (page & int(touched[SMALL_MASK])) * int(touched[SMALL_WAYS])
    huge_at = int(touched[HUGE_AT]) + (page >> FRAME_SHIFT & int(touched[HUGE_MASK])) * int(touched[HUGE_WAYS])
    # A page lies on one kind only (model/resident.py): first look where nothing is put if it misses.
    if touched[WHOLE_FRAMES] > 0 and find(touched, huge_at, int(touched[HUGE_WAYS]), huge) >= 0:
        use(touched, huge_at, int(touched[HUGE_WAYS]), huge)
    elif find(touched, small_at, int(touched[SMALL_WAYS]), small) >= 0:
        use(touched, small_at, int(touched[SMALL_WAYS]), small)
    else:
        touched[TLB1_MISSES] += 1
        if is_huge_by_tlb2(touched, page, small, huge):
            use(touched, huge_at, int(touched[HUGE_WAYS]), huge)
        else:
            use(touched, small_at, int(touched[SMALL_WAYS]), small)


@kernel
def is_huge_by_tlb2(touched: Ints, page: int, small: int, huge: int) -> bool:
    """Whether a page lies on a huge page, out of the second level, or out of the page tables and now in it."""
    ways = int(touched[TLB2_WAYS])
    small_at = int(touched[TLB2_AT]) + (page & int(touched[TLB2_MASK])) * ways
    huge_at = int(touched[TLB2_AT]) + (page >> FRAME_SHIFT & int(touched[TLB2_MASK])) * ways
    if find(touched, small_at, ways, small) >= 0:
        use(touched, small_at, ways, small)
        return False
    is_huge = touched[WHOLE_FRAMES] > 0 and find(touched, huge_at, ways, huge) >= 0
    if not is_huge:
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
    row = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
    touched[THREAD] = thread
    touched[CORE] = core
    touched[L1_AT] = row
    touched[L2_AT] = row + int(touched[L2_OFFSET])
    touched[SMALL_AT] = row + int(touched[SMALL_OFFSET])
    touched[HUGE_AT] = row + int(touched[HUGE_OFFSET])
    touched[TLB2_AT] = row + int(touched[TLB2_OFFSET])
