"""Fits non-negative costs of kinds of events to the total costs of many runs, with their errors."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.model.predict.cost import price

ROUNDS = 20
CLOSE = 1e-3
"""The relative error below which a run's weight stops growing."""

PULL = 3.0
"""The weight of a kind's prior cost, relative to a run of this kind alone."""

NEAR, STEP = 1.0, 20.0
"""The weight, relative to a run, of a cost that drifts by its prior and STEP: kinds that are rare in all runs stay near
what they were, where it would take an absurd cost to explain what is left."""


class Errors(msgspec.Struct, frozen=True):
    """Relative errors of predictions: |predicted / measured - 1|."""

    median: float
    p90: float
    worst: float

    @classmethod
    def of(cls, predicted: Sequence[float], measured: Sequence[float]) -> "Errors":
        """From at least one pair; a measured 0 is no error if predicted, else an error of 100 %."""
        errors = [relative(a, b) for a, b in zip(predicted, measured, strict=True)]
        return cls(float(np.median(errors)), float(np.quantile(errors, 0.9)), max(errors))


def relative(predicted: float, measured: float) -> float:
    """The relative error of one prediction."""
    if measured == 0:
        return float(predicted != 0)
    return abs(predicted / measured - 1)


class Fit(msgspec.Struct, frozen=True):
    """The cost of each kind, and the errors of the fitted runs."""

    costs: dict[str, float]
    errors: Errors


def fit(
    runs: Sequence[Mapping[str, float]], measured: Sequence[float], prior: Mapping[str, float] | None = None
) -> Fit:
    """Fit the costs, none below 0, so that price(run, costs) is close to each run's measurement.

    Minimises the sum of the absolute relative errors by iteratively reweighted non-negative least
    squares: a run that no kind explains does not distort the others. Measurements are above 0.
    `prior`: costs for kinds on which the runs say little or nothing.
    """
    known = prior or {}
    names = sorted({name for run in runs for name in run})
    shares = np.array([[run.get(name, 0.0) / cost for name in names] for run, cost in zip(runs, measured, strict=True)])
    scale = shares.max(axis=0)
    pulled = [place for place, name in enumerate(names) if name in known]
    before = np.array([known[names[place]] for place in pulled])
    each, drift = np.eye(len(names))[pulled], NEAR / ((before + STEP) * scale[pulled])
    rows = np.vstack([shares / scale, PULL * each, each * drift[:, np.newaxis]])
    aims = np.concatenate([np.ones(len(runs)), PULL * before * scale[pulled], before * scale[pulled] * drift])
    costs = {**known, **dict(zip(names, (_reweighted(rows, aims, len(runs)) / scale).tolist(), strict=True))}
    return Fit(costs, Errors.of([price(run, costs) for run in runs], measured))


def _reweighted(rows: NDArray[np.float64], aims: NDArray[np.float64], runs: int) -> NDArray[np.float64]:
    """x >= 0 with rows @ x near the aims, by absolute differences in the first `runs`."""
    from scipy.optimize import nnls  # imported here: the import takes longer than a simulation

    weight = np.ones(len(rows))
    for _ in range(ROUNDS):
        found: NDArray[np.float64] = nnls(rows * weight[:, np.newaxis], aims * weight, maxiter=100 * rows.shape[1])[0]
        weight[:runs] = 1 / np.sqrt(np.abs(rows @ found - aims)[:runs] + CLOSE)
    return found
