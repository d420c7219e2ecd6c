"""Fits: the cost of each kind of event, never negative, from what many runs cost in all; and how far off they are."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.model.predict.cost import price

ROUNDS = 20
CLOSE = 1e-3
"""A relative error below which a run weighs no more for being closer."""

PULL = 3.0
"""The weight of the prior cost of a kind, beside a run of nothing but that kind."""


class Errors(msgspec.Struct, frozen=True):
    """Relative errors of predictions: |predicted / measured - 1|."""

    median: float
    p90: float
    worst: float

    @classmethod
    def of(cls, predicted: Sequence[float], measured: Sequence[float]) -> "Errors":
        """Of at least one pair; a measured 0 counts as no error if it was predicted, else as one of 100 %."""
        errors = [relative(a, b) for a, b in zip(predicted, measured, strict=True)]
        return cls(float(np.median(errors)), float(np.quantile(errors, 0.9)), max(errors))


def relative(predicted: float, measured: float) -> float:
    """The relative error of one prediction."""
    if measured == 0:
        return float(predicted != 0)
    return abs(predicted / measured - 1)


class Fit(msgspec.Struct, frozen=True):
    """The cost of each kind, and the errors of the runs that it was fitted to."""

    costs: dict[str, float]
    errors: Errors


def fit(
    runs: Sequence[Mapping[str, float]], measured: Sequence[float], prior: Mapping[str, float] | None = None
) -> Fit:
    """The costs, none below 0, for which price(run, costs) comes closest to what was measured of each run, above 0.

    The sum of the absolute relative errors is minimised, by non-negative least squares whose rows are weighted anew
    by the errors left (iteratively reweighted least squares): a run that no kinds explain does not bend the others.
    `prior`: costs to keep near to where the runs say little, and for kinds that none of them has.
    """
    known = prior or {}
    names = sorted({name for run in runs for name in run})
    shares = np.array([[run.get(name, 0.0) / cost for name in names] for run, cost in zip(runs, measured, strict=True)])
    scale = shares.max(axis=0)
    pulled = [place for place, name in enumerate(names) if name in known]
    rows = np.vstack([shares / scale, PULL * np.eye(len(names))[pulled]])
    aims = np.array([1.0] * len(runs) + [PULL * known[names[place]] * scale[place] for place in pulled])
    costs = {**known, **dict(zip(names, (_reweighted(rows, aims, len(runs)) / scale).tolist(), strict=True))}
    return Fit(costs, Errors.of([price(run, costs) for run in runs], measured))


def _reweighted(rows: NDArray[np.float64], aims: NDArray[np.float64], runs: int) -> NDArray[np.float64]:
    """x >= 0 with rows @ x near the aims, the first `runs` in the sum of absolute differences, the rest of squares."""
    from scipy.optimize import nnls  # its import takes longer than a simulation, whose tables import this module

    weight = np.ones(len(rows))
    for _ in range(ROUNDS):
        found: NDArray[np.float64] = nnls(rows * weight[:, np.newaxis], aims * weight, maxiter=100 * rows.shape[1])[0]
        weight[:runs] = 1 / np.sqrt(np.abs(rows @ found - aims)[:runs] + CLOSE)
    return found
