"""The benchmark: rows under every malloc in interleaved rounds, compared with glibc and the best peer."""

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from heapsmith.bench.common.rounds import UNRELIABLE, Figure, Progress, schedule
from heapsmith.bench.programs.instructions import per_operation
from heapsmith.bench.suite.columns import Column, Kind, columns
from heapsmith.bench.suite.compare import Ratio, geometric_mean, ratio
from heapsmith.bench.suite.load import Clocks
from heapsmith.bench.suite.suites import Row, Runner, Sample, rows
from heapsmith.bench.suite.training import Tuning, train, with_library
from heapsmith.model.errors import BadInput, CheckFailed, Missing

ROUNDS, QUICK_ROUNDS = 7, 3
FASTEST = 3
"""Among so many fastest peers of a row the leanest is looked for."""
GLIBC_LIMIT_S = 600.0
LEAST_LIMIT_S, TIMES_GLIBC = 10.0, 20.0
"""A run may take so long, or so many times what glibc took in the row's first round, whichever is longer."""


class BenchColumn(msgspec.Struct, frozen=True):
    """A malloc. `path` is None for glibc; `tuned_on` says on what a tuned one was tuned, empty for all others.

    `version`: a peer's release, the hash of a design that was built for the benchmark, else empty.

    `cpu_mean` and `rss_mean`: geometric means of CPU time and peak RSS to glibc's over `rows`, those rows that ran
    under every column but the ceilings; None for ceilings, and where there is no such row.
    """

    name: str
    kind: Kind
    version: str
    path: str | None
    tuned_on: str
    cpu_mean: float | None
    rss_mean: float | None
    rows: int


class BenchCell(msgspec.Struct, frozen=True):
    """A row under a column; times are of the row's whole work, all threads together for `cpu_ns`.

    Ratios are to glibc (`..._to_glibc`) and to the row's best peer by that quantity (`..._to_best`), round by round.
    `rss_to_lean`: to the leanest of the three peers of least CPU time. `instructions`: per operation, by callgrind.
    """

    column: str
    cpu_ns: Figure
    wall_ns: Figure
    peak_rss_bytes: Figure
    cpu_to_glibc: Ratio
    wall_to_glibc: Ratio
    rss_to_glibc: Ratio
    cpu_to_best: Ratio
    wall_to_best: Ratio
    rss_to_lean: Ratio
    instructions: float | None


class BenchRow(msgspec.Struct, frozen=True):
    """A row: `operations` units of work (pairs, appends, runs, calls), done by `threads` threads at once.

    `best_cpu`, `best_wall`: the peers of least median time, glibc among them; `lean`: the leanest of the three of least
    CPU time. By column, `failed`: why it has no cell; `uncounted`: why no instructions. `load` and `stolen`: processors
    that other programs and other virtual machines took while the row ran. `note` says why not to trust the row; empty:
    nothing was seen. `tuning`: what the row's column `tuned` is, if tuning was asked for.
    """

    name: str
    suite: str
    shows: str
    threads: int
    operations: int
    best_cpu: str
    best_wall: str
    lean: str
    cells: list[BenchCell]
    failed: dict[str, str]
    uncounted: dict[str, str]
    load: float
    stolen: float
    note: str
    tuning: Tuning | None

    def cell(self, column: str) -> BenchCell | None:
        """The row under a column, if it ran there."""
        return next((cell for cell in self.cells if cell.column == column), None)


class BenchReport(msgspec.Struct, frozen=True):
    """All of a benchmark; every row of `rounds` counted rounds after one that warmed up.

    `skipped`: by name, why a row could not run at all, not even under glibc.
    """

    quick: bool
    rounds: int
    processors: int
    columns: list[BenchColumn]
    rows: list[BenchRow]
    skipped: dict[str, str]


Runs = dict[str, list[Sample]]
"""By column, a sample per counted round."""


