"""The benchmark's results from samples of rounds: ratios with intervals, cells, rows, columns."""

from collections.abc import Sequence
from statistics import geometric_mean, median
from typing import NamedTuple

import msgspec

from heapsmith.bench.suite.columns import DEFAULT, Column, Kind
from heapsmith.bench.suite.load import Clocks
from heapsmith.bench.suite.rows import Calls, Row, Sample
from heapsmith.bench.suite.training import Tuning
from heapsmith.model.search.choice import NO_LIMITS, Favour, Limits
from heapsmith.tools.common.call_times import LatencyFigures
from heapsmith.tools.common.other_memory import OtherMemory, largest
from heapsmith.tools.common.ratios import Ratio, ratio
from heapsmith.tools.common.rounds import UNRELIABLE, Figure

FASTEST = 3
"""The leanest peer is the leanest of this number of fastest peers."""


class BenchColumn(msgspec.Struct, frozen=True):
    """A malloc; `path` is None for glibc, `tuned_on` names the input of a tuned library.

    `version`: a peer's release, or the hash of a design built for the benchmark, else empty.
    `cpu_mean`, `rss_mean`, `average_mean`: geometric means of CPU time, peak and average RSS to
    glibc's over the `rows` that ran under every column except ceilings; None for ceilings and
    without such rows.
    """

    name: str
    kind: Kind
    version: str
    path: str | None
    tuned_on: str
    cpu_mean: float | None
    rss_mean: float | None
    average_mean: float | None
    rows: int


class ToDefault(msgspec.Struct, frozen=True):
    """Ratios to the column `default` of the same row, round by round."""

    cpu: Ratio
    rss: Ratio
    average: Ratio


class BenchCell(msgspec.Struct, frozen=True):
    """A row under a column; times are of the row's whole work, `cpu_ns` of all threads together.

    Ratios are to glibc (`..._to_glibc`) and to the row's best peer by that quantity
    (`..._to_best`), round by round. `rss_to_lean`, `average_to_lean`: to the leanest of the three peers with the least
    CPU time. `instructions`: per operation, by callgrind. `end_rss_bytes`: resident a quiet second
    after all was freed. `malloc_ns`, `free_ns`: single calls, of stamped runs. `to_default`: of tuned columns. None:
    not measured.
    """

    column: str
    cpu_ns: Figure
    wall_ns: Figure
    peak_rss_bytes: Figure
    average_rss_bytes: Figure
    cpu_to_glibc: Ratio
    wall_to_glibc: Ratio
    rss_to_glibc: Ratio
    average_to_glibc: Ratio
    cpu_to_best: Ratio
    wall_to_best: Ratio
    rss_to_lean: Ratio
    average_to_lean: Ratio
    instructions: float | None
    end_rss_bytes: Figure | None = None
    end_to_glibc: Ratio | None = None
    end_to_lean: Ratio | None = None
    malloc_ns: LatencyFigures | None = None
    free_ns: LatencyFigures | None = None
    to_default: ToDefault | None = None


class BenchRow(msgspec.Struct, frozen=True):
    """A row: `operations` units of work (pairs, appends, runs, calls) by `threads` threads, in `rounds` counted rounds.

    `best_cpu`, `best_wall`: the peers of least median time, including glibc. `lean`: the leanest of
    the three peers with the least CPU time. By column, `failed`: why it has no cell; `uncounted`:
    why it has no instruction count; `unstamped`: why it has no times of single calls. `load` and
    `stolen`: processors that other programs and other virtual machines took during the row. `note`:
    why not to trust the row; empty without a reason. `tuning`: the row's tuned design, if tuning
    was requested.
    """

    name: str
    suite: str
    shows: str
    threads: int
    operations: int
    rounds: int
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
    unstamped: dict[str, str] = {}
    other_memory: list[OtherMemory] = []
    """Programs of the row with much memory that malloc did not give."""

    def cell(self, column: str) -> BenchCell | None:
        """The row's cell under a column, or None."""
        return next((cell for cell in self.cells if cell.column == column), None)


class BenchReport(msgspec.Struct, frozen=True):
    """The whole benchmark; each row has a warm-up round before those that count.

    `skipped`: by name, why a row could not run even under glibc. `favour` and `limits`: what was
    asked of the search for `tuned`.
    """

    quick: bool
    processors: int
    columns: list[BenchColumn]
    rows: list[BenchRow]
    skipped: dict[str, str]
    favour: Favour = "balanced"
    limits: Limits = NO_LIMITS


Runs = dict[str, list[Sample]]
"""By column, a sample per counted round."""


class Extra(msgspec.Struct, frozen=True):
    """What was measured in runs of its own, by column: instructions and stamps, and why there are none."""

    counts: dict[str, float] = {}
    uncounted: dict[str, str] = {}
    stamps: dict[str, list[Calls]] = {}
    unstamped: dict[str, str] = {}

    def stamped(self, column: str, call: str) -> LatencyFigures | None:
        """The times of `call`, a field of Calls, under a column."""
        runs = self.stamps.get(column)
        return LatencyFigures.of([getattr(run, call) for run in runs]) if runs else None


