"""Sets in LRU order: rows of `ways` entries, the last used first, empty entries (-1) last.

Bit 0 of an entry is a flag, which is set in search keys. Rows are whole vectors long: a vector load
that reaches into the next row would wait for the last store there.
"""

from heapsmith.model.compile import vectors
from heapsmith.model.compile.kernel import Ints, hit_path, kernel, lowered
from heapsmith.model.compile.vectors import FEW
from heapsmith.model.memory.words import L1_MASK, L1_WAYS, L2_MASK, L2_OFFSET, L2_WAYS

WIDE = 1
"""0: no set has more than FEW ways; simulations without the other code are up to 1/5 faster."""


@hit_path
def row_words(ways: int) -> int:
    """Return the words from a set to the next set."""
    if WIDE == 0:
        return FEW
    return (ways + FEW - 1) & -FEW


@hit_path
def row_of(index: int, ways: int) -> int:
    """Return the offset in words of a set from the first set of its table."""
    return index * row_words(ways)


@hit_path
def l1_set(touched: Ints, row: int, line: int) -> int:
    """Return where the set of a line begins in the first level of the core at `row`."""
    return row + row_of(line & int(touched[L1_MASK]), int(touched[L1_WAYS]))


@hit_path
def l2_set(touched: Ints, row: int, line: int) -> int:
    """Return where the set of a line begins in the second level of the core at `row`."""
    return row + int(touched[L2_OFFSET]) + row_of(line & int(touched[L2_MASK]), int(touched[L2_WAYS]))


@lowered(vectors.find_few)
def find_few(touched: Ints, first: int, ways: int, key: int) -> int:
    """Do `find` with up to FEW ways."""
    for way in range(ways):
        if int(touched[first + way]) | 1 == key:
            return way
    return ways


@lowered(vectors.push_few)
def push_few(touched: Ints, first: int, way: int, entry: int) -> None:
    """Do `push` with a way below FEW."""
    for place in range(first + way, first, -1):
        touched[place] = touched[place - 1]
    touched[first] = entry


@hit_path
def find(touched: Ints, first: int, ways: int, key: int) -> int:
    """Return the way of a set that has the entry of `key`, or `ways`."""
    if WIDE == 1 and ways > FEW:
        return find_many(touched, first, ways, key)
    return find_few(touched, first, ways, key)


@hit_path
def push(touched: Ints, first: int, way: int, entry: int) -> None:
    """Take the entry at `way` out of a set and put `entry` first."""
    if WIDE == 1 and way >= FEW:
        push_many(touched, first, way, entry)
    else:
        push_few(touched, first, way, entry)


@hit_path
def use(touched: Ints, first: int, ways: int, key: int) -> int:
    """Put `key` first in a set; return its old entry, or -1 if the last entry had to leave."""
    way = find(touched, first, ways, key)
    last = min(way, ways - 1)
    held = int(touched[first + last])
    push(touched, first, last, key)
    return held if way < ways else -1


@kernel
def find_many(touched: Ints, first: int, ways: int, key: int) -> int:
    """Do `find` with more than FEW ways."""
    way = 0
    while way < ways and int(touched[first + way]) | 1 != key:
        way += 1
    return way


@kernel
def push_many(touched: Ints, first: int, way: int, entry: int) -> None:
    """Do `push` with a way from FEW on."""
    while way > 0:
        touched[first + way] = touched[first + way - 1]
        way -= 1
    touched[first] = entry


@kernel
def drop(touched: Ints, first: int, ways: int, key: int) -> None:
    """Take the entry of `key` out of a set, if the set has it."""
    way = find(touched, first, ways, key)
    if way < ways:
        for after in range(first + way + 1, first + ways):
            touched[after - 1] = touched[after]
        touched[first + ways - 1] = -1
