"""Bisect: from a design to another a field at a time, and which of the changes makes the difference."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.hardware import Hardware
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Progress, Stop, quiet
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.replay.replay import ReplayTable
from heapsmith.tools.trial.changes import Moved, moved, walk, words
from heapsmith.tools.trial.measured import Rounds, Subject, instructions, rounds
from heapsmith.tools.trial.predicted import predict

By = Literal["cpu", "peak", "average", "instructions"]
FIELDS: Mapping[By, str] = {
    "cpu": "cpu_ns",
    "peak": "peak_rss_bytes",
    "average": "average_rss_bytes",
    "instructions": "instructions",
}
Which = Literal["most", "all", "none"]

MOST = 0.8
"""The steps that matter: the largest that together have this part of all changes, up and down."""


class Step(msgspec.Struct, frozen=True):
    """A step from A to B: the fields that change, the value of the figure behind it, and the change that it makes.

    alone: what A with only this change has more than A; last: what B has more than B without it; None where no legal
    design is so, and then `refused` says why. Where other fields must go with it there, these are in alone_with and
    last_with. measured: the design behind the step to the one before it.
    """

    paths: list[str]
    before: str
    after: str
    value: float
    change: float
    alone: float | None
    last: float | None
    alone_with: list[str]
    last_with: list[str]
    refused: str
    measured: Ratio | None = None


class Bisected(msgspec.Struct, frozen=True):
    """The way from A to B on a command or a trace by a figure of the allocator, predicted. cause: the largest step.

    ran, replayed: the rounds in which steps were measured.
    """

    subject: str
    machine: str
    by: By
    first: str
    last: str
    first_value: float
    last_value: float
    steps: list[Step]
    cause: int
    ran: MeasureTable | None = None
    replayed: ReplayTable | None = None


def bisect(
    subject: Subject,
    first: Design,
    last: Design,
    hardware: Hardware,
    *,
    by: By = "cpu",
    which: Which = "most",
    stop: Stop,
    progress: Progress = quiet,
) -> Bisected:
    """Walk from one design to another, and predict what each step changes of a figure; measure the steps of `which`.

    Raises BadInput for equal designs, and as `predict` and the measurements do.
    """
    way = walk(first, last)
    if not way:
        raise BadInput(f"{last.name}: makes the same choices as {first.name}; expected designs that differ")
    here = [_named(step.design, f"{first.name}-{number}") for number, step in enumerate(way, 1)]
    alone = [moved(first, last, step.paths) for step in way]
    without = [moved(last, first, step.paths) for step in way]
    designs = [first, *here, *(one.design for one in (*alone, *without) if one.refusal is None)]
    values = _values(subject, designs, hardware, by, progress)
    at = [values[one.hash()] for one in (first, *here)]
    steps = [
        Step(
            step.paths,
            before=", ".join(words(first, path) for path in step.paths),
            after=", ".join(words(last, path) for path in step.paths),
            value=at[number + 1],
            change=at[number + 1] - at[number],
            alone=_less(values, alone[number], at[0], 1),
            last=_less(values, without[number], at[-1], -1),
            alone_with=alone[number].paths[len(step.paths) :],
            last_with=without[number].paths[len(step.paths) :],
            refused="; ".join(str(one.refusal) for one in (alone[number], without[number]) if one.refusal),
        )
        for number, step in enumerate(way)
    ]
    measured, taken = _measured(subject, [first, *here], _chosen(steps, which), by, stop, progress)
    steps = [msgspec.structs.replace(step, measured=measured.get(number)) for number, step in enumerate(steps)]
    cause = max(range(len(steps)), key=lambda number: abs(steps[number].change))
    named = taken.named() if taken else {}
    return Bisected(subject.name, hardware.name, by, first.name, last.name, at[0], at[-1], steps, cause, **named)


def _named(design: Design, name: str) -> Design:
    return msgspec.structs.replace(design, name=name, about="")


def _values(
    subject: Subject, designs: Sequence[Design], hardware: Hardware, by: By, progress: Progress
) -> dict[str, float]:
    """Return the predicted figure of each design by its hash."""
    found = predict(subject.traces, designs, hardware, progress)
    return {design.hash(): float(getattr(one, FIELDS[by])) for design, one in zip(designs, found, strict=True)}


def _less(values: Mapping[str, float], one: Moved, beside: float, sign: int) -> float | None:
    """Return what a design has more than the value `beside`, or with sign -1 less; None if it is not legal."""
    return None if one.refusal else sign * (values[one.design.hash()] - beside)


def _chosen(steps: Sequence[Step], which: Which) -> list[int]:
    """Return the numbers of the steps to measure."""
    if which != "most":
        return [*range(len(steps))] if which == "all" else []
    wanted = MOST * sum(abs(step.change) for step in steps)
    chosen: list[int] = []
    for number in sorted(range(len(steps)), key=lambda number: -abs(steps[number].change)):
        if sum(abs(steps[one].change) for one in chosen) < wanted:
            chosen.append(number)
    return sorted(chosen)


def _measured(
    subject: Subject, way: Sequence[Design], chosen: Sequence[int], by: By, stop: Stop, progress: Progress
) -> tuple[dict[int, Ratio], Rounds | None]:
    """Return the measured ratios of the chosen steps, and the rounds; instructions have none."""
    if not chosen:
        return {}, None
    needed = sorted({place for number in chosen for place in (number, number + 1)})
    designs, at = [way[place] for place in needed], {place: index for index, place in enumerate(needed)}
    if by == "instructions":
        counts = instructions(subject.traces, designs, progress)
        exact: dict[int, Ratio] = {}
        for number in chosen:
            before, after = counts[at[number]], counts[at[number + 1]]
            if before and after is not None:
                exact[number] = Ratio(after / before, after / before, after / before)
        return exact, None
    taken = rounds(subject, designs, stop, progress)
    return {number: taken.ratio(at[number + 1], at[number], FIELDS[by]) for number in chosen}, taken
