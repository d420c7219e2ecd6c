"""Ab: a base and other designs on a user's program: what the model predicts beside what is measured."""

import statistics
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.memory.hardware import Hardware
from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio
from heapsmith.tools.common.rounds import Progress, Stop, quiet
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.replay.replay import ReplayTable
from heapsmith.tools.trial.measured import Rounds, Subject, instructions, rounds
from heapsmith.tools.trial.predicted import Predicted, predict

INSTRUCTIONS = "instructions"
FIGURES = {
    INSTRUCTIONS: "instructions",
    "CPU": "cpu_ns",
    "peak RSS": "peak_rss_bytes",
    "average RSS": "average_rss_bytes",
    "page faults": "minor_faults",
}
"""What is predicted and measured: the name in tables, and that of the field of a prediction and of a run."""

CLOSE = 0.005
"""So far outside the interval a prediction still agrees: the ratios of a table have two decimals."""

Agreement = Literal["yes", "direction", "NO", "undecided"]
"""yes: the prediction is in the interval. direction: it is not, but both are on the same side of 1."""


class Figure(msgspec.Struct, frozen=True):
    """One figure of a design to the base's: as predicted and as measured, and whether they agree."""

    figure: str
    predicted: float
    measured: Ratio | None
    agree: Agreement


class Change(msgspec.Struct, frozen=True):
    """A design beside the base: what was changed, in words, and its figures to the base's."""

    design: str
    hash: str
    change: str
    figures: list[Figure]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each figure, with the design and the change."""
        own = {"design": self.design, "change": self.change}
        return [own | msgspec.to_builtins(one) for one in self.figures]


class Trial(msgspec.Struct, frozen=True):
    """Designs on a command or a trace. predicted: the allocator's own figures, of the base first.

    ran, replayed: the rounds, by what they were of.
    """

    subject: str
    machine: str
    base: str
    changes: list[Change]
    predicted: list[Predicted]
    ran: MeasureTable | None = None
    replayed: ReplayTable | None = None

    def differing(self) -> list[str]:
        """The designs under which the command behaves in another way."""
        return self.ran.differing() if self.ran else []


def ab(
    subject: Subject,
    base: Design,
    others: Sequence[tuple[str, Design]],
    hardware: Hardware,
    *,
    stop: Stop,
    count: bool = False,
    progress: Progress = quiet,
) -> Trial:
    """Predict and measure designs beside a base; each of the others comes after the words of its change.

    Instructions are those of the library, predicted, and with `count` counted in replays by valgrind. Of the other
    figures the model predicts the difference, which is put on top of the base's measured figure. Raises as `predict`
    and the measurements do: CheckFailed for a library that serves nothing.
    """
    designs = [base, *(design for _, design in others)]
    predicted = predict(subject.traces, designs, hardware, progress)
    counts = instructions(subject.traces, designs, progress) if count else [None] * len(designs)
    taken = rounds(subject, designs, stop, progress)
    changes = [
        Change(design.name, design.hash(), words, [_figure(name, number, predicted, counts, taken) for name in FIGURES])
        for number, (words, design) in enumerate(others, 1)
    ]
    return Trial(subject.name, hardware.name, base.name, changes, predicted, **taken.named())


def _figure(
    name: str, number: int, predicted: Sequence[Predicted], counts: Sequence[int | None], taken: Rounds
) -> Figure:
    field = FIGURES[name]
    first, one = (float(getattr(predicted[which], field)) for which in (0, number))
    if name == INSTRUCTIONS:
        known, count = counts[0], counts[number]
        exact = Ratio(count / known, count / known, count / known) if known and count is not None else None
        wanted = one / first if first else 1.0
        return Figure(name, wanted, exact, agreement(wanted, exact, LEAST_ROUNDS))
    whole = statistics.median(taken.figures(0, field))
    wanted, measured = 1 + (one - first) / whole if whole else 1.0, taken.ratio(number, 0, field)
    return Figure(name, wanted, measured, agreement(wanted, measured, taken.table.rounds))


def agreement(predicted: float, measured: Ratio | None, count: int) -> Agreement:
    """Return whether a prediction agrees with a measurement of this number of rounds."""
    bounds = measured.bounds() if measured else None
    if bounds is None or measured is None or count < LEAST_ROUNDS:
        return "undecided"
    if bounds[0] - CLOSE <= predicted <= bounds[1] + CLOSE:
        return "yes"
    same_side = (measured.is_less() and predicted < 1) or (measured.is_more() and predicted > 1)
    return "direction" if same_side else "NO"
