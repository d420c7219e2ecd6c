"""Sets in LRU order: a row of `ways` entries, the most recently used first, empty ones (-1) last; bit 0 is a flag."""

from heapsmith.model.kernel import Ints, kernel


@kernel
def use(touched: Ints, first: int, ways: int, key: int) -> int:
    """`key` (flag set) becomes the first entry; the entry it had before, -1 if it had none and the last one is out."""
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


@kernel
def find(touched: Ints, first: int, ways: int, key: int) -> int:
    """The place of the entry of `key` (flag set), -1 if it has none; nothing moves."""
    for place in range(first, first + ways):
        if int(touched[place]) | 1 == key:
            return place
    return -1


@kernel
def drop(touched: Ints, first: int, ways: int, key: int) -> None:
    """The entry of `key` (flag set), if it has one, leaves the set."""
    place = find(touched, first, ways, key)
    if place >= 0:
        for after in range(place + 1, first + ways):
            touched[after - 1] = touched[after]
        touched[first + ways - 1] = -1
