"""Which blocks fronts hold, and where, as arrays: for reports and checks, not for kernels."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.parts.levels import APART, AT, BUMP, CAPACITY, DEEPEST, KIND, LEVEL_NUMBERS, NO_LEVEL, RING

I64 = NDArray[np.int64]


class Level(NamedTuple):
    """The levels of one depth, of all fronts that have one: where their blocks lie in `slots`."""

    front: I64
    base: I64  # of the first slot
    head: I64  # the place of the oldest
    held: I64
    room: I64


def levels_below(state: State, fronts: int) -> Iterator[Level]:
    """Yield the levels of the first `fronts` fronts that have slots for their blocks, by depth."""
    numbers = _levels(state, fronts)
    for depth in range(DEEPEST):
        front = np.flatnonzero((numbers[:, depth, KIND] != NO_LEVEL) & (numbers[:, depth, KIND] != BUMP))
        of, record = numbers[front, depth], state.fronts[front]
        base = record["base"] + of[:, AT]
        held = np.where(of[:, APART] > 0, state.slots[base - 2], record["listed"])
        head = np.where(of[:, KIND] == RING, state.slots[base - 1], 0)
        yield Level(front, base, head, held, of[:, CAPACITY])


def in_slots(state: State, fronts: int) -> I64:
    """Return how many blocks level 0 of each of the first `fronts` fronts has in slots."""
    found: I64 = np.where(_is_stretch(state, fronts), 0, state.fronts["held"][:fronts])
    return found


def stretches(state: State, fronts: int) -> Iterator[tuple[int, int, int]]:
    """Yield front, first block and length of the fresh blocks, one behind the other, that a front has without slots."""
    for front in np.flatnonzero(_is_stretch(state, fronts)).tolist():
        yield front, int(state.fronts[front]["head"]), int(state.fronts[front]["held"])
    numbers = _levels(state, fronts)
    for front, depth in zip(*np.nonzero(numbers[:, :, KIND] == BUMP), strict=True):
        base = int(state.fronts[front]["base"] + numbers[front, depth, AT])
        yield int(front), int(state.slots[base - 1]), int(state.slots[base - 2])


def stretch_blocks(first: int, length: int) -> range:
    """Return the handles of such blocks."""
    step = 1 << layout.INDEX_SHIFT
    return range(first, first + length * step, step)


def _levels(state: State, fronts: int) -> I64:
    classes = len(state.classes)
    found: I64 = state.levels.reshape(classes, DEEPEST, LEVEL_NUMBERS)[np.arange(fronts) % classes]
    return found


def _is_stretch(state: State, fronts: int) -> NDArray[np.bool_]:
    """Return for each of the first `fronts` fronts whether level 0 has no slots for its blocks."""
    alone = (state.classes["stretch"] > 0) & (state.classes["stretch_depth"] == 0)
    found: NDArray[np.bool_] = alone[np.arange(fronts) % len(state.classes)]
    return found
