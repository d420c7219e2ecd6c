"""The benchmark's rows, columns and tables: figures by hand, mallocs that hang or fail, mistakes of its user."""

import json
import math
import os
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import msgspec
import pytest
from bench_rows import ACROSS, FIGURES, calls_of, nothing, sample
from conftest import Answer

from heapsmith.bench.programs.micro_programs import HERE
from heapsmith.bench.programs.micro_rows import CEILINGS, MICRO, THREADS
from heapsmith.bench.suite import benchmark, columns, suite
from heapsmith.bench.suite.load import Clocks
from heapsmith.bench.suite.results import BenchReport, Extra, make_column, make_row, mean_ratio
from heapsmith.bench.suite.rows import SUITES, Row, Runner, Sample, environment, rows
from heapsmith.bench.suite.suite import Request, bench, run_rounds
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.tools.common.ratios import Ratio, ratio
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.peers import peers
from heapsmith.tools.peers.peers import Library, find_library

Call = Callable[..., Answer]

FLAWED = """
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
static _Alignas(16) char pool[1 << 26];
static size_t used;
static long frees;
void *malloc(size_t n) { used = (used + 15) & ~(size_t)15; used += n; return pool + used - n; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *old, size_t n) { (void)old; return malloc(n); }
void free(void *block) { (void)block; if (++frees == 1000) FLAW; }
"""


def flawed(folder: Path, name: str, flaw: str) -> Path:
    """A library whose thousandth free() does `flaw`."""
    source = folder / f"{name}.c"
    source.write_text(FLAWED)
    flags = ["-O1", "-shared", "-fPIC", "-fno-builtin", f"-DFLAW={flaw}"]
    return compile_c([source], folder / f"{name}.so", flags=flags)


def test_ratios_by_hand() -> None:
    assert ratio([3], [2]) == Ratio(1.5, None, None)
    assert ratio([2, 4, 9], [1, 2, 3]) == Ratio(2, 2, 3)  # 7 of 27 resamplings of (2, 2, 3) have the median 3
    assert ratio([0, 5], [0, 5]) == Ratio(1, 1, 1)
    assert ratio([1], [0]).median == math.inf
    with pytest.raises(ValueError, match="longer"):
        ratio([1], [1, 2])
    assert mean_ratio([2, 8]) == pytest.approx(4)
    assert mean_ratio([]) is None


def test_load_from_elsewhere(tmp_path: Path) -> None:
    tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 20 30 1000 5 6 7 8 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    now = Clocks.now(stat)
    assert (now.busy_ns, now.stolen_ns) == (163 * tick_ns, 8 * tick_ns)
    passed = Clocks(2000, 900, 1500, 500).since(Clocks(1000, 700, 1000, 300))
    assert passed == Clocks(1000, 200, 500, 200)
    assert (passed.others(), passed.stolen()) == (0.3, 0.2)
    assert passed.note() == (
        "0.30 processors were busy with other programs and 0.20 processors were stolen by the hypervisor"
    )
    assert Clocks(1000, 500, 480, 20).others() == 0  # ticks are coarser than our own time
    assert Clocks(1000, 500, 550, 90).note() == ""


EXTRA = Extra({"glibc": 150.5}, {}, {"glibc": [calls_of(40, 20)], "default": [calls_of(10, 5), calls_of(20, 7)]})


def report_of(*cells: dict[str, tuple[int, int, int]]) -> BenchReport:
    """Rows made of CPU time, wall time and RSS by column, each the same in two rounds; those without a cell failed."""
    done = []
    for number, own in enumerate(cells):
        row = Row(f"row{number}", "micro", "it", nothing, threads=1 + number)
        runs = {name: [sample(*figures)] * 2 for name, figures in own.items()}
        failed = {column.name: "it broke" for column in ACROSS[1:-1] if column.name not in own}
        done.append(make_row(row, ACROSS, runs, failed, Clocks(1000, 0, 500 * number, 0), EXTRA))
    across = [make_column(column, done, ACROSS) for column in ACROSS]
    return BenchReport(False, 2, across, done, {"broken": "under glibc: exit"})


