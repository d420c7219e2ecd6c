"""Resident memory: the pages in memory, exact by address; page faults and bytes resident.

The page tables are a root with a word per 2 GiB, nodes with a word per frame of 2 MiB, and leaves
with a bit per page of 4 KiB. An entry of a node is leaf + 1 << 2 | WHOLE | HUGE, or 0 for nothing.
Empty nodes and leaves are used again. model/memory/listener.py makes room for them; a kernel without
room sets FULL.

As in Linux, a read of a new small page maps the shared page of zeros, and the first write faults
again. The model assumes that such a write follows. (The library's own tables are written first, or
read from its file.) The first touch of a frame for huge pages (HUGE) makes the whole frame resident
(WHOLE), unless some of its small pages are resident. A frame that gave back a part stays on small
pages until all of them are gone.
"""

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.layout import APPLICATION, HEAPS, REGION
from heapsmith.model.memory.lru_sets import drop, row_of, set_of

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
USED, FREE, LEFT = 1, 2, 3
"""The words of a pool behind that of its table (words.NODES_AT, words.LEAVES_AT)."""

FEW_PAGES = 64
"""Up to this many pages are searched one by one in the TLBs."""

SPARE_LEAVES, SPARE_NODES = 512, 64
"""Leaves and nodes that an event may need beyond its announced bytes for small scattered pieces."""


@kernel
def page_is_huge(listener: Ints, page: int, write: int) -> bool:
    """Walk the page tables, with a fault if needed; return whether the page lies on a huge page.

    What a replay has beside its blocks is resident from the start.
    """
    if APPLICATION <= page << PAGE_SHIFT < APPLICATION + REGION:
        return False
    place = entry_for(listener, page >> FRAME_SHIFT)
    if place < 0:
        return False
    entry = int(listener[place])
    if entry & WHOLE:
        return True
    if entry == HUGE:
        listener[place] = HUGE | WHOLE
        listener[words.FAULTS_2M] += 1
        listener[words.WHOLE_FRAMES] += 1
        become_resident(listener, FRAME)
        return True
    if entry >> 2 == 0:
        listener[words.TABLES] += 1
        if not put_leaf(listener, page >> FRAME_SHIFT, place, 0):
            return False
    faults = 1 if write == 1 or page >= HEAPS >> PAGE_SHIFT else 2
    fault_small(listener, leaf_at(listener, place), page & (FRAME_PAGES - 1), faults)
    return False


@kernel
def fault_small(listener: Ints, leaf: int, index: int, faults: int) -> None:
    """Make page `index` of a leaf resident, with `faults` faults, unless it is resident."""
    bit = 1 << (index & (WORD_BITS - 1))
    word = leaf + index // WORD_BITS
    if int(listener[word]) & bit == 0:
        listener[word] |= bit
        listener[leaf + LEAF_WORDS - 1] += 1
        listener[words.FAULTS_4K] += faults
        become_resident(listener, PAGE)


@kernel
def become_resident(listener: Ints, size: int) -> None:
    """Add `size` resident bytes."""
    listener[words.RESIDENT_BYTES] += size
    listener[words.RESIDENT_PEAK] = max(int(listener[words.RESIDENT_PEAK]), int(listener[words.RESIDENT_BYTES]))


