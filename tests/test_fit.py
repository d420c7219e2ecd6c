"""The fit: it finds the costs that made the totals, and says how far off it is."""

import numpy as np
import pytest

from heapsmith.model.predict.cost import price
from heapsmith.tools.calibrate.fit import Errors, fit, relative

pytestmark = pytest.mark.quick

COSTS = {"alloc": 11.0, "free": 15.0, "refill": 190.0, "block": 8.5, "unused": 0.0}


def _runs(count: int) -> list[dict[str, float]]:
    random = np.random.default_rng(7)
    return [{name: float(random.integers(1, 10_000)) for name in COSTS} for _ in range(count)]


@pytest.mark.slow
def test_it_recovers_the_costs() -> None:
    runs = _runs(40)
    found = fit(runs, [price(run, COSTS) for run in runs])
    assert found.costs == pytest.approx(COSTS, abs=1e-3)
    assert found.errors.worst < 1e-6


def test_runs_that_no_kinds_explain_do_not_bend_the_others() -> None:
    runs = _runs(60)
    totals = [price(run, COSTS) for run in runs]
    totals[3] *= 3
    totals[30] /= 2
    found = fit(runs, totals)
    assert found.costs == pytest.approx(COSTS, rel=0.02, abs=0.2)
    assert found.errors.median < 0.01 < found.errors.worst


def test_a_prior_fills_what_the_runs_do_not_tell() -> None:
    """Of two kinds that always come together only the sum is known: the prior says how it splits."""
    runs = [{"alloc": float(n), "free": float(n)} for n in range(1000, 9000, 500)]
    prior = {"alloc": 12.0, "free": 14.0, "huge": 300.0}
    found = fit(runs, [26.0 * run["alloc"] for run in runs], prior)
    assert found.costs == pytest.approx(prior, rel=0.01)


def test_a_rare_kind_does_not_explain_what_others_leave() -> None:
    """One event in a run that takes 1 % more than all kinds say: it would have to cost thousands."""
    runs = _runs(30)
    totals = [price(run, COSTS) for run in runs]
    totals[4] *= 1.01
    runs[4]["rare"] = 1.0
    assert totals[4] / 101 > 1000
    assert fit(runs, totals, COSTS | {"rare": 40.0}).costs["rare"] < 80


def test_no_cost_is_negative() -> None:
    runs = _runs(30)
    found = fit(runs, [price(run, COSTS | {"block": -2.0}) + 4e6 for run in runs])
    assert min(found.costs.values()) >= 0


def test_errors() -> None:
    assert relative(110, 100) == pytest.approx(0.1)
    assert (relative(0, 0), relative(1, 0)) == (0, 1)
    found = Errors.of([1.1, 1.0, 0.5], [1, 1, 1])
    assert (found.median, found.worst) == pytest.approx((0.1, 0.5))
