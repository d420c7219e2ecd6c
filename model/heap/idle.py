"""Where the blocks below level 0 lie, as arrays: for reports and checks, not for kernels."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heapsmith.model.memory.state import State
from heapsmith.model.parts.levels import APART, AT, CAPACITY, DEEPEST, KIND, LEVEL_NUMBERS, NO_LEVEL, RING

I64 = NDArray[np.int64]


class Level(NamedTuple):
    """The levels of one depth, of all fronts that have one: where their blocks lie in `slots`."""

    front: I64
    base: I64  # of the first slot
    head: I64  # the place of the oldest
    held: I64
    room: I64


def levels_below(state: State, fronts: int) -> Iterator[Level]:
    """Yield the levels of the first `fronts` fronts, by depth."""
    classes = len(state.classes)
    numbers = state.levels.reshape(classes, DEEPEST, LEVEL_NUMBERS)[np.arange(fronts) % classes]
    for depth in range(DEEPEST):
        front = np.flatnonzero(numbers[:, depth, KIND] != NO_LEVEL)
        of, record = numbers[front, depth], state.fronts[front]
        base = record["base"] + of[:, AT]
        held = np.where(of[:, APART] > 0, state.slots[base - 2], record["listed"])
        head = np.where(of[:, KIND] == RING, state.slots[base - 1], 0)
        yield Level(front, base, head, held, of[:, CAPACITY])