def test_a_row_by_hand() -> None:
    row = report_of(FIGURES).rows[0]
    assert (row.best_cpu, row.best_wall, row.lean, row.operations) == ("quick", "lean", "lean", 10)
    ours = row.cell("default")
    assert ours is not None
    found = [ours.cpu_to_glibc, ours.cpu_to_best, ours.wall_to_best, ours.rss_to_glibc, ours.rss_to_lean]
    assert [one.median for one in found] == [0.25, 0.5, 0.75, 0.9, 0.75]
    assert ours.instructions is None
    made = row.cell("made")
    assert made is not None
    assert made.to_default is not None
    beside = made.to_default
    assert [one.median for one in (beside.cpu, beside.rss, beside.average)] == pytest.approx([0.5, 2 / 3, 2 / 3])
    assert (ours.to_default, row.rounds) == (None, 2)
    assert row.cells[0].instructions == 150.5
    assert (row.note, row.load, row.failed) == ("", 0.0, {})


def test_means_are_over_rows_that_all_ran() -> None:
    other = FIGURES | {"default": (800, 300, 90)}
    partial = {name: figures for name, figures in FIGURES.items() if name != "slow"}
    report = report_of(FIGURES, other, partial)
    means = {
        column.name: (column.cpu_mean, column.rss_mean, column.average_mean, column.rows) for column in report.columns
    }
    assert means["glibc"] == (1.0, 1.0, 1.0, 2)
    assert means["default"] == (pytest.approx(0.5), pytest.approx(0.9), pytest.approx(0.9), 2)
    assert means["stack"] == (None, None, None, 2)


def test_the_tables() -> None:
    partial = {name: figures for name, figures in FIGURES.items() if name not in ("slow", "made")}
    report = report_of(FIGURES, partial)
    shown = benchmark.tables(report)
    cpu, wall, rss, average, malloc, free, instructions, beside = shown
    assert cpu.columns == ("row", *FIGURES, "<best peer", "default to best", "made to best")
    assert cpu.rows[0] == (
        *("row0", "80.0 ns", "0.50", "0.53", "0.55", "0.75", "0.25", "0.12", "0.06"),
        *("quick", "0.50 (0.50-0.50)", "0.25 (0.25-0.25)"),
    )
    assert cpu.rows[1][0] == "row1 *"
    assert [cpu.rows[1][index] for index in (5, 7, -1)] == ["-", "-", "-"]
    assert cpu.rows[2][:3] == ("geometric mean of 1", "1.000", "0.500")
    assert [line[0] for line in wall.rows] == ["row1 *"]
    assert rss.columns[-3:] == ("<leanest peer", "default to leanest", "made to leanest")
    assert rss.rows[0][1:3] == ("100 B", "3.00")
    assert average.rows[0][1:3] == ("50 B", "3.00")
    assert malloc.columns == ("row", *(column.name for column in ACROSS[:-1]))
    assert malloc.rows[0] == ("row0", "120 / 360", "-", "-", "-", "-", "45 / 135", "-")
    assert free.rows[0][1:7:5] == ("60 / 180", "18 / 54")
    assert instructions.rows[0][:3] == ("row0", "150.5", "-")
    assert beside.rows == [
        ("row0", "made", "0.50 (0.50-0.50)", "0.67 (0.67-0.67)", "0.67 (0.67-0.67)"),
        ("geometric mean of 1", "made", "0.500", "0.667", "0.667"),
    ]
    assert benchmark.notes(report) == [
        "versions: glibc 2.36, quick 1.0, lean 1.0, third 1.0, slow 1.0, default abc",
        "made: tuned on another input",
        "broken: left out: under glibc: exit",
        "row1 under slow: it broke",
        "row1 under made: it broke",
        "row1: 0.50 processors were busy with other programs",
    ]
    assert benchmark.broken(report) == ["row1"]
    page = benchmark.page(report).splitlines()
    assert [line for line in page if line.startswith("#")] == [
        *(
            "# Benchmark",
            *(f"## {table.title}" for table in (cpu, wall, rss, average, malloc, free, instructions, beside)),
            "## Notes",
        )
    ]
    assert f"| {' | '.join(cpu.rows[0])} |" in page
    assert page[-1] == "- row1: 0.50 processors were busy with other programs"


