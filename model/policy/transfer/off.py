"""No transfer cache: flushes go to the store, and refills come from there."""

from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.memory.state import State

NAME = "off"
DEFAULT = True
ZERO = True


def batches(design: Any, size: int) -> int:
    """Return 0: no class keeps batches."""
    return 0


def waiting(state: State) -> Ints:
    """Return by class that no blocks wait."""
    return np.zeros(len(state.classes), np.int64)


def waiting_blocks(state: State) -> Ints:
    """Return no blocks."""
    return np.empty(0, np.int64)


def check_batches(state: State) -> None:
    """Check nothing."""


def unkept(plan: Any, simulation: Any) -> int:
    """Return 0."""
    return 0
