"""The directory: which cores may hold a line in their private levels, so that few are searched.

An open-addressing hash table of lines and masks of cores. A mask has every core that holds the line, and may have some
that do no longer: where the private levels decide, they are searched. When the table is full it is made anew from what
they hold. Only one core holds a line that is M, so it is looked for only where the mask names a single other core.
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
    """Where the search for a line begins in a hash table of mask + 1 slots, at most 2^31."""
    folded = (line ^ (line >> 31)) & 0x7FFFFFFF
    mixed = folded * 0x5BD1E995 & 0x7FFFFFFF
    return (mixed ^ mixed >> 15) & mask


@kernel
def entry_of(touched: Ints, line: int) -> int:
    """The place of the entry of a line, a new one of no core if it had none."""
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
    """`entry_of` in a table that is first made anew if it is full."""
    if touched[DIRECTORY_USED] >= touched[DIRECTORY_MOST]:
        renew(touched)
    return entry_of(touched, line)


@kernel
def renew(touched: Ints) -> None:
    """The table has what the private levels hold, and nothing else."""
    begin = int(touched[DIRECTORY_AT])
    for place in range(begin, begin + 2 * (int(touched[DIRECTORY_MASK]) + 1), 2):
        touched[place] = -1
    touched[DIRECTORY_USED] = 0
    for core in range(int(touched[CORES])):
        enter(touched, int(touched[CORES_AT]) + core * int(touched[CORE_WORDS]), core)


@kernel
def enter(touched: Ints, row: int, core: int) -> None:
    """The lines of both levels of a core join the table."""
    for place in range(row, row + int(touched[SMALL_OFFSET])):
        if touched[place] >= 0:
            entry = entry_of(touched, int(touched[place]) >> 1)
            touched[entry + 1] |= 1 << core


@kernel
def taken_from_another(touched: Ints, line: int) -> bool:
    """This core gets a line to read: whether another core had it M, and has it no longer so."""
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
    """A line of a core is M no longer; whether it was."""
    row = int(touched[CORES_AT]) + core * int(touched[CORE_WORDS])
    was_modified = cleaned(touched, l1_set(touched, row, line), int(touched[L1_WAYS]), line << 1 | 1)
    return cleaned(touched, l2_set(touched, row, line), int(touched[L2_WAYS]), line << 1 | 1) or was_modified


@kernel
def cleaned(touched: Ints, first: int, ways: int, key: int) -> bool:
    """The entry of `key`, if the set has one, is M no longer; whether it was."""
    way = find(touched, first, ways, key)
    if way == ways or touched[first + way] != key:
        return False
    touched[first + way] = key - 1
    return True


@kernel
def drop_elsewhere(touched: Ints, line: int) -> None:
    """No core but this one holds the line any longer."""
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
