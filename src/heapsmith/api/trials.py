"""Trials in Python: designs on a program, prediction beside measurement, and which change makes the difference."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack

from heapsmith.api.designs import DesignLike, model_of, models_of, paths_of
from heapsmith.api.models import MachineLike
from heapsmith.api.programs import EVERYWHERE, ROUNDS, SECONDS, TIME, stop_of
from heapsmith.api.results import Progress, Result
from heapsmith.api.stated import Argument, Option
from heapsmith.api.traces import TraceLike, words_of
from heapsmith.api.typed import typed

if TYPE_CHECKING:
    from heapsmith.model.design import design as model
    from heapsmith.model.memory.hardware import Hardware
    from heapsmith.tools.common.rounds import Stop
    from heapsmith.tools.trial.ab import Trial
    from heapsmith.tools.trial.bisect import Bisected
    from heapsmith.tools.trial.measured import Subject


class TrialOptions(TypedDict, total=False):
    """The options of `ab` and `bisect`, which say what each is."""

    traces: Annotated[
        TraceLike | Iterable[TraceLike],
        Option("In place of a command: a trace to replay[; repeat it].", "TRACE", "--trace"),
    ]
    machine: Annotated[
        MachineLike,
        Option("Whose costs the model takes: built-in, or a file that calibrate wrote.", "MACHINE", default="default"),
    ]
    rounds: Annotated[int, ROUNDS]
    seconds: Annotated[float, TIME]
    everywhere: Annotated[bool, EVERYWHERE]
    progress: Progress


class Tried(Result):
    """Designs beside a base: for each command or trace, prediction and measurement of each figure."""

    details: list[Trial]

    @property
    def same_output(self) -> bool:
        """Whether no design changes the command's output or exit status."""
        return not any(trial.differing() for trial in self.details)

    def _rows(self) -> Iterable[Any]:
        """Return a row for each figure of each design."""
        return [row for trial in self.details for change in trial.changes for row in change.rows()]

    def show(self) -> None:
        """Print the tables of `heapsmith ab`."""
        from heapsmith.api import printed

        for one in self.details:
            printed.tried(one)


class Steps(Result):
    """The ways from a design to another: for each command or trace, the steps and which makes the difference."""

    details: list[Bisected]

    @property
    def causes(self) -> list[list[str]]:
        """Of each command or trace, the fields of the step that makes most of the change."""
        return [one.steps[one.cause].paths for one in self.details]

    def _rows(self) -> Iterable[Any]:
        """Return the steps."""
        return [step for one in self.details for step in one.steps]

    def show(self) -> None:
        """Print the tables of `heapsmith bisect`."""
        from heapsmith.api import printed

        for one in self.details:
            printed.bisected(one)


@typed
def ab(
    designs: Annotated[
        DesignLike | Iterable[DesignLike], Argument("The base, and designs to try beside it.", "DESIGN...")
    ],
    command: Sequence[str] | None = None,
    *,
    changes: Annotated[
        Sequence[str],
        Option(
            "Also the base with this field changed[; repeat it]. Of several, also all together.",
            "PATH=VALUE",
            "--change",
        ),
    ] = (),
    instructions: Annotated[bool, Option("Also count the library's instructions, in replays by valgrind.")] = False,
    **options: Unpack[TrialOptions],
) -> Tried:
    """Try designs beside a base on a command or on traces: what the model predicts beside what is measured.

    The command is recorded once, and runs in rounds as for `compare`. Raises BadInput for designs that do not differ,
    and for a command and traces; CheckFailed for a library that serves nothing.

    >>> ab("lean", ["ls", "/"], changes=["front.capacity=4"], rounds=1).same_output
    True
    """
    from heapsmith.tools.trial.ab import ab as run
    from heapsmith.tools.trial.changes import contenders

    found = models_of(designs)
    others = contenders(found, changes)
    with _asked("ab", command, [*found[:1], *(one for _, one in others)], options) as (subjects, hardware, stop, tell):
        return Tried(
            [run(one, found[0], others, hardware, stop=stop, count=instructions, progress=tell) for one in subjects]
        )


@typed
def bisect(
    first: Annotated[DesignLike, Argument("The design to begin with.", "A")],
    last: Annotated[DesignLike, Argument("The design to end with.", "B")],
    command: Sequence[str] | None = None,
    *,
    by: Annotated[
        Literal["cpu", "peak", "average", "instructions"], Option("The figure whose change is looked for.")
    ] = "cpu",
    measure: Annotated[
        Literal["most", "all", "none"],
        Option("Which steps to measure: those that make most of the change, all or none."),
    ] = "most",
    **options: Unpack[TrialOptions],
) -> Steps:
    """Walk from a design to another a field at a time, and say which change makes the difference.

    Raises as `ab`.

    >>> bisect("lean", "bare", ["ls", "/"], by="instructions", measure="none").causes
    [['front']]
    """
    from heapsmith.tools.trial.bisect import bisect as run

    begin, end = model_of(first), model_of(last)
    with _asked("bisect", command, [begin, end], options) as (subjects, hardware, stop, tell):
        return Steps(
            [run(one, begin, end, hardware, by=by, which=measure, stop=stop, progress=tell) for one in subjects]
        )


@contextmanager
def _asked(
    called: str, command: Sequence[str] | None, designs: Sequence[model.Design], options: TrialOptions
) -> Iterator[tuple[list[Subject], Hardware, Stop, Progress]]:
    """Give what options say: the subjects, the machine, when rounds end, and who hears of progress."""
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.tools.common.ratios import LEAST_ROUNDS
    from heapsmith.tools.common.rounds import quiet
    from heapsmith.tools.trial.measured import subjects

    if unknown := options.keys() - TrialOptions.__annotations__:
        raise TypeError(f"{called}() got an unexpected keyword argument {min(unknown)!r}")
    hardware = load_hardware(os.fspath(options.get("machine", "default")))
    stop = stop_of(options.get("rounds"), options.get("seconds"), SECONDS, least=LEAST_ROUNDS)
    tell = options.get("progress", quiet)
    words, traces = None if command is None else words_of(command), paths_of(options.get("traces", ()))
    with subjects(words, traces, designs, everywhere=options.get("everywhere", False), progress=tell) as found:
        yield found, hardware, stop, tell
