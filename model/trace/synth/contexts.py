"""The phases of a sequence of steps, and the context of each step in its phase."""

import numpy as np

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.synth.ranks import I64
from heapsmith.model.trace.synth.steps import FINE_BYTES, Steps

LEAST_EVENTS, MOST_EVENTS = 4, 512
"""The least and the most events of a phase; the last phase, and one that ends with a thread, may have fewer."""
SWING, LEAST_SWING = 6, 2
"""A phase ends where the live blocks of a class have turned by SWING, or by fewer for blocks above FINE_BYTES."""
START = -1
"""The last step of a context at a phase's beginning."""
COLUMNS = 4
"""Of a context: the last step, its run, the step before these, its run."""


def swings(steps: Steps, classes: int) -> I64:
    """Return for each class by how many blocks it turns at the end of a phase."""
    size = np.ones(classes, np.int64)
    gains = steps.plus >= 0
    np.maximum.at(size, steps.plus[gains], steps.size[gains])
    found: I64 = np.clip(SWING * FINE_BYTES // size, LEAST_SWING, SWING)
    return found


@cached_njit
def phase_ends(number: I64, steps: Steps, swing: I64) -> I64:
    """Return where the phases of a sequence of step numbers end.

    They end where a class of blocks turns: it was at its most and has lost `swing` blocks since, or at its least and
    has gained as many. They also end behind the end of a thread, and after MOST_EVENTS events.
    """
    level, extreme = np.zeros(swing.size, np.int64), np.zeros(swing.size, np.int64)
    at, rises = np.zeros(swing.size, np.int64), np.ones(swing.size, np.int64)
    ends = np.zeros(number.size + 1, np.uint8)
    for i in range(number.size):
        step = number[i]
        if steps.op[step] == 7:
            ends[i + 1] = 2
        for change in (-1, 1):
            c = steps.minus[step] if change < 0 else steps.plus[step]
            if c < 0:
                continue
            level[c] += change
            if (level[c] - extreme[c]) * rises[c] >= 0:
                extreme[c], at[c] = level[c], i
            elif (extreme[c] - level[c]) * rises[c] >= swing[c]:
                ends[at[c] + 1] = max(ends[at[c] + 1], 1)
                rises[c], extreme[c], at[c] = -rises[c], level[c], i
    found, count, last = np.empty(number.size + 1, np.int64), 0, 0
    for i in range(1, number.size + 1):
        turns = ends[i] == 1 and i - last >= LEAST_EVENTS and number.size - i >= LEAST_EVENTS
        if turns or ends[i] == 2 or i - last >= MOST_EVENTS or i == number.size:
            found[count] = last = i
            count += 1
    return found[:count]


@cached_njit
def bounds(number: I64, ends: I64, steps: Steps, classes: int) -> I64:
    """Return (4, rows): phase, class, its least and its most blocks in the phase, less those at the beginning."""
    level, seen = np.zeros(classes, np.int64), np.full(classes, -1, np.int64)
    out, rows, first = np.zeros((4, 2 * number.size), np.int64), 0, 0
    for phase in range(ends.size):
        begin = rows
        for i in range(first, ends[phase]):
            for change in (-1, 1):
                c = steps.minus[number[i]] if change < 0 else steps.plus[number[i]]
                if c < 0:
                    continue
                if seen[c] < begin:
                    seen[c], level[c] = rows, 0
                    out[0, rows], out[1, rows] = phase, c
                    rows += 1
                level[c] += change
                out[2, seen[c]] = min(out[2, seen[c]], level[c])
                out[3, seen[c]] = max(out[3, seen[c]], level[c])
        first = ends[phase]
    return out[:, :rows]


@cached_njit
def contexts(number: I64, ends: I64) -> I64:
    """Return (events, COLUMNS): the context of each step, which begins anew with each phase."""
    out, first = np.zeros((number.size, COLUMNS), np.int64), 0
    for end in ends:
        out[first, 0] = out[first, 2] = START
        for i in range(first + 1, end):
            if number[i - 1] == out[i - 1, 0]:
                out[i] = out[i - 1]
                out[i, 1] += 1
            else:
                out[i, 0], out[i, 1] = number[i - 1], 1
                out[i, 2], out[i, 3] = out[i - 1, 0], out[i - 1, 1]
        first = end
    return out
