"""Sets in LRU order: rows of `ways` entries, the last used first, empty entries (-1) last.

Bit 0 of an entry is a flag, which is set in search keys. Rows are whole vectors long: a vector load
that reaches into the next row would wait for the last store there.
"""

from heapsmith.model.compile import vectors
from heapsmith.model.compile.kernel import Ints, hit_path, kernel, lowered
from heapsmith.model.compile.vectors import FEW
from heapsmith.model.memory import listener_words as words

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
def l1_set(listener: Ints, row: int, line: int) -> int:
    """Return `set_of` a line in L1, whose table has no offset."""
    return row + row_of(line & int(listener[words.L1 + 1]), int(listener[words.L1_WAYS]))


@hit_path
def set_of(listener: Ints, row: int, level: int, number: int) -> int:
    """Return where the set of a line or page begins in a private level of the core at `row`."""
    index = number & int(listener[level + 1])
    return row + int(listener[level]) + row_of(index, int(listener[level + 2]))


@lowered(vectors.find_few)
def find_few(listener: Ints, first: int, ways: int, key: int) -> int:
    """Do `find` with up to FEW ways."""
    for way in range(ways):
        if int(listener[first + way]) | 1 == key:
            return way
    return ways


@lowered(vectors.push_few)
def push_few(listener: Ints, first: int, way: int, entry: int) -> None:
    """Do `push` with a way below FEW."""
    for place in range(first + way, first, -1):
        listener[place] = listener[place - 1]
    listener[first] = entry


@hit_path
def find(listener: Ints, first: int, ways: int, key: int) -> int:
    """Return the way of a set that has the entry of `key`, or `ways`."""
    if WIDE == 1 and ways > FEW:
        return find_many(listener, first, ways, key)
    return find_few(listener, first, ways, key)


@hit_path
def push(listener: Ints, first: int, way: int, entry: int) -> None:
    """Take the entry at `way` out of a set and put `entry` first."""
    if WIDE == 1 and way >= FEW:
        push_many(listener, first, way, entry)
    else:
        push_few(listener, first, way, entry)


@hit_path
def use(listener: Ints, first: int, ways: int, key: int) -> int:
    """Put `key` first in a set; return its old entry, or -1 if the last entry had to leave."""
    way = find(listener, first, ways, key)
    last = min(way, ways - 1)
    held = int(listener[first + last])
    push(listener, first, last, key)
    return held if way < ways else -1


@hit_path
def swap(listener: Ints, first: int) -> None:
    """Put the second entry of a set first. Two lines or pages of one set often take turns."""
    second = int(listener[first + 1])
    listener[first + 1] = listener[first]
    listener[first] = second


@hit_path
def renew(listener: Ints, first: int, ways: int, key: int) -> bool:
    """Put `key` first in a set if the set has it; return whether it has."""
    way = find(listener, first, ways, key)
    if way == ways:
        return False
    push(listener, first, way, key)
    return True


@kernel
def find_many(listener: Ints, first: int, ways: int, key: int) -> int:
    """Do `find` with more than FEW ways."""
    way = 0
    while way < ways and int(listener[first + way]) | 1 != key:
        way += 1
    return way


@kernel
def push_many(listener: Ints, first: int, way: int, entry: int) -> None:
    """Do `push` with a way from FEW on."""
    while way > 0:
        listener[first + way] = listener[first + way - 1]
        way -= 1
    listener[first] = entry


@kernel
def drop(listener: Ints, first: int, ways: int, key: int) -> None:
    """Take the entry of `key` out of a set, if the set has it."""
    way = find(listener, first, ways, key)
    if way < ways:
        for after in range(first + way + 1, first + ways):
            listener[after - 1] = listener[after]
        listener[first + ways - 1] = -1
