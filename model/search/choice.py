"""The choice: which point of a front a user wants, by favour and constraints."""

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.model.search import Favour as Favour
from heapsmith.model.search.outcome import Outcome, combined, ratios
from heapsmith.model.search.pareto import Floats

WEIGHTS: dict[Favour, Floats] = {
    "balanced": np.array([0.5, 0.25, 0.24, 0.01]),
    "time": np.array([0.8, 0.1, 0.09, 0.01]),
    "memory": np.array([0.2, 0.4, 0.38, 0.02]),
}
"""The weights of OBJECTIVES where the allocator takes IN_FULL of the run or more. The choice has the least weighted
geometric mean of ratios to the base: where a step along the front gains as much in one as it loses in the others.
"""

OF_THE_RUN: tuple[Favour, ...] = ("balanced", "memory")
"""The favours that weigh the allocator's time by its part of the run."""

IN_FULL = 0.25
"""From this part of the run on, the allocator's time has its whole weight. By the run alone it would have that at a
part of 1; but the recorded run is slower than the program, and the heap is only a part of the process's memory.
"""

SLACK = 1.01
"""The most time, peak and average bytes of the choice, in parts of the base's, without a limit."""

TIME_SLACK, RUN_SLACK = 1.05, 0.002
"""The time may be up to TIME_SLACK where the difference is at most this part of the program's run."""

FAVOURED_SLACK = 1.05
"""The most of what a favour does not want, in parts of the base's without a limit: bytes for `time`, time for `memory`.
"""

WORST = 1.2
"""Ratios from here on are of no interest: the corner from which volumes are measured."""

ROUNDING = 1e-12
"""What a ratio may be above its limit: the error of its arithmetic."""

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
TIMES = {"ns": 1, "us": 1e3, "ms": 1e6}


class Limits(msgspec.Struct, frozen=True):
    """The most time and peak bytes of the choice: factors of the base's, on average over the traces by
    weight; or bytes of the heap on each trace. p999_ns: the most time on each trace that one
    operation in a thousand may exceed. follows_p999: p99.9 is an objective of the front.
    """

    time: float | None = None
    rss: float | None = None
    rss_bytes: int | None = None
    p999_ns: float | None = None
    follows_p999: bool = False

    def ratios(self, base: Sequence[Outcome], weights: Sequence[float], favour: Favour = "balanced") -> Floats:
        """Return the largest allowed mean ratio of each of OBJECTIVES, with slack where there is no limit.

        Bytes bound each trace (`allow_bytes`); no mean is larger than that of the bounds. A limit of the
        peak that is above the slack is the average's too.
        """
        slack = FAVOURED_SLACK if favour == "time" else SLACK
        time = self.time
        if time is None:
            time = max(_time_slack(base, weights), FAVOURED_SLACK if favour == "memory" else SLACK)
        peak = self.rss if self.rss is not None else slack
        if self.rss_bytes is not None:
            bounds = [ratios([0.0, self.rss_bytes], [0.0, one.figures()[1]]) for one in base]
            peak = float(combined(bounds, weights)[1])
        return np.array([time, peak, max(slack, peak), np.inf])

    def allow_bytes(self, outcomes: Sequence[Outcome]) -> bool:
        """Say whether the bytes at the peak of each trace are within `rss_bytes`."""
        return self.rss_bytes is None or all(one.figures()[1] <= self.rss_bytes for one in outcomes)

    def allow_p999(self, p999_ns: Sequence[float]) -> bool:
        """Say whether p99.9 of each trace is within its limit; without a limit it need not be known."""
        return self.p999_ns is None or max(p999_ns) <= self.p999_ns


NO_LIMITS = Limits()


def _time_slack(base: Sequence[Outcome], weights: Sequence[float]) -> float:
    """Return the largest mean ratio of time without a limit: of the slacks of the traces."""
    shares = [one.run_share() for one in base]
    slacks = [SLACK if share is None else min(TIME_SLACK, max(SLACK, 1 + RUN_SLACK / share)) for share in shares]
    return float(combined([np.array([slack]) for slack in slacks], weights)[0])


def parse_limits(max_time: str | None, max_rss: str | None, max_p999: str | None = None) -> Limits:
    """Return the limits of texts: factors of the base ('1.05x'), for max_rss also bytes ('200M'), for max_p999 a time
    ('2us').
    """
    time = _factor("max time", max_time) if max_time is not None else None
    p999_ns = _time_ns(max_p999) if max_p999 is not None else None
    if max_rss is None:
        return Limits(time, p999_ns=p999_ns)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)", max_rss)
    if found:
        bytes_most = int(float(found[1]) * UNITS[found[2]])
        if bytes_most <= 0:
            raise BadInput(f"max rss: {max_rss} is no memory; expected bytes above 0")
        return Limits(time, rss_bytes=bytes_most, p999_ns=p999_ns)
    rss = _factor("max rss", max_rss, "bytes ('200M') or a factor of the base's ('0.9x')")
    return Limits(time, rss, p999_ns=p999_ns)


def _time_ns(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms)", text)
    if not found or not float(found[1]):
        raise BadInput(f"max p999: {text!r}; expected a time above 0, as 800ns, 2us or 1.5ms")
    return float(found[1]) * TIMES[found[2]]


def _factor(name: str, text: str, expected: str = "a factor of the base's ('1.05x')") -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)x", text)
    if not found or not 0 < float(found[1]) <= 100:
        raise BadInput(f"{name}: {text!r}; expected {expected}, at most 100x")
    return float(found[1])


def weights_of(favour: Favour, base: Sequence[Outcome], weights: Sequence[float]) -> Floats:
    """Return the weights of OBJECTIVES by the base on traces of these weights; their sum is 1.

    For OF_THE_RUN that of time is in proportion to the allocator's share of the run, up to IN_FULL: the logarithm of
    the run's ratio is about that share of the allocator's. In a trace without times it has its whole weight. Of several
    traces the mean counts.
    """
    found = WEIGHTS[favour].copy()
    if favour in OF_THE_RUN:
        shares = [one.run_share() for one in base]
        parts = [1.0 if share is None else min(1.0, share / IN_FULL) for share in shares]
        found[0] *= np.average(parts, weights=weights)
    return np.asarray(found / found.sum())


def wanted(favour: Favour, outcomes: Sequence[Outcome], base: Sequence[Outcome], weights: Sequence[float]) -> float:
    """Return what a favour wants least of, in parts of the base's: time, or peak and average bytes together; else 0."""
    if favour == "balanced":
        return 0.0
    rows = [(one.predicted(), known.predicted()) for one, known in zip(outcomes, base, strict=True)]
    parts = [sum(one[1:3]) / max(1.0, sum(known[1:3])) for one, known in rows]
    if favour == "time":
        parts = [one[0] / max(1e-9, known[0]) for one, known in rows]
    return float(np.average(parts, weights=weights))


def scores(points: Floats, weights: Floats) -> Floats:
    """Return the geometric means of the ratios by the weights of OBJECTIVES; the base's is 1."""
    return np.asarray(np.exp(np.log(points) @ weights))


def chosen(points: Floats, most: Floats, weights: Floats) -> int | None:
    """Return the point of the least score within the limits, or None if no point is within them."""
    within = np.flatnonzero((points <= most + ROUNDING).all(axis=1))
    if len(within) == 0:
        return None
    return int(within[np.argmin(scores(points[within], weights))])
