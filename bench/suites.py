"""The four suites of the benchmark: rows by name, and how a row is made ready to run under any malloc."""

import difflib
import fnmatch
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from heapsmith.bench.measure import Run, find_program, run_once
from heapsmith.bench.micro_programs import program, took
from heapsmith.bench.peers import Library
from heapsmith.bench.programs import Program, programs, trace_of
from heapsmith.bench.replay import replay_once
from heapsmith.bench.replay_script import write_script
from heapsmith.bench.rows import MICRO, THREADS, MicroRow
from heapsmith.model.errors import BadInput, CheckFailed

MICRO_SUITES = {"micro": MICRO, "threads": THREADS}
SUITES = (*MICRO_SUITES, "programs", "replay")
SETTINGS = ("LD_PRELOAD", "HEAPSMITH", "MALLOC_", "GLIBC_TUNABLES", "MIMALLOC_", "TCMALLOC_", "SNMALLOC_")
"""How names of environment variables begin that change what a malloc does."""
QUICK_PROGRAMS = ("sqlite3", "perl")
"""Programs of the suites `programs` and `replay` with --quick."""


class Sample(NamedTuple):
    """One run of a row. `wall_ns` and `cpu_ns` are those of the row's work (docs/bench.md says which part that is)."""

    wall_ns: int
    cpu_ns: int
    peak_rss_bytes: int
    output: str
    """What must be the same under every malloc; empty where nothing is to be compared."""
    operations: int


Runner = Callable[[Library, float], Sample]
"""Runs a row once, for at most so many seconds; raises CheckFailed where the malloc breaks it."""


class Row(NamedTuple):
    """A row of the benchmark; `prepare` writes inputs to a folder of its own and gives the row's runner."""

    name: str
    suite: str
    shows: str
    prepare: Callable[[Path], Runner]
    """Each row gets a folder of its own, which exists."""
    threads: int = 1
    """Threads or processes that work at once, as far as it is the row's matter; more than 1: wall time counts too."""
    ceilings: tuple[str, ...] = ()
    micro: MicroRow | None = None


def rows(suites: list[str], only: list[str], inputs: Path, *, quick: bool) -> list[Row]:
    """The rows of `suites` (all four if empty) whose names match one of the patterns of `only` (all if empty).

    The inputs of programs are written to the folder `inputs`; programs that lack an executable are left out. Raises
    BadInput for an unknown suite and for a pattern that no row matches.
    """
    for suite in suites:
        if suite not in SUITES:
            raise BadInput(f"--suite {suite}: expected one of {', '.join(SUITES)}{_near(suite, SUITES)}")
    wanted = [suite for suite in SUITES if suite in (suites or SUITES)]
    real = [] if set(wanted) <= set(MICRO_SUITES) else [one for one in programs(inputs) if not one.lacks()]
    found = [row for suite in wanted for row in _suite(suite, real, quick)]
    names = [row.name for row in found]
    for pattern in only:
        if not fnmatch.filter(names, pattern):
            where = f"in {', '.join(suites)}" if suites else "in any suite"
            hint = _near(pattern, names) or f": expected one of {', '.join(names)}"
            raise BadInput(f"--only {pattern}: no such row {where}{' with --quick' if quick else ''}{hint}")
    return [row for row in found if not only or any(fnmatch.fnmatch(row.name, pattern) for pattern in only)]


def _near(word: str, words: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, words, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _suite(suite: str, real: list[Program], quick: bool) -> list[Row]:
    if suite in MICRO_SUITES:
        return [_micro_row(row, suite, quick) for row in MICRO_SUITES[suite] if not quick or row.quick]
    make = _program_row if suite == "programs" else _replay_row
    return [make(one) for one in real if not quick or one.name in QUICK_PROGRAMS]


def _micro_row(row: MicroRow, suite: str, quick: bool) -> Row:
    def prepare(folder: Path) -> Runner:
        path = str(program(row.program))
        command = [path, *row.words(quick)]

        def run(library: Library, limit_s: float) -> Sample:
            done = _run(path, command, library, folder, limit_s)
            loop = took(done)
            return Sample(loop.wall_ns, loop.cpu_ns, done.used.peak_rss_bytes, done.output, loop.operations)

        return run

    return Row(row.name, suite, row.shows, prepare, row.threads, row.ceilings, row)


def _program_row(one: Program) -> Row:
    def prepare(folder: Path) -> Runner:
        path = find_program(one.command)

        def run(library: Library, limit_s: float) -> Sample:
            done = _run(path, one.command, library, folder, limit_s)
            cpu = done.used.user_ns + done.used.system_ns
            return Sample(done.used.wall_ns, cpu, done.used.peak_rss_bytes, done.output, 1)

        return run

    return Row(one.name, "programs", " ".join(map(os.path.basename, one.command[:3])), prepare)


def _replay_row(one: Program) -> Row:
    def prepare(folder: Path) -> Runner:
        script = folder / "script"
        write_script(trace_of(one, folder / "trace"), script)

        def run(library: Library, limit_s: float) -> Sample:
            done = replay_once(script, library, env=environment(), limit_s=limit_s)
            return Sample(done.wall_ns, done.cpu_ns, done.peak_rss_bytes, "", done.operations)

        return run

    return Row(f"replay-{one.name}", "replay", f"what {one.image} allocates, without the program", prepare)


def _run(path: str, command: list[str], library: Library, folder: Path, limit_s: float) -> Run:
    """One run; CheckFailed if a signal or the limit ended it."""
    done = run_once(path, command, library, environment(), folder, limit_s=limit_s)
    if done.used.signal:
        raise CheckFailed(f"killed by {signal.Signals(done.used.signal).name}")
    return done


def environment() -> dict[str, str]:
    """This process's, without what would preload a malloc or set one up otherwise than it comes."""
    return {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
