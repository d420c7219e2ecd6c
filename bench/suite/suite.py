"""The benchmark: runs rows in interleaved rounds; compares with glibc and the best peer."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from heapsmith.bench.programs.instructions import per_operation
from heapsmith.bench.suite.columns import DEFAULT, Column, columns
from heapsmith.bench.suite.load import Clocks
from heapsmith.bench.suite.results import BenchReport, BenchRow, Extra, Runs, make_column, make_row
from heapsmith.bench.suite.rows import GLIBC_LIMIT_S, Calls, Row, Runner, Sample, rows
from heapsmith.bench.suite.training import train, with_library
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.model.search.asked import USUAL, Asked
from heapsmith.tools.common.host_memory import resident
from heapsmith.tools.common.ratios import are_known
from heapsmith.tools.common.rounds import Progress, Stop, interleaved, quiet

ROUNDS, QUICK_ROUNDS = 7, 3
LEAST_LIMIT_S, TIMES_GLIBC = 10.0, 20.0
"""The limit of a run: this many seconds, or this many times glibc's first run if that is longer."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a benchmark.

    suites, only: its rows (rows.rows). libs, tuned: its columns (columns.columns). rounds: counted
    rounds, None for the usual number. time_s: instead, rounds until the intervals of CPU time of designs (or peers
    without them) are narrow (Ratio.is_narrow), for as many seconds a row at most. quick: fewer rows, less work.
    instructions: count them too. latency: stamp single calls too, in as many rounds again.
    tune: one more column, TUNED, for the design that the tuner makes from another input of each
    row. search: what is asked of the tuner.
    """

    suites: list[str] = []
    only: list[str] = []
    libs: list[str] = []
    tuned: list[str] = []
    rounds: int | None = None
    time_s: float | None = None
    quick: bool = False
    instructions: bool = False
    latency: bool = False
    tune: bool = False
    search: Asked = USUAL


def bench(
    asked: Request, progress: Progress = quiet, keep: Callable[[BenchReport], None] = lambda _: None
) -> BenchReport:
    """Run the rows of a request under its columns. `keep` gets the report on the rows so far, after each row.

    A malloc that fails in a row, or exceeds the limit, is left out of that row alone. Raises
    BadInput for an invalid request, Missing without a compiler (or valgrind, with `instructions`),
    without room in the temporary directory and, with `tune`, where the recorder cannot run.
    """
    with scratch() as folder:
        found = rows(asked.suites, asked.only, folder / "inputs", quick=asked.quick, tune=asked.tune)
        if not found:
            raise BadInput("no row left: the programs of these suites are not installed")
        across = columns(asked.libs, asked.tuned, tune=asked.tune)
        done, skipped = [], {}
        for number, row in enumerate(found):
            own = folder / f"row{number}"
            own.mkdir()
            say = _within(progress, number, len(found))
            try:
                done.append(_bench_row(row, own, across, asked, say))
            except CheckFailed as error:
                skipped[row.name] = str(error)
            report = _report(asked, across, done, skipped)
            keep(report)
    return report


def _report(asked: Request, across: list[Column], done: list[BenchRow], skipped: dict[str, str]) -> BenchReport:
    """The report on the rows that are done or skipped."""
    processors = len(os.sched_getaffinity(0))
    described = [make_column(one, done, across) for one in across]
    asked_for = (asked.search.favour, asked.search.limits)
    return BenchReport(asked.quick, processors, described, done, skipped, *asked_for)


def _within(progress: Progress, number: int, rows: int) -> Progress:
    """Converts progress within a row to progress over all rows."""
    return lambda what, done, total: progress(what, number * 1000 + 1000 * done // total, rows * 1000)


def _bench_row(row: Row, folder: Path, across: list[Column], asked: Request, progress: Progress) -> BenchRow:
    """One row under all columns; CheckFailed if its preparation fails or glibc fails in it."""
    tuning = None
    if any(column.is_by_row for column in across):
        tuning = train(row, folder / "training", asked.search, progress)
        across = [with_library(column, tuning) if column.is_by_row else column for column in across]
    progress(f"{row.name}: prepare", 0, 1)
    runner = row.prepare(folder)
    fit = [column for column in across if column.kind != "ceiling" or column.name in row.ceilings]
    runs, failed, load = run_rounds(row.name, runner, fit, _stop(asked, fit), progress)
    alive = [column for column in fit if column.name in runs]
    counts, uncounted = _count(row, alive, progress) if asked.instructions else ({}, {})
    rounds = min(len(runs[fit[0].name]), _usual(asked))
    stamps, unstamped = _stamp(row, folder, alive, rounds, progress) if asked.latency else ({}, {})
    return make_row(row, across, runs, failed, load, Extra(counts, uncounted, stamps, unstamped), tuning)


def _stop(asked: Request, fit: list[Column]) -> Stop:
    """When the rounds of a row under these columns end."""
    if asked.time_s is None:
        return Stop(_usual(asked))
    names = [column.name for column in fit]
    others = [number for number, column in enumerate(fit) if number > 0 and column.kind != "ceiling"]
    own = [number for number in others if fit[number].kind != "peer"] or others
    pairs = [(one, 0) for one in own]
    if DEFAULT in names:
        pairs += [(one, names.index(DEFAULT)) for one in own if fit[one].kind == "tuned"]

    def is_known(runs: list[list[Sample | None]]) -> bool:
        times = [[sample.cpu_ns for sample in its if sample] for its in runs]
        whole = {entry for entry, its in enumerate(times) if len(its) == len(times[0])}  # what failed tells no more
        return are_known(len(runs[0]), ((times[one], times[other]) for one, other in pairs if whole >= {one, other}))

    return Stop(limit_s=asked.time_s, enough=is_known)


def _usual(asked: Request) -> int:
    """The number of rounds without a time."""
    return asked.rounds or (QUICK_ROUNDS if asked.quick else ROUNDS)


def _count(row: Row, fit: list[Column], progress: Progress) -> tuple[dict[str, float], dict[str, str]]:
    """Instructions by column, and why a column has none."""
    counts: dict[str, float] = {}
    uncounted: dict[str, str] = {}
    if row.micro is None or not row.micro.hot:
        return counts, uncounted
    for done, column in enumerate(fit):
        progress(f"{row.name}: instructions under {column.name}", done, len(fit))
        try:
            counts[column.name] = per_operation(row.micro, column.library.path)
        except CheckFailed as error:
            uncounted[column.name] = str(error)
    return counts, uncounted


def _stamp(
    row: Row, folder: Path, fit: list[Column], rounds: int, progress: Progress
) -> tuple[dict[str, list[Calls]], dict[str, str]]:
    """Stamped runs by column but the ceilings, in interleaved rounds, and why a column has none."""
    unstamped: dict[str, str] = {}
    if row.stamp is None:
        return {}, unstamped
    stamper = row.stamp(folder)
    fit = [column for column in fit if column.kind != "ceiling"]

    def run(entry: int) -> Calls | None:
        column = fit[entry]
        if column.name in unstamped:
            return None
        try:
            return stamper(column.library, GLIBC_LIMIT_S)
        except CheckFailed as error:
            unstamped[column.name] = str(error)
            return None

    taken = interleaved(f"{row.name}: stamps", [column.name for column in fit], Stop(rounds), run, progress)
    found = {
        column.name: [calls for calls in runs if calls]
        for column, runs in zip(fit, taken.runs, strict=True)
        if column.name not in unstamped
    }
    return found, unstamped


def run_rounds(
    name: str, runner: Runner, fit: list[Column], stop: Stop, progress: Progress
) -> tuple[Runs, dict[str, str], Clocks]:
    """Interleaved rounds in shuffled order; a column that fails or changes the output is out.

    The first of `fit` is glibc, which runs first. Raises CheckFailed if glibc fails.
    """
    failed = {column.name: column.unusable for column in fit if column.unusable}
    begun = Clocks.now()
    output: str | None = None
    limit_s = GLIBC_LIMIT_S

    def run(entry: int) -> Sample | None:
        nonlocal output, limit_s
        column = fit[entry]
        if column.name in failed:
            return None
        try:
            sample = runner(column.library, limit_s)
        except CheckFailed as error:
            if entry == 0:
                raise CheckFailed(f"under {column.name}: {error}") from error
            failed[column.name] = str(error)
            return None
        if output is None:
            output, limit_s = sample.output, max(LEAST_LIMIT_S, TIMES_GLIBC * sample.wall_ns / 1e9)
        if sample.output != output:
            failed[column.name] = "its output differs from glibc's"
        return sample

    taken = interleaved(name, [column.name for column in fit], stop, run, progress, resident=resident)
    whole = {
        column.name: [sample for sample in samples if sample]
        for column, samples in zip(fit, taken.runs, strict=True)
        if column.name not in failed
    }
    return whole, failed, Clocks.now().since(begun)
