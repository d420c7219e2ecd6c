"""Evaluation: designs to ratios of the objectives to the base, by workers, each design once."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.files import JSON_FAULTS
from heapsmith.model.predict.ledgers import Ledgers
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.search.outcome import Glance, Outcome, combined, ratios
from heapsmith.model.search.outcome_store import Store
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.workers import Bench, Hire, Kind, Task, Workers


class Spent(msgspec.Struct):
    """What a search has spent; stored: simulations that an earlier run had done."""

    simulations: int = 0  # whole traces with caches
    glances: int = 0  # whole traces without caches
    timed: int = 0  # whole traces with the time of each operation
    followed: int = 0  # whole traces with their ledgers of bytes
    stored: int = 0
    seconds: float = 0.0


class Evaluator:
    """Simulates designs on all traces. The ratios are to `base`, geometric means by the weights."""

    def __init__(
        self, bench: Bench, base: Design, *, resume: bool, hire: Hire = Workers, progress: Progress | None = None
    ) -> None:
        self.bench, self.base = bench, base
        self.workers = hire(bench)
        self.spent = Spent()
        self._stores = [Store(source, bench.hardware, bench.cores, resume=resume) for source in bench.sources]
        self._begin = time.monotonic()
        self._progress = progress
        self._counted: set[str] = set()
        self._each_s: dict[Kind, float] = {}

    def priced(self, designs: Sequence[Design], stage: str) -> list[list[Outcome]]:
        """Return each design's outcome on each trace."""
        return self._all(designs, "outcome", stage)

    def glanced(self, designs: Sequence[Design], stage: str) -> list[list[Glance]]:
        """Return each design's glance on each trace."""
        return self._all(designs, "glance", stage)

    def p999_ns(self, designs: Sequence[Design], stage: str) -> list[list[float]]:
        """Return the p99.9 of each design, which must have been priced, on each trace."""
        return self._all(designs, "p999", stage)

    def ledgers(self, designs: Sequence[Design], stage: str) -> list[list[Ledgers]]:
        """Return the ledgers of each design, which must have been priced, on each trace."""
        return self._all(designs, "bytes", stage)

    def earlier(self, *, timed: bool) -> Iterator[Design]:
        """Yield the designs that earlier searches priced on each trace; timed: and whose p99.9 they know.

        Only a search that resumes knows of them.
        """
        needed = ["outcomes", "designs", *(["p999_ns"] if timed else [])]
        held = [getattr(store.held, name) for store in self._stores for name in needed]
        for name, coded in self._stores[0].held.designs.items():
            with suppress(*JSON_FAULTS):
                if all(name in one for one in held):
                    design = msgspec.json.decode(coded, type=Design)
                    yield msgspec.structs.replace(design, name=self.base.name, about="")

    def ratios(self, outcomes: Sequence[Outcome | Glance], base: Sequence[Outcome | Glance]) -> Floats:
        """Return the ratios of OBJECTIVES on all traces together."""
        rows = [ratios(_figures(one), _figures(known)) for one, known in zip(outcomes, base, strict=True)]
        return combined(rows, [source.weight for source in self.bench.sources])

    def took_s(self, kind: Kind) -> float:
        """Return about how many seconds by the clock a design takes on all traces; 0 if none was simulated."""
        return self._each_s.get(kind, 0.0)

    def write(self) -> None:
        """Store what was simulated."""
        for store in self._stores:
            store.write()

    def _all(self, designs: Sequence[Design], kind: Kind, stage: str) -> list:  # type: ignore[type-arg]
        held = [getattr(store.held, _HELD[kind]) for store in self._stores]
        hashes = [design.hash() for design in designs]
        tasks: dict[tuple[str, int], Task] = {}
        for design, name in zip(designs, hashes, strict=True):
            for number, known in enumerate(held):
                if name not in known:
                    peak = getattr(self._stores[number].held.outcomes[name], _PEAK[kind]) if kind in _PEAK else 0
                    tasks.setdefault((name, number), Task(design, number, kind, peak))
                elif name + kind not in self._counted:
                    self.spent.stored += 1
            self._counted.add(name + kind)
        begun = time.monotonic()
        results = self.workers.run(list(tasks.values()))
        # Each result counts at once: an interrupt loses none that is there.
        for done, ((name, number), result) in enumerate(zip(tasks, results, strict=True), 1):
            held[number][name] = result
            if kind == "outcome":
                coded = msgspec.Raw(msgspec.json.encode(tasks[name, number].design))
                self._stores[number].held.designs[name] = coded
            setattr(self.spent, _SPENT[kind], getattr(self.spent, _SPENT[kind]) + 1)
            if self._progress:
                self._progress(stage, done, len(tasks))
        now = time.monotonic()
        self.spent.seconds = now - self._begin
        if tasks:
            self._each_s[kind] = (now - begun) / len(tasks) * len(held)
        return [[known[name] for known in held] for name in hashes]


_HELD: dict[Kind, str] = {"outcome": "outcomes", "glance": "glances", "p999": "p999_ns", "bytes": "ledgers"}
_SPENT: dict[Kind, str] = {"outcome": "simulations", "glance": "glances", "p999": "timed", "bytes": "followed"}
_PEAK: dict[Kind, str] = {"p999": "resident_peak", "bytes": "committed_peak_event"}
"""The fields of Stored, of Spent, and of the Outcome that it needs, for each kind of task."""


def _figures(found: Outcome | Glance) -> tuple[float, ...]:
    return found.figures() if isinstance(found, Outcome) else found.figures
