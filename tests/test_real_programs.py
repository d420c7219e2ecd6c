"""Real programs run unchanged under libraries of all designs: same output, same exit status, and a server's RSS stays.

The checked build is told to walk its heap at the program's exit (HEAPSMITH=check).
"""

import os
import subprocess
from pathlib import Path

import pytest
from covering import soon
from loaded import checked_library

from heapsmith.bench.programs.programs import JOBS, Program, programs, trace_of
from heapsmith.bench.programs.servers import servers
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.search.tune import tune
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.common.preload import preloadable

NAMES = [
    *("python", "cc1", "sqlite3", "perl", "git", "zstd", "pbzip2", "redis", "redis-load", "cc1plus", "z3", "node"),
    *("ripgrep", "repack", "xz", "ruby", "php", "lua", "gawk", "xmllint", "make"),
    *("documents", "jq", "xsltproc", "dot", "service"),
]
THREADED = ["python", "zstd", "pbzip2", "redis-load", "node", "ripgrep", "repack", "ruby", "service"]
SERVERS = ["redis-threads", "python-server"]
OTHERS = [name for name in builtin_names() if name != "default"]
SOON = {("owner", "node"), ("owner", "ripgrep"), ("owner-lean", "repack"), ("owner-lean", "ruby"), ("lean", "perl")}
"""Designs and programs whose runs are short, and whose paths differ from the default's: not left to the long forms."""

Output = tuple[int, bytes]


class Runs:
    """The programs by name, over inputs of their own, and what each says without a library: run once."""

    def __init__(self, folder: Path) -> None:
        self.table = {program.name: program for program in (*programs(folder), *servers(folder, scale=0.1))}
        self._plain: dict[str, Output] = {}

    def installed(self, name: str) -> Program:
        """The program, or a skip that says what it lacks."""
        if lacks := self.table[name].lacks():
            pytest.skip(f"needs {', '.join(lacks)}")
        return self.table[name]

    def unchanged(self, name: str, library: Path, *, checked: bool = False) -> None:
        """The program says the same under the library as without it, and it says something."""
        program = self.installed(name)
        if name not in self._plain:
            self._plain[name] = output_of(program.command, None)
        status, text = self._plain[name]
        assert status == 0
        assert text
        assert output_of(program.command, library, checked=checked) == (status, text)


def output_of(command: list[str], library: Path | None, *, checked: bool = False) -> Output:
    """Exit status and standard output; the library's own words would stand on standard error: there must be none."""
    environment = dict(os.environ)
    if library is not None:
        environment["LD_PRELOAD"] = preloadable(library)
    if checked:
        environment["HEAPSMITH"] = "check"
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
    assert b"heapsmith" not in done.stderr, done.stderr[-2000:]
    assert b"ld.so" not in done.stderr, done.stderr[-2000:]
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Shared by all tests of this file."""
    return Runs(tmp_path_factory.mktemp("programs"))


def test_the_table_is_complete(runs: Runs) -> None:
    assert list(runs.table) == [*NAMES, *SERVERS]
    assert [name for name in NAMES if runs.table[name].hands_over] == [name for name in NAMES if name in THREADED]


@pytest.mark.parametrize("name", NAMES)
def test_under_the_default_library(runs: Runs, name: str) -> None:
    runs.unchanged(name, library_of(load("default")), checked=False)


@pytest.mark.parametrize("name", soon(NAMES, ["redis-load", "node", "python", "cc1plus"]))
def test_under_the_checked_default_library(runs: Runs, name: str) -> None:
    runs.unchanged(name, checked_library(load("default")), checked=True)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["python-server", pytest.param("redis-threads", marks=pytest.mark.big)])
def test_servers_under_the_checked_default_library(runs: Runs, name: str) -> None:
    runs.unchanged(name, checked_library(load("default")), checked=True)


@pytest.mark.parametrize(
    ("design", "name"),
    [
        pytest.param(design, name, marks=[] if (design, name) in SOON else pytest.mark.big)
        for design in OTHERS
        for name in NAMES
    ],
)
def test_under_the_other_designs(runs: Runs, name: str, design: str) -> None:
    runs.unchanged(name, checked_library(load(design)), checked=True)


@pytest.mark.big
@pytest.mark.usefixtures("own_outcomes")
@pytest.mark.parametrize("name", NAMES)
def test_under_a_library_forged_for_it(runs: Runs, name: str, tmp_path: Path) -> None:
    trace = trace_of(runs.installed(name), tmp_path / "traces")
    tuned = tune(trace, base=load("default"), name=f"for-{name}")
    runs.unchanged(name, library_of(tuned.design))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.big if name == "redis-load" else []) for name in THREADED]
)
def test_blocks_are_freed_by_other_threads(runs: Runs, name: str, tmp_path: Path) -> None:
    info = trace_info(trace_of(runs.installed(name), tmp_path / "traces"))
    assert info.threads > 1
    assert info.cross_thread_frees > 0


def rss_after_rounds(folder: Path, rounds: int, commands: int, library: Path | None) -> list[int]:
    """RSS of a redis-server after each round of load (jobs/redis_load.py), when the round's keys are gone."""
    environment = os.environ | ({"LD_PRELOAD": preloadable(library)} if library is not None else {})
    command = ["python3", str(JOBS / "redis_load.py"), str(folder), str(rounds), str(commands), "7919"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [int(line.split()[4]) for line in done.stderr.splitlines() if line.startswith("round ")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("design", "rounds", "commands"),
    [
        ("default", 4, 300),
        *(pytest.param(design, 20, 2000, marks=pytest.mark.big) for design in ("default", "lean", "owner", "region")),
    ],
)
def test_a_server_under_load_does_not_grow(runs: Runs, design: str, rounds: int, commands: int, tmp_path: Path) -> None:
    runs.installed("redis-load")
    plain = rss_after_rounds(tmp_path, rounds, commands, None)
    ours = rss_after_rounds(tmp_path, rounds, commands, library_of(load(design)))
    half = rounds // 2
    assert len(ours) == rounds
    assert max(ours[half:]) <= 1.15 * max(ours[:half])
    assert max(ours) <= 1.25 * max(plain)
