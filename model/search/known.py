"""What a search knows of a design, and how much it may spend."""

import math
import time
from typing import NamedTuple

from heapsmith.model.design.design import Design
from heapsmith.model.search.outcome import Outcome
from heapsmith.model.search.pareto import Floats

BATCH = 8
"""Designs that are priced together, and then teach the guess; more where more workers would wait."""

FEWEST = 4
"""The designs that a search prices beside its base, however little time it has."""

LOOKS, FEWEST_LOOKS = 96, 24
"""Designs that are looked at between two batches: an eighth of the time of pricing each. Long traces
get fewer, so that the first prices come soon.
"""
LOOKED_EVENTS = 96_000_000
"""The most events of these looks together."""


class Known(NamedTuple):
    """A design that has been priced: its outcome on each trace, and its ratios to the base."""

    design: Design
    outcomes: list[Outcome]
    ratios: Floats


class Budget(NamedTuple):
    """When the search ends: at this time, or after this number of simulations, whichever is given."""

    until: float | None
    simulations: int | None

    def left(self, spent: int, batch: int, each_s: float = 0.0) -> int:
        """Return how many simulations are left, at most `batch`: those that end in time if each takes `each_s`."""
        found = batch if self.simulations is None else max(0, min(batch, self.simulations - spent))
        return min(found, math.ceil(found * self.part(found * each_s)))

    def part(self, work_s: float) -> float:
        """Return which part of some work ends in time: 0 once the time is up, 1 for all of it."""
        left_s = math.inf if self.until is None else self.until - time.monotonic()
        if left_s <= 0:
            return 0.0
        return min(1.0, left_s / work_s) if work_s else 1.0
