"""Reuse distances: for each touch of a line, how many others were touched since its last one; exact, in one pass.

A fully associative LRU cache of n lines hits where the distance is below n, so the histogram gives the misses of every
size (Mattson, Gecsei, Slutz, Traiger: "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970). Each
line has a mark at the time of its last touch, and the distance is the number of marks since then, counted by a
Fenwick tree (Bennett and Kruskal 1975). When the time axis ends, the marks close up at its beginning.
"""

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory.directory import slot_of
from heapsmith.model.memory.words import (
    ACCESSES,
    AXIS_AT,
    AXIS_WORDS,
    COLD,
    FULL,
    HISTOGRAM_AT,
    LAST_LINE,
    LINE_SHIFT,
    LINES,
    LINES_MOST,
    NOW,
    ROOM,
    TABLE_AT,
    TABLE_MASK,
    TREE_AT,
)

EXACT_SHIFT = 10
EXACT = 1 << EXACT_SHIFT
"""Distances below this have a bucket each."""
STEPS_SHIFT = 4
STEPS = 1 << STEPS_SHIFT
"""Buckets per doubling from there on."""
LONGEST_SHIFT = 40
BUCKETS = EXACT + (LONGEST_SHIFT - EXACT_SHIFT) * STEPS
"""Up to distances of 2^40."""
SPARE_LINES = 8192
"""What one event may touch for the first time besides the bytes that it announces."""


@kernel
def measure(touched: Ints, line: int) -> None:
    """One touch of a line."""
    touched[ACCESSES] += 1
    if touched[LAST_LINE] == line:
        touched[int(touched[HISTOGRAM_AT])] += 1
        return
    touched[LAST_LINE] = line
    if touched[NOW] == touched[AXIS_WORDS]:
        close_up(touched)
    place = table_place(touched, line)
    now = int(touched[NOW])
    if touched[place] < 0:
        if touched[LINES] == touched[LINES_MOST]:
            touched[FULL] = 1
            return
        touched[place] = line
        touched[LINES] += 1
        touched[ROOM] -= 1 << int(touched[LINE_SHIFT])
        touched[COLD] += 1
    else:
        last = int(touched[place + 1])
        distance = int(touched[LINES]) - marks_to(touched, last)
        touched[int(touched[HISTOGRAM_AT]) + bucket_of(distance)] += 1
        touched[int(touched[AXIS_AT]) + last] = -1
        mark(touched, last, -1)
    touched[place + 1] = now
    touched[int(touched[AXIS_AT]) + now] = place - int(touched[TABLE_AT])
    mark(touched, now, 1)
    touched[NOW] = now + 1


@kernel
def table_place(touched: Ints, line: int) -> int:
    """The place of a line in the hash table of lines and their last times, or of the empty slot (-1) it would have."""
    mask = int(touched[TABLE_MASK])
    slot = slot_of(line, mask)
    place = int(touched[TABLE_AT]) + 2 * slot
    while touched[place] != line and touched[place] >= 0:
        slot = (slot + 1) & mask
        place = int(touched[TABLE_AT]) + 2 * slot
    return place


@kernel
def marks_to(touched: Ints, time: int) -> int:
    """The marks at times 0 to `time`."""
    tree = int(touched[TREE_AT])
    found = 0
    index = time + 1
    while index > 0:
        found += int(touched[tree + index - 1])
        index &= index - 1
    return found


@kernel
def mark(touched: Ints, time: int, change: int) -> None:
    """A mark more (1) or less (-1) at `time`."""
    tree = int(touched[TREE_AT])
    end = int(touched[AXIS_WORDS])
    index = time + 1
    while index <= end:
        touched[tree + index - 1] += change
        index += index & -index


@kernel
def close_up(touched: Ints) -> None:
    """The times of the marks become 0, 1, 2, ...; all later ones are free."""
    axis = int(touched[AXIS_AT])
    table = int(touched[TABLE_AT])
    length = int(touched[AXIS_WORDS])
    kept = 0
    for time in range(length):
        slot = int(touched[axis + time])
        touched[axis + time] = -1
        if slot >= 0:
            touched[axis + kept] = slot
            touched[table + slot + 1] = kept
            kept += 1
    touched[NOW] = kept
    plant(touched, kept)


@kernel
def enter(touched: Ints, lines: Ints) -> None:
    """Empty tables get these lines, touched in this order."""
    for time in range(len(lines)):
        place = table_place(touched, int(lines[time]))
        touched[place] = lines[time]
        touched[place + 1] = time
        touched[int(touched[AXIS_AT]) + time] = place - int(touched[TABLE_AT])
    touched[NOW] = len(lines)
    plant(touched, len(lines))


@kernel
def plant(touched: Ints, kept: int) -> None:
    """The tree of marks at times 0 to `kept` - 1: a node sums the times of its span up to itself."""
    tree = int(touched[TREE_AT])
    for time in range(int(touched[AXIS_WORDS])):
        index = time + 1
        below = index - (index & -index)
        touched[tree + time] = min(index, kept) - min(below, kept)


@kernel
def bucket_of(distance: int) -> int:
    """The bucket of a distance: its own below EXACT, then STEPS per doubling."""
    if distance < EXACT:
        return distance
    shift = 0
    while distance >> shift >= 2 * STEPS:
        shift += 1
    first = EXACT_SHIFT - STEPS_SHIFT
    return EXACT + (shift - first) * STEPS + (distance >> shift) - STEPS


class Distances(msgspec.Struct, frozen=True):
    """The reuse distances of a stream of lines: how many touches had one in each bucket."""

    histogram: Ints  # of BUCKETS
    cold: int  # first touches of a line
    accesses: int

    def misses(self, lines: int) -> int:
        """The misses of a fully associative LRU cache of so many lines, cold ones included.

        Exact for up to EXACT lines and where a bucket begins (STEPS times per doubling); else too few by part of one.
        """
        return self.cold + int(self.histogram[np.searchsorted(LOWEST, lines) :].sum())


LOWEST: Ints = np.array(
    [*range(EXACT)]
    + [
        (STEPS + step) << shift
        for shift in range(EXACT_SHIFT - STEPS_SHIFT, LONGEST_SHIFT - STEPS_SHIFT)
        for step in range(STEPS)
    ]
)
"""The lowest distance of each bucket."""