def quietly(what: str, done: int, total: int) -> None:
    assert what
    assert 0 <= done <= total


def test_a_failed_column_is_out_of_its_row() -> None:
    limits: dict[str, list[float]] = {}
    calls = {"lean": iter([sample(1, 1, 1), CheckFailed("killed by SIGSEGV")])}

    def run(library: Library, limit_s: float) -> Sample:
        limits.setdefault(library.name, []).append(limit_s)
        answer = next(calls.get(library.name, repeat(sample(5, 10**9, 5))))
        if isinstance(answer, CheckFailed):
            raise answer
        return answer._replace(output="other") if library.name == "third" else answer

    across = [*ACROSS[:4], ACROSS[4]._replace(unusable="no malloc in it")]
    runs, failed, _ = run_rounds("row", run, across, Stop(3), quietly)
    assert {name: len(samples) for name, samples in runs.items()} == {"glibc": 3, "quick": 3}
    assert failed == {
        "slow": "no malloc in it",
        "third": "its output differs from glibc's",
        "lean": "killed by SIGSEGV",
    }
    assert limits == {"glibc": [600, 20, 20, 20], "quick": [20] * 4, "lean": [20] * 2, "third": [20]}

    def fail(library: Library, limit_s: float) -> Sample:
        raise CheckFailed("exit status 1")

    with pytest.raises(CheckFailed, match="under glibc: exit status 1"):
        run_rounds("row", fail, across, Stop(3), quietly)


def test_rounds_until_the_intervals_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = dict.fromkeys(["default", "made"], 0)

    def prepare(_: Path) -> Runner:
        def run(library: Library, limit_s: float) -> Sample:
            if library.name not in counted:
                return sample(1000, 1000, 10)
            counted[library.name] += 1
            wide = library.name == "made" and counted["made"] <= 6  # the warm-up and five rounds
            return sample(1000 + 100 * (counted["made"] % 3) * wide, 1000, 10)

        return run

    monkeypatch.setattr(suite, "rows", lambda *_, **__: [Row("one", "micro", "it", prepare)])
    monkeypatch.setattr(suite, "columns", lambda *_, **__: [ACROSS[0], *ACROSS[5:7]])
    narrow = bench(Request(time_s=60)).rows[0]
    assert narrow.rounds > 5
    cell = narrow.cell("made")
    assert cell is not None
    assert cell.cpu_to_glibc.is_narrow()
    assert bench(Request(time_s=1e-9)).rows[0].rounds == 1


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "LEAST_LIMIT_S", 15.0)  # a busy machine takes seconds for what takes a tenth of one
    monkeypatch.setattr(suite, "TIMES_GLIBC", 0.0)


