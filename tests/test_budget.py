"""The budget of a search by a clock that moves with its work alone: however dear a simulation is, it ends in time."""

import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

import pytest
from traces import random_trace

from heapsmith.model.compile import wait
from heapsmith.model.design.design import Design, load
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import Favour
from heapsmith.model.search.confirm import Shift
from heapsmith.model.search.known import Budget
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.model.search.workers import Bench, Result, Task, Workers
from heapsmith.tools.replay.finalists import BUILD_S, build_s

pytestmark = pytest.mark.usefixtures("own_outcomes")

SECONDS = 20.0
PARTS = {"outcome": 1.0, "glance": 0.125, "p999": 1.5, "bytes": 1.0}
"""What a task takes, in parts of a simulation with caches; about as measured."""


class Clock:
    """Stands while nothing is simulated, built or replayed."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "monotonic", found)
    return found


class Slow(Workers):
    """A worker on one core, on which a simulation with caches takes `each_s`, and compiling the model `compile_s`."""

    compiled: ClassVar[set[Clock]] = set()

    def __init__(self, bench: Bench, clock: Clock, each_s: float, compile_s: float = 0.0) -> None:
        super().__init__(bench, jobs=1)
        self._clock, self._each_s, self._compile_s = clock, each_s, compile_s

    def __enter__(self) -> Self:
        if self._clock not in self.compiled:
            self._clock.now += self._compile_s
        self.compiled.add(self._clock)
        return super().__enter__()

    def run(self, tasks: Sequence[Task]) -> Iterator[Result]:
        for task, result in zip(tasks, super().run(tasks), strict=True):
            self._clock.now += self._each_s * PARTS[task.kind]
            yield result


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_trace(tmp_path_factory.mktemp("budget") / "t.hst", 1_000, 9, threads=2, max_size=4_000, live=100)


def tuned(
    trace: Path,
    clock: Clock,
    each_s: float,
    favour: Favour = "balanced",
    replayed: int = 0,
    compile_s: float = 0.0,
) -> Tuned:
    def replays(traces: Sequence[Path], designs: Sequence[Design], seconds: float) -> list[list[Shift]]:
        clock.now += seconds
        return [[Shift(-1.0, 0.1, 0.0) for _ in designs[1:][:replayed]] for _ in traces]

    asked = Asked(favour=favour, seconds=SECONDS, replays=replays if replayed else None)
    hire = partial(Slow, clock=clock, each_s=each_s, compile_s=compile_s)
    return tune(trace, base=load("default"), name="x", asked=asked, hire=hire)


@pytest.mark.thorough
@pytest.mark.parametrize(("simulations", "favour"), [(200, "balanced"), (60, "memory"), (25, "balanced")])
def test_a_search_ends_within_its_budget_and_a_quarter(
    trace: Path, clock: Clock, simulations: int, favour: Favour
) -> None:
    """`simulations`: how many fit the budget, on a machine that does one at a time."""
    began = clock.now
    found = tuned(trace, clock, SECONDS / simulations, favour)
    assert clock.now - began <= 1.25 * SECONDS
    assert found.spent.simulations > simulations / 4
    assert found.near.designs > found.near.simulated > 0


@pytest.mark.thorough
def test_replays_are_a_part_of_the_budget(trace: Path, clock: Clock) -> None:
    """Two of the finalists are built in time; the others count as not replayed."""
    began = clock.now
    found = tuned(trace, clock, SECONDS / 60, replayed=2)
    assert clock.now - began <= 1.25 * SECONDS
    assert found.why_not_replayed is None
    assert len(found.finalists) >= 2


@pytest.mark.thorough
@pytest.mark.parametrize(("compile_s", "least_s"), [(8.0, SECONDS - 8.0), (60.0, SECONDS / 2)])
def test_compiling_the_model_counts_but_leaves_half(
    trace: Path, clock: Clock, compile_s: float, least_s: float
) -> None:
    """`least_s`: what remains for the search, with its replays."""
    began = clock.now
    found = tuned(trace, clock, SECONDS / 100, replayed=2, compile_s=compile_s)
    took = clock.now - began - compile_s
    assert least_s / 2 < took <= least_s + SECONDS / 4
    assert found.spent.simulations > 10


def test_builds_take_longer_where_cores_are_few_or_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    took = {}
    for cores, busy in ((4, 0.5), (1, 0.5), (1, 8.0)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        monkeypatch.setattr(wait, "busy", lambda busy=busy: busy)
        took[cores, busy] = build_s(2)
    assert took == {(4, 0.5): BUILD_S, (1, 0.5): 2 * BUILD_S, (1, 8.0): 4 * BUILD_S}


def test_what_remains_of_a_budget(clock: Clock) -> None:
    budget = Budget(clock.now + 10, None)
    assert [budget.left(0, 8, each_s) for each_s in (0.0, 1.0, 2.0, 4.0, 20.0)] == [8, 8, 5, 3, 1]
    assert [budget.part(work_s) for work_s in (0.0, 5.0, 20.0)] == [1.0, 1.0, 0.5]
    clock.now += 10
    assert (budget.left(0, 8, 1.0), budget.left(0, 8), budget.part(0.0)) == (0, 0, 0.0)
    assert [Budget(None, 10).left(spent, 8, 99.0) for spent in (0, 5, 10, 11)] == [8, 5, 0, 0]
