"""Comparing columns of figures: ratios with a bootstrap interval, geometric means, the best of several."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from heapsmith.bench.common.rounds import quotients

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 20260101


class Ratio(msgspec.Struct, frozen=True):
    """The median over the rounds of value / reference, and its interval.

    `low` and `high` bound 95 % of the medians of 2,000 resamplings of the rounds with replacement (percentile
    bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13), from a fixed seed. Of one
    round both are the median.
    """

    median: float
    low: float
    high: float


def ratio(values: Sequence[float], reference: Sequence[float]) -> Ratio:
    """Of the quotients (rounds.quotients); both of the same length, at least 1."""
    each = np.array(quotients(values, reference))
    random = np.random.default_rng(SEED)
    medians = np.median(random.choice(each, (RESAMPLES, len(each))), axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail], method="nearest")
    return Ratio(float(np.median(each)), float(low), float(high))


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of positive values; None if there is none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None
