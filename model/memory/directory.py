"""The directory: which cores may hold a line in their private levels, to save searches.

The directory is an open-addressing hash table of lines and masks of cores. A mask has every core
that holds the line and may have cores that no longer hold it, so the private levels decide. A full
table is rebuilt from the private levels. Only one core can hold a line M, so the search for a line
that is M happens only if the mask names a single other core.
"""

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory.sets import drop, find, l1_set, l2_set
from heapsmith.model.memory.words import (
    CORE,
    CORE_WORDS,
    CORES,
    CORES_AT,
    DIRECTORY_AT,
    DIRECTORY_MASK,
    DIRECTORY_MOST,
    DIRECTORY_USED,
    L1_WAYS,
    L2_WAYS,
    SMALL_OFFSET,
)


@kernel
def slot_of(line: int, mask: int) -> int:
    """Return the first slot for a line in a hash table of mask + 1 slots, at most 2^31."""
    folded = (line ^ (line >> 31)) & 0x7FFFFFFF
    mixed = folded * 0x5BD1E995 & 0x7FFFFFFF
    return (mixed ^ mixed >> 15) & mask


@kernel
def entry_of(touched: Ints, line: int) -> int:
    """Return the place of a line's entry; a new entry has no cores."""
    mask = int(touched[DIRECTORY_MASK])
    slot = slot_of(line, mask)
    place = int(touched[DIRECTORY_AT]) + 2 * slot
    while touched[place] != line:
        if touched[place] < 0:
            touched[place] = line
            touched[place + 1] = 0
            touched[DIRECTORY_USED] += 1
            return place
        slot = (slot + 1) & mask
        place = int(touched[DIRECTORY_AT]) + 2 * slot
    return place


@kernel
def up_to_date(touched: Ints, line: int) -> int:
    """Return `entry_of` the line after a rebuild of a full table."""
    if touched[DIRECTORY_USED] >= touched[DIRECTORY_MOST]:
        renew(touched)
    return entry_of(touched, line)


@kernel
def renew(touched: Ints) -> None:
    """Rebuild the table from the private levels."""
    begin = int(touched[DIRECTORY_AT])
    for place in range(begin, begin + 2 * (int(touched[DIRECTORY_MASK]) + 1), 2):
        touched[place] = -1
    touched[DIRECTORY_USED] = 0
    for core in range(int(touched[CORES])):
        enter(touched, int(touched[CORES_AT]) + core * int(touched[CORE_WORDS]), core)


@kernel
def enter(touched: Ints, row: int, core: int) -> None:
    """Enter the lines of both levels of a core."""
    for place in range(row, row + int(touched[SMALL_OFFSET])):
        if touched[place] >= 0:
            entry = entry_of(touched, int(touched[place]) >> 1)
            touched[entry + 1] |= 1 << core


@kernel
def taken_from_another(touched: Ints, line: int) -> bool:
    """Add this core to a line for a read; return whether another core gave up its M."""
    entry = up_to_date(touched, line)
    mine = 1 << int(touched[CORE])
    others = int(touched[entry + 1]) & ~mine
    touched[entry + 1] = others | mine
    if others == 0 or others & (others - 1) != 0:
        return False
    core = 0
    while others >> core > 1:
        core += 1
    return read_by_another(touched, line, core)


@kernel
def read_by_another(touched: Ints, line: int, core: int) -> bool:
    """Make a line of a core clean; return whether it was M."""
    row = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
    was_modified = cleaned(touched, l1_set(touched, row, line), int(touched[L1_WAYS]), line << 1 | 1)
    return cleaned(touched, l2_set(touched, row, line), int(touched[L2_WAYS]), line << 1 | 1) or was_modified


@kernel
def cleaned(touched: Ints, first: int, ways: int, key: int) -> bool:
    """Make the entry of `key` clean, if the set has it; return whether it was M."""
    way = find(touched, first, ways, key)
    if way == ways or touched[first + way] != key:
        return False
    touched[first + way] = key - 1
    return True


@kernel
def drop_elsewhere(touched: Ints, line: int) -> None:
    """Take a line out of all other cores."""
    entry = up_to_date(touched, line)
    mine = 1 << int(touched[CORE])
    others = int(touched[entry + 1]) & ~mine
    touched[entry + 1] = mine
    core = 0
    while others != 0:
        if others & 1 == 1:
            row = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
            drop(touched, l1_set(touched, row, line), int(touched[L1_WAYS]), line << 1 | 1)
            drop(touched, l2_set(touched, row, line), int(touched[L2_WAYS]), line << 1 | 1)
        others >>= 1
        core += 1
