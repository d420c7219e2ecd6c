"""What designs take on a program or a trace, measured: rounds of real runs or of replays, instructions by valgrind."""

import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.ratios import Ratio, ratio
from heapsmith.tools.common.rounds import Progress, Stop, quiet
from heapsmith.tools.common.served_share import did_the_work, sentences
from heapsmith.tools.compare.measure import Given, MeasureTable, measure
from heapsmith.tools.record.record import Processes, record
from heapsmith.tools.replay.callgrind import is_countable, replay_counts
from heapsmith.tools.replay.replay import ReplayTable, replay
from heapsmith.tools.replay.script import write_script

FRAMES = 64
"""The most frames of a call stack, if a design asks for call sites."""


class Subject(NamedTuple):
    """What designs are tried on: a command with the traces of its processes, or a trace alone."""

    name: str
    traces: list[Path]
    command: list[str] | None = None
    everywhere: bool = False


class Rounds(NamedTuple):
    """The runs of each design, round by round."""

    table: MeasureTable | ReplayTable

    def named(self) -> dict[str, Any]:
        """Return the table as a result has it: `ran` of a command, `replayed` of a trace."""
        return {"ran" if isinstance(self.table, MeasureTable) else "replayed": self.table}

    def figures(self, which: int, figure: str) -> list[float]:
        """Return a figure of the runs of one design, by round."""
        return [float(getattr(run, figure)) for run in self.table.rows[which].runs]

    def ratio(self, which: int, to: int, figure: str) -> Ratio:
        """Return one design's figure to another's."""
        return ratio(self.figures(which, figure), self.figures(to, figure))


@contextmanager
def subjects(
    command: list[str] | None,
    traces: Sequence[Path],
    designs: Sequence[Design],
    *,
    everywhere: bool = False,
    progress: Progress = quiet,
) -> Iterator[list[Subject]]:
    """Give what the designs are tried on: a command, which is recorded, or each trace.

    Raises BadInput unless there is one of both, and as `record` does.
    """
    if (command is None) == (not traces):
        raise BadInput("expected a command or traces, and not both")
    if command is None:
        yield [Subject(str(trace), [trace]) for trace in traces]
        return
    with scratch() as folder:
        recordings = _recorded(command, folder, everywhere, ask_sites(designs), progress)
        yield [Subject(shlex.join(command), recordings, command, everywhere)]


def _recorded(command: list[str], folder: Path, everywhere: bool, sited: bool, progress: Progress) -> list[Path]:
    """Record a command and return the traces of its processes, the busiest first.

    Raises CheckFailed where the recorder did not see what did the work, or lost events.
    """
    void = subprocess.DEVNULL
    found = record(
        command,
        folder / "trace.hst",
        processes=Processes(everywhere=everywhere),
        stacks=FRAMES if sited else 0,
        stdin=void,
        stdout=void,
        stderr=void,
        progress=progress,
    )
    if did_the_work(found.apart):
        raise CheckFailed(f"{command[0]}: the recorder did not see {sentences(found.apart)}")
    first, *others = found.traces
    if first.drops:
        raise CheckFailed(f"{command[0]}: {first.drops:,} events were dropped while it was recorded; free some room")
    return [Path(first.path), *(Path(one.path) for one in others if one.max_blocks and not one.drops)]


def rounds(subject: Subject, designs: Sequence[Design], stop: Stop, progress: Progress) -> Rounds:
    """Run the command, or replay the trace, under each design in interleaved rounds. Raises as they do."""
    if subject.command is None:
        return Rounds(replay(subject.traces[0], designs, stop=stop, progress=progress))
    given = Given(everywhere=subject.everywhere)
    return Rounds(measure(subject.command, designs, stop=stop, given=given, progress=progress))


def instructions(traces: Sequence[Path], designs: Sequence[Design], progress: Progress) -> list[int | None]:
    """Return the instructions that each design's library takes in replays of traces, counted by valgrind.

    None for a design whose library valgrind cannot count. Raises Missing without valgrind.
    """
    found: list[int | None] = []
    with scratch() as folder:
        scripts = [folder / f"script-{number}" for number in range(len(traces))]
        for trace, script in zip(traces, scripts, strict=True):
            write_script(trace, script, progress)
        for number, design in enumerate(designs):
            progress("count instructions", number, len(designs))
            countable = is_countable(make_plan(design))
            counts = [replay_counts(script, library_of(design)).instructions for script in scripts if countable]
            found.append(sum(counts) if countable else None)
    return found
