"""Caches and TLBs: hits and misses of each touch of a line, in true LRU order, with coherence.

L1 and L2 are private to a core; all cores share the last level. All levels allocate on reads and
writes. No level includes or excludes another level: a level sees the misses of the level before it
and evicts by its own LRU order. (Without an L2, cachegrind simulates the same.) Write-backs are not
simulated.

A line in a private level is modified (M) from a write by its core until another core reads the
line. A write to a line that is not M in this core takes the line out of all other cores. A line
that this core lacks comes from the other core that has the line M (a transfer; the last level then
has the line too), otherwise from the last level, otherwise from memory.

An entry of a cache is line << 1 | M (last level: | 1). An entry of a TLB is number << 2 | huge << 1
| 1, where number counts pages of 4 KiB or 2 MiB. -1 is empty. The rows are sets
(model/memory/sets.py).
"""

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory.directory import drop_elsewhere, taken_from_another
from heapsmith.model.memory.resident import FRAME_SHIFT, PAGE_SHIFT, page_is_huge
from heapsmith.model.memory.sets import find, l1_set, l2_set, push, row_of, use
from heapsmith.model.memory.words import (
    ACCESSES,
    CORE,
    CORE_WORDS,
    CORES,
    CORES_AT,
    CORES_MOST,
    FAULTS_2M,
    FAULTS_4K,
    FULL,
    HUGE_MASK,
    HUGE_OFFSET,
    HUGE_WAYS,
    L1_MISSES,
    L1_WAYS,
    L2_MISSES,
    L2_WAYS,
    LINE_SHIFT,
    LLC_AT,
    LLC_MASK,
    LLC_MISSES,
    LLC_SETS,
    LLC_WAYS,
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
    ZEROES,
)


@hit_path
def look(touched: Ints, address: int, write: int) -> None:
    """Access a line; a line that is first in its set, on a small page, costs no search or call."""
    touched[ACCESSES] += 1
    look_up(touched, address >> PAGE_SHIFT, write)
    look_at(touched, address >> int(touched[LINE_SHIFT]), write)


@hit_path
def look_up(touched: Ints, page: int, write: int) -> None:
    """Use the translation of a page."""
    first = (
        int(touched[ROW])
        + int(touched[SMALL_OFFSET])
        + row_of(page & int(touched[SMALL_MASK]), int(touched[SMALL_WAYS]))
    )
    if touched[first] != page << 2 | 1:
        translate(touched, page, write)


@hit_path
def look_at(touched: Ints, line: int, write: int) -> None:
    """Read a line, or write a line that is M."""
    first = l1_set(touched, int(touched[ROW]), line)
    if int(touched[first]) | (1 - write) != line << 1 | 1:
        access_apart(touched, line, write)


@kernel
def look_through(touched: Ints, address: int, size: int, write: int) -> None:
    """Access every line of [address, address + size), size > 0."""
    shift = int(touched[LINE_SHIFT])
    page = -1
    for line in range(address >> shift, ((address + size - 1) >> shift) + 1):
        touched[ACCESSES] += 1
        if (line << shift) >> PAGE_SHIFT != page:
            page = (line << shift) >> PAGE_SHIFT
            look_up(touched, page, write)
        access(touched, line, write)


@kernel
def access_apart(touched: Ints, line: int, write: int) -> None:
    """Do `access` as a call, because its code is too large for each touch."""
    access(touched, line, write)


@hit_path
def access(touched: Ints, line: int, write: int) -> None:
    """Use a line: L1 has it afterwards, M if written."""
    first = l1_set(touched, int(touched[ROW]), line)
    held = use(touched, first, int(touched[L1_WAYS]), line << 1 | 1)
    if held < 0:
        touched[L1_MISSES] += 1
        held = fetch(touched, line, write)
    elif write > held & 1:
        modify_behind(touched, line)
    if write > held & 1 and touched[CORES] > 1:
        drop_elsewhere(touched, line)
    touched[first] = held | write


@hit_path
def fetch(touched: Ints, line: int, write: int) -> int:
    """Return the old entry of a line that L1 lacks, from L2 or beyond; a write makes it M in L2."""
    if touched[L2_WAYS] > 0:
        first = l2_set(touched, int(touched[ROW]), line)
        held = use(touched, first, int(touched[L2_WAYS]), line << 1 | 1)
        if held >= 0:
            touched[first] = held | write
            return held
        touched[first] = line << 1 | write
    touched[L2_MISSES] += 1
    transferred = touched[CORES] > 1 and taken_from_another(touched, line)
    mask = int(touched[LLC_MASK])
    row = line & mask if mask >= 0 else line % int(touched[LLC_SETS])  # division is slow
    first = int(touched[LLC_AT]) + row_of(row, int(touched[LLC_WAYS]))
    found = use(touched, first, int(touched[LLC_WAYS]), line << 1 | 1) >= 0
    if transferred:
        touched[TRANSFERS] += 1
    elif not found:
        touched[LLC_MISSES] += 1
    return line << 1