def bench(
    *,
    suites: list[str],
    only: list[str],
    libs: list[str],
    tuned: list[str],
    rounds: int | None = None,
    quick: bool = False,
    instructions: bool = False,
    tune: bool = False,
    progress: Progress | None = None,
) -> BenchReport:
    """Run the rows of `suites` that match `only` (see suites.rows) under the columns of `libs` and `tuned` (columns).

    With `tune` each row has one more, TUNED: the design that our tuner makes of another input of the row's work. A
    malloc that fails a row, or takes too long, is out of that row alone. Raises BadInput for what cannot be asked for,
    Missing without a compiler (or valgrind, with `instructions`), without room in the temporary directory and, with
    `tune`, where the recorder cannot run.
    """
    wanted = rounds or (QUICK_ROUNDS if quick else ROUNDS)
    try:
        folder = tempfile.TemporaryDirectory(prefix="heapsmith-bench-")
    except OSError as error:
        raise Missing(f"no temporary directory: {error.strerror}") from error
    with folder as name:
        found = rows(suites, only, Path(name) / "inputs", quick=quick, tune=tune)
        if not found:
            raise BadInput("no row left: the programs of these suites are not installed")
        across = columns(libs, tuned, tune=tune)
        done, skipped = [], {}
        for number, row in enumerate(found):
            own = Path(name) / f"row{number}"
            own.mkdir()
            say = _within(progress, number, len(found))
            try:
                done.append(_bench_row(row, own, across, wanted, instructions, say))
            except CheckFailed as error:
                skipped[row.name] = str(error)
    processors = len(os.sched_getaffinity(0))
    return BenchReport(quick, wanted, processors, [_column(one, done, across) for one in across], done, skipped)


