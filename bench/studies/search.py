"""The search against random designs and all neighbours of the best: the volume of its front at a part of the cost."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.model.design.design import Design, load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.search import MOST_CLASSES
from heapsmith.model.search.choice import WEIGHTS, WORST, scores
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import Budget, Explorer
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.pareto import Floats, hypervolume
from heapsmith.model.search.source import Source
from heapsmith.model.search.space import drawn, neighbours
from heapsmith.model.search.workers import Bench

BEST = 10
"""Designs of which all single-policy neighbours are simulated."""

PART = 50
"""The number of simulations of the others for each simulation of the search."""

SHARE = 0.98
"""The share of the others' volume that its front must reach."""

STORED = 100
"""The others are simulated and stored this many at a time, so that a check that was cut off goes on."""


class Compared(NamedTuple):
    """Volumes on a trace, and the simulations behind them; glances: the search's, without caches."""

    trace: str
    others: int
    volume_of_others: float
    simulations: int
    glances: int
    volume: float
    seconds: float

    def share(self) -> float:
        """Return the search's volume in parts of the others'."""
        return self.volume / self.volume_of_others


def compare(trace: Path, count: int, seed: int) -> Compared:
    """Simulate `count` random designs and the neighbours of the best; then search with a part of that."""
    base = msgspec.structs.replace(load("default"), name="gate")
    bench = Bench([Source(trace)], load_hardware())
    exact = Exact(bench.sources, base, MOST_CLASSES, 1.0)
    evaluator = Evaluator(bench, base, resume=True)
    with evaluator.workers:
        draw = random.Random(seed)
        points = _points(evaluator, [base, *(drawn(base, draw, huge_pages=False) for _ in range(count))])
        order = np.argsort(
            scores(np.array([point for _, point in points.values()]), WEIGHTS["balanced"]), kind="stable"
        )
        best = [design for design, _ in (list(points.values())[index] for index in order[:BEST].tolist())]
        near = [one for design in best for one in neighbours(design, exact.busy(design), huge_pages=False)]
        points |= _points(evaluator, [base, *near])
    others = np.array([point for _, point in points.values()])
    reference = np.full(len(OBJECTIVES), WORST)

    evaluator = Evaluator(bench, base, resume=False)
    with evaluator.workers:
        explorer = Explorer(evaluator, exact, favour="balanced", huge_pages=False, seed=seed)
        explorer.search(Budget(None, max(2, len(points) // PART)))
    spent = evaluator.spent
    volume = hypervolume(others, reference)
    if not volume:
        raise CheckFailed(f"{trace}: of {len(points)} designs none is within {WORST} of the base: nothing to compare")
    return Compared(trace.name, len(points), volume, spent.simulations, spent.glances, explorer.volume(), spent.seconds)


def _points(evaluator: Evaluator, designs: Sequence[Design]) -> dict[str, tuple[Design, Floats]]:
    """Return the designs with their ratios to the first, by hash."""
    every = {design.hash(): design for design in designs}
    designs, found = list(every.values()), []
    for first in range(0, len(designs), STORED):
        found += evaluator.priced(designs[first : first + STORED], "simulating")
        evaluator.write()
    return {
        name: (design, evaluator.ratios(outcomes, found[0]))
        for (name, design), outcomes in zip(every.items(), found, strict=True)
    }


def main(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Recorded traces.")],
    designs: Annotated[int, typer.Option(metavar="N", min=BEST, help="Random designs.")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Which designs are drawn.")] = 1,
) -> int:
    """Print a line per trace; 1 if the search reaches less than SHARE of the others' volume on one."""
    failed = 0
    for trace in traces:
        found = compare(trace, designs, seed)
        failed += found.share() < SHARE
        print(
            f"{found.trace}: volume {found.volume:.5f} by {found.simulations} simulations and {found.glances} looks, "
            f"{found.share():.1%} of the {found.volume_of_others:.5f} of {found.others} simulations",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    exit_with(main)