@pytest.mark.thorough
@pytest.mark.usefixtures("short_limits")
def test_hung_and_crashed_libraries_are_named(lab: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # one table, whatever other mallocs there are
    flaws = [("hangs", "pause()"), ("crashes", "__builtin_trap()"), ("leaves", "_exit(1)")]
    libraries = [word for name, flaw in flaws for word in ("--lib", flawed(tmp_path, name, flaw))]
    options = ["--suite", "micro", "--only", "pair-32", "--quick", "--rounds", "1", *libraries]
    answer = lab("run", *options)
    assert answer.status == 1
    assert "pair-32 under hangs: killed: it had not ended after 15 s\n" in answer.out
    assert "pair-32 under crashes: killed by SIGILL\n" in answer.out
    assert "pair-32 under leaves: no report of what it took: nothing on standard error\n" in answer.out
    rows = [line.split() for line in answer.out.splitlines() if line.startswith("pair-32") and ":" not in line]
    assert [row[-3:] for row in rows] == [["-", "-", "-"]] * 3  # CPU time, peak and average RSS


def test_what_glibc_cannot_run_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Path) -> Runner:
        raise CheckFailed("the recorder failed")

    monkeypatch.setattr(suite, "rows", lambda *_, **__: [Row("one", "replay", "it", broken)])
    report = bench(Request(libs=["glibc"]))
    assert (report.rows, report.skipped) == ([], {"one": "the recorder failed"})
    assert benchmark.notes(report)[1:] == ["one: left out: the recorder failed"]


def test_an_interrupt_loses_no_finished_row(lab: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Path) -> Runner:
        raise KeyboardInterrupt

    first = rows(["micro"], ["pair-32"], tmp_path, quick=True)
    monkeypatch.setattr(suite, "rows", lambda *_, **__: [*first, Row("two", "replay", "it", interrupted)])
    out = tmp_path / "out.json"
    assert lab("run", "--lib", "glibc", "--rounds", "1", "-o", out).status == 130
    assert [row["name"] for row in json.loads(out.read_text())["rows"]] == ["pair-32"]


def test_instructions_that_cannot_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(row: object, library: Path | None) -> float:
        if library is not None:
            raise CheckFailed("exit status 1 under valgrind: no memory")
        return 135.0

    monkeypatch.setattr(suite, "per_operation", count)
    asked = Request(suites=["micro"], only=["pair-32"], libs=["default"], rounds=1, quick=True, instructions=True)
    report = bench(asked)
    assert [cell.instructions for cell in report.rows[0].cells] == [135.0, *repeat(None, 4)]
    said = "pair-32 under default: instructions not counted: exit status 1 under valgrind: no memory"
    assert said in benchmark.notes(report)
    assert benchmark.broken(report) == []