def _within(progress: Progress | None, number: int, rows: int) -> Callable[[str, int, int], None]:
    """Progress within one row as progress within all."""

    def say(what: str, done: int, total: int) -> None:
        if progress is not None:
            progress(what, number * 1000 + 1000 * done // total, rows * 1000)

    return say


def _bench_row(
    row: Row, folder: Path, across: list[Column], rounds: int, instructions: bool, progress: Progress
) -> BenchRow:
    """One row under all; CheckFailed where it cannot be prepared or fails under glibc."""
    tuning = None
    if any(column.is_by_row for column in across):
        tuning = train(row, folder / "training", progress)
        across = [with_library(column, tuning) if column.is_by_row else column for column in across]
    progress(f"{row.name}: prepare", 0, 1)
    runner = row.prepare(folder)
    fit = [column for column in across if column.kind != "ceiling" or column.name in row.ceilings]
    runs, failed, load = run_rounds(row.name, runner, fit, rounds, progress)
    counts: dict[str, float] = {}
    uncounted: dict[str, str] = {}
    if instructions and row.micro is not None and row.micro.hot:
        for done, column in enumerate(column for column in fit if column.name in runs):
            progress(f"{row.name}: instructions under {column.name}", done, len(runs))
            try:
                counts[column.name] = per_operation(row.micro, column.library.path)
            except CheckFailed as error:
                uncounted[column.name] = str(error)
    return make_row(row, across, runs, failed, load, counts, uncounted, tuning)


def run_rounds(
    name: str, runner: Runner, fit: list[Column], rounds: int, progress: Progress
) -> tuple[Runs, dict[str, str], Clocks]:
    """Interleaved rounds in rotated order; a column that fails once, or gives another output, is out of the row.

    The first of `fit` is glibc, which runs first. Raises CheckFailed where it fails itself.
    """
    runs: Runs = {column.name: [] for column in fit}
    failed = {column.name: column.unusable for column in fit if column.unusable}
    begun = Clocks.now()
    output: str | None = None
    limit_s = GLIBC_LIMIT_S
    for done, (number, entry) in enumerate(schedule(len(fit), rounds)):
        column = fit[entry]
        if column.name in failed:
            continue
        progress(f"{name} under {column.name}", done, (rounds + 1) * len(fit))
        try:
            sample = runner(column.library, limit_s)
        except CheckFailed as error:
            if entry == 0:
                raise CheckFailed(f"under {column.name}: {error}") from error
            failed[column.name] = str(error)
            continue
        if output is None:
            output, limit_s = sample.output, max(LEAST_LIMIT_S, TIMES_GLIBC * sample.wall_ns / 1e9)
        if sample.output != output:
            failed[column.name] = "its output is another than glibc's"
        elif number > 0:
            runs[column.name].append(sample)
    return (
        {column: samples for column, samples in runs.items() if column not in failed},
        failed,
        Clocks.now().since(begun),
    )


def make_row(
    row: Row,
    across: list[Column],
    runs: Runs,
    failed: dict[str, str],
    load: Clocks,
    counts: dict[str, float],
    uncounted: dict[str, str],
    tuning: Tuning | None = None,
) -> BenchRow:
    """The figures of a row from its samples; the first of `across` is glibc."""
    peers = [column.name for column in across if column.kind == "peer" and column.name in runs]
    fastest = sorted(peers, key=lambda name: Figure.of([run.cpu_ns for run in runs[name]]).median)
    best_wall = min(peers, key=lambda name: Figure.of([run.wall_ns for run in runs[name]]).median)
    lean = min(fastest[:FASTEST], key=lambda name: Figure.of([run.peak_rss_bytes for run in runs[name]]).median)
    cells = [
        _cell(name, own, runs[across[0].name], runs[fastest[0]], runs[best_wall], runs[lean], counts.get(name))
        for name, own in runs.items()
    ]
    return BenchRow(
        name=row.name,
        suite=row.suite,
        shows=row.shows,
        threads=row.threads,
        operations=runs[across[0].name][0].operations,
        best_cpu=fastest[0],
        best_wall=best_wall,
        lean=lean,
        cells=cells,
        failed=failed,
        uncounted=uncounted,
        load=load.others(),
        stolen=load.stolen(),
        note="; ".join(filter(None, [load.note(), _spreads(cells)])),
        tuning=tuning,
    )


def _cell(
    name: str,
    own: list[Sample],
    glibc: list[Sample],
    best_cpu: list[Sample],
    best_wall: list[Sample],
    lean: list[Sample],
    instructions: float | None,
) -> BenchCell:
    def cpu(runs: Iterable[Sample]) -> list[float]:
        return [run.cpu_ns for run in runs]

    def wall(runs: Iterable[Sample]) -> list[float]:
        return [run.wall_ns for run in runs]

    def rss(runs: Iterable[Sample]) -> list[float]:
        return [run.peak_rss_bytes for run in runs]

    return BenchCell(
        column=name,
        cpu_ns=Figure.of(cpu(own)),
        wall_ns=Figure.of(wall(own)),
        peak_rss_bytes=Figure.of(rss(own)),
        cpu_to_glibc=ratio(cpu(own), cpu(glibc)),
        wall_to_glibc=ratio(wall(own), wall(glibc)),
        rss_to_glibc=ratio(rss(own), rss(glibc)),
        cpu_to_best=ratio(cpu(own), cpu(best_cpu)),
        wall_to_best=ratio(wall(own), wall(best_wall)),
        rss_to_lean=ratio(rss(own), rss(lean)),
        instructions=instructions,
    )


def _spreads(cells: list[BenchCell]) -> str:
    """Which columns' CPU time differs too much from round to round."""
    wide = [f"{cell.column} {cell.cpu_ns.spread:.0%}" for cell in cells if cell.cpu_ns.spread > UNRELIABLE]
    return f"CPU time spreads between quartiles: {', '.join(wide)}" if wide else ""


def _column(column: Column, done: list[BenchRow], across: list[Column]) -> BenchColumn:
    names = [one.name for one in across if one.kind != "ceiling"]
    common = [row for row in done if all(row.cell(name) for name in names)]
    cells = [cell for row in common if (cell := row.cell(column.name))]
    is_compared = column.kind != "ceiling"
    return BenchColumn(
        name=column.name,
        kind=column.kind,
        version=column.library.version,
        path=str(column.library.path) if column.library.path else None,
        tuned_on=column.tuned_on,
        cpu_mean=geometric_mean([cell.cpu_to_glibc.median for cell in cells]) if is_compared else None,
        rss_mean=geometric_mean([cell.rss_to_glibc.median for cell in cells]) if is_compared else None,
        rows=len(common),
    )
