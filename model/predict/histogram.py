"""Histograms of bounded size for times: buckets as in HdrHistogram (hdrhistogram.org), by path."""

from collections.abc import Sequence

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints, kernel

STEPS_LOG2 = 6
STEPS = 1 << STEPS_LOG2
BUCKETS = (54 - STEPS_LOG2) * STEPS
"""For values below 2^53; larger ones count as the largest."""
TICKS = 8
"""Ticks in a nanosecond: times below 16 ns are exact to an eighth, longer ones to 1/128."""


class Latency(msgspec.Struct, frozen=True):
    """The distribution of operations in nanoseconds.

    worst_path: what makes up most of the longest. tail: by path, the share of the operations at
    p99.9 and above of which it makes up most, the largest first. buckets: the times, ascending, and how
    many operations took each.
    """

    mean: float
    p50: float
    p99: float
    p999: float
    worst: float
    worst_path: str
    tail: dict[str, float]
    buckets: list[tuple[float, int]]

    def as_stamped(self, share: float, cost: float, step: float) -> float:
        """Return the quantile that stamps show which cost `cost` ns, of a clock that goes in steps of `step` ns.

        An operation begins anywhere within a step, so the clock shows one of two numbers of steps. The
        quantile lies evenly within the step that holds it, less the cost, as in runtime/replay/latency.c.
        """
        if not self.buckets:
            return 0.0
        times, counts = (np.array(each, np.float64) for each in zip(*self.buckets, strict=True))
        steps = np.floor((times + cost) / step).astype(np.int64)
        later = (times + cost) / step - steps
        shown = np.bincount(steps, counts * (1 - later), int(steps[-1]) + 2)
        shown += np.bincount(steps + 1, counts * later, len(shown))
        below = np.cumsum(shown)
        found = int(np.searchsorted(below, share * below[-1]))
        inside = (share * below[-1] - below[found]) / shown[found] + 1
        return max(0.0, float((found + inside - 0.5) * step - cost))


@kernel
def bucket_of(ticks: int) -> int:
    """Return the bucket of a time: exact below 2 * STEPS ticks, then STEPS for each doubling."""
    shift = 0
    while ticks >> shift >= 2 * STEPS:
        shift += 1
    return min(shift * STEPS + (ticks >> shift), BUCKETS - 1)


def middle_of(bucket: int) -> float:
    """Return the middle of a bucket's times, in nanoseconds."""
    shift = max(0, bucket // STEPS - 1)
    return (((bucket - shift * STEPS) << shift) + ((1 << shift) - 1) / 2) / TICKS


def quantile_bucket(counts: Ints, share: float) -> int:
    """Return the bucket of the smallest time that at least `share` of all times do not exceed."""
    reached = np.cumsum(counts)
    return int(np.searchsorted(reached, max(1, int(np.ceil(share * int(reached[-1]))))))


def latency_of(counts: Ints, paths: Sequence[str], sum_ns: float, worst_ns: float, worst_path: int) -> Latency:
    """Return the figures of a histogram: counts[path, bucket] of operations; all 0 without operations."""
    together = counts.sum(axis=0)
    operations = int(together.sum())
    if operations == 0:
        return Latency(0.0, 0.0, 0.0, 0.0, 0.0, paths[0], {}, [])
    p50, p99, p999 = (quantile_bucket(together, share) for share in (0.5, 0.99, 0.999))
    above = counts[:, p999:].sum(axis=1)
    tail = {paths[path]: int(above[path]) / int(above.sum()) for path in np.argsort(-above) if above[path]}
    half, most, all_but_few = (min(middle_of(bucket), worst_ns) for bucket in (p50, p99, p999))
    buckets = [(middle_of(bucket), int(together[bucket])) for bucket in np.flatnonzero(together).tolist()]
    return Latency(sum_ns / operations, half, most, all_but_few, worst_ns, paths[worst_path], tail, buckets)
