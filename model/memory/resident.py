"""Resident memory: which pages have been touched and not gone back, exact by address; page faults and bytes resident.

The page tables are a root with a word per 2 GiB, nodes with a word per frame of 2 MiB in it, and leaves with a bit per
page of 4 KiB. An entry of a node is leaf + 1 << 2 | WHOLE | HUGE, 0 for nothing. Nodes and leaves that name nothing are
used again. A kernel makes no room: model/memory/touched.py does, and what finds none sets FULL.

As in Linux, a small page of blocks that is read first gets the zeros that all share, and another fault when it is
written, which is taken to follow (the library's own tables are written first, or read from its file). A first touch in
a frame that is to lie on huge pages (HUGE) makes it resident as a whole (WHOLE) unless small pages of it are, and a
frame of which a part goes back is on small pages until all of it is gone.
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
"""Bytes of a page, pages of a frame, frames of a node: logarithms."""
PAGE, FRAME, FRAME_PAGES, NODE_FRAMES = 1 << 12, 1 << 21, 1 << 9, 1 << 10
ROOT_WORDS = 1 << 46 - 31
NODE_WORDS = NODE_FRAMES + 1
"""The entries, and how many are not 0; a free node's first word is the next free one."""
WORD_BITS = 32
LEAF_WORDS = FRAME_PAGES // WORD_BITS + 1
"""The bits, and how many are set; a free leaf's first word is the next free one."""
HUGE, WHOLE = 1, 2

FEW_PAGES = 64
"""Up to so many pages are looked for in the TLBs one by one."""

SPARE_LEAVES, SPARE_NODES = 512, 64
"""What one event may need besides those for the bytes that it announces: it touches small things all over."""


@kernel
def page_is_huge(touched: Ints, page: int, write: int) -> bool:
    """The page tables are walked, a fault makes the page resident if it is not; whether it lies on a huge page."""
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
    """Page `index` of the leaf at this place becomes resident if it is not, in so many faults."""
    bit = 1 << (index & (WORD_BITS - 1))
    word = leaf + index // WORD_BITS
    if int(touched[word]) & bit == 0:
        touched[word] |= bit
        touched[leaf + LEAF_WORDS - 1] += 1
        touched[FAULTS_4K] += faults
        become_resident(touched, PAGE)


@kernel
def become_resident(touched: Ints, size: int) -> None:
    """So many bytes more are resident."""
    touched[RESIDENT_BYTES] += size
    touched[RESIDENT_PEAK] = max(int(touched[RESIDENT_PEAK]), int(touched[RESIDENT_BYTES]))


@kernel
def become_huge(touched: Ints, address: int, size: int) -> None:
    """The whole frames in [address, address + size) are to lie on huge pages."""
    for frame in range((address + FRAME - 1) // FRAME, (address + size) // FRAME):
        place = entry_for(touched, frame)
        if place >= 0:
            set_entry(touched, frame, place, int(touched[place]) | HUGE)


@kernel
def leave_memory(touched: Ints, address: int, size: int) -> None:
    """The whole pages in [address, address + size) are not resident, nor in any TLB."""
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
    """Pages low to high - 1 of a frame, whose entry at `place` has resident ones, are resident no longer."""
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
    """Where the leaf begins that the entry at `place` names."""
    return int(touched[LEAVES_AT]) + ((int(touched[place]) >> 2) - 1) * LEAF_WORDS


@kernel
def put_leaf(touched: Ints, frame: int, place: int, bits: int) -> bool:
    """A frame's entry at `place` gets a leaf whose words are all `bits` (0 or all ones); False if there is no room."""
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
    """The place of a frame's entry in its node, a new node if there was none; -1 if there is no room for it."""
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
    """A frame's entry at `place` changes; a node all of whose entries are 0 is free."""
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
    """How many bytes an event may touch for the first time."""
    frames = min(int(touched[LEAVES_LEFT]) - SPARE_LEAVES, (int(touched[NODES_LEFT]) - SPARE_NODES) << NODE_SHIFT)
    touched[ROOM] = frames * FRAME


@kernel
def forget_translations(touched: Ints, first: int, end: int) -> None:
    """No TLB of any core has a translation of a page from `first` to `end` - 1."""
    for core in range(int(touched[CORES])):
        row = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
        if end - first <= FEW_PAGES:
            forget_each(touched, row, first, end)
        else:
            sweep(touched, row, first, end)


@kernel
def forget_each(touched: Ints, row: int, first: int, end: int) -> None:
    """`forget_translations` of one core, looking for each page."""
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
    """`forget_translations` of one core, looking at each entry."""
    small_at, huge_at, second_at = int(touched[SMALL_OFFSET]), int(touched[HUGE_OFFSET]), int(touched[TLB2_OFFSET])
    sweep_level(touched, row + small_at, int(touched[SMALL_MASK]), int(touched[SMALL_WAYS]), first, end)
    sweep_level(touched, row + huge_at, int(touched[HUGE_MASK]), int(touched[HUGE_WAYS]), first, end)
    sweep_level(touched, row + second_at, int(touched[TLB2_MASK]), int(touched[TLB2_WAYS]), first, end)


@kernel
def translates(entry: int, first: int, end: int) -> bool:
    """Whether an entry of a TLB translates a page from `first` to `end` - 1."""
    shift = FRAME_SHIFT if entry & 2 else 0
    number = entry >> 2
    return entry >= 0 and number << shift < end and (number + 1) << shift > first


@kernel
def sweep_level(touched: Ints, begin: int, mask: int, ways: int, first: int, end: int) -> None:
    """The entries of a level that translate a page from `first` to `end` - 1 leave it; the others keep their order."""
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
