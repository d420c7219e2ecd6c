"""Confirmation: replays of the finalists correct predicted times and peaks, and the best by that is the choice."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.memory.hardware import SPARE_SHARE, free_bytes
from heapsmith.model.search.choice_worth import Worth, may_replace, put_back, weigh
from heapsmith.model.search.explore import Explorer, Known
from heapsmith.model.search.pareto import Floats

PREDICTION_ERROR = 0.05
"""What counts as the standard error of predicted ratios of times, in logarithms, as far as all finalists share it:
the median error of a predicted time (`time_median_error` of the machines).
"""

LEAST_ERROR = 1e-6
"""The least standard error of a replayed ratio, in logarithms."""

FINALISTS = 10
"""The most designs that are replayed beside each other, the base among them."""

TURNS = 3
"""How often the choice may change: each change is replayed with the designs a choice away from it."""

ROUNDS = 6
"""The rounds that must fit the time, the one that warms up among them."""

LEAST_RATIO = 0.05
"""No replay shows that a design takes less of the base's time in the allocator."""

REPLAYER_NS, START_NS = 15, 60e6
"""What a replay takes beside the allocator: for each operation, and to start; roughly, to see how many fit the time."""


class Shift(NamedTuple):
    """How much more CPU time a design takes per operation than the base, and the standard error of that.

    peak: the logarithm of the ratio of its peak RSS to the base's, a standard error below the median of replays.
    """

    ns: float
    error_ns: float
    peak: float


Replays = Callable[[Sequence[Path], Sequence[Design], float], list[list[Shift]] | None]
"""Replays designs, the base first, on traces within seconds: of each trace the shifts of the first designs after it.

Their libraries are built in this time too, of as many as it allows. None where it is too short for enough rounds.
"""


class Finalist(msgspec.Struct, frozen=True):
    """A design that was replayed beside the base. Times are those of the allocator, in parts of the base's.

    what: which design it is. replayed, error: by the replays, and the standard error of that. time:
    predicted, corrected by the replays (`_mended`). peak: predicted, in parts of the base's, or that of the
    replays if it is more by a standard error. score: with that time and peak, by the weights.
    """

    hash: str
    what: str
    predicted: float
    replayed: float
    error: float
    time: float
    peak: float
    score: float


class Confirmed(NamedTuple):
    """The choice, what its choices are worth, and who else was replayed; why_not: why nobody was."""

    found: Known
    worth: list[Worth]
    finalists: list[Finalist]
    why_not: str | None


def base_runs(others: int) -> int:
    """Return how often the base is replayed in a round: with the root of the number of the `others`, all of which are
    compared with it, the differences have the least variance (Dunnett, A multiple comparison procedure for comparing
    several treatments with a control, JASA 50, 1955).
    """
    return max(1, round(math.sqrt(others)))


def confirm(
    found: Known, worth: list[Worth], explorer: Explorer, replays: Replays, seconds: float
) -> Iterator[Confirmed]:
    """Yield the choice that replays confirm, as it changes.

    The finalists are the base, the choice, the choice with each of its choices put back, and the best of the front.
    The best by the corrected figures is the next choice, and so on as long as it changes. The base, or else the choice,
    stays where no finalist within the limits has a clearly better score (`may_replace`). The first turn has half of the
    time.
    """
    base, paths = explorer.known[explorer.base.hash()], [source.path for source in explorer.sources]
    known, told, measured = {explorer.base.hash(): base}, dict[str, Finalist](), list[_Measured]()
    why_not = _why_not(base, found, explorer)
    yield Confirmed(found, worth, [], why_not)
    for _ in range(0 if why_not else TURNS):
        seconds /= 2
        runs = int(seconds / (ROUNDS * _replay_s(base)))
        room = max((others for others in range(FINALISTS) if others + base_runs(others) <= runs), default=0)
        new = {name: pair for name, pair in _finalists(found, explorer).items() if name not in known}
        some = [*new.values()][:room]
        shifts = replays(paths, [explorer.base, *(one.design for _, one in some)], seconds) if some else None
        if shifts is None:
            if not told:
                yield Confirmed(found, worth, [], "enough rounds of replays take too long")
            return
        measured += _measured(some[: len(shifts[0])], shifts, explorer)
        for finalist, one in _corrected(measured, explorer):
            told[finalist.hash], known[finalist.hash] = finalist, one
        now = found.design.hash()
        allowed = {name: one for name, one in known.items() if explorer.allowed(one)}
        best = min(allowed, key=lambda name: explorer.score(allowed[name]), default=now)
        simple = (name for name in (explorer.base.hash(), now) if name in allowed)
        best = next((name for name in simple if may_replace(known[name], known[best], explorer)), best)
        yield Confirmed(found, worth, [*told.values()], None)
        if best == now:
            return
        found, worth = explorer.known[best], []
        for weighed in weigh(found, explorer.base, explorer):
            worth = weighed.worth
            yield Confirmed(found, worth, [*told.values()], None)


