"""Evaluation: designs to ratios of the objectives to the base, by workers, each design once."""

import time
from collections.abc import Sequence

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.search.outcome import Glance, Outcome, combined, ratios
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.store import Store
from heapsmith.model.search.workers import Bench, Task, Workers


class Spent(msgspec.Struct):
    """What a search has spent; stored: simulations that an earlier run had done."""

    simulations: int = 0  # whole traces with caches
    glances: int = 0  # whole traces without caches
    stored: int = 0
    seconds: float = 0.0


class Evaluator:
    """Simulates designs on all traces. The ratios are to `base`, geometric means by the weights."""

    def __init__(
        self, bench: Bench, base: Design, *, resume: bool, jobs: int | None = None, progress: Progress | None = None
    ) -> None:
        self.bench, self.base = bench, base
        self.workers = Workers(bench, jobs)
        self.spent = Spent()
        self._stores = [Store(source, bench.hardware, resume=resume) for source in bench.sources]
        self._begin = time.monotonic()
        self._progress = progress
        self._counted: set[str] = set()

    def priced(self, designs: Sequence[Design], stage: str) -> list[list[Outcome]]:
        """Return each design's outcome on each trace."""
        return self._all(designs, True, stage)

    def glanced(self, designs: Sequence[Design], stage: str) -> list[list[Glance]]:
        """Return each design's glance on each trace."""
        return self._all(designs, False, stage)

    def ratios(self, outcomes: Sequence[Outcome | Glance], base: Sequence[Outcome | Glance]) -> Floats:
        """Return the ratios of OBJECTIVES on all traces together."""
        rows = [ratios(_figures(one), _figures(known)) for one, known in zip(outcomes, base, strict=True)]
        return combined(rows, [source.weight for source in self.bench.sources])

    def write(self) -> None:
        """Store what was simulated."""
        for store in self._stores:
            store.write()

    def _all(self, designs: Sequence[Design], priced: bool, stage: str) -> list:  # type: ignore[type-arg]
        held = [store.held.outcomes if priced else store.held.glances for store in self._stores]
        hashes = [design.hash() for design in designs]
        tasks: dict[tuple[str, int], Task] = {}
        for design, name in zip(designs, hashes, strict=True):
            for number, known in enumerate(held):
                if name not in known:
                    tasks.setdefault((name, number), Task(design, number, priced))
                elif name + str(priced) not in self._counted:
                    self.spent.stored += 1
            self._counted.add(name + str(priced))
        results = self.workers.run(list(tasks.values()))
        # Each result counts at once: an interrupt loses none that is there.
        for done, ((name, number), result) in enumerate(zip(tasks, results, strict=True), 1):
            held[number][name] = result  # type: ignore[assignment]
            if priced:
                self.spent.simulations += 1
            else:
                self.spent.glances += 1
            if self._progress:
                self._progress(stage, done, len(tasks))
        self.spent.seconds = time.monotonic() - self._begin
        return [[known[name] for known in held] for name in hashes]


def _figures(found: Outcome | Glance) -> tuple[float, ...]:
    return found.figures() if isinstance(found, Outcome) else found.figures