class _Series(NamedTuple):
    """The samples of a column."""

    cpu_ns: list[float]
    wall_ns: list[float]
    peak_rss_bytes: list[float]
    average_rss_bytes: list[float]
    end_rss_bytes: list[float]
    """Empty where the row does not measure it."""

    @classmethod
    def of(cls, samples: list[Sample]) -> "_Series":
        whole = ([getattr(sample, name) for sample in samples] for name in cls._fields)
        return cls(*([value for value in values if value is not None] for values in whole))


def make_row(
    row: Row,
    across: list[Column],
    runs: Runs,
    failed: dict[str, str],
    load: Clocks,
    extra: Extra,
    tuning: Tuning | None = None,
) -> BenchRow:
    """The results of a row from its samples; the first of `across` is glibc."""
    series = {name: _Series.of(samples) for name, samples in runs.items()}
    peers, tuned = ([one.name for one in across if one.kind == kind and one.name in runs] for kind in ("peer", "tuned"))
    fastest = sorted(peers, key=lambda name: median(series[name].cpu_ns))
    best_wall = min(peers, key=lambda name: median(series[name].wall_ns))
    glibc, lean = series[across[0].name], min(fastest[:FASTEST], key=lambda name: median(series[name].peak_rss_bytes))
    cells = [
        BenchCell(
            column=name,
            cpu_ns=Figure.of(own.cpu_ns),
            wall_ns=Figure.of(own.wall_ns),
            peak_rss_bytes=Figure.of(own.peak_rss_bytes),
            average_rss_bytes=Figure.of(own.average_rss_bytes),
            cpu_to_glibc=ratio(own.cpu_ns, glibc.cpu_ns),
            wall_to_glibc=ratio(own.wall_ns, glibc.wall_ns),
            rss_to_glibc=ratio(own.peak_rss_bytes, glibc.peak_rss_bytes),
            average_to_glibc=ratio(own.average_rss_bytes, glibc.average_rss_bytes),
            cpu_to_best=ratio(own.cpu_ns, series[fastest[0]].cpu_ns),
            wall_to_best=ratio(own.wall_ns, series[best_wall].wall_ns),
            rss_to_lean=ratio(own.peak_rss_bytes, series[lean].peak_rss_bytes),
            average_to_lean=ratio(own.average_rss_bytes, series[lean].average_rss_bytes),
            instructions=extra.counts.get(name),
            end_rss_bytes=Figure.of(own.end_rss_bytes) if own.end_rss_bytes else None,
            end_to_glibc=_end(own, glibc),
            end_to_lean=_end(own, series[lean]),
            malloc_ns=extra.stamped(name, "malloc_ns"),
            free_ns=extra.stamped(name, "free_ns"),
            to_default=_to_default(own, series.get(DEFAULT)) if name in tuned else None,
        )
        for name, own in series.items()
    ]
    return BenchRow(
        name=row.name,
        suite=row.suite,
        shows=row.shows,
        threads=row.threads,
        operations=runs[across[0].name][0].operations,
        rounds=len(runs[across[0].name]),
        best_cpu=fastest[0],
        best_wall=best_wall,
        lean=lean,
        cells=cells,
        failed=failed,
        uncounted=extra.uncounted,
        load=load.others(),
        stolen=load.stolen(),
        note="; ".join(filter(None, [load.note(), _spreads(cells)])),
        tuning=tuning,
        unstamped=extra.unstamped,
        other_memory=largest(one for its in runs.values() for sample in its for one in sample.other_memory),
    )


def _to_default(own: _Series, default: _Series | None) -> ToDefault | None:
    return default and ToDefault(
        ratio(own.cpu_ns, default.cpu_ns),
        ratio(own.peak_rss_bytes, default.peak_rss_bytes),
        ratio(own.average_rss_bytes, default.average_rss_bytes),
    )


def _end(own: _Series, other: _Series) -> Ratio | None:
    return ratio(own.end_rss_bytes, other.end_rss_bytes) if own.end_rss_bytes else None


def _spreads(cells: list[BenchCell]) -> str:
    """The columns whose CPU time differs too much from round to round."""
    wide = [f"{cell.column} {cell.cpu_ns.spread:.0%}" for cell in cells if cell.cpu_ns.spread > UNRELIABLE]
    return f"CPU time spreads between quartiles: {', '.join(wide)}" if wide else ""


def make_column(column: Column, done: list[BenchRow], across: list[Column]) -> BenchColumn:
    """A column and its geometric means over the rows that ran under all columns except ceilings."""
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
        cpu_mean=mean_ratio([cell.cpu_to_glibc.median for cell in cells]) if is_compared else None,
        rss_mean=mean_ratio([cell.rss_to_glibc.median for cell in cells]) if is_compared else None,
        average_mean=mean_ratio([cell.average_to_glibc.median for cell in cells]) if is_compared else None,
        rows=len(common),
    )


def mean_ratio(values: Sequence[float]) -> float | None:
    """The geometric mean of positive values; None without values."""
    return geometric_mean(values) if values else None