def _finalists(found: Known, explorer: Explorer) -> dict[str, tuple[str, Known]]:
    """Return designs by hash, with what they are: the choice, it without one of its choices, the best of the front."""
    named = {found.design.hash(): ("the choice", found)}
    for fields, other in put_back(found.design, explorer.base):
        if without := explorer.known.get(other.hash()):
            named.setdefault(other.hash(), (f"without {' and '.join(fields)}", without))
    front = filter(explorer.allowed, sorted(explorer.front(), key=explorer.score))
    for number, one in enumerate(islice(front, FINALISTS), 1):
        named.setdefault(one.design.hash(), (f"number {number} of the front", one))
    return named


def _replay_s(base: Known) -> float:
    """Return about how many seconds a replay of all traces takes."""
    ns = [START_NS + one.operations * (one.allocator_ns_per_op + REPLAYER_NS) for one in base.outcomes]
    return sum(ns) / 1e9


def _why_not(base: Known, found: Known, explorer: Explorer) -> str | None:
    """Return why nothing is to be replayed, or None."""
    if found.design.hash() == base.design.hash():
        return "the base stays"
    most = max(one.committed_peak for one in [*base.outcomes, *found.outcomes])
    if most > SPARE_SHARE * free_bytes():
        return f"a replay would take {most:,} bytes, and {free_bytes():,} are free"
    return None


class _Measured(NamedTuple):
    """A replayed design: the logarithm of the ratio of times, its error, and the base's runs in a round beside it.

    peak: the logarithm of the least ratio of peaks.
    """

    what: str
    one: Known
    replayed: float
    error: float
    base_runs: int
    peak: float


def _measured(
    some: Sequence[tuple[str, Known]], shifts: Sequence[Sequence[Shift]], explorer: Explorer
) -> Iterator[_Measured]:
    """Yield what a turn measured, by the shifts on each trace."""
    before = np.array([[one.allocator_ns_per_op] for one in explorer.known[explorer.base.hash()].outcomes])
    after = np.maximum(before + [[shift.ns for shift in row] for row in shifts], LEAST_RATIO * before)
    weights = np.array([[source.weight] for source in explorer.sources])
    weights /= weights.sum()
    replayed = (weights * np.log(after / before)).sum(axis=0)
    errors = np.linalg.norm(weights * [[shift.error_ns for shift in row] for row in shifts] / after, axis=0)
    peaks = (weights * [[shift.peak for shift in row] for row in shifts]).sum(axis=0)
    for (what, one), ratio, error, peak in zip(some, replayed, errors, peaks, strict=True):
        yield _Measured(what, one, float(ratio), float(error), base_runs(len(some)), float(peak))


def _corrected(measured: Sequence[_Measured], explorer: Explorer) -> Iterator[tuple[Finalist, Known]]:
    """Yield all finalists so far, and the designs with their corrected times and peaks.

    Threads take other turns in replays than in the trace, and more may be resident at once than predicted.
    """
    predicted = np.log([found.one.ratios[0] for found in measured])
    replayed, errors, runs = np.array([(found.replayed, found.error, found.base_runs) for found in measured]).T
    for found, time in zip(measured, np.exp(_mended(predicted, replayed, errors, runs)), strict=True):
        peak = max(float(found.one.ratios[1]), math.exp(found.peak))
        known = found.one._replace(ratios=np.array([time, peak, *found.one.ratios[2:]]))
        times = float(found.one.ratios[0]), math.exp(found.replayed), found.error, float(time)
        yield Finalist(found.one.design.hash(), found.what, *times, peak, explorer.score(known)), known


def _chi_square_95(degrees: int) -> float:
    """Return the 95 % quantile of the chi-square distribution with `degrees` degrees of freedom, at least 1.

    By Wilson and Hilferty, The distribution of chi-square, PNAS 17, 1931.
    """
    return degrees * (1 - 2 / (9 * degrees) + 1.645 * math.sqrt(2 / (9 * degrees))) ** 3


def _mended(predicted: Floats, replayed: Floats, errors: Floats, runs: Floats) -> Floats:
    """Return the corrected ratios of times, all in logarithms; runs: those of the base beside each.

    The replays differ from the predictions by a part that all share, since all are compared with the base and priced
    alike, and by parts of their own. The own parts are trusted as far as they vary beyond the 95 % quantile of what
    the designs' own errors, without that of the base, explain: the best of many noisy replays is mostly the luckiest.
    (DerSimonian and Laird, Meta-analysis in clinical trials, Controlled Clinical Trials 7, 1986.) The shared part has
    PREDICTION_ERROR, to which the base's runs add their own error: designs whose own parts vary widely tell little
    about it. (Efron and Morris, Data analysis using Stein's estimator, JASA 70, 1975.)
    """
    errors = np.maximum(errors, LEAST_ERROR)
    variances = errors**2 * runs / (runs + 1)
    differences, precisions = replayed - predicted, 1 / variances
    shared = (precisions @ differences) / precisions.sum()
    spread = precisions @ (differences - shared) ** 2
    room = precisions.sum() - (precisions @ precisions) / precisions.sum()
    others = len(errors) - 1
    own = max(0.0, (spread - _chi_square_95(others)) / room) if others else 0.0
    before = 1 / (PREDICTION_ERROR**2 + (errors**2 / (runs + 1)).min())
    weights = 1 / (variances + own)
    shared = (weights @ differences) / (weights.sum() + before)
    trust = PREDICTION_ERROR**2 * before
    return np.asarray(predicted + trust * shared + own / (own + variances) * (differences - shared))
