"""What the benchmark says of servers: single calls, what stays resident after the peak, servers that are missing."""

from pathlib import Path

import pytest
from bench_rows import ACROSS, FIGURES, calls_of, nothing, sample

from heapsmith.bench.programs.programs import Program
from heapsmith.bench.suite import benchmark, suite
from heapsmith.bench.suite.load import Clocks
from heapsmith.bench.suite.results import BenchReport, Extra, make_column, make_row
from heapsmith.bench.suite.rows import Calls, Row, Runner, Sample, Stamper
from heapsmith.bench.suite.suite import Request, bench
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.peers.peers import Library


def test_what_stays_after_the_peak() -> None:
    row = Row("row", "servers", "it", nothing)
    runs = {name: [sample(*figures)._replace(end_rss_bytes=figures[2] // 2)] * 2 for name, figures in FIGURES.items()}
    done = make_row(row, ACROSS, runs, {}, Clocks(1000, 0, 0, 0), Extra())
    ours = done.cell("default")
    assert ours is not None
    assert ours.end_rss_bytes is not None
    assert ours.end_to_glibc is not None
    assert ours.end_to_lean is not None
    assert (ours.end_rss_bytes.median, ours.end_to_glibc.median, ours.end_to_lean.median) == (45, 0.9, 0.75)
    column = make_column(ACROSS[0], [done], ACROSS)
    end = benchmark.tables(BenchReport(False, 2, [column, make_column(ACROSS[5], [done], ACROSS)], [done], {}))[-1]
    assert end.title.startswith("RSS a second after all is freed")
    assert end.rows == [("row", "50 B", "0.90", "lean", "0.75 (0.75-0.75)")]


def test_stamps_that_cannot_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(library: Library, limit_s: float) -> Sample:
        return sample(5, 5, 5)

    def stamp(library: Library, limit_s: float) -> Calls:
        if library.path is not None:
            raise CheckFailed("no stamps in the report")
        return calls_of(40, 20)

    def prepared(_: Path) -> Runner:
        return run

    def stamps(_: Path) -> Stamper:
        return stamp

    monkeypatch.setattr(suite, "rows", lambda *_, **__: [Row("one", "micro", "it", prepared, stamp=stamps)])
    report = bench(Request(libs=["default"], rounds=2, latency=True))
    glibc, ours = report.rows[0].cells
    assert glibc.malloc_ns is not None
    assert (glibc.malloc_ns.p999.median, ours.malloc_ns) == (360, None)
    assert "one under default: single calls not measured: no stamps in the report" in benchmark.notes(report)
    assert bench(Request(libs=["default"], rounds=1)).rows[0].cells[0].malloc_ns is None


def test_a_server_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program, "lacks", lambda _: ["redis-server"])
    report = bench(Request(suites=["servers"], only=["*redis-threads"], libs=["glibc"], rounds=1))
    assert report.skipped == {name: "needs redis-server" for name in ("redis-threads", "replay-redis-threads")}
