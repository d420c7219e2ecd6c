"""Resident memory: the pages in memory, exact by address; page faults and bytes resident.

The page tables are a root with a word per 2 GiB, nodes with a word per frame of 2 MiB, and leaves
with a bit per page of 4 KiB. An entry of a node is leaf + 1 << 2 | WHOLE | HUGE, or 0 for nothing.
Empty nodes and leaves are used again. model/memory/touched.py makes room for them; a kernel without
room sets FULL.

As in Linux, a read of a new small page maps the shared page of zeros, and the first write faults
again. The model assumes that such a write follows. (The library's own tables are written first, or
read from its file.) The first touch of a frame for huge pages (HUGE) makes the whole frame resident
(WHOLE), unless some of its small pages are resident. A frame that gave back a part stays on small
pages until all of them are gone.
"""

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory.layout import HEAPS
from heapsmith.model.memory.sets import drop, row_of
from heapsmith.model.memory.words import (
    CORE_WORDS,
    CORES,
    CORES_AT,
    FAULTS_2M,
    FAULTS_4K,
    FULL,
    HUGE_MASK,
    HUGE_OFFSET,
    HUGE_WAYS,
    LEAF_FREE,
    LEAVES_AT,
    LEAVES_LEFT,
    LEAVES_USED,
    NODE_FREE,
    NODES_AT,
    NODES_LEFT,
    NODES_USED,
    RESIDENT_BYTES,
    RESIDENT_PEAK,
    ROOM,
    ROOT_AT,
    SMALL_MASK,
    SMALL_OFFSET,
    SMALL_WAYS,
    TLB2_MASK,
    TLB2_OFFSET,
    TLB2_WAYS,
    WHOLE_FRAMES,
)

PAGE_SHIFT, FRAME_SHIFT, NODE_SHIFT = 12, 9, 10
"""Logarithms: bytes of a page, pages of a frame, frames of a node."""
PAGE, FRAME, FRAME_PAGES, NODE_FRAMES = 1 << 12, 1 << 21, 1 << 9, 1 << 10
ROOT_WORDS = 1 << 46 - 31
NODE_WORDS = NODE_FRAMES + 1
"""The entries, and the number of nonzero entries; a free node begins with the next free node."""
WORD_BITS = 32
LEAF_WORDS = FRAME_PAGES // WORD_BITS + 1
"""The bits, and the number of set bits; a free leaf begins with the next free leaf."""
HUGE, WHOLE = 1, 2

FEW_PAGES = 64
"""Up to this many pages are searched one by one in the TLBs."""

SPARE_LEAVES, SPARE_NODES = 512, 64
"""Leaves and nodes that an event may need beyond its announced bytes for small scattered pieces."""


@kernel
def page_is_huge(touched: Ints, page: int, write: int) -> bool:
    """Walk the page tables, with a fault if needed; return whether the page lies on a huge page."""
    place = entry_for(touched, page >> FRAME_SHIFT)
    if place < 0:
        return False
    entry = int(touched[place])
    if entry & WHOLE:
        return True
    if entry == HUGE:
        touched[place] = HUGE | WHOLE
        touched[FAULTS_2M] += 1
        touched[WHOLE_FRAMES] += 1
        become_resident(touched, FRAME)
        return True
    if entry >> 2 == 0 and not put_leaf(touched, page >> FRAME_SHIFT, place, 0):
        return False
    faults = 1 if write == 1 or page >= HEAPS >> PAGE_SHIFT else 2
    fault_small(touched, leaf_at(touched, place), page & (FRAME_PAGES - 1), faults)
    return False


@kernel
def fault_small(touched: Ints, leaf: int, index: int, faults: int) -> None:
    """Make page `index` of a leaf resident, with `faults` faults, unless it is resident."""
    bit = 1 << (index & (WORD_BITS - 1))
    word = leaf + index // WORD_BITS
    if int(touched[word]) & bit == 0:
        touched[word] |= bit
        touched[leaf + LEAF_WORDS - 1] += 1
        touched[FAULTS_4K] += faults
        become_resident(touched, PAGE)


@kernel
def become_resident(touched: Ints, size: int) -> None:
    """Add `size` resident bytes."""
    touched[RESIDENT_BYTES] += size
    touched[RESIDENT_PEAK] = max(int(touched[RESIDENT_PEAK]), int(touched[RESIDENT_BYTES]))


