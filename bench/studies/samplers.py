"""The search against optuna's samplers: the volume of the front of each at the same cost, on recorded traces."""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.studies.parameters import Parameters
from heapsmith.model.design.design import Design, load
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import write_json
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.search import MOST_CLASSES
from heapsmith.model.search.choice import WORST
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import Budget, Explorer
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.pareto import spread
from heapsmith.model.search.source import Source
from heapsmith.model.search.space import needs_time
from heapsmith.model.search.store import model_version
from heapsmith.model.search.workers import Bench, Workers
from heapsmith.tools.common.tables import Words, draw

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import Trial

OWN = "search"

SIMULATIONS = 49
"""Of the search; the samplers get these and as many more as its looks cost."""

STARTS = 24
"""Of the search's starts, those that dominate most together by their looks; each sampler begins with them."""

POPULATION = 24
"""Of the genetic samplers: the budget is worth some generations of this size, but only a few of optuna's 50."""

TIMED = 16
"""Designs by which the cost of a look is measured, in parts of a simulation."""

MOST_TRIALS = 10
"""For each simulation: trials that come to a known design again cost nothing, so they have their own bound."""


class Run(msgspec.Struct, frozen=True):
    """What a search reached with a seed; seconds: of the processor, those of its own thinking included.

    early: the volume at the moment when it had taken as many seconds as the search with the same seed.
    """

    simulations: int
    looks: int
    volume: float
    seconds: float
    early: float


class Log(msgspec.Struct):
    """The runs that are done, and what a look costs on a trace, by what decides them; written after each."""

    looks: dict[str, float] = msgspec.field(default_factory=dict)
    runs: dict[str, Run] = msgspec.field(default_factory=dict)


