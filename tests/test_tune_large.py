"""Policies for large blocks: the search finds the combination that is the best of all, each of them simulated."""

import random
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest

from heapsmith.model.design.design import Design, load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.times import priced
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import Limits, scores, weights_of
from heapsmith.model.search.outcome import Outcome, ratios
from heapsmith.model.search.source import sources_for
from heapsmith.model.search.space import choices, same_row, steps
from heapsmith.model.search.tune import tune
from heapsmith.model.search.workers import Bench, Task, measured
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

pytestmark = pytest.mark.usefixtures("own_outcomes")

BASE = msgspec.structs.replace(load("default"), name="made", huge_bytes=262_144)
"""So that some of the blocks are huge."""
SIZES = (65_536, 100_000, 200_000, 300_000, 500_000)
MOST_LIVE, EVENTS, EVENT_NS = 12, 800, 50_000
TOLERANCE = 1.005
"""The search may miss the best score by so much; it looks at few of the combinations, and at much else."""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large blocks that come and go in a random order; at last fewer are live, which tells what release costs."""
    draw, live, spare, rows = random.Random(7), list[int](), list(range(MOST_LIVE, -1, -1)), list[tuple[int, ...]]()
    for event in range(EVENTS):
        most = MOST_LIVE if event < EVENTS * 3 // 4 else MOST_LIVE // 2
        if live and (len(live) >= most or draw.random() < 0.5):
            spare.append(live.pop(draw.randrange(len(live))))
            rows.append((Op.FREE, 0, spare[-1], 0, 0, event * EVENT_NS))
        else:
            live.append(spare.pop())
            rows.append((Op.MALLOC, 0, live[-1], draw.choice(SIZES), 0, event * EVENT_NS))
    path = tmp_path_factory.mktemp("large") / "large.hst"
    with TraceWriter(path, command=["large"], source="test") as writer:
        writer.append(Chunk.of(*map(list, zip(*rows, strict=True))))
    return path


def combinations() -> list[Design]:
    """Every kind of release with each step of the run cache and of the huge limit, with a huge cache or none."""
    releases = [BASE.release, *(one for one in choices("release") if not same_row(one, BASE.release))]
    caches = [BASE.run_cache_bytes, *steps(BASE.run_cache_bytes, 1 << 18, int)]
    limits = [BASE.huge_bytes, *steps(BASE.huge_bytes, BASE.huge_bytes, int)]
    found = product(releases, caches, limits, choices("huge_cache"))
    fields = ("release", "run_cache_bytes", "huge_bytes", "huge_cache")
    every = [msgspec.structs.replace(BASE, **dict(zip(fields, values, strict=True))) for values in found]
    return [one for one in every if one.why_not_valid() is None]


@pytest.fixture(scope="module")
def outcomes(trace: Path) -> list[Outcome]:
    """That of each combination, the base's first."""
    bench = Bench(sources_for([(trace, 1.0)], [], BASE)[0], priced(load_hardware()))
    found = [measured(bench, Task(design, 0, "outcome", 0)) for design in combinations()]
    return [one for one in found if isinstance(one, Outcome)]


@pytest.mark.parametrize(
    ("favour", "limits"),
    [
        ("balanced", Limits(rss=2.0)),
        pytest.param("balanced", Limits(), marks=pytest.mark.thorough),
        pytest.param("memory", Limits(rss=2.0), marks=pytest.mark.thorough),
    ],
    ids=["room", "no-room", "memory"],
)
def test_the_search_finds_the_best_of_all_combinations(
    favour: str, limits: Limits, trace: Path, outcomes: list[Outcome]
) -> None:
    base = outcomes[0]
    weights = weights_of(favour, [base], [1.0])  # type: ignore[arg-type]
    points = np.array([ratios(one.figures(), base.figures()) for one in outcomes])
    allowed = (points <= limits.ratios([base], [1.0])).all(axis=1)
    assert len(points) >= 24
    best = scores(points[allowed], weights).min()
    if limits.rss:
        assert best < 0.9
    asked = Asked(favour=favour, limits=limits, simulations=12, jobs=1)  # type: ignore[arg-type]
    tuned = tune(trace, base=BASE, name="made", asked=asked)
    point = np.array(ratios(tuned.after.figures(), tuned.before.figures()))
    assert (point <= limits.ratios([base], [1.0])).all()
    assert scores(point[np.newaxis], weights)[0] <= best * TOLERANCE