@kernel
def become_huge(touched: Ints, address: int, size: int) -> None:
    """Put the whole frames in [address, address + size) on huge pages."""
    for frame in range((address + FRAME - 1) // FRAME, (address + size) // FRAME):
        place = entry_for(touched, frame)
        if place >= 0:
            set_entry(touched, frame, place, int(touched[place]) | HUGE)


@kernel
def leave_memory(touched: Ints, address: int, size: int) -> None:
    """Take the whole pages in [address, address + size) out of memory and all TLBs."""
    first = (address + PAGE - 1) >> PAGE_SHIFT
    end = (address + size) >> PAGE_SHIFT
    before = int(touched[RESIDENT_BYTES])
    frame = first >> FRAME_SHIFT
    while max(first, frame << FRAME_SHIFT) < end:
        node = int(touched[int(touched[ROOT_AT]) + (frame >> NODE_SHIFT)])
        if node < 0:
            frame = ((frame >> NODE_SHIFT) + 1) << NODE_SHIFT
        else:
            place = int(touched[NODES_AT]) + node * NODE_WORDS + (frame & (NODE_FRAMES - 1))
            if int(touched[place]) > HUGE:
                low = max(first - (frame << FRAME_SHIFT), 0)
                drop_pages(touched, frame, place, low, min(end - (frame << FRAME_SHIFT), FRAME_PAGES))
            frame += 1
    if touched[RESIDENT_BYTES] < before:
        forget_translations(touched, first, end)


@kernel
def drop_pages(touched: Ints, frame: int, place: int, low: int, high: int) -> None:
    """Take pages low to high - 1 of a frame with resident pages out of memory."""
    if int(touched[place]) & WHOLE:
        touched[WHOLE_FRAMES] -= 1
        if high - low == FRAME_PAGES:
            touched[RESIDENT_BYTES] -= FRAME
            set_entry(touched, frame, place, HUGE)
            return
        touched[place] = HUGE
        if not put_leaf(touched, frame, place, (1 << WORD_BITS) - 1):
            return
    leaf = leaf_at(touched, place)
    for index in range(low, high):
        bit = 1 << (index & (WORD_BITS - 1))
        word = leaf + index // WORD_BITS
        if int(touched[word]) & bit:
            touched[word] -= bit
            touched[leaf + LEAF_WORDS - 1] -= 1
            touched[RESIDENT_BYTES] -= PAGE
    if touched[leaf + LEAF_WORDS - 1] == 0:
        touched[leaf] = touched[LEAF_FREE]
        touched[LEAF_FREE] = (int(touched[place]) >> 2) - 1
        touched[LEAVES_LEFT] += 1
        set_entry(touched, frame, place, int(touched[place]) & HUGE)
        note_room(touched)


@kernel
def leaf_at(touched: Ints, place: int) -> int:
    """Return where the leaf begins that the entry at `place` names."""
    return int(touched[LEAVES_AT]) + ((int(touched[place]) >> 2) - 1) * LEAF_WORDS


@kernel
def put_leaf(touched: Ints, frame: int, place: int, bits: int) -> bool:
    """Give a frame a leaf whose words are all `bits` (0 or all ones); False without room."""
    if touched[LEAVES_LEFT] == 0:
        touched[FULL] = 1
        return False
    touched[LEAVES_LEFT] -= 1
    leaf = int(touched[LEAF_FREE])
    if leaf >= 0:
        touched[LEAF_FREE] = touched[int(touched[LEAVES_AT]) + leaf * LEAF_WORDS]
    else:
        leaf = int(touched[LEAVES_USED])
        touched[LEAVES_USED] = leaf + 1
    set_entry(touched, frame, place, (int(touched[place]) & HUGE) | (leaf + 1) << 2)
    begin = int(touched[LEAVES_AT]) + leaf * LEAF_WORDS
    for word in range(begin, begin + LEAF_WORDS - 1):
        touched[word] = bits
    touched[begin + LEAF_WORDS - 1] = FRAME_PAGES if bits != 0 else 0
    note_room(touched)
    return True


@kernel
def entry_for(touched: Ints, frame: int) -> int:
    """Return the place of a frame's entry in its node, maybe a new node; -1 without room."""
    root = int(touched[ROOT_AT]) + (frame >> NODE_SHIFT)
    node = int(touched[root])
    if node < 0:
        if touched[NODES_LEFT] == 0:
            touched[FULL] = 1
            return -1
        touched[NODES_LEFT] -= 1
        node = int(touched[NODE_FREE])
        if node >= 0:
            touched[NODE_FREE] = touched[int(touched[NODES_AT]) + node * NODE_WORDS]
        else:
            node = int(touched[NODES_USED])
            touched[NODES_USED] = node + 1
        touched[root] = node
        begin = int(touched[NODES_AT]) + node * NODE_WORDS
        for word in range(begin, begin + NODE_WORDS):
            touched[word] = 0
        note_room(touched)
    return int(touched[NODES_AT]) + node * NODE_WORDS + (frame & (NODE_FRAMES - 1))


@kernel
def set_entry(touched: Ints, frame: int, place: int, entry: int) -> None:
    """Set a frame's entry at `place`; a node without entries becomes free."""
    node_at = place - (frame & (NODE_FRAMES - 1))
    named = node_at + NODE_FRAMES
    touched[named] += (1 if entry != 0 else 0) - (1 if touched[place] != 0 else 0)
    touched[place] = entry
    if touched[named] == 0:
        root = int(touched[ROOT_AT]) + (frame >> NODE_SHIFT)
        touched[node_at] = touched[NODE_FREE]
        touched[NODE_FREE] = touched[root]
        touched[root] = -1
        touched[NODES_LEFT] += 1
        note_room(touched)


@kernel
def note_room(touched: Ints) -> None:
    """Update the number of bytes that an event may touch for the first time."""
    frames = min(int(touched[LEAVES_LEFT]) - SPARE_LEAVES, (int(touched[NODES_LEFT]) - SPARE_NODES) << NODE_SHIFT)
    touched[ROOM] = frames * FRAME


@kernel
def forget_translations(touched: Ints, first: int, end: int) -> None:
    """Drop the translations of pages `first` to `end` - 1 from all TLBs."""
    for core in range(int(touched[CORES])):
        row = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
        if end - first <= FEW_PAGES:
            forget_each(touched, row, first, end)
        else:
            sweep(touched, row, first, end)


@kernel
def forget_each(touched: Ints, row: int, first: int, end: int) -> None:
    """Do `forget_translations` for a core with a search for each page."""
    tlb2 = row + int(touched[TLB2_OFFSET])
    ways = int(touched[TLB2_WAYS])
    for page in range(first, end):
        small_at = row + int(touched[SMALL_OFFSET]) + row_of(page & int(touched[SMALL_MASK]), int(touched[SMALL_WAYS]))
        drop(touched, small_at, int(touched[SMALL_WAYS]), page << 2 | 1)
        drop(touched, tlb2 + row_of(page & int(touched[TLB2_MASK]), ways), ways, page << 2 | 1)
    for frame in range(first >> FRAME_SHIFT, ((end - 1) >> FRAME_SHIFT) + 1):
        huge_at = row + int(touched[HUGE_OFFSET]) + row_of(frame & int(touched[HUGE_MASK]), int(touched[HUGE_WAYS]))
        drop(touched, huge_at, int(touched[HUGE_WAYS]), frame << 2 | 3)
        drop(touched, tlb2 + row_of(frame & int(touched[TLB2_MASK]), ways), ways, frame << 2 | 3)


@kernel
def sweep(touched: Ints, row: int, first: int, end: int) -> None:
    """Do `forget_translations` for a core with a look at each entry."""
    small_at, huge_at, second_at = int(touched[SMALL_OFFSET]), int(touched[HUGE_OFFSET]), int(touched[TLB2_OFFSET])
    sweep_level(touched, row + small_at, int(touched[SMALL_MASK]), int(touched[SMALL_WAYS]), first, end)
    sweep_level(touched, row + huge_at, int(touched[HUGE_MASK]), int(touched[HUGE_WAYS]), first, end)
    sweep_level(touched, row + second_at, int(touched[TLB2_MASK]), int(touched[TLB2_WAYS]), first, end)


@kernel
def translates(entry: int, first: int, end: int) -> bool:
    """Return whether a TLB's entry translates a page from `first` to `end` - 1."""
    shift = FRAME_SHIFT if entry & 2 else 0
    number = entry >> 2
    return entry >= 0 and number << shift < end and (number + 1) << shift > first


@kernel
def sweep_level(touched: Ints, begin: int, mask: int, ways: int, first: int, end: int) -> None:
    """Drop a level's translations of pages `first` to `end` - 1; other entries keep their order."""
    for index in range(mask + 1):
        row = begin + row_of(index, ways)
        kept = row
        for place in range(row, row + ways):
            entry = int(touched[place])
            if not translates(entry, first, end):
                touched[kept] = entry
                kept += 1
        for place in range(kept, row + ways):
            touched[place] = -1
