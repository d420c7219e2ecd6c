"""The directory: which cores may hold a line in their private levels, to save searches.

The directory is an open-addressing hash table of lines and masks of cores. A mask has every core
that holds the line and may have cores that no longer hold it, so the private levels decide. A full
table is rebuilt from the private levels. Only one core can hold a line M, so the search for a line
that is M happens only if the mask names a single other core.
"""

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.lru_sets import drop, find, l1_set, set_of


@kernel
def slot_of(line: int, mask: int) -> int:
    """Return the first slot for a line in a hash table of mask + 1 slots, at most 2^31."""
    folded = (line ^ (line >> 31)) & 0x7FFFFFFF
    mixed = folded * 0x5BD1E995 & 0x7FFFFFFF
    return (mixed ^ mixed >> 15) & mask


@kernel
def probe(listener: Ints, begin: int, mask: int, line: int) -> int:
    """Return the place of a line in the hash table of pairs at `begin`, or of the empty slot (-1) for it."""
    slot = slot_of(line, mask)
    while listener[begin + 2 * slot] != line and listener[begin + 2 * slot] >= 0:
        slot = (slot + 1) & mask
    return begin + 2 * slot


@kernel
def entry_of(listener: Ints, line: int) -> int:
    """Return the place of a line's entry; a new entry has no cores."""
    place = probe(listener, int(listener[words.DIRECTORY_AT]), int(listener[words.DIRECTORY_MASK]), line)
    if listener[place] < 0:
        listener[place] = line
        listener[place + 1] = 0
        listener[words.DIRECTORY_USED] += 1
    return place


@kernel
def up_to_date(listener: Ints, line: int) -> int:
    """Return `entry_of` the line after a rebuild of a full table."""
    if listener[words.DIRECTORY_USED] >= listener[words.DIRECTORY_MOST]:
        renew(listener)
    return entry_of(listener, line)


@kernel
def renew(listener: Ints) -> None:
    """Rebuild the table from the private levels."""
    begin = int(listener[words.DIRECTORY_AT])
    for place in range(begin, begin + 2 * (int(listener[words.DIRECTORY_MASK]) + 1), 2):
        listener[place] = -1
    listener[words.DIRECTORY_USED] = 0
    for core in range(int(listener[words.CORES])):
        enter(listener, int(listener[words.CORES_AT]) + core * int(listener[words.CORE_WORDS]), core)


@kernel
def enter(listener: Ints, row: int, core: int) -> None:
    """Enter the lines of both levels of a core."""
    for place in range(row, row + int(listener[words.SMALL])):
        if listener[place] >= 0:
            entry = entry_of(listener, int(listener[place]) >> 1)
            listener[entry + 1] |= 1 << core


@kernel
def taken_from_another(listener: Ints, line: int) -> bool:
    """Add this core to a line for a read; return whether another core gave up its M."""
    entry = up_to_date(listener, line)
    mine = 1 << int(listener[words.CORE])
    others = int(listener[entry + 1]) & ~mine
    listener[entry + 1] = others | mine
    if others == 0 or others & (others - 1) != 0:
        return False
    core = 0
    while others >> core > 1:
        core += 1
    return read_by_another(listener, line, core)


@kernel
def read_by_another(listener: Ints, line: int, core: int) -> bool:
    """Make a line of a core clean; return whether it was M."""
    row = int(listener[words.CORES_AT]) + core * int(listener[words.CORE_WORDS])
    in_l1, in_l2 = l1_set(listener, row, line), set_of(listener, row, words.L2, line)
    was_modified = cleaned(listener, in_l1, int(listener[words.L1_WAYS]), line << 1 | 1)
    return cleaned(listener, in_l2, int(listener[words.L2_WAYS]), line << 1 | 1) or was_modified


@kernel
def cleaned(listener: Ints, first: int, ways: int, key: int) -> bool:
    """Make the entry of `key` clean, if the set has it; return whether it was M."""
    way = find(listener, first, ways, key)
    if way == ways or listener[first + way] != key:
        return False
    listener[first + way] = key - 1
    return True


@kernel
def drop_elsewhere(listener: Ints, line: int) -> None:
    """Take a line out of all other cores."""
    entry = up_to_date(listener, line)
    mine = 1 << int(listener[words.CORE])
    others = int(listener[entry + 1]) & ~mine
    listener[entry + 1] = mine
    core = 0
    while others != 0:
        if others & 1 == 1:
            row = int(listener[words.CORES_AT]) + core * int(listener[words.CORE_WORDS])
            drop(listener, l1_set(listener, row, line), int(listener[words.L1_WAYS]), line << 1 | 1)
            drop(listener, set_of(listener, row, words.L2, line), int(listener[words.L2_WAYS]), line << 1 | 1)
        others >>= 1
        core += 1
