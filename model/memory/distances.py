"""Reuse distances: for each touch of a line, the number of other lines since its last touch.

The distances are exact and need one pass. A fully associative LRU cache of n lines hits if the
distance is below n, so the histogram gives the misses of every size (Mattson, Gecsei, Slutz,
Traiger: "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970). Each line has a
mark at the time of its last touch. The distance is the number of marks since then, which a Fenwick
tree counts (Bennett and Kruskal 1975). At the end of the time axis, the marks move to its
beginning.
"""

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.directory import probe

EXACT_SHIFT = 10
EXACT = 1 << EXACT_SHIFT
"""Each distance below this limit has its own bucket."""
STEPS_SHIFT = 4
STEPS = 1 << STEPS_SHIFT
"""Buckets per doubling from EXACT on."""
LONGEST_SHIFT = 40
BUCKETS = EXACT + (LONGEST_SHIFT - EXACT_SHIFT) * STEPS
"""Buckets for distances up to 2^40."""
SPARE_LINES = 8192
"""Lines that an event may touch for the first time besides the bytes that it announces."""


@kernel
def measure(listener: Ints, line: int) -> None:
    """Measure a touch of a line."""
    listener[words.ACCESSES] += 1
    if listener[words.LAST_LINE] == line:
        listener[int(listener[words.HISTOGRAM_AT])] += 1
        return
    listener[words.LAST_LINE] = line
    if listener[words.NOW] == listener[words.AXIS_WORDS]:
        close_up(listener)
    place = table_place(listener, line)
    now = int(listener[words.NOW])
    if listener[place] < 0:
        if listener[words.LINES] == listener[words.LINES_MOST]:
            listener[words.FULL] = 1
            return
        listener[place] = line
        listener[words.LINES] += 1
        listener[words.ROOM] -= 1 << int(listener[words.LINE_SHIFT])
        listener[words.COLD] += 1
    else:
        last = int(listener[place + 1])
        distance = int(listener[words.LINES]) - marks_to(listener, last)
        listener[int(listener[words.HISTOGRAM_AT]) + bucket_of(distance)] += 1
        listener[int(listener[words.AXIS_AT]) + last] = -1
        mark(listener, last, -1)
    listener[place + 1] = now
    listener[int(listener[words.AXIS_AT]) + now] = place - int(listener[words.TABLE_AT])
    mark(listener, now, 1)
    listener[words.NOW] = now + 1


@kernel
def table_place(listener: Ints, line: int) -> int:
    """Return the place of a line in the table of lines, or of the empty slot (-1) for it."""
    return probe(listener, int(listener[words.TABLE_AT]), int(listener[words.TABLE_MASK]), line)


@kernel
def marks_to(listener: Ints, time: int) -> int:
    """Return the number of marks at times 0 to `time`."""
    tree = int(listener[words.TREE_AT])
    found = 0
    index = time + 1
    while index > 0:
        found += int(listener[tree + index - 1])
        index &= index - 1
    return found


@kernel
def mark(listener: Ints, time: int, change: int) -> None:
    """Add (1) or remove (-1) a mark at `time`."""
    tree = int(listener[words.TREE_AT])
    end = int(listener[words.AXIS_WORDS])
    index = time + 1
    while index <= end:
        listener[tree + index - 1] += change
        index += index & -index


@kernel
def close_up(listener: Ints) -> None:
    """Renumber the times of the marks as 0, 1, 2, ...; all later times become free."""
    axis = int(listener[words.AXIS_AT])
    table = int(listener[words.TABLE_AT])
    length = int(listener[words.AXIS_WORDS])
    kept = 0
    for time in range(length):
        slot = int(listener[axis + time])
        listener[axis + time] = -1
        if slot >= 0:
            listener[axis + kept] = slot
            listener[table + slot + 1] = kept
            kept += 1
    listener[words.NOW] = kept
    plant(listener, kept)


@kernel
def enter(listener: Ints, lines: Ints) -> None:
    """Enter lines into empty tables, touched in this order."""
    for time in range(len(lines)):
        place = table_place(listener, int(lines[time]))
        listener[place] = lines[time]
        listener[place + 1] = time
        listener[int(listener[words.AXIS_AT]) + time] = place - int(listener[words.TABLE_AT])
    listener[words.NOW] = len(lines)
    plant(listener, len(lines))


@kernel
def plant(listener: Ints, kept: int) -> None:
    """Build the tree of marks at times 0 to `kept` - 1: a node sums the times of its span."""
    tree = int(listener[words.TREE_AT])
    for time in range(int(listener[words.AXIS_WORDS])):
        index = time + 1
        below = index - (index & -index)
        listener[tree + time] = min(index, kept) - min(below, kept)


@kernel
def bucket_of(distance: int) -> int:
    """Return the bucket of a distance: its own below EXACT, then STEPS per doubling."""
    if distance < EXACT:
        return distance
    shift = 0
    while distance >> shift >= 2 * STEPS:
        shift += 1
    first = EXACT_SHIFT - STEPS_SHIFT
    return EXACT + (shift - first) * STEPS + (distance >> shift) - STEPS


class Distances(msgspec.Struct, frozen=True):
    """The reuse distances of a stream of lines: the number of touches in each bucket."""

    histogram: Ints  # touches in each of BUCKETS
    cold: int  # first touches of a line
    accesses: int

    def misses(self, lines: int) -> int:
        """Return the misses of a fully associative LRU cache of `lines` lines, cold misses
        included.

        The result is exact for up to EXACT lines and at the start of a bucket (STEPS per doubling);
        elsewhere it lacks a part of one bucket.
        """
        return self.cold + int(self.histogram[np.searchsorted(LOWEST, lines) :].sum())


_SHIFTS = range(EXACT_SHIFT - STEPS_SHIFT, LONGEST_SHIFT - STEPS_SHIFT)
LOWEST: Ints = np.array([*range(EXACT), *((STEPS + step) << shift for shift in _SHIFTS for step in range(STEPS))])
"""The lowest distance of each bucket."""
