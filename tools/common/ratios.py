"""Ratios of two series of rounds, with bootstrap intervals, and what the intervals decide."""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

RESAMPLES = 2000
SEED = 20260101
LEAST_ROUNDS = 5
"""The interval of fewer rounds holds the median too seldom to decide anything."""
NARROW = 0.02
"""The width of an interval from which on further rounds would tell little."""


class Ratio(msgspec.Struct, frozen=True):
    """The median over the rounds of value / reference, and its interval.

    `low` and `high` bound 95 % of the medians of 2,000 resamplings of the rounds with replacement
    (percentile bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter
    13), from a fixed seed. One round gives no interval: both are None.
    """

    median: float
    low: float | None
    high: float | None

    def bounds(self) -> tuple[float, float] | None:
        """The interval, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def is_narrow(self) -> bool:
        """Whether the interval is at most NARROW wide."""
        return (bounds := self.bounds()) is not None and bounds[1] - bounds[0] <= NARROW

    def is_less(self) -> bool:
        """Whether the interval lies below 1."""
        return self.high is not None and self.high < 1

    def is_more(self) -> bool:
        """Whether the interval lies above 1."""
        return self.low is not None and self.low > 1

    def words(self) -> str:
        """The ratio as a cell of a table: 0.85 (0.84-0.86)."""
        bounds = self.bounds()
        return f"{self.median:.2f}" + (f" ({bounds[0]:.2f}-{bounds[1]:.2f})" if bounds else "")


def quotients(values: Sequence[float], first: Sequence[float]) -> list[float]:
    """Values / first, round by round: drift over the rounds is in both and cancels. 0 / 0 is 1."""
    return [1.0 if v == f else v / f if f else float("inf") for v, f in zip(values, first, strict=True)]


def ratio(values: Sequence[float], reference: Sequence[float]) -> Ratio:
    """The ratio of two series of equal length, at least 1 (quotients)."""
    from scipy.stats import bootstrap  # imported here: the import is slow

    each = np.array(quotients(values, reference))
    middle = float(np.median(each))
    if len(each) == 1:
        return Ratio(middle, None, None)
    if (each == each[0]).all():  # of which scipy makes no interval
        return Ratio(middle, middle, middle)
    with np.errstate(invalid="ignore"):  # a quotient may be infinite
        found = bootstrap((each,), np.median, n_resamples=RESAMPLES, method="percentile", rng=SEED)
    return Ratio(middle, float(found.confidence_interval.low), float(found.confidence_interval.high))


def are_known(rounds: int, pairs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> bool:
    """Whether further rounds would tell little of the ratios of these pairs of series: all intervals are narrow."""
    return rounds >= LEAST_ROUNDS and all(ratio(values, first).is_narrow() for values, first in pairs)
