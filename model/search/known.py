"""What a search knows of a design, and how much it may spend."""

import time
from typing import NamedTuple

from heapsmith.model.design.design import Design
from heapsmith.model.search.outcome import Outcome
from heapsmith.model.search.pareto import Floats


class Known(NamedTuple):
    """A design that has been priced: its outcome on each trace, and its ratios to the base."""

    design: Design
    outcomes: list[Outcome]
    ratios: Floats


class Budget(NamedTuple):
    """When the search ends: at this time, or after this number of simulations, whichever is given."""

    until: float | None
    simulations: int | None

    def left(self, spent: int, batch: int) -> int:
        """Return how many simulations are left, at most `batch`."""
        if self.until is not None and time.monotonic() >= self.until:
            return 0
        return batch if self.simulations is None else max(0, min(batch, self.simulations - spent))
