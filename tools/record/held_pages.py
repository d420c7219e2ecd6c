"""Which pages of a process held blocks, and how many bytes are live: follows the events of a recording by address."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.stats import slot_of
from heapsmith.tools.common.smaps import PAGE, Area

I64 = npt.NDArray[np.int64]

PAGE_SHIFT = PAGE.bit_length() - 1
LARGE_PAGES = (64 << 20) >> PAGE_SHIFT
"""The pages of a block of this many pages or more are kept as a range: the cost does not grow with its size."""
_FIRST_PLACES = 1 << 11  # with a quarter in use they have room for a block that is not large


@cached_njit
def _bits(unit: int, first: int, end: int) -> int:
    """Return the bits of the pages of a unit, which has 64, from page `first` up to page `end` of the process."""
    low, high = int(max(first - unit * 64, 0)), int(min(end - unit * 64, 64))
    if low >= high:
        return 0
    ones = -1 if high == 64 else (1 << high) - 1
    return ones & (-1 << low)


@cached_njit
def _within(unit: int, starts: I64, ends: I64) -> int:
    """Return the bits of the pages of a unit that are in ranges of pages, which ascend."""
    first, found = unit * 64, 0
    at = max(int(np.searchsorted(starts, first, side="right")) - 1, 0)
    while at < starts.size and starts[at] < first + 64:
        found |= _bits(unit, starts[at], ends[at])
        at += 1
    return found


@cached_njit
def _add(keys: I64, words: I64, now: I64, first: int, end: int) -> bool:
    """Note that the pages from `first` to `end` held a block; False if the table has no room. now: of `_follow`."""
    last_unit = (end - 1) >> 6
    if 2 * (now[1] + last_unit - (first >> 6) + 1) > keys.size:
        return False
    for unit in range(first >> 6, last_unit + 1):
        at = slot_of(keys, unit)
        if keys[at] == -1:
            keys[at] = unit
            now[1] += 1
        words[at] |= _bits(unit, first, end)
    return True


@cached_njit
def _follow(
    op: npt.NDArray[np.uint8],
    block: npt.NDArray[np.uint32],
    size: I64,
    address: I64,
    of_block: I64,
    pages: tuple[I64, I64, I64, I64],
    now: I64,
) -> int:
    """Follow events; return how many were followed before one of which the pages have no room.

    The table is full, or the block is large and not in a range. `pages`: as Held has them. `now`: the live bytes, and
    the units in the table.
    """
    keys, words, starts, ends = pages
    for i in range(op.size):
        o, b = op[i], block[i]
        if o > 5:
            continue
        if o < 4:
            first, end = address[i] >> PAGE_SHIFT, ((address[i] + max(size[i], 1) - 1) >> PAGE_SHIFT) + 1
            if end - first < LARGE_PAGES:
                if not _add(keys, words, now, first, end):
                    return i
            else:
                at = np.searchsorted(starts, first, side="right") - 1
                if at < 0 or ends[at] < end:
                    return i
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
            at = slot_of(new_keys, keys[i])
            new_keys[at], new_words[at] = keys[i], words[i]
            count += 1
    return count


@cached_njit
def _restrict(keys: I64, words: I64, starts: I64, ends: I64) -> None:
    """Forget the pages that are in none of the ranges of pages, which ascend."""
    for i in range(keys.size):
        if words[i] != 0:
            words[i] &= _within(keys[i], starts, ends)


@cached_njit
def _count_unit(
    unit: int, word: int, starts: I64, ends: I64, first: int, end: int, present: npt.NDArray[np.bool_]
) -> int:
    """Return how many pages of a unit's word are in no range; the rest as `_count` has it."""
    word &= _bits(unit, first, end)
    if word != 0:
        word &= ~_within(unit, starts, ends)
    count = 0
    for bit in range(64):
        if word >> bit & 1 and (present.size == 0 or present[unit * 64 + bit - first]):
            count += 1
    return count


@cached_njit
def _count(keys: I64, words: I64, starts: I64, ends: I64, first: int, end: int, present: npt.NDArray[np.bool_]) -> int:
    """Return how many pages from `first` to `end` held blocks and are present; `present` is empty: all are."""
    count = 0
    for one in range(max(int(np.searchsorted(starts, first, side="right")) - 1, 0), starts.size):
        low, high = max(int(starts[one]), first), min(int(ends[one]), end)
        if starts[one] >= end:
            break
        if low < high:
            count += high - low if present.size == 0 else int(np.count_nonzero(present[low - first : high - first]))
    first_unit, end_unit = first >> 6, (end + 63) >> 6
    if end_unit - first_unit > keys.size:
        for i in range(keys.size):
            if words[i] != 0 and first_unit <= keys[i] < end_unit:
                count += _count_unit(keys[i], words[i], starts, ends, first, end, present)
        return count
    for unit in range(first_unit, end_unit):
        at = slot_of(keys, unit)
        if keys[at] != -1 and words[at] != 0:
            count += _count_unit(unit, words[at], starts, ends, first, end, present)
    return count


