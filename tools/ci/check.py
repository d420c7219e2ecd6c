"""Check: runs a program several times, and compares the figures that are stable with those of a baseline."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import scratch, write_json
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.search import guard as watch
from heapsmith.model.search.workload import Observed, observe
from heapsmith.tools.ci.baseline import FIGURES, NOTHING, Baseline, Counted, Range, counted, summed
from heapsmith.tools.record.record import Processes, record

QUIET = 0.1
"""A figure is stable if its runs differ by at most this share of the tolerance."""

LEAST_OF_WHOLE = 0.01
"""A function's growth counts from this share of the program's figure on."""

ROUNDING = 1e-9
"""What a growth of just the tolerance may seem to be above it."""

FRAMES = 64


class Asked(NamedTuple):
    """What a check is asked for. each_function: judge the figures of functions too."""

    command: list[str]
    runs: int
    tolerance: float
    design: Design
    root: Path
    each_function: bool = False


class Judged(msgspec.Struct, frozen=True):
    """A figure then and now, over the runs. growth: from the most then to the least now; None: from nothing.

    why_not: why the figure is not gated.
    """

    figure: str
    before: Range
    now: Range
    growth: float | None
    why_not: str
    ok: bool


class Grown(msgspec.Struct, frozen=True):
    """A function that makes figures grow too much: by figure, what it had and has."""

    name: str
    module: str
    file: str
    line: int
    figures: dict[str, tuple[Range, Range]]


class Checked(msgspec.Struct, frozen=True):
    """The judgement of a program.

    pays: what the design pays, committed: its bytes at the peak; None if the baseline is of another design.
    """

    command: list[str]
    baseline: str
    runs: int
    tolerance: float
    ok: bool
    figures: list[Judged]
    functions: list[Grown]
    design: str
    pays: list[watch.Verdict] | None
    committed: tuple[int, int] | None
    retuning: watch.Retuning
    notes: list[str]


class Measured(NamedTuple):
    """What the runs of a program say. notes: what its recordings lack."""

    baseline: Baseline
    observed: Observed
    notes: list[str]


def measure(asked: Asked, progress: Progress, output: int | IO[Any] | None = None) -> Measured:
    """Run the program; CheckFailed if it fails. It reads nothing, and writes to `output`."""
    runs: list[Counted] = []
    notes: dict[str, None] = {}
    with scratch() as folder, open("/dev/null", "rb") as nothing:
        for number in range(asked.runs):
            trace = folder / f"{number}.hst"
            done = record(
                asked.command,
                trace,
                processes=Processes(all=False),
                stacks=FRAMES,
                stdin=nothing,
                stdout=output,
                progress=progress,
            )
            if done.exit_status:
                run = f"run {number + 1} of {asked.runs} of {' '.join(asked.command)}"
                raise CheckFailed(f"{run} ended with status {done.exit_status}; expected 0")
            notes |= dict.fromkeys(done.warnings())
            runs.append(counted(trace, asked.root, progress))
        observed = observe(asked.design, [folder / "0.hst"], progress)
    return Measured(summed(asked.command, runs, observed.workload), observed, list(notes))


def write_baseline(path: Path, measured: Measured) -> None:
    """Write the baseline file; BadInput if it cannot be."""
    write_json(path, measured.baseline)


def check(asked: Asked, path: Path, before: Baseline, measured: Measured) -> Checked:
    """Judge a program's runs by its baseline, which `path` names."""
    now, tolerance = measured.baseline, asked.tolerance
    figures = [judged(name, before.figures[name], now.figures[name], tolerance) for name in FIGURES]
    functions = sorted(grown(asked, before, now, figures), key=lambda one: (-len(one.figures), -_shares(one, now)))
    same_design = before.workload.design_hash == now.workload.design_hash
    pays = watch.verdicts(before.workload, now.workload, watch.Limits()) if same_design else None
    notes = list(measured.notes)
    if before.command != now.command:
        notes.append(f"the baseline is of another command: {' '.join(before.command)}")
    if not same_design:
        notes.append(f"the baseline was simulated under another design than {asked.design.name}: write it anew")
    return Checked(
        command=asked.command,
        baseline=str(path),
        runs=asked.runs,
        tolerance=tolerance,
        ok=all(one.ok for one in figures) and not (asked.each_function and functions),
        figures=figures,
        functions=functions,
        design=asked.design.name,
        pays=pays,
        committed=(before.workload.committed_peak, now.workload.committed_peak) if same_design else None,
        retuning=watch.retuning(asked.design, measured.observed),
        notes=notes,
    )


def judged(figure: str, before: Range, now: Range, tolerance: float) -> Judged:
    """Judge a figure. What is stable is seen from the baseline; its growth is the least that the runs allow.

    A figure that varies more now than then is judged too: it fails where each of its runs is beyond the limit.
    """
    growth = now.least / before.most - 1 if before.most else None if now.least else 0.0
    why_not = "" if before.spread <= QUIET * tolerance else f"runs of the baseline differ by {before.spread:.2%}"
    is_within = growth is not None and growth <= tolerance + ROUNDING
    return Judged(figure, before, now, growth, why_not, bool(why_not) or is_within)


def grown(asked: Asked, before: Baseline, now: Baseline, whole: Sequence[Judged]) -> Iterator[Grown]:
    """The functions that made a figure fail, by a tenth of its growth or a part of the whole; or that fail alone."""
    then = {(one.name, one.module): one.figures for one in before.functions}
    for function in now.functions:
        pairs = zip(
            then.get((function.name, function.module), (NOTHING,) * len(FIGURES)), function.figures, strict=True
        )
        rose: dict[str, tuple[Range, Range]] = {}
        for of, (old, new) in zip(whole, pairs, strict=True):
            more = new.least - old.most
            part = LEAST_OF_WHOLE * of.before.most
            if more <= 0 or more < (part if of.ok else min(part, (of.now.least - of.before.most) / 10)):
                continue
            if not of.ok or (asked.each_function and not judged(of.figure, old, new, asked.tolerance).ok):
                rose[of.figure] = old, new
        if rose:
            yield Grown(function.name, function.module, function.file, function.line, rose)


def _shares(one: Grown, now: Baseline) -> float:
    """How much a function grew, as the largest share of a figure of the whole."""
    return max((new.least - old.most) / max(1, now.figures[name].most) for name, (old, new) in one.figures.items())
