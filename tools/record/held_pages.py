"""Which pages of a process held blocks, and how many bytes are live: follows the events of a recording by address."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.events import Chunk
from heapsmith.tools.common.smaps import PAGE, Area

I64 = npt.NDArray[np.int64]

PAGE_SHIFT = PAGE.bit_length() - 1
UNIT_SHIFT = PAGE_SHIFT + 6
"""A unit is 64 pages, one bit of a word for each."""
MOST_UNITS = 1 << 20
"""Of a block of more units the rest is left out."""
_FIRST_PLACES = 1 << 10


@cached_njit
def _place(keys: I64, unit: int) -> int:
    """Return the place of a unit in an open-addressed table of 2^n places, or its empty place; -1 is no key."""
    place = ((unit * 0x1E3779B97F4A7C15) >> 20) & (keys.size - 1)
    while keys[place] != unit and keys[place] != -1:
        place = (place + 1) & (keys.size - 1)
    return place


@cached_njit
def _bits(unit: int, first: int, end: int) -> int:
    """Return the bits of the pages of a unit from page `first` up to page `end` of the process."""
    low, high = max(first - unit * 64, 0), min(end - unit * 64, 64)
    if low >= high:
        return 0
    ones = -1 if high == 64 else (1 << high) - 1
    return ones & (-1 << low)


@cached_njit
def _follow(
    op: npt.NDArray[np.uint8],
    block: npt.NDArray[np.uint32],
    size: I64,
    address: I64,
    of_block: I64,
    keys: I64,
    words: I64,
    now: I64,
) -> int:
    """Follow events; return how many were followed before the table had no room.

    `now`: the live bytes, and the units in the table.
    """
    for i in range(op.size):
        o, b = op[i], block[i]
        if o > 5:
            continue
        if o < 4:
            first, last = address[i] >> PAGE_SHIFT, (address[i] + max(size[i], 1) - 1) >> PAGE_SHIFT
            first_unit, last_unit = first >> 6, min(last >> 6, (first >> 6) + MOST_UNITS)
            if 2 * (now[1] + last_unit - first_unit + 1) > keys.size:
                return i
            for unit in range(first_unit, last_unit + 1):
                at = _place(keys, unit)
                if keys[at] == -1:
                    keys[at] = unit
                    now[1] += 1
                words[at] |= _bits(unit, first, last + 1)
        if o == 2 or o >= 4:
            now[0] -= of_block[b]
        if o < 4:
            of_block[b] = size[i]
            now[0] += size[i]
    return op.size


@cached_njit
def _rehash(keys: I64, words: I64, new_keys: I64, new_words: I64) -> int:
    """Move the units that have pages to an empty table; return their number."""
    count = 0
    for i in range(keys.size):
        if words[i] != 0:
            at = _place(new_keys, keys[i])
            new_keys[at], new_words[at] = keys[i], words[i]
            count += 1
    return count


@cached_njit
def _restrict(keys: I64, words: I64, starts: I64, ends: I64) -> None:
    """Forget the pages that are in none of the ranges of pages, which ascend."""
    for i in range(keys.size):
        if words[i] != 0:
            first, kept = keys[i] * 64, 0
            at = max(np.searchsorted(starts, first, side="right") - 1, 0)
            while at < starts.size and starts[at] < first + 64:
                kept |= _bits(keys[i], starts[at], ends[at])
                at += 1
            words[i] &= kept


@cached_njit
def _count(keys: I64, words: I64, first: int, end: int, present: npt.NDArray[np.bool_]) -> int:
    """Return how many pages from `first` to `end` held blocks and are present; `present` is empty: all are."""
    count = 0
    for unit in range(first >> 6, (end + 63) >> 6):
        at = _place(keys, unit)
        if keys[at] == -1:
            continue
        word = words[at] & _bits(unit, first, end)
        for bit in range(64):
            if word >> bit & 1 and (present.size == 0 or present[unit * 64 + bit - first]):
                count += 1
    return count


class Held(NamedTuple):
    """What was known at one moment: a table of units and their pages."""

    keys: I64
    words: I64


class HeldPages:
    """Follows the events of one process; feed its chunks in order.

    A page that held a block is malloc's for as long as it is mapped. 8 bytes per block, 16 per unit, twice at most.
    """

    def __init__(self, held: Held | None = None) -> None:
        self._keys = held.keys.copy() if held else np.full(_FIRST_PLACES, -1, np.int64)
        self._words = held.words.copy() if held else np.zeros(_FIRST_PLACES, np.int64)
        self._of_block = np.zeros(_FIRST_PLACES, np.int64)
        self._now = np.array([0, np.count_nonzero(self._keys != -1)], np.int64)

    @property
    def live(self) -> int:
        """The bytes asked for in live blocks."""
        return int(self._now[0])

    def held(self) -> Held:
        """Return what is known now."""
        return Held(self._keys.copy(), self._words.copy())

    def feed(self, chunk: Chunk, address: I64) -> None:
        """Follow events. address: of the block of each birth and realloc, after it."""
        most = int(chunk.block.max(initial=0))
        if most >= self._of_block.size:
            self._of_block = np.pad(self._of_block, (0, 2 * most - self._of_block.size + 1))
        columns = (chunk.op, chunk.block, chunk.size, address)
        while (done := _follow(*columns, self._of_block, self._keys, self._words, self._now)) < len(columns[0]):
            columns = (columns[0][done:], columns[1][done:], columns[2][done:], columns[3][done:])
            self._grow()

    def _grow(self) -> None:
        keys, words = np.full(2 * self._keys.size, -1, np.int64), np.zeros(2 * self._keys.size, np.int64)
        self._now[1] = _rehash(self._keys, self._words, keys, words)
        self._keys, self._words = keys, words

    def only_in(self, areas: list[Area]) -> None:
        """Forget the pages that are mapped no more: these areas are all that malloc may have, in order of address."""
        ranges = np.array([(area.start, area.end) for area in areas], np.int64).reshape(-1, 2) >> PAGE_SHIFT
        _restrict(self._keys, self._words, ranges[:, 0].copy(), ranges[:, 1].copy())

    def resident_in(self, area: Area) -> int:
        """Return how many resident bytes of an area are of pages that held blocks.

        Where it is not known which pages are resident, those that held blocks are the first.
        """
        if not area.resident:
            return 0
        present = area.present if area.present is not None else np.empty(0, np.bool_)
        pages = _count(self._keys, self._words, area.start >> PAGE_SHIFT, area.end >> PAGE_SHIFT, present)
        return min(area.resident, PAGE * int(pages))
