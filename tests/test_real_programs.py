"""Real programs run unchanged under the default library and one forged for them: same output, same exit status."""

import os
import subprocess
from pathlib import Path

import pytest

from heapsmith.bench.built import library_of
from heapsmith.bench.programs import Program, programs
from heapsmith.bench.record import record
from heapsmith.model.design import load
from heapsmith.model.tune import tune

NAMES = ["python", "cc1", "sqlite3", "perl", "git", "zstd", "pbzip2", "redis"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    """The programs by name, over inputs of their own."""
    return {program.name: program for program in programs(tmp_path_factory.mktemp("programs"))}


def output_of(program: Program, library: Path | None) -> tuple[int, bytes]:
    """Exit status and standard output; the library's own words would stand on standard error: there must be none."""
    environment = dict(os.environ)
    if library is not None:
        environment["LD_PRELOAD"] = str(library)
    done = subprocess.run(program.command, env=environment, capture_output=True, timeout=120, check=False)
    assert b"heapsmith" not in done.stderr
    assert b"ld.so" not in done.stderr
    return done.returncode, done.stdout


def runs_unchanged(program: Program, library: Path) -> None:
    """The program says the same under the library as without it, and it says something."""
    status, text = output_of(program, None)
    assert status == 0
    assert text
    assert output_of(program, library) == (status, text)


def test_the_table_is_complete(table: dict[str, Program]) -> None:
    assert list(table) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("checked", [False, True], ids=["release", "checked"])
def test_under_the_default_library(table: dict[str, Program], name: str, checked: bool) -> None:
    if lacks := table[name].lacks():
        pytest.skip(f"needs {', '.join(lacks)}")
    runs_unchanged(table[name], library_of(load("default"), checked=checked))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "sqlite3" else pytest.mark.big) for name in NAMES]
)
def test_under_a_library_forged_for_it(table: dict[str, Program], name: str, tmp_path: Path) -> None:
    if lacks := table[name].lacks():
        pytest.skip(f"needs {', '.join(lacks)}")
    trace = tmp_path / "trace.hst"
    assert record(table[name].command, trace, all_processes=False).exit_status == 0
    tuned = tune(trace, base=load("default"), name=f"for-{name}")
    runs_unchanged(table[name], library_of(tuned.design))


@pytest.mark.big
@pytest.mark.parametrize(
    "design", sorted({"owner", "owner-lean", "header", "region", "ring", "sll", "two-level", "bare"})
)
@pytest.mark.parametrize("name", NAMES)
def test_under_the_other_designs(table: dict[str, Program], name: str, design: str) -> None:
    if lacks := table[name].lacks():
        pytest.skip(f"needs {', '.join(lacks)}")
    runs_unchanged(table[name], library_of(load(design), checked=True))
