"""Results of experiments: what was measured and predicted of each arm, as changes, and the verdict on a claim."""

import itertools
from collections.abc import Sequence
from typing import Literal

import msgspec

from heapsmith.bench.experiments.book import Experiment, Quantity, Sign
from heapsmith.bench.experiments.profile import Profile
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import Simulation
from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio, ratio

NOTHING = 0.01
"""A change within this is no difference."""

Verdict = Literal["holds here", "opposite here", "no difference here", "undecided", ""]

REPORTED: tuple[Quantity, ...] = ("cpu", "rss", "faults", "superslabs", "refills", "system_calls")
COUNTED = ("locks", "lock_waits", "futex")
UNTOLD = ("lock_waits", "futex")
TOLD = ("superslabs", "slabs")
TIMES = ("cpu", "wall", "rss", "faults")
"""What a run reports of an arm; TOLD: of a library's counters; COUNTED: of libraries that count everything;
UNTOLD: of which the model tells nothing."""


class Measured(msgspec.Struct, frozen=True):
    """One run of a workload under an arm; times in nanoseconds of its own loop, sizes in bytes."""

    cpu: float
    wall: float
    rss: float
    faults: float
    operations: int
    counts: dict[str, float] = {}  # of a library, by quantity

    def of(self, quantity: Quantity) -> float | None:
        """Return a quantity of the run; None of a count that the library did not write."""
        if quantity in TIMES:
            return float(getattr(self, quantity))
        least = 1 if quantity in COUNTED else 0  # a count of 0 has no ratio
        return max(least, self.counts[quantity]) if quantity in self.counts else None


class Change(msgspec.Struct, frozen=True):
    """A quantity of an arm as a ratio to the reference. predicted: None if the model cannot say.

    measured: None for a count that only the model tells, and for a prediction alone.
    """

    quantity: Quantity
    predicted: float | None
    measured: Ratio | None


class Result(msgspec.Struct, frozen=True, tag=True):
    """An arm against the reference on a workload; the first change is that of the claim's quantity."""

    experiment: str
    workload: str
    reference: str
    arm: str
    changes: list[Change]


class Conditions(msgspec.Struct, frozen=True):
    """How the results of a run came about."""

    machine: str
    rounds: int
    quick: bool
    processors: int


class Results(msgspec.Struct, frozen=True):
    """All results of a run. skipped: why an experiment could not run here, by name."""

    conditions: Conditions
    results: list[Result]
    profiles: list[Profile]
    skipped: dict[str, str]


def compared(
    name: str, one: Experiment, workload: str, predicted: dict[str, Simulation], runs: list[list[Measured]]
) -> list[Result]:
    """Return the results of all arms but the reference."""
    reference, *others = one.arms
    found: list[Result] = []
    for arm, its in itertools.zip_longest(others, runs[1:]):
        pair = (predicted.get(reference.name), predicted.get(arm.name))
        changes = [
            Change(quantity, _predicted(quantity, *pair), _measured(quantity, runs[0], its) if its else None)
            for quantity in dict.fromkeys([one.claim.quantity, *REPORTED])
        ]
        first, *rest = changes
        rest = [change for change in rest if change.predicted is not None or change.measured is not None]
        found.append(Result(name, workload, reference.name, arm.name, [first, *rest]))
    return found


def _measured(quantity: Quantity, first: Sequence[Measured], its: Sequence[Measured]) -> Ratio | None:
    pair = [[one for run in runs if (one := run.of(quantity)) is not None] for runs in (its, first)]
    return ratio(*pair) if all(len(one) == len(its) for one in pair) else None  # else of a peer


def is_known(quantity: Quantity, runs: list[list[Measured]]) -> bool:
    """Return whether the intervals of all arms are narrow, so that further rounds would tell little."""
    if len(runs[0]) < LEAST_ROUNDS:
        return False
    found = [_measured(quantity, runs[0], its) or _measured("cpu", runs[0], its) for its in runs[1:]]
    return all(one is not None and one.is_narrow() for one in found)


def _predicted(quantity: Quantity, first: Simulation | None, its: Simulation | None) -> float | None:
    """Return the ratio that the model predicts; None for a peer, or where it has no figure."""
    if first is None or its is None:
        return None
    if quantity in UNTOLD:
        return None
    before, after = _figure(quantity, first), _figure(quantity, its)
    return after / before if before else (1.0 if not after else None)


def _figure(quantity: Quantity, of: Simulation) -> float:
    totals, classes = of.counters.totals, of.counters.classes
    touches, price = of.touches, of.price
    assert touches is not None
    assert price is not None
    ns_per_op = price.allocator_ns_per_op + price.shares.get("replay.operation", 0.0) * price.ns_per_op
    return {
        "cpu": ns_per_op,
        "wall": ns_per_op,
        "rss": touches.resident_peak,
        "faults": touches.faults_4k + touches.faults_2m,
        "superslabs": totals["superslabs"],
        "slabs": totals["slabs"],
        "system_calls": system_calls(of),
        "refills": sum(classes["refill"]),
        "locks": sum(of.counters.locks.values()),
    }[quantity]


def judged(change: Change, claimed: Sign | None) -> tuple[Verdict, bool | None]:
    """Return the verdict on a claim, and whether the prediction had the sign of a decided change.

    A measured interval that lies within NOTHING of 1 is no difference; one that holds 1 decides
    nothing. Without an interval nothing is decided, and without a claim there is no verdict. A
    prediction within NOTHING of 1 has no sign: it is right if the interval reaches as near to 1.
    """
    bounds = change.measured.bounds() if change.measured else None
    if bounds is None:
        return "", None
    low, high = bounds
    verdict: Verdict = "holds here" if _direction(low, high) == claimed else "opposite here"
    sign = None if change.predicted is None else _is_right(change.predicted, low, high)
    if low >= 1 - NOTHING and high <= 1 + NOTHING:
        verdict, sign = ("holds here" if claimed == "same" else "no difference here"), None
    elif low <= 1 <= high:
        verdict, sign = "undecided", None
    return (verdict if claimed else ""), sign


def _direction(low: float, high: float) -> Sign:
    return "less" if high < 1 else "more" if low > 1 else "same"


def _is_right(predicted: float, low: float, high: float) -> bool:
    """Return whether a prediction agrees with a decided interval."""
    if abs(predicted - 1) < NOTHING:
        return low < 1 + NOTHING and high > 1 - NOTHING
    return (predicted < 1) == (high < 1)
