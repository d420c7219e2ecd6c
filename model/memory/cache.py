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
(model/memory/lru_sets.py).
"""

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.directory import drop_elsewhere, taken_from_another
from heapsmith.model.memory.layout import APPLICATION, HEAPS, MARKS, POOL_LOCK
from heapsmith.model.memory.lru_sets import find, l1_set, push, renew, row_of, set_of, swap, use
from heapsmith.model.memory.resident import FRAME_SHIFT, PAGE_SHIFT, page_is_huge


@hit_path
def look(listener: Ints, address: int, write: int) -> None:
    """Access a line; a line that is first in its set, on a small page, costs no search or call."""
    listener[words.ACCESSES] += 1
    look_up(listener, address >> PAGE_SHIFT, write)
    look_at(listener, address >> int(listener[words.LINE_SHIFT]), write)


@hit_path
def look_up(listener: Ints, page: int, write: int) -> None:
    """Use the translation of a page."""
    first = set_of(listener, int(listener[words.ROW]), words.SMALL, page)
    if listener[first] != page << 2 | 1:
        translate(listener, page, write)


@hit_path
def look_at(listener: Ints, line: int, write: int) -> None:
    """Read a line, or write a line that is M."""
    first = l1_set(listener, int(listener[words.ROW]), line)
    if int(listener[first]) | (1 - write) != line << 1 | 1:
        access_apart(listener, line, write)


@kernel
def look_through(listener: Ints, address: int, size: int, write: int) -> None:
    """Access every line of [address, address + size), size > 0; a processor fetches ahead of a sequence.

    So at most its first line is awaited.
    """
    shift = int(listener[words.LINE_SHIFT])
    page = -1
    first, last = address >> shift, (address + size - 1) >> shift
    moved, behind, far = 0, 0, 0
    for line in range(first, last + 1):
        if line == first + 1:
            moved, behind = int(listener[words.AWAITED]), int(listener[words.L2_AWAITED])
            far = int(listener[words.LLC_AWAITED])
        listener[words.ACCESSES] += 1
        if (line << shift) >> PAGE_SHIFT != page:
            page = (line << shift) >> PAGE_SHIFT
            look_up(listener, page, write)
        access(listener, line, write)
    if last > first:
        listener[words.AWAITED], listener[words.L2_AWAITED], listener[words.LLC_AWAITED] = moved, behind, far


@kernel
def access_apart(listener: Ints, line: int, write: int) -> None:
    """Do `access` as a call, because its code is too large for each touch."""
    first = l1_set(listener, int(listener[words.ROW]), line)
    if int(listener[first + 1]) | (1 - write) == line << 1 | 1:
        swap(listener, first)
    else:
        access(listener, line, write)


@hit_path
def access(listener: Ints, line: int, write: int) -> None:
    """Use a line: L1 has it afterwards, M if written."""
    first = l1_set(listener, int(listener[words.ROW]), line)
    held = use(listener, first, int(listener[words.L1_WAYS]), line << 1 | 1)
    if held < 0:
        listener[words.L1_MISSES] += 1
        listener[words.L1_READS] += 1 - write
        held = fetch(listener, line, write)
    elif write > held & 1:
        modify_behind(listener, line)
    if write > held & 1 and listener[words.CORES] > 1:
        drop_elsewhere(listener, line)
    listener[first] = held | write


@hit_path
def fetch(listener: Ints, line: int, write: int) -> int:
    """Return the old entry of a line that L1 lacks, from L2 or beyond; a write makes it M in L2."""
    if listener[words.L2_WAYS] > 0:
        first = set_of(listener, int(listener[words.ROW]), words.L2, line)
        held = use(listener, first, int(listener[words.L2_WAYS]), line << 1 | 1)
        if held >= 0:
            listener[first] = held | write
            return held
        listener[first] = line << 1 | write
    listener[words.L2_MISSES] += 1
    transferred = listener[words.CORES] > 1 and taken_from_another(listener, line)
    mask = int(listener[words.LLC_MASK])
    row = line & mask if mask >= 0 else line % int(listener[words.LLC_SETS])  # division is slow
    first = int(listener[words.LLC_AT]) + row_of(row, int(listener[words.LLC_WAYS]))
    found = use(listener, first, int(listener[words.LLC_WAYS]), line << 1 | 1) >= 0
    if transferred:
        listener[words.TRANSFERS] += 1
        listener[words.AWAITED] += is_awaited(listener, line, write)
        return line << 1
    listener[words.L2_READS] += 1 - write
    if found:
        listener[words.L2_AWAITED] += is_awaited(listener, line, write)
    else:
        listener[words.LLC_MISSES] += 1
        listener[words.LLC_READS] += 1 - write
        listener[words.LLC_AWAITED] += is_awaited(listener, line, write)
    return line << 1


@kernel
def is_awaited(listener: Ints, line: int, write: int) -> int:
    """Return 1 if the next access waits for a line that no private level has, else 0.

    It waits for links that are read in blocks, for locks, the heads of lists and the records of slabs.
    It does not wait for lines of blocks that are written. Arrays of pointers and counters are fetched
    side by side.
    """
    address = line << int(listener[words.LINE_SHIFT])
    if address < HEAPS:
        return 1 - write
    return int(address < MARKS or POOL_LOCK <= address < APPLICATION)


@hit_path
def modify_behind(listener: Ints, line: int) -> None:
    """Mark a line M in L2, if L2 holds it, because the core's L1 made the line M."""
    first = set_of(listener, int(listener[words.ROW]), words.L2, line)
    way = find(listener, first, int(listener[words.L2_WAYS]), line << 1 | 1)
    if way < listener[words.L2_WAYS]:
        listener[first + way] = line << 1 | 1


