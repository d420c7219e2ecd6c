"""A resumed search goes on from what earlier searches priced: it chooses as well, and simulates nothing twice."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from traces import random_trace

from heapsmith.model.design.design import load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.predict.times import priced
from heapsmith.model.search import outcome_store
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import Limits, scores
from heapsmith.model.search.choice_worth import margin
from heapsmith.model.search.outcome import ratios
from heapsmith.model.search.source import Source
from heapsmith.model.search.tune import Tuned, tune

BASE = load("default")
LONG = Asked(simulations=40, jobs=1)
SHORT = Asked(simulations=2, jobs=1, resume=True, seed=5)

pytestmark = pytest.mark.usefixtures("own_outcomes")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_trace(tmp_path_factory.mktemp("resume") / "t.hst", 9000, 11, max_size=6000, live=900)


@pytest.fixture(scope="module")
def first(trace: Path, own_outcomes: None) -> Tuned:
    """A search that finds what a short one does not."""
    return tune(trace, base=BASE, name="first", asked=LONG)


def stored(trace: Path) -> outcome_store.Stored:
    return outcome_store.Store(Source(trace), priced(load_hardware()), resume=True).held


def best_stored(trace: Path, base: Tuned, *, most_classes: int = 1000) -> float:
    """The least score of all stored designs that the limits allow."""
    held, before = stored(trace), base.before
    small = [name for name, one in held.designs.items() if len(msgspec.json.decode(one)["sizes"]) <= most_classes]
    points = np.array([ratios(held.outcomes[name].figures(), before.figures()) for name in small])
    within = (points <= Limits().ratios([before], [1.0])).all(axis=1)
    return float(scores(points[within], np.array([*base.weights.values()])).min())


def score_of(found: Tuned) -> float:
    return float(scores(np.array([[*found.traces[0].ratios.values()]]), np.array([*found.weights.values()]))[0])


@pytest.mark.thorough
def test_a_resumed_search_chooses_as_well_as_the_best_stored_design(trace: Path, first: Tuned) -> None:
    best = best_stored(trace, first)
    again = tune(trace, base=BASE, name="again", asked=SHORT)
    slack = 1 + margin(first.after.operations)
    assert score_of(again) <= best * slack
    assert score_of(tune(trace, base=BASE, name="fresh", asked=SHORT._replace(resume=False))) > best * slack
    assert again.design.name == "again"


@pytest.mark.thorough
def test_what_is_stored_is_not_simulated_again_and_the_search_goes_on(trace: Path, first: Tuned) -> None:
    before = stored(trace).outcomes.keys()
    again = tune(trace, base=BASE, name="again", asked=SHORT._replace(simulations=17))
    fresh = stored(trace).outcomes.keys() - before
    assert len(fresh) == again.spent.simulations > 0
    assert again.spent.stored >= len(before)


@pytest.mark.thorough
def test_stored_designs_outside_of_this_search_are_no_answer(trace: Path, first: Tuned) -> None:
    """Those of another base, with fields that are fixed, or with more classes than are asked for."""
    few = min(len(first.design.sizes), len(BASE.sizes)) - 1
    base = msgspec.structs.replace(BASE, sizes=BASE.sizes[-few + 5 :])
    narrow = tune(trace, base=base, name="narrow", asked=SHORT._replace(max_classes=few))
    assert all(len(one.design.sizes) <= few for one in narrow.front)
    counted = msgspec.structs.replace(BASE, hardening=hardening_full.Params())
    other = tune(trace, base=counted, name="other", asked=SHORT)
    assert {one.design.hardening for one in other.front} == {hardening_full.Params()}
    assert stored(trace).designs.keys() == stored(trace).outcomes.keys()
