"""Comparing columns of figures: ratios with a bootstrap interval, geometric means, the best of several."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

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
    """Round by round, so that what drifts over the rounds cancels; both of the same length, at least 1. 0 / 0 is 1."""
    pairs = zip(values, reference, strict=True)
    each = np.array([1.0 if v == r else v / r if r else math.inf for v, r in pairs])
    random = np.random.default_rng(SEED)
    medians = np.median(random.choice(each, (RESAMPLES, len(each))), axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail], method="nearest")
    return Ratio(float(np.median(each)), float(low), float(high))


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of positive values; None if there is none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None