@kernel
def become_huge(listener: Ints, address: int, size: int) -> None:
    """Put the whole frames in [address, address + size) on huge pages."""
    for frame in range((address + FRAME - 1) // FRAME, (address + size) // FRAME):
        place = entry_for(listener, frame)
        if place >= 0:
            set_entry(listener, frame, place, int(listener[place]) | HUGE)


@kernel
def leave_memory(listener: Ints, address: int, size: int) -> None:
    """Take the whole pages in [address, address + size) out of memory and all TLBs."""
    first = (address + PAGE - 1) >> PAGE_SHIFT
    end = (address + size) >> PAGE_SHIFT
    before = int(listener[words.RESIDENT_BYTES])
    frame = first >> FRAME_SHIFT
    while max(first, frame << FRAME_SHIFT) < end:
        node = int(listener[int(listener[words.ROOT_AT]) + (frame >> NODE_SHIFT)])
        if node < 0:
            frame = ((frame >> NODE_SHIFT) + 1) << NODE_SHIFT
        else:
            place = int(listener[words.NODES_AT]) + node * NODE_WORDS + (frame & (NODE_FRAMES - 1))
            if int(listener[place]) > HUGE:
                low = max(first - (frame << FRAME_SHIFT), 0)
                drop_pages(listener, frame, place, low, min(end - (frame << FRAME_SHIFT), FRAME_PAGES))
            frame += 1
    if listener[words.RESIDENT_BYTES] < before:
        forget_translations(listener, first, end)


@kernel
def move_memory(listener: Ints, address: int, to: int, size: int) -> None:
    """Let the pages resident in [address, address + size) be resident from `to` on, without a fault."""
    first, target = address >> PAGE_SHIFT, to >> PAGE_SHIFT
    peak = int(listener[words.RESIDENT_PEAK])
    for page in range(first, (address + size) >> PAGE_SHIFT):
        if resident_between(listener, page, page + 1) > 0:
            arrive(listener, target + page - first)
    leave_memory(listener, address, size)
    listener[words.RESIDENT_PEAK] = max(peak, int(listener[words.RESIDENT_BYTES]))


@kernel
def arrive(listener: Ints, page: int) -> None:
    """Make a small page resident without a fault."""
    place = entry_for(listener, page >> FRAME_SHIFT)
    if place >= 0 and int(listener[place]) & WHOLE == 0:
        if int(listener[place]) >> 2 == 0 and not put_leaf(listener, page >> FRAME_SHIFT, place, 0):
            return
        fault_small(listener, leaf_at(listener, place), page & (FRAME_PAGES - 1), 0)


@kernel
def drop_pages(listener: Ints, frame: int, place: int, low: int, high: int) -> None:
    """Take pages low to high - 1 of a frame with resident pages out of memory."""
    if int(listener[place]) & WHOLE:
        listener[words.WHOLE_FRAMES] -= 1
        if high - low == FRAME_PAGES:
            listener[words.RESIDENT_BYTES] -= FRAME
            set_entry(listener, frame, place, HUGE)
            return
        listener[place] = HUGE
        if not put_leaf(listener, frame, place, (1 << WORD_BITS) - 1):
            return
    leaf = leaf_at(listener, place)
    for index in range(low, high):
        bit = 1 << (index & (WORD_BITS - 1))
        word = leaf + index // WORD_BITS
        if int(listener[word]) & bit:
            listener[word] -= bit
            listener[leaf + LEAF_WORDS - 1] -= 1
            listener[words.RESIDENT_BYTES] -= PAGE
            listener[words.DROPPED] += 1
    if listener[leaf + LEAF_WORDS - 1] == 0:
        give_item(listener, words.LEAVES_AT, (int(listener[place]) >> 2) - 1, LEAF_WORDS)
        set_entry(listener, frame, place, int(listener[place]) & HUGE)


@kernel
def resident_between(listener: Ints, first: int, end: int) -> int:
    """Return the resident bytes of pages `first` to `end` - 1."""
    found, frame = 0, first >> FRAME_SHIFT
    while max(first, frame << FRAME_SHIFT) < end:
        node = int(listener[int(listener[words.ROOT_AT]) + (frame >> NODE_SHIFT)])
        if node < 0:
            frame = ((frame >> NODE_SHIFT) + 1) << NODE_SHIFT
        else:
            place = int(listener[words.NODES_AT]) + node * NODE_WORDS + (frame & (NODE_FRAMES - 1))
            low, high = max(first - (frame << FRAME_SHIFT), 0), min(end - (frame << FRAME_SHIFT), FRAME_PAGES)
            found += resident_pages(listener, place, low, high)
            frame += 1
    return found * PAGE


@kernel
def resident_each(listener: Ints, begin: Ints, end: Ints, found: Ints) -> None:
    """Set found[i] to the resident bytes of pages begin[i] to end[i] - 1."""
    for i in range(begin.size):
        found[i] = resident_between(listener, int(begin[i]), int(end[i]))


@kernel
def resident_pages(listener: Ints, place: int, low: int, high: int) -> int:
    """Return how many of pages `low` to `high` - 1 are resident in the frame of the entry at `place`."""
    entry = int(listener[place])
    if entry & WHOLE:
        return high - low
    if entry >> 2 == 0:
        return 0
    leaf, pages = leaf_at(listener, place), 0
    for index in range(low, high):
        pages += int(listener[leaf + index // WORD_BITS]) >> (index & (WORD_BITS - 1)) & 1
    return pages


@kernel
def leaf_at(listener: Ints, place: int) -> int:
    """Return where the leaf begins that the entry at `place` names."""
    return int(listener[words.LEAVES_AT]) + ((int(listener[place]) >> 2) - 1) * LEAF_WORDS


@kernel
def put_leaf(listener: Ints, frame: int, place: int, bits: int) -> bool:
    """Give a frame a leaf whose words are all `bits` (0 or all ones); False without room."""
    leaf = take_item(listener, words.LEAVES_AT, LEAF_WORDS)
    if leaf < 0:
        return False
    set_entry(listener, frame, place, (int(listener[place]) & HUGE) | (leaf + 1) << 2)
    begin = int(listener[words.LEAVES_AT]) + leaf * LEAF_WORDS
    for word in range(begin, begin + LEAF_WORDS - 1):
        listener[word] = bits
    listener[begin + LEAF_WORDS - 1] = FRAME_PAGES if bits != 0 else 0
    return True


@kernel
def entry_for(listener: Ints, frame: int) -> int:
    """Return the place of a frame's entry in its node, maybe a new node; -1 without room."""
    root = int(listener[words.ROOT_AT]) + (frame >> NODE_SHIFT)
    node = int(listener[root])
    if node < 0:
        node = take_item(listener, words.NODES_AT, NODE_WORDS)
        if node < 0:
            return -1
        listener[root] = node
        begin = int(listener[words.NODES_AT]) + node * NODE_WORDS
        for word in range(begin, begin + NODE_WORDS):
            listener[word] = 0
    return int(listener[words.NODES_AT]) + node * NODE_WORDS + (frame & (NODE_FRAMES - 1))


@kernel
def set_entry(listener: Ints, frame: int, place: int, entry: int) -> None:
    """Set a frame's entry at `place`; a node without entries becomes free."""
    named = place - (frame & (NODE_FRAMES - 1)) + NODE_FRAMES
    listener[named] += (1 if entry != 0 else 0) - (1 if listener[place] != 0 else 0)
    listener[place] = entry
    if listener[named] == 0:
        root = int(listener[words.ROOT_AT]) + (frame >> NODE_SHIFT)
        give_item(listener, words.NODES_AT, int(listener[root]), NODE_WORDS)
        listener[root] = -1


@kernel
def take_item(listener: Ints, pool: int, item_words: int) -> int:
    """Take an item of the pool at this word of `listener`; return its number, or -1 without room."""
    if listener[pool + LEFT] == 0:
        listener[words.FULL] = 1
        return -1
    listener[pool + LEFT] -= 1
    item = int(listener[pool + FREE])
    if item >= 0:
        listener[pool + FREE] = listener[int(listener[pool]) + item * item_words]
    else:
        item = int(listener[pool + USED])
        listener[pool + USED] = item + 1
    note_room(listener)
    return item


@kernel
def give_item(listener: Ints, pool: int, item: int, item_words: int) -> None:
    """Give an item back to its pool."""
    listener[int(listener[pool]) + item * item_words] = listener[pool + FREE]
    listener[pool + FREE] = item
    listener[pool + LEFT] += 1
    note_room(listener)


@kernel
def note_room(listener: Ints) -> None:
    """Update the number of bytes that an event may touch for the first time."""
    leaves, nodes = int(listener[words.LEAVES_LEFT]), int(listener[words.NODES_LEFT])
    listener[words.ROOM] = min(leaves - SPARE_LEAVES, (nodes - SPARE_NODES) << NODE_SHIFT) * FRAME


@kernel
def forget_translations(listener: Ints, first: int, end: int) -> None:
    """Drop the translations of pages `first` to `end` - 1 from all TLBs."""
    for core in range(int(listener[words.CORES])):
        row = int(listener[words.CORES_AT]) + core * int(listener[words.CORE_WORDS])
        if end - first <= FEW_PAGES:
            forget_each(listener, row, first, end)
        else:
            sweep(listener, row, first, end)


@kernel
def forget_each(listener: Ints, row: int, first: int, end: int) -> None:
    """Do `forget_translations` for a core with a search for each page."""
    ways = int(listener[words.TLB2_WAYS])
    for page in range(first, end):
        drop(listener, set_of(listener, row, words.SMALL, page), int(listener[words.SMALL_WAYS]), page << 2 | 1)
        drop(listener, set_of(listener, row, words.TLB2, page), ways, page << 2 | 1)
    for frame in range(first >> FRAME_SHIFT, ((end - 1) >> FRAME_SHIFT) + 1):
        drop(listener, set_of(listener, row, words.HUGE, frame), int(listener[words.HUGE_WAYS]), frame << 2 | 3)
        drop(listener, set_of(listener, row, words.TLB2, frame), ways, frame << 2 | 3)


@kernel
def sweep(listener: Ints, row: int, first: int, end: int) -> None:
    """Do `forget_translations` for a core with a look at each entry."""
    sweep_level(listener, row, words.SMALL, first, end)
    sweep_level(listener, row, words.HUGE, first, end)
    sweep_level(listener, row, words.TLB2, first, end)


@kernel
def translates(entry: int, first: int, end: int) -> bool:
    """Return whether a TLB's entry translates a page from `first` to `end` - 1."""
    shift = FRAME_SHIFT if entry & 2 else 0
    number = entry >> 2
    return entry >= 0 and number << shift < end and (number + 1) << shift > first


@kernel
def sweep_level(listener: Ints, core: int, level: int, first: int, end: int) -> None:
    """Drop a level's translations of pages `first` to `end` - 1; other entries keep their order."""
    ways = int(listener[level + 2])
    for index in range(int(listener[level + 1]) + 1):
        row = core + int(listener[level]) + row_of(index, ways)
        kept = row
        for place in range(row, row + ways):
            entry = int(listener[place])
            if not translates(entry, first, end):
                listener[kept] = entry
                kept += 1
        for place in range(kept, row + ways):
            listener[place] = -1