class Held(NamedTuple):
    """What was known at one moment: a table of units and their pages, and ranges of pages, which ascend."""

    keys: I64
    words: I64
    starts: I64
    ends: I64


class HeldPages:
    """Follows the events of one process; feed its chunks in order.

    A page that held a block is malloc's for as long as it is mapped. 8 bytes per block, 16 per unit, four times at
    most. Pages of large blocks are kept as ranges of LARGE_PAGES or more, which neither meet nor overlap.
    """

    def __init__(self, held: Held | None = None) -> None:
        none = np.empty(0, np.int64)
        held = held or Held(np.full(_FIRST_PLACES, -1, np.int64), np.zeros(_FIRST_PLACES, np.int64), none, none)
        self._keys, self._words, self._starts, self._ends = (column.copy() for column in held)
        self._of_block = np.zeros(_FIRST_PLACES, np.int64)
        self._now = np.array([0, np.count_nonzero(self._keys != -1)], np.int64)

    @property
    def live(self) -> int:
        """The bytes asked for in live blocks."""
        return int(self._now[0])

    def held(self) -> Held:
        """Return what is known now."""
        return Held(self._keys.copy(), self._words.copy(), self._starts.copy(), self._ends.copy())

    def feed(self, chunk: Chunk, address: I64) -> None:
        """Follow events. address: of the block of each birth and realloc, after it."""
        most = int(chunk.block.max(initial=0))
        if most >= self._of_block.size:
            self._of_block = np.pad(self._of_block, (0, 2 * most - self._of_block.size + 1))
        columns = (chunk.op, chunk.block, chunk.size, address)
        while (done := self._followed(columns)) < len(columns[0]):
            columns = (columns[0][done:], columns[1][done:], columns[2][done:], columns[3][done:])
            first, last = (int(of) >> PAGE_SHIFT for of in (columns[3][0], columns[3][0] + max(columns[2][0], 1) - 1))
            if last + 1 - first >= LARGE_PAGES:
                self._unite(first, last + 1)
            else:
                self._make_room()

    def _followed(self, columns: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint32], I64, I64]) -> int:
        pages = (self._keys, self._words, self._starts, self._ends)
        return _follow(*columns, self._of_block, pages, self._now)

    def _unite(self, start: int, end: int) -> None:
        """Add a range, as one with those that it meets."""
        low, high = np.searchsorted(self._ends, start, side="left"), np.searchsorted(self._starts, end, side="right")
        if low < high:
            start, end = min(start, int(self._starts[low])), max(end, int(self._ends[high - 1]))
        self._starts = np.concatenate((self._starts[:low], [start], self._starts[high:]))
        self._ends = np.concatenate((self._ends[:low], [end], self._ends[high:]))

    def _make_room(self) -> None:
        """A new table without units that have no pages any more; larger if more than a quarter is in use."""
        size = self._keys.size * (2 if 4 * np.count_nonzero(self._words) > self._keys.size else 1)
        keys, words = np.full(size, -1, np.int64), np.zeros(size, np.int64)
        self._now[1] = _rehash(self._keys, self._words, keys, words)
        self._keys, self._words = keys, words

    def only_in(self, areas: list[Area]) -> None:
        """Forget the pages that are mapped no more: these areas are all that malloc may have, in order of address."""
        ranges = np.array([(area.start, area.end) for area in areas], np.int64).reshape(-1, 2) >> PAGE_SHIFT
        starts, ends = ranges[:, 0].copy(), ranges[:, 1].copy()
        _restrict(self._keys, self._words, starts, ends)
        before = list(zip(self._starts.tolist(), self._ends.tolist(), strict=True))
        self._starts = self._ends = np.empty(0, np.int64)
        for start, end in before:
            of = slice(np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end, side="left"))
            for low, high in _joined(np.maximum(starts[of], start), np.minimum(ends[of], end)):
                if high - low >= LARGE_PAGES:
                    self._unite(low, high)
                    continue
                while not _add(self._keys, self._words, self._now, low, high):
                    self._make_room()

    def resident_in(self, area: Area) -> int:
        """Return how many resident bytes of an area are of pages that held blocks.

        Where it is not known which pages are resident, those that held blocks are the first.
        """
        if not area.resident:
            return 0
        present = area.present if area.present is not None else np.empty(0, np.bool_)
        of_pages = (self._keys, self._words, self._starts, self._ends)
        pages = _count(*of_pages, area.start >> PAGE_SHIFT, area.end >> PAGE_SHIFT, present)
        return min(area.resident, PAGE * int(pages))


def _joined(starts: I64, ends: I64) -> list[tuple[int, int]]:
    """Ranges that ascend, those that meet as one."""
    apart = starts[1:] != ends[:-1]
    first, last = np.append(True, apart)[: starts.size], np.append(apart, True)[: starts.size]
    return list(zip(starts[first].tolist(), ends[last].tolist(), strict=True))
