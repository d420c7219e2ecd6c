"""Favours mean what they say, and the end of a search is better than all designs one choice away."""

import random
from functools import partial
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from traces import crowded_trace, random_trace

from heapsmith.model.design.design import Design, load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.times import priced
from heapsmith.model.search import MOST_CLASSES, explore
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import WEIGHTS, scores
from heapsmith.model.search.choice_worth import margin
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import Explorer
from heapsmith.model.search.known import Budget
from heapsmith.model.search.settle import Settled, settled
from heapsmith.model.search.source import Source
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.model.search.workers import Bench, Workers
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

pytestmark = pytest.mark.usefixtures("own_outcomes")

BASE = msgspec.structs.replace(load("default"), name="made")
TRACES = {
    "random": lambda path: random_trace(path, 2000, 5, max_size=5000, live=300),
    "threads": lambda path: random_trace(path, 3000, 6, threads=3, cross_thread=0.3, max_size=900, live=500),
    "crowded": lambda path: crowded_trace(path, step_ns=300, blocks=100),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["random", "threads", "crowded"])
def test_memory_is_no_fatter_and_time_no_slower_than_balanced(name: str, tmp_path: Path) -> None:
    path = TRACES[name](tmp_path / "t.hst")
    found = {one: tune(path, base=BASE, name="made", asked=Asked(favour=one, simulations=6, jobs=1)) for one in WEIGHTS}

    def of_memory(one: Tuned) -> float:
        return one.after.resident_peak + one.after.resident_average

    assert of_memory(found["memory"]) <= of_memory(found["balanced"])
    assert found["time"].after.allocator_ns_per_op <= found["balanced"].after.allocator_ns_per_op


@pytest.mark.thorough
def test_all_favours_price_the_same_designs(tmp_path: Path) -> None:
    """So none has a better answer for another one's wishes."""
    bench = Bench([Source(TRACES["random"](tmp_path / "t.hst"))], priced(load_hardware()))
    known = []
    for favour in WEIGHTS:
        explorer = explorer_of(bench)
        explorer.favour = favour
        explorer.search(Budget(None, 5))
        known.append([*explorer.known])
    assert known[0] == known[1] == known[2]
    assert len(known[0]) == 5


def explorer_of(bench: Bench, base: Design = BASE) -> Explorer:
    evaluator = Evaluator(bench, base, resume=False, hire=partial(Workers, jobs=1))
    exact = Exact(bench.sources, base, MOST_CLASSES, 1.0)
    explorer = Explorer(evaluator, exact, favour="balanced", huge_pages=False, seed=1)
    explorer.limit()
    return explorer


def at_the_end(explorer: Explorer) -> Settled:
    *_, last = settled(explorer, None, Budget(None, 100_000), None)
    return last


def better_than(found: Settled, explorer: Explorer) -> list[Design]:
    """The allowed designs one choice away with a better score than the answer, beyond the margin."""
    near = explorer.near(found.found)
    every = explorer.price([*near.values()], "all")
    least = explorer.score(found.found) / (1 + margin(explorer.operations))
    return [one.design for one in every if explorer.allowed(one) and explorer.score(one) < least]


SPACE = {
    "slab_choice": ("hot_index", "address_ordered", "fullest_first"),
    "run_cache_bytes": (0, 16_384, 1 << 22),
    "transfer_bytes": (0, 131_072),
    "huge_bytes": (1 << 17, BASE.huge_bytes),
}
POOR = msgspec.structs.replace(BASE, huge_bytes=1 << 17)


def large_blocks(path: Path) -> Path:
    """Blocks of 100 to 900 KB that come and go in turns, eight at a time."""
    draw, rows = random.Random(3), []
    for event in range(600):
        if event >= 8:
            rows.append((Op.FREE, 0, event % 8, 0, 0, 100_000 * event))
        rows.append((Op.MALLOC, 0, event % 8, draw.randrange(100_000, 900_000), 0, 100_000 * event))
    with TraceWriter(path, command=["large"], source="test") as writer:
        writer.append(Chunk.of(*map(list, zip(*rows, strict=True))))
    return path


@pytest.mark.thorough
def test_the_end_of_a_search_of_a_small_space_has_no_better_neighbour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search itself ends with the base: all that is better is found by single choices from there."""

    def near(design: Design, busy: object, *, huge_pages: bool, processors: bool, release: bool) -> list[Design]:
        fields = ((name, value) for name, values in SPACE.items() for value in values)
        return [msgspec.structs.replace(design, **{name: value}) for name, value in fields]

    monkeypatch.setattr(explore, "neighbours", near)
    monkeypatch.setattr(Explorer, "_reshaped", lambda *_: iter(()))
    explorer = explorer_of(Bench([Source(large_blocks(tmp_path / "t.hst"))], priced(load_hardware())), POOR)
    explorer.limit(np.full(4, 2.0))
    assert [*explorer.known] == [POOR.hash()]
    found = at_the_end(explorer)
    assert found.near.simulated == found.near.designs > 0
    assert found.found.design.huge_bytes != POOR.huge_bytes
    assert not better_than(found, explorer)
    every = [msgspec.structs.replace(POOR, **dict(zip(SPACE, one, strict=True))) for one in product(*SPACE.values())]
    allowed = [one.ratios for one in explorer.price(every, "all") if explorer.allowed(one)]
    best = float(scores(np.array(allowed), explorer.weights).min())
    assert explorer.score(found.found) <= best * (1 + margin(explorer.operations)) * 1.01


@pytest.mark.thorough
def test_the_end_of_a_search_has_no_better_neighbour(tmp_path: Path) -> None:
    path = random_trace(tmp_path / "t.hst", 700, 11, max_size=3000, live=200)
    explorer = explorer_of(Bench([Source(path)], priced(load_hardware())))
    explorer.search(Budget(None, 24))
    found = at_the_end(explorer)
    assert found.near.simulated == found.near.designs > 100
    assert not better_than(found, explorer)


@pytest.mark.thorough
def test_a_search_that_has_no_time_left_says_how_many_neighbours_it_simulated(tmp_path: Path) -> None:
    path = TRACES["random"](tmp_path / "t.hst")
    found = tune(path, base=BASE, name="made", asked=Asked(simulations=10, jobs=1))
    assert 0 <= found.near.simulated < found.near.designs
