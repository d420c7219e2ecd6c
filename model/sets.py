"""Sets in LRU order, kept in two ways; bit 0 of an entry is a flag, -1 is an empty one.

Ordered sets: a row of `ways` entries, the most recently used first, empty ones last. Stamped sets: a row of `ways`
pairs of an entry and its stamp, time of its last use << WAY_BITS | its way; what knows an entry's place need neither
search nor move anything, and the least stamp names the oldest entry.
"""

from heapsmith.model.kernel import Ints, hit_path, kernel

WAY_BITS = 10
WAY_MASK = (1 << WAY_BITS) - 1


@hit_path
def use(touched: Ints, first: int, ways: int, key: int) -> int:
    """`key` (flag set) becomes the first of an ordered set; its entry before, -1 if it had none and the last is out."""
    moved = key
    for place in range(first, first + ways):
        held = int(touched[place])
        touched[place] = moved
        if held | 1 == key:
            return held
        if held < 0:
            return -1
        moved = held
    return -1


@hit_path
def find(touched: Ints, first: int, ways: int, key: int) -> int:
    """The place of the entry of `key` (flag set) in an ordered set, -1 if it has none; nothing moves."""
    for place in range(first, first + ways):
        if int(touched[place]) | 1 == key:
            return place
    return -1


@hit_path
def to_front(touched: Ints, first: int, place: int) -> None:
    """The entry at `place` becomes the first of its ordered set."""
    entry = touched[place]
    while place > first:
        touched[place] = touched[place - 1]
        place -= 1
    touched[first] = entry


@kernel
def drop(touched: Ints, first: int, ways: int, key: int) -> None:
    """The entry of `key` (flag set), if it has one, leaves an ordered set."""
    place = find(touched, first, ways, key)
    if place >= 0:
        for after in range(place + 1, first + ways):
            touched[after - 1] = touched[after]
        touched[first + ways - 1] = -1


@hit_path
def find_stamped(touched: Ints, first: int, ways: int, key: int) -> int:
    """The place of the entry of `key` (flag set) in a stamped set, -1 if it has none."""
    for place in range(first, first + 2 * ways, 2):
        if int(touched[place]) | 1 == key:
            return place
    return -1


@hit_path
def oldest(touched: Ints, first: int, ways: int) -> int:
    """The place in a stamped set of an empty entry, else of the one least recently used."""
    last = first + 2 * ways - 1
    least = int(touched[last])
    other = least  # two chains of comparisons take half the time of one
    for place in range(first + 1, last - 1, 4):
        if int(touched[place]) <= WAY_MASK:
            return place - 1
        least = min(least, int(touched[place]))
        other = min(other, int(touched[place + 2]))
    return first + 2 * (min(least, other) & WAY_MASK)


@hit_path
def stamp(touched: Ints, place: int, now: int) -> None:
    """The entry of a stamped set is used now."""
    touched[place + 1] = now << WAY_BITS | int(touched[place + 1]) & WAY_MASK


@hit_path
def put(touched: Ints, place: int, entry: int, now: int) -> None:
    """An entry of a stamped set, used now."""
    touched[place] = entry
    stamp(touched, place, now)


@hit_path
def clear(touched: Ints, place: int) -> None:
    """An entry of a stamped set becomes empty: older than all that are not."""
    put(touched, place, -1, 0)


@kernel
def drop_stamped(touched: Ints, first: int, ways: int, key: int) -> None:
    """The entry of `key` (flag set), if it has one, leaves a stamped set."""
    place = find_stamped(touched, first, ways, key)
    if place >= 0:
        clear(touched, place)
