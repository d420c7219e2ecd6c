"""The space that samplers get: the starts and moves of the search are in it, and the runs keep their budget."""

import random
import sys
from pathlib import Path

import pytest
from traces import random_trace

from heapsmith.bench.studies import samplers
from heapsmith.bench.studies.parameters import Parameters
from heapsmith.bench.studies.samplers import Run, compared, explorer_of, row, sampled
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import Explorer
from heapsmith.model.search.source import Source
from heapsmith.model.search.space import SHAPE, neighbours
from heapsmith.model.search.workers import Bench

pytestmark = pytest.mark.usefixtures("own_outcomes")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    path = random_trace(tmp_path_factory.mktemp("samplers") / "t.hst", 2_000, 9, threads=2, max_size=9000, live=300)
    return Bench([Source(path)], load_hardware())


@pytest.fixture(scope="module")
def begun(bench: Bench) -> tuple[Exact, Explorer]:
    return explorer_of(bench, 1)[1:]


@pytest.fixture(scope="module")
def parameters(begun: tuple[Exact, Explorer]) -> Parameters:
    exact, explorer = begun
    return Parameters(explorer, exact)


def test_moves_of_the_search_are_designs_of_parameters(parameters: Parameters) -> None:
    """Each neighbour of the base that keeps its classes and fronts has parameters, and these make it again."""
    base = parameters.base
    near = [
        one
        for one in neighbours(base, [], huge_pages=False)
        if all(getattr(one, name) == getattr(base, name) for name in SHAPE)
    ]
    assert len(near) > 40
    for one in near:
        picks = parameters.picks(one)
        assert picks is not None, one
        assert parameters.design(lambda name, *_, picks=picks: picks[name]).hash() == one.hash()


def test_starts_of_the_search_are_designs_of_parameters(parameters: Parameters, begun: tuple[Exact, Explorer]) -> None:
    starts = list({one.hash(): one for one in begun[1].starts()}.values())[::5]
    assert len(starts) > 15
    assert sum(parameters.picks(one) is not None for one in starts) >= 0.95 * len(starts)


def test_random_parameters_make_legal_designs(parameters: Parameters) -> None:
    draw, drawn = random.Random(1), set()
    for _ in range(20):
        design = parameters.design(lambda name, count, ordered: draw.randrange(count))
        assert design.why_not_valid() is None
        drawn.add(design.hash())
    assert len(drawn) == 20


@pytest.mark.parametrize("name", ["tpe", pytest.param("nsga2", marks=pytest.mark.big)])
def test_a_sampler_keeps_the_cost_of_the_search(bench: Bench, name: str) -> None:
    """10 simulations and 250 looks of a tenth: the sampler looks at the starts and simulates the rest."""
    own = Run(simulations=10, looks=250, volume=0.0, seconds=1e9, early=0.0)
    found = sampled(bench, samplers.samplers()[name](1), own, 0.1)
    assert found.simulations == round(10 + 0.1 * (250 - found.looks)) > 10
    assert found.volume == found.early > 0


def test_runs_that_are_done_are_not_run_again(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, run = tmp_path / "log.json", Run(simulations=10, looks=200, volume=0.5, seconds=1.5, early=0.25)
    trace = bench.sources[0].path
    monkeypatch.setattr(samplers, "look_cost", lambda bench: 0.1)
    monkeypatch.setattr(samplers, "searched", lambda bench, seed, simulations: run)
    monkeypatch.setattr(samplers, "sampled", lambda bench, sampler, own, look: run)
    found = compared(trace, ["random"], 2, 10, log)
    assert found == {"search": [run, run], "random": [run, run]}
    for name in ("look_cost", "searched", "sampled"):
        monkeypatch.delattr(samplers, name)
    assert compared(trace, ["random"], 2, 10, log) == found
    log.write_text("[]")
    with pytest.raises(BadInput, match=r"log.json: no log of runs: Expected `object`"):
        compared(trace, ["random"], 2, 10, log)


def test_a_row_has_medians_and_the_range_of_the_volume() -> None:
    runs = [Run(60, 900, 0.03, 2.0, 0.01), Run(67, 910, 0.01, 9.0, 0.01), Run(68, 870, 0.02, 3.0, 0.005)]
    assert row("x.hst", "tpe", runs) == ["x.hst", "tpe", "67", "900", "0.02000", "0.01000", "0.03000", "3.0", "0.01000"]


@pytest.mark.parametrize(("best", "status"), [(["x"], 0), (["x", "y"], 1)])
def test_the_gate_fails_where_a_sampler_wins_on_most_traces(
    best: list[str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(trace: Path, names: list[str], *_: object) -> dict[str, list[Run]]:
        volumes = {"search": 0.5, "tpe": 0.6 if trace.stem in best else 0.4, "random": 0.5}
        return {name: [Run(1, 1, volumes[name], 1.0, 0.1)] for name in ("search", *names)}

    monkeypatch.setattr(samplers, "compared", found)
    assert samplers.main([Path("x.hst"), Path("y.hst"), Path("z.hst")], ["tpe", "random"]) == status


def test_mistakes_are_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="--sampler: 'best'; expected one of tpe, "):
        samplers.main([Path("missing.hst")], ["best"])
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(Missing, match="no package optuna"):
        samplers.main([Path("missing.hst")])
