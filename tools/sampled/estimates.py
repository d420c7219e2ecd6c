"""What samples stand for: estimates of all blocks with 95 % intervals, from the samples' own variance.

A block of s bytes is a sample with probability p = 1 - exp(-s / mean). The estimate is that of Horvitz and Thompson:
each sample counts 1 / p times; the variance is the sum of s^2 (1 - p) / p^2. The part of an estimate that no sample has
itself, s (1 - p) / p, is what may be wrong. Its interval is that of Fay and Feuer ("Confidence intervals for directly
standardized rates", 1997) for sums of weighted Poisson counts, which holds for few samples too; that of a difference is
made of both intervals (Zou and Donner, "Construction of confidence limits about effect measures", 2008).
"""

import math
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

F64 = npt.NDArray[np.float64]
TAIL = 0.025
"""On either side of an interval."""


class Estimate(msgspec.Struct, frozen=True):
    """An estimate, and the bounds that hold the true value 95 times of 100."""

    value: float
    low: float
    high: float


class Sums(msgspec.Struct, frozen=True):
    """Sums over samples: what they have themselves, what they stand for in all, and its variance.

    unit: the most that one more sample would add to what is unseen. all_seen: the logarithm of the probability that
    all of these blocks were sampled, if there are no others.
    """

    known: float
    value: float
    variance: float
    unit: float
    all_seen: float

    def less(self, other: "Sums") -> "Sums":
        """The sums over those samples that the other, an earlier look at the same, did not have yet."""
        return Sums(
            max(self.known - other.known, 0.0),
            max(self.value - other.value, 0.0),
            max(self.variance - other.variance, 0.0),
            self.unit,
            min(self.all_seen - other.all_seen, 0.0),
        )

    def estimate(self) -> Estimate:
        """The estimate with its interval."""
        unseen = max(self.value - self.known, 0.0)
        low = high = 0.0
        if unseen > 0 and self.variance > 0 and self.all_seen < math.log(TAIL):
            scale = self.variance / unseen
            low = scale * _gamma_quantile(unseen / scale, TAIL)
        more, spread = unseen + self.unit, self.variance + self.unit**2
        if more > 0:
            scale = spread / more
            high = scale * _gamma_quantile(more / scale, 1 - TAIL)
        return Estimate(self.value, self.known + min(low, unseen), self.known + max(high, unseen))


NOTHING = Sums(0.0, 0.0, 0.0, 0.0, 0.0)
"""The sums over no sample."""


def _gamma_quantile(shape: float, share: float) -> float:
    """Half of a quantile of the chi-squared distribution with twice as many degrees of freedom."""
    return float(gammaincinv(shape, share))


def shares(sizes: Any, means: Any) -> F64:
    """The probability of each block to be a sample."""
    found: F64 = -np.expm1(-np.maximum(np.asarray(sizes, np.float64), 1) / np.maximum(np.asarray(means, np.float64), 1))
    return found


def of_bytes(sizes: Any, means: Any, counts: Any = 1) -> Sums:
    """The bytes that these samples stand for. counts: how many there are of each."""
    size, mean = np.asarray(sizes, np.float64), np.asarray(means, np.float64)
    if not size.size:  # as of the growth of each group where there is one look
        return NOTHING
    count, share = np.broadcast_to(counts, size.shape), shares(size, mean)
    variance = count * size**2 * (1 - share) / share**2
    known, value = float((count * size).sum()), float((count * size / share).sum())
    return Sums(known, value, float(variance.sum()), float(mean.max(initial=0)), _all_seen(share, count))


def of_blocks(sizes: Any, means: Any, counts: Any = 1) -> Sums:
    """The blocks that these samples stand for; those without a sample are taken to be no smaller than these."""
    count = np.broadcast_to(counts, np.shape(sizes))
    unseen = of_unseen(sizes, means, count, 1.0)
    known = float(count.sum())
    return msgspec.structs.replace(unseen, known=known, value=known + unseen.value)


def of_unseen(sizes: Any, means: Any, counts: Any, weights: Any) -> Sums:
    """The blocks that these samples stand for beside themselves, each with the weight of its sample."""
    share = shares(sizes, means)
    unseen = weights * (1 - share) / share
    value, variance = float((counts * unseen).sum()), float((counts * unseen * weights / share).sum())
    return Sums(0.0, value, variance, float(np.max(unseen, initial=0)), _all_seen(share, counts))


def _all_seen(share: F64, count: Any) -> float:
    return float((count * np.log(share)).sum())


def difference(more: Sums, less: Sums) -> Estimate:
    """The first less the second, which have no sample in common."""
    plus, minus = more.estimate(), less.estimate()
    value = plus.value - minus.value
    low = value - math.hypot(plus.value - plus.low, minus.high - minus.value)
    high = value + math.hypot(plus.high - plus.value, minus.value - minus.low)
    return Estimate(value, low, high)