@pytest.fixture
def no_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder of built peers, on a machine that has no others."""
    folder = tmp_path / "peers"
    folder.mkdir()
    monkeypatch.setattr(peers, "FOLDERS", (tmp_path,))
    monkeypatch.setattr(peers, "_linker_cache", tuple)
    monkeypatch.setattr(peers, "built_folder", lambda: folder)
    return folder


def test_columns(no_peers: Path, tmp_path: Path) -> None:
    good = flawed(no_peers, "rpmalloc-2.0", "used = 0")
    (no_peers / "rpmalloc-2.0.c").unlink()
    compile_c([HERE / "ceilings" / "empty.c"], no_peers / "jemalloc-9.so", flags=["-shared", "-fPIC", "-Dmalloc=other"])
    found = columns.columns([], [f"{flawed(tmp_path, 'libtuned', 'used = 0')}=the same trace"])
    assert [(column.name, column.kind) for column in found] == [
        *(("glibc", "peer"), ("jemalloc", "peer"), ("rpmalloc", "peer"), ("default", "library"), ("tuned", "tuned")),
        *((name, "ceiling") for name in CEILINGS),
    ]
    assert [column.library.version for column in found[1:5]] == ["9", "2.0", load("default").hash(), ""]
    assert found[2].library.path == good
    assert "jemalloc-9.so: cannot stand in for malloc: it replaces no malloc" in found[1].unusable
    assert [column.unusable for column in found[2:]] == [""] * (len(found) - 2)
    assert found[4].tuned_on == "the same trace"
    with pytest.raises(BadInput, match=r"jemalloc-9\.so: cannot stand in for malloc"):
        columns.columns(["jemalloc"], [])
    assert [column.name for column in columns.columns(["rpmalloc", "glibc"], [])][:2] == ["glibc", "rpmalloc"]
    beside = [column.name for column in columns.columns(["peers", "rpmalloc"], [])]
    assert beside == ["glibc", "jemalloc", "rpmalloc", *CEILINGS]


@pytest.mark.thorough
def test_a_library_that_hangs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "START_LIMIT_S", 1.0)
    source = tmp_path / "hang.c"
    source.write_text("#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { pause(); }\n")
    library = find_library(str(compile_c([source], tmp_path / "hang.so", flags=["-shared", "-fPIC"])))
    with pytest.raises(BadInput, match=r"hang\.so: cannot stand in for malloc: killed: it had not ended after 1 s"):
        peers.require_malloc_of(library)


@pytest.mark.thorough
def test_rows_by_suite_and_name(tmp_path: Path) -> None:
    everything = rows([], [], tmp_path, quick=False)
    assert len({row.name for row in everything}) == len(everything) > len(MICRO) + len(THREADS)
    assert {row.suite for row in everything} == set(SUITES)
    quick = rows([], [], tmp_path, quick=True)
    assert {row.name for row in quick} < {row.name for row in everything}
    chosen = rows(["micro"], ["pair-*", "start-up"], tmp_path, quick=True)
    assert [row.name for row in chosen] == ["pair-32", "start-up"]


def test_the_environment_sets_up_no_malloc(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEAPSMITH", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "MIMALLOC_VERBOSE", "LD_PRELOAD"):
        monkeypatch.setenv(name, "")
    assert set(os.environ) - set(environment()) >= {"HEAPSMITH", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "LD_PRELOAD"}
    assert environment()["PATH"] == os.environ["PATH"]


def test_the_json_is_the_report(lab: Call, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    options = ["--suite", "micro", "--only", "start-up", "--quick", "--rounds", "1", "--lib", "glibc"]
    answer = lab("run", *options, "--json", "-o", file)
    assert answer.status == 0
    assert json.loads(answer.out) == json.loads(file.read_text())
    report = msgspec.json.decode(file.read_bytes(), type=BenchReport)
    assert [column.name for column in report.columns] == ["glibc", *CEILINGS]
    assert [row.name for row in report.rows] == ["start-up"]
    assert report.rows[0].operations == 60


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--suite", "mico"],
            "mico: expected one of micro, threads, servers, programs, replay; did you mean micro?",
        ),
        (["--only", "fixd-32"], "--only fixd-32: no such row in micro; did you mean fixed-32?"),
        (
            ["--suite", "threads", "--only", "zzz"],
            "zzz: no such row in micro, threads: expected one of pair-32,",
        ),
        (
            ["--quick", "--only", "fixed-16"],
            "fixed-16: no such row in micro with --quick; did you mean fixed-32?",
        ),
        (["--lib", "jemaloc"], "jemaloc: neither a library's path nor one of glibc, jemalloc, "),
        (["--lib", "glibc", "--tuned", "glibc"], "expected a tuned library's or design's path, not a peer"),
        (["--lib", "default", "--lib", "default"], "default: two columns have this name"),
        (["--lib", "glibc", "--tuned", "none.so=x"], "none.so: no such library"),
        (["--tune", "--tuned", "out/tuned.so=x"], "out/tuned.so: no such library"),
        (["--favour", "time"], "--favour, --max-time, --max-rss: expected with --tune"),
        (["--tune", "--max-rss", "much"], "max rss: 'much'"),
        (["--rounds", "9", "--time", "9s"], "--rounds and --time: expected one of them, not both"),
        (["--rounds", "0"], "--rounds 0: expected at least 1"),
        (["-o", "/proc/none/x.json"], "/proc/none/x.json: cannot be written: there is no folder /proc/none"),
    ],
)
def test_mistakes(lab: Call, options: list[str], words: str) -> None:
    answer = lab("run", "--suite", "micro", *options)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("heapsmith: ")
    assert answer.err.count("\n") == 1
    assert words in answer.err