@hit_path
def modify_behind(touched: Ints, line: int) -> None:
    """Mark a line M in L2, if L2 holds it, because the core's L1 made the line M."""
    first = l2_set(touched, int(touched[ROW]), line)
    way = find(touched, first, int(touched[L2_WAYS]), line << 1 | 1)
    if way < touched[L2_WAYS]:
        touched[first + way] = line << 1 | 1


@kernel
def translate(touched: Ints, page: int, write: int) -> None:
    """Use the translation of a page that is not first in its set."""
    row = int(touched[ROW])
    small = page << 2 | 1
    huge = (page >> FRAME_SHIFT) << 2 | 3
    small_ways = int(touched[SMALL_WAYS])
    small_at = row + int(touched[SMALL_OFFSET]) + row_of(page & int(touched[SMALL_MASK]), small_ways)
    way = find(touched, small_at, small_ways, small)
    if way < small_ways:
        push(touched, small_at, way, small)
        return
    huge_ways = int(touched[HUGE_WAYS])
    huge_at = row + int(touched[HUGE_OFFSET]) + row_of(page >> FRAME_SHIFT & int(touched[HUGE_MASK]), huge_ways)
    if touched[WHOLE_FRAMES] > 0:
        way = find(touched, huge_at, huge_ways, huge)
        if way < huge_ways:
            push(touched, huge_at, way, huge)
            return
    touched[TLB1_MISSES] += 1
    if is_huge_by_tlb2(touched, page, small, huge, write):
        push(touched, huge_at, huge_ways - 1, huge)
    else:
        push(touched, small_at, small_ways - 1, small)


@hit_path
def is_huge_by_tlb2(touched: Ints, page: int, small: int, huge: int, write: int) -> bool:
    """Return whether a page lies on a huge page, from the second level or the page tables."""
    ways = int(touched[TLB2_WAYS])
    tlb_at = int(touched[ROW]) + int(touched[TLB2_OFFSET])
    small_at = tlb_at + row_of(page & int(touched[TLB2_MASK]), ways)
    huge_at = tlb_at + row_of(page >> FRAME_SHIFT & int(touched[TLB2_MASK]), ways)
    way = find(touched, small_at, ways, small)
    if way < ways:
        push(touched, small_at, way, small)
        return False
    if touched[WHOLE_FRAMES] > 0:
        way = find(touched, huge_at, ways, huge)
        if way < ways:
            push(touched, huge_at, way, huge)
            return True
    touched[TLB2_MISSES] += 1
    faults = int(touched[FAULTS_4K] + touched[FAULTS_2M])
    is_huge = page_is_huge(touched, page, write)
    if touched[FAULTS_4K] + touched[FAULTS_2M] > faults and touched[ZEROES] == 1:
        zero(touched, page, is_huge)
    if is_huge:
        push(touched, huge_at, ways - 1, huge)
    else:
        push(touched, small_at, ways - 1, small)
    return is_huge


@kernel
def zero(touched: Ints, page: int, is_huge: bool) -> None:
    """Zero a page that became resident, as the OS does; misses of the zeroing are not counted."""
    misses, behind = int(touched[L1_MISSES]), int(touched[L2_MISSES])
    far, moved = int(touched[LLC_MISSES]), int(touched[TRANSFERS])
    if is_huge:
        write_page(touched, page >> FRAME_SHIFT, PAGE_SHIFT + FRAME_SHIFT)
    write_page(touched, page, PAGE_SHIFT)
    touched[L1_MISSES], touched[L2_MISSES] = misses, behind
    touched[LLC_MISSES], touched[TRANSFERS] = far, moved


@kernel
def write_page(touched: Ints, number: int, shift: int) -> None:
    """Write every line of a page of 2^shift bytes without first-level translations."""
    lines = shift - int(touched[LINE_SHIFT])
    for line in range(number << lines, (number + 1) << lines):
        access(touched, line, 1)


@kernel
def switch_to(touched: Ints, thread: int) -> None:
    """Switch to the core of a thread: threads are dealt to the cores in turn."""
    core = thread % int(touched[CORES_MOST])
    if core >= touched[CORES]:
        touched[FULL] = 1
        core = 0
    touched[THREAD] = thread
    touched[CORE] = core
    touched[ROW] = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
