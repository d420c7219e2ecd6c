"""What the search does not see and what binds its answer: traces held out, halves of its traces, a tiny run."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.errors import CheckFailed
from heapsmith.model.search.choice import ROUNDING, Favour, Limits
from heapsmith.model.search.choice_worth import margin
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.explore import Known
from heapsmith.model.search.outcome import OBJECTIVES, ratios
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.source import Source
from heapsmith.model.search.workers import Runner
from heapsmith.model.trace.edit.window import Window, slice_trace
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

LEAST_OPERATIONS = 2000
"""A half of a trace with fewer operations says little."""

MOST_EVENTS = 1 << 22
"""Of a longer trace no halves are made: their events would stay in memory too."""

PART_SLACK = 1.05
"""The most bytes in a half of a trace, and the most time where the limit is less: a half has a peak of its own."""

START_RATIO = 1.5
"""The most peak of a program that allocates a few blocks, in parts of the base's, with the rest of the process."""

START_SIZES = tuple(16 << power for power in range(12)) + tuple(24 << power for power in range(11))
"""The blocks of such a program, bytes."""


class Unseen(NamedTuple):
    """A trace that the search does not see, under the name by which results know it, and its largest ratios.

    held: the user held it out.
    """

    name: str
    source: Source
    held: bool
    most: Callable[[Floats], Floats]


class Refused(msgspec.Struct, frozen=True):
    """How many designs of a better score were refused, because they break a limit on this trace."""

    trace: str
    designs: int


class Binding:
    """Says whether a design keeps the limits on all unseen traces; it is simulated there when somebody asks.

    refused: the hashes of the designs that do not, by the name of the first trace on which they do not.
    """

    def __init__(self, evaluator: Evaluator, traces: Sequence[Unseen], limits: Limits, favour: Favour) -> None:
        self._evaluator, self._traces, self._limits = evaluator, traces, limits
        self.favour = favour
        self.refused: dict[str, set[str]] = {}
        self._known: dict[tuple[str, Favour], bool] = {}

    @property
    def workers(self) -> Runner:
        """What simulates."""
        return self._evaluator.workers

    @property
    def names(self) -> list[str]:
        """The names of the traces."""
        return [one.name for one in self._traces]

    def look(self, designs: Sequence[Design]) -> None:
        """Simulate designs there, beside each other."""
        self._evaluator.priced([self._evaluator.base, *designs], "unseen traces")

    def __call__(self, one: Known) -> bool:
        """Say whether a design keeps all limits."""
        key = one.design.hash(), self.favour
        if key not in self._known:
            self._known[key] = self._keeps(one.design)
        return self._known[key]

    def _keeps(self, design: Design) -> bool:
        before, after = self._evaluator.priced([self._evaluator.base, design], "unseen traces")
        late: list[float] = []
        if self._limits.p999_ns is not None:
            (late,) = self._evaluator.p999_ns([design], "unseen traces")
        for index, (trace, base, found) in enumerate(zip(self._traces, before, after, strict=True)):
            most = trace.most(self._limits.ratios([base], [1.0], self.favour))
            within = bool((ratios(found.figures(), base.figures()) <= most + ROUNDING).all())
            if trace.held:
                within = within and self._limits.allow_bytes([found])
                within = within and self._limits.allow_p999(late[index : index + 1] or [0.0])
            if not within:
                self.refused.setdefault(trace.name, set()).add(design.hash())
                return False
        return True

    def fail(self) -> CheckFailed:
        """Return the error where no design keeps the limits."""
        words = ", ".join(f"{len(designs)} on {name}" for name, designs in self.refused.items())
        return CheckFailed(f"no design within the limits on traces that are held out: refused {words}")

    def said(self) -> list[Refused]:
        """Return how many designs each trace refused."""
        return [Refused(name, len(designs)) for name, designs in self.refused.items()]


def unseen(sources: Sequence[Source], held: Sequence[Source], folder: Path, base: Design) -> Iterator[Unseen]:
    """Yield the unseen traces; those that are made for this are written to a folder."""
    for source in held:
        yield Unseen(source.path.name, source, True, lambda most: most)
    for number, source in enumerate(sources):
        if source.operations >= 2 * LEAST_OPERATIONS and source.events <= MOST_EVENTS:
            yield from _halves(source, folder / str(number))
    if ask_sites([base]):
        return  # a tiny run has no call sites
    tiny = _tiny_run(folder / "tiny.hst", base)
    yield Unseen("a tiny run", Source(tiny), False, lambda _: _only("peak", START_RATIO))


def _halves(source: Source, stem: Path) -> Iterator[Unseen]:
    middle = source.events // 2
    for what, events in (("first", (0, middle)), ("second", (middle, source.events))):
        path = stem.with_name(f"{stem.name}-{what}.hst")
        slice_trace(source.path, path, Window(events=events))
        half = Source(path, sited=source.sited)
        half.application = source.application
        yield Unseen(f"the {what} half of {source.path.name}", half, False, _of_half(margin(half.operations)))


def _of_half(slack: float) -> Callable[[Floats], Floats]:
    """Return the limits of a half by those of a whole trace."""

    def most(whole: Floats) -> Floats:
        bytes_most = np.maximum(whole[1:3], PART_SLACK)
        return np.array([max(whole[0], PART_SLACK) * (1 + slack), *bytes_most * (1 + slack), np.inf])

    return most


def _only(objective: str, most: float) -> Floats:
    return np.array([most if name == objective else np.inf for name in OBJECTIVES])


def _tiny_run(path: Path, base: Design) -> Path:
    """Write a trace of one block of each of some sizes."""
    sizes = [size for size in START_SIZES if size <= base.sizes[-1]]
    zeros = [0] * len(sizes)
    with TraceWriter(path, command=["a tiny run"], source="heapsmith") as writer:
        writer.append(Chunk.of([Op.MALLOC] * len(sizes), zeros, [*range(len(sizes))], sizes, zeros, range(len(sizes))))
    return path
