"""The programs of bench/programs/micro: the same work under every malloc, ceilings that hold where rows have them."""

from pathlib import Path

import pytest
from covering import soon

from heapsmith.bench.programs.micro_programs import HERE, MICRO_FOLDER, ceiling, program, took
from heapsmith.bench.programs.micro_rows import CEILINGS, MICRO, SERVERS, THREADS
from heapsmith.bench.suite.rows import environment
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.compare.measure import run_once
from heapsmith.tools.peers.peers import Library

GLIBC = Library("glibc", None)
WORK = {
    "aligned": ["5000 100 16 1024 uniform", "500 10 16 100000 skewed"],
    "backends": ["6 3 4"],
    "calloc": ["5000 100 16 1024 uniform", "200 10 60000 1000000 skewed"],
    "calls": ["5000 100 2 0", "500 100 1 1"],
    "crowd": ["2 50 30 16 1024"],
    "fixed": ["5000 32 1", "5000 512 100", "500 100000 10"],
    "growth": ["50000 100 1024 50", "20000 10 4000 0", "50000 2 1000000 100"],
    "handover": ["200 16 256 1 1", "100 8 40000 2 2"],
    "larson": ["1000 100 8 64 1 5", "500 20 2048 32768 2 5"],
    "mixed": ["10000 400 16 1024 uniform 1", "10000 100 8 100000 skewed 2"],
    "phases": ["2 1000000 32 4096 48"],
    "slots": ["10000 100 8192 32768 1", "5000 50 8 100000 2"],
    "startup": ["2"],
}
"""Arguments, by program of bench/programs/micro."""
SOON = list(WORK)[::2]
STAMPED = sorted({row.program for row in [*MICRO, *THREADS, *SERVERS] if row.stamped})
NO_DRY_FORM = {"backends"}
"""Its blocks hold links, which one static buffer cannot."""
NOT_EXACT = 1 << 20
"""Bytes by which the kernel's counters of resident pages may be late (proc_pid_statm(5))."""


def once(name: str, arguments: str, library: Library, folder: Path, *, dry: bool = False) -> tuple[str, int]:
    """The checksum and the operations of one run."""
    path = str(program(name, dry=dry))
    run = run_once(Start([path, *arguments.split()], path, environment()), library, folder, limit_s=20)
    assert (run.used.exit_status, run.used.signal) == (0, 0), run
    return run.output, took(run).operations


def test_every_program_has_work_here_and_quick_rows() -> None:
    programs = {path.stem for path in MICRO_FOLDER.glob("*.c")} - {"micro", "stamps"}
    assert programs == set(WORK) == {row.program for row in [*MICRO, *THREADS, *SERVERS] if row.quick}
    assert set(CEILINGS) == {path.stem for path in (HERE / "ceilings").glob("*.c")}


@pytest.mark.parametrize("name", soon(WORK, SOON))
def test_the_work_is_the_same_under_every_malloc(name: str, tmp_path: Path) -> None:
    ours = Library("default", library_of(load("default")))
    under_glibc = [once(name, arguments, GLIBC, tmp_path) for arguments in WORK[name]]
    assert all(operations > 0 for _, operations in under_glibc)
    assert [once(name, arguments, ours, tmp_path) for arguments in WORK[name]] == under_glibc
    if name not in NO_DRY_FORM:
        assert once(name, WORK[name][0], GLIBC, tmp_path, dry=True)[1] == under_glibc[0][1]


def test_ceilings_hold_where_rows_have_them(tmp_path: Path) -> None:
    for row in (row for row in MICRO if row.ceilings):
        arguments = f"20000 {row.arguments}"
        wanted = once(row.program, arguments, GLIBC, tmp_path)
        for name in row.ceilings:
            assert once(row.program, arguments, ceiling(name), tmp_path) == wanted, (row.name, name)


@pytest.mark.parametrize("arguments", ["", "5 32", "x 32 1", "0 32 1", "5 4 1", "5 32 1x"])
def test_programs_refuse_bad_arguments(arguments: str, tmp_path: Path) -> None:
    path = str(program("fixed"))
    run = run_once(Start([path, *arguments.split()], path, environment()), GLIBC, tmp_path)
    assert (run.used.exit_status, run.errors) == (2, "usage: fixed PAIRS BYTES LIVE\n")
    with pytest.raises(CheckFailed, match="no report of what it took: usage: fixed"):
        took(run)


@pytest.mark.parametrize("name", soon(STAMPED, [name for name in STAMPED if name in SOON]))
def test_stamps_are_of_every_call_and_change_no_work(name: str, tmp_path: Path) -> None:
    path = str(program(name, stamped=True))
    done = run_once(Start([path, *WORK[name][0].split()], path, environment()), GLIBC, tmp_path, limit_s=20)
    stamped = took(done)
    assert done.output == once(name, WORK[name][0], GLIBC, tmp_path)[0]
    for call in (stamped.malloc_ns, stamped.free_ns):
        assert call is not None
        assert 0 <= call.p50 <= call.p99 <= call.p999 <= call.worst * 1.01
    assert stamped.end_rss_bytes is None  # the tables of the stamps would be in it


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["backends", "crowd"])
def test_servers_say_what_stays_resident(name: str, tmp_path: Path) -> None:
    path = str(program(name))
    done = run_once(Start([path, *WORK[name][0].split()], path, environment()), GLIBC, tmp_path, limit_s=20)
    left = took(done).end_rss_bytes
    assert left is not None
    processes = 4 if name == "backends" else 1
    assert 0 < left <= processes * (done.used.peak_rss_bytes + NOT_EXACT)
    assert done.used.wall_ns - took(done).wall_ns > 10**9  # the quiet second is not in the row's time