def samplers() -> dict[str, Callable[[int], "BaseSampler"]]:
    """Return what makes each sampler of optuna from a seed; Missing without optuna.

    CMA-ES is not among them: it takes no categories.
    """
    try:
        import optuna
    except ImportError:
        raise Missing("no package optuna, whose samplers are compared: pip install 'heapsmith[dev]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    of = optuna.samplers
    return {
        "tpe": lambda seed: of.TPESampler(seed=seed, multivariate=True, group=True),
        "tpe-apart": lambda seed: of.TPESampler(seed=seed, multivariate=False),
        "nsga2": lambda seed: of.NSGAIISampler(seed=seed, population_size=POPULATION),
        "nsga3": lambda seed: of.NSGAIIISampler(seed=seed, population_size=POPULATION),
        "gp": lambda seed: of.GPSampler(seed=seed, deterministic_objective=True, warn_independent_sampling=False),
        "random": lambda seed: of.RandomSampler(seed=seed),
    }


def explorer_of(bench: Bench, seed: int) -> tuple[Evaluator, Exact, Explorer]:
    """Return a search that has priced its base and nothing else, in this process alone."""
    base = msgspec.structs.replace(load("default"), name="gate")
    exact = Exact(bench.sources, base, MOST_CLASSES, 1.0)
    evaluator = Evaluator(bench, base, resume=False, hire=partial(Workers, jobs=1))
    with evaluator.workers:
        return evaluator, exact, Explorer(evaluator, exact, favour="balanced", huge_pages=False, seed=seed)


def look_cost(bench: Bench) -> float:
    """Return the processor time of a look in parts of that of a simulation with caches."""
    evaluator, _, explorer = explorer_of(bench, 1)
    designs = list({one.hash(): one for one in explorer.starts() if not needs_time(one)}.values())[-TIMED:]
    seconds = []
    for kind in (evaluator.glanced, evaluator.priced):
        begin = time.process_time()
        kind(designs, "timing")
        seconds.append(time.process_time() - begin)
    return seconds[0] / seconds[1]


def searched(bench: Bench, seed: int, simulations: int) -> Run:
    """Let the search itself find a front."""
    begin = time.process_time()
    evaluator, _, explorer = explorer_of(bench, seed)
    explorer.search(Budget(None, simulations))
    spent = evaluator.spent
    volume = explorer.volume()
    return Run(spent.simulations, spent.glances, volume, time.process_time() - begin, volume)


def sampled(bench: Bench, sampler: "BaseSampler", own: Run, look: float) -> Run:
    """Let a sampler find a front at the cost of `own`; a look costs the part `look` of a simulation.

    The ratios are its objectives, and that each is below WORST its constraints.
    """
    import optuna

    begin = time.process_time()
    evaluator, exact, explorer = explorer_of(bench, 1)
    parameters = Parameters(explorer, exact)
    study = optuna.create_study(directions=["minimize"] * len(OBJECTIVES), sampler=sampler)
    for design in _starts(evaluator, explorer):
        if (picks := parameters.picks(design)) is not None:
            study.enqueue_trial(picks)
    most = round(own.simulations + look * (own.looks - evaluator.spent.glances))
    early = 0.0
    for _ in range(most * MOST_TRIALS):
        if evaluator.spent.simulations >= most:
            break
        if not early and time.process_time() - begin >= own.seconds:
            early = explorer.volume()
        trial = study.ask()
        design = parameters.design(partial(_pick, trial))
        if needs_time(design) and not all(source.tells_time for source in bench.sources):
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        ratios = explorer.price([design], "sampling")[0].ratios
        for name, ratio in zip(OBJECTIVES, ratios.tolist(), strict=True):
            trial.set_constraint(name, ratio - WORST)
        study.tell(trial, ratios.tolist())
    spent, volume = evaluator.spent, explorer.volume()
    return Run(spent.simulations, spent.glances, volume, time.process_time() - begin, early or volume)


def _pick(trial: "Trial", name: str, count: int, ordered: bool) -> int:
    if ordered:
        return trial.suggest_int(name, 0, count - 1)
    return trial.suggest_categorical(name, range(count))


def _starts(evaluator: Evaluator, explorer: Explorer) -> list[Design]:
    """Return the base, and those starts of the search that look best; all are looked at, as by the search."""
    timed = all(source.tells_time for source in explorer.sources)
    every = {one.hash(): one for one in explorer.starts() if timed or not needs_time(one)}
    base = evaluator.glanced([explorer.base], "the base")[0]
    looks = evaluator.glanced(list(every.values()), "looking at designs")
    points = np.array([evaluator.ratios(look, base) for look in looks])
    starts = list(every.values())
    return [explorer.base, *(starts[index] for index in spread(points, explorer.reference, STARTS))]


def compared(trace: Path, names: Sequence[str], seeds: int, simulations: int, file: Path) -> dict[str, list[Run]]:
    """Return the runs of the search and of each sampler on a trace, by name: one for each seed.

    Those in the log `file` by the same model are not run again.
    """
    bench, made, log = Bench([Source(trace)], load_hardware()), samplers(), read(file)
    key = f"{trace.name} {bench.sources[0].identity()} {model_version(search=True)}"
    if key not in log.looks:
        log.looks[key] = look_cost(bench)
    look = log.looks[key]
    found: dict[str, list[Run]] = {}
    for name in (OWN, *names):
        found[name] = []
        for seed in range(1, seeds + 1):
            done = f"{key} {simulations} {name} {seed}"
            if done not in log.runs:
                own = found[OWN][seed - 1] if name != OWN else None
                run = sampled(bench, made[name](seed), own, look) if own else searched(bench, seed, simulations)
                log.runs[done] = run
                write_json(file, msgspec.to_builtins(log))
            found[name].append(log.runs[done])
    return found


def read(file: Path) -> Log:
    """Return the log; an empty one if there is no file. Raises BadInput if the file holds something else."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Log) if file.exists() else Log()
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(f"{file}: no log of runs: {error}") from None


def row(trace: str, name: str, runs: Sequence[Run]) -> list[str]:
    """Return the table's row of a trace and a search: medians over the seeds, and the range of the volume."""
    volumes = [run.volume for run in runs]
    return [
        trace,
        name,
        f"{median(run.simulations for run in runs):.0f}",
        f"{median(run.looks for run in runs):.0f}",
        *(f"{volume:.5f}" for volume in (median(volumes), min(volumes), max(volumes))),
        f"{median(run.seconds for run in runs):.1f}",
        f"{median(run.early for run in runs):.5f}",
    ]


COLUMNS = ("trace", "<by", "simulations", "looks", "volume", "least", "most", "CPU s", "early")


def main(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Recorded traces.")],
    sampler: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Default: all but gp, which needs torch.")
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each.")] = 5,
    simulations: Annotated[int, typer.Option(metavar="N", min=2, help="Of the search.")] = SIMULATIONS,
    log: Annotated[Path, typer.Option(metavar="FILE", help="Runs that are done.")] = Path("out/samplers.json"),
) -> int:
    """Print a table per trace; 1 if the median volume of a sampler is above that of the search on most of them."""
    known = samplers()
    names = sampler or [name for name in known if name != "gp"]
    for name in names:
        if name not in known:
            raise BadInput(f"--sampler: {name!r}; expected one of {', '.join(known)}")
    won = dict.fromkeys(names, 0)
    for trace in traces:
        found = compared(trace, names, seeds, simulations, log)
        draw(Words("", COLUMNS, [row(trace.name, name, runs) for name, runs in found.items()]))
        for name in names:
            won[name] += median(run.volume for run in found[name]) > median(run.volume for run in found[OWN])
    return int(max(won.values()) > len(traces) / 2)


if __name__ == "__main__":
    exit_with(main)