@kernel
def translate(listener: Ints, page: int, write: int) -> None:
    """Use the translation of a page that is not first in its set."""
    row = int(listener[words.ROW])
    small = page << 2 | 1
    if listener[set_of(listener, row, words.SMALL, page) + 1] == small:
        swap(listener, set_of(listener, row, words.SMALL, page))
        return
    huge = (page >> FRAME_SHIFT) << 2 | 3
    small_ways = int(listener[words.SMALL_WAYS])
    small_at = set_of(listener, row, words.SMALL, page)
    if renew(listener, small_at, small_ways, small):
        return
    huge_ways = int(listener[words.HUGE_WAYS])
    huge_at = set_of(listener, row, words.HUGE, page >> FRAME_SHIFT)
    if listener[words.WHOLE_FRAMES] > 0 and renew(listener, huge_at, huge_ways, huge):
        return
    listener[words.TLB1_MISSES] += 1
    if is_huge_by_tlb2(listener, page, small, huge, write):
        push(listener, huge_at, huge_ways - 1, huge)
    else:
        push(listener, small_at, small_ways - 1, small)


@hit_path
def is_huge_by_tlb2(listener: Ints, page: int, small: int, huge: int, write: int) -> bool:
    """Return whether a page lies on a huge page, from the second level or the page tables."""
    ways = int(listener[words.TLB2_WAYS])
    row = int(listener[words.ROW])
    small_at = set_of(listener, row, words.TLB2, page)
    huge_at = set_of(listener, row, words.TLB2, page >> FRAME_SHIFT)
    if renew(listener, small_at, ways, small):
        return False
    if listener[words.WHOLE_FRAMES] > 0 and renew(listener, huge_at, ways, huge):
        return True
    listener[words.TLB2_MISSES] += 1
    faults = int(listener[words.FAULTS_4K] + listener[words.FAULTS_2M])
    is_huge = page_is_huge(listener, page, write)
    if listener[words.FAULTS_4K] + listener[words.FAULTS_2M] > faults and listener[words.ZEROES] == 1:
        zero(listener, page, is_huge)
    if is_huge:
        push(listener, huge_at, ways - 1, huge)
    else:
        push(listener, small_at, ways - 1, small)
    return is_huge


@kernel
def populate(listener: Ints, address: int, size: int) -> None:
    """Make the pages in [address, address + size) resident, as a call does; no TLB knows them yet."""
    small = int(listener[words.FAULTS_4K])
    for page in range(address >> PAGE_SHIFT, (address + size) >> PAGE_SHIFT):
        faults = int(listener[words.FAULTS_4K] + listener[words.FAULTS_2M])
        is_huge = page_is_huge(listener, page, 1)
        if listener[words.FAULTS_4K] + listener[words.FAULTS_2M] > faults and listener[words.ZEROES] == 1:
            zero(listener, page, is_huge)
    listener[words.POPULATED] += int(listener[words.FAULTS_4K]) - small


@kernel
def zero(listener: Ints, page: int, is_huge: bool) -> None:
    """Zero a page that became resident, as the OS does; misses of the zeroing are not counted."""
    misses, behind = int(listener[words.L1_MISSES]), int(listener[words.L2_MISSES])
    far, moved = int(listener[words.LLC_MISSES]), int(listener[words.TRANSFERS])
    awaited, near = int(listener[words.AWAITED]), int(listener[words.L2_AWAITED])
    from_memory = int(listener[words.LLC_AWAITED])
    if is_huge:
        write_page(listener, page >> FRAME_SHIFT, PAGE_SHIFT + FRAME_SHIFT)
    write_page(listener, page, PAGE_SHIFT)
    listener[words.L1_MISSES], listener[words.L2_MISSES] = misses, behind
    listener[words.LLC_MISSES], listener[words.TRANSFERS] = far, moved
    listener[words.AWAITED], listener[words.L2_AWAITED] = awaited, near
    listener[words.LLC_AWAITED] = from_memory


@kernel
def write_page(listener: Ints, number: int, shift: int) -> None:
    """Write every line of a page of 2^shift bytes without first-level translations."""
    lines = shift - int(listener[words.LINE_SHIFT])
    for line in range(number << lines, (number + 1) << lines):
        access(listener, line, 1)


@kernel
def switch_to(listener: Ints, number: int) -> None:
    """Switch to the core of this number modulo the cores: that of a processor, or of a thread if it is unknown."""
    core = number % int(listener[words.CORES_MOST])
    if core >= listener[words.CORES]:
        listener[words.FULL] = 1
        core = 0
    listener[words.ACTOR] = number
    listener[words.CORE] = core
    listener[words.ROW] = int(listener[words.CORES_AT]) + core * int(listener[words.CORE_WORDS])
