"""The suites of the benchmark: rows by name, and the preparation of each row."""

import fnmatch
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heapsmith.bench.programs.micro_programs import TRAINING_SEED, Took, program, took
from heapsmith.bench.programs.micro_rows import MICRO, SERVERS, THREADS, MicroRow
from heapsmith.bench.programs.programs import Program, programs, record_program, trace_of
from heapsmith.bench.programs.servers import servers
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.slices import last_time_ns
from heapsmith.model.trace.writer import TraceWriter
from heapsmith.tools.common import inherited
from heapsmith.tools.common.call_times import Stamped
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.other_memory import OtherMemory
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.served_share import Image, beside_malloc
from heapsmith.tools.compare.measure import Run, run_once
from heapsmith.tools.compare.own_malloc import own_malloc
from heapsmith.tools.compare.served import Served
from heapsmith.tools.peers.peers import Library, did_you_mean
from heapsmith.tools.record.record import Processes, record
from heapsmith.tools.record.shares import shares
from heapsmith.tools.replay.replay import replay_command, replay_once
from heapsmith.tools.replay.script import write_script

MICRO_SUITES = {"micro": MICRO, "threads": THREADS, "servers": SERVERS}
"""The rows of bench/programs/micro; `servers` has real programs too."""
REAL_SUITES = {"servers": servers, "programs": programs, "replay": programs}
"""What makes the real programs of a suite."""
SUITES = tuple({**MICRO_SUITES, **REAL_SUITES})
SETTINGS = ("LD_PRELOAD", "HEAPSMITH", "MALLOC_", "GLIBC_TUNABLES", "MIMALLOC_", "TCMALLOC_", "SNMALLOC_")
"""Prefixes of environment variables that change a malloc's behaviour."""
GLIBC_LIMIT_S = 600.0
"""The limit for the first runs of a row, which are under glibc."""
TRAINING_SCALE = 0.7
"""Size of a program's training input relative to the measured input; its seed is 2."""
RECORDINGS_OF_THREADS = 3
"""Recordings of a training input whose blocks go between threads: these take other turns in each."""
QUICK_PROGRAMS = ("sqlite3", "perl", "python-server")
"""Programs of the suites `servers`, `programs` and `replay` with --quick."""


class Sample(NamedTuple):
    """One run of a row; the times are of the row's work (docs/lab/bench.md)."""

    wall_ns: int
    cpu_ns: int
    peak_rss_bytes: int
    average_rss_bytes: int
    output: str
    """Must be the same under every malloc; empty if there is no output to compare."""
    operations: int
    end_rss_bytes: int | None = None
    """Resident a quiet second after all was freed; None where the row does not wait for that."""
    other_memory: Sequence[OtherMemory] = ()
    """Programs of the row with much memory that malloc did not give, as far as they are known by then."""


class Calls(NamedTuple):
    """The time of single calls in one stamped run of a row."""

    malloc_ns: Stamped
    free_ns: Stamped


Stamper = Callable[[Library, float], Calls]
"""Runs a row once with stamps; else like a Runner."""
Runner = Callable[[Library, float], Sample]
"""Runs a row once within a limit in seconds; raises CheckFailed if the malloc breaks it."""


class Training(NamedTuple):
    """Traces of another input of a row's work with their weights, and a description of that input."""

    traces: Sequence[tuple[Path, float]]
    on: str


Trainer = Callable[[Path], Training]
"""Records a row's training input into a folder; raises what `record` does, or CheckFailed."""


class Row(NamedTuple):
    """A row of the benchmark; `prepare` writes inputs to a folder and returns the row's runner."""

    name: str
    suite: str
    shows: str
    prepare: Callable[[Path], Runner]
    """Called with the row's own folder, which exists."""
    threads: int = 1
    """Threads or processes that work at once; with more than 1, wall time counts too."""
    stamp: Callable[[Path], Stamper] | None = None
    """Called after `prepare` with the same folder; None: its calls are not stamped."""
    ceilings: tuple[str, ...] = ()
    micro: MicroRow | None = None
    train: Trainer | None = None
    """None: there is no input except the measured input."""


def rows(suites: list[str], only: list[str], inputs: Path, *, quick: bool, tune: bool = False) -> list[Row]:
    """The rows of `suites` (all if empty) whose names match a pattern of `only` (all if empty).

    Writes the inputs of programs to the folder `inputs`, with `tune` also their training inputs.
    Leaves out programs that lack an executable. Raises BadInput for an unknown suite, and for a
    pattern that matches no row.
    """
    for suite in suites:
        if suite not in SUITES:
            raise BadInput(f"--suite {suite}: expected one of {', '.join(SUITES)}{did_you_mean(suite, SUITES)}")
    wanted = [suite for suite in SUITES if suite in (suites or SUITES)]
    makers = dict.fromkeys(REAL_SUITES[suite] for suite in wanted if suite in REAL_SUITES)
    real = {make: make(inputs) for make in makers}
    training = inputs / "training"
    others = {make: make(training, scale=TRAINING_SCALE, seed=2) if tune else [] for make in makers}
    found = []
    for suite in wanted:
        found += [_micro_row(row, suite, quick) for row in MICRO_SUITES.get(suite, []) if not quick or row.quick]
        make = REAL_SUITES.get(suite)
        found += _real_rows(suite, real[make], others[make], quick) if make else []
    names = [row.name for row in found]
    for pattern in only:
        if not fnmatch.filter(names, pattern):
            where = f"in {', '.join(suites)}" if suites else "in any suite"
            hint = did_you_mean(pattern, names) or f": expected one of {', '.join(names)}"
            raise BadInput(f"--only {pattern}: no such row {where}{' with --quick' if quick else ''}{hint}")
    return [row for row in found if not only or any(fnmatch.fnmatch(row.name, pattern) for pattern in only)]


def _real_rows(suite: str, found: list[Program], others: list[Program], quick: bool) -> list[Row]:
    """The rows of real programs of one suite. Servers that lack an executable stay, and say so later."""
    trained = {one.name: one for one in others}
    real = [one for one in found if not quick or one.name in QUICK_PROGRAMS]
    if suite != "servers":
        real = [one for one in real if not one.lacks()]
    whole = [_program_row(one, suite, trained.get(one.name)) for one in real] if suite != "replay" else []
    alone = [_replay_row(one, suite, trained.get(one.name)) for one in real] if suite != "programs" else []
    return whole + alone


def _micro_row(row: MicroRow, suite: str, quick: bool) -> Row:
    def prepare(folder: Path) -> Runner:
        path = str(program(row.program))
        command = [path, *row.words(quick)]

        def run(library: Library, limit_s: float) -> Sample:
            done = _run(path, command, library, folder, limit_s)
            return _reported(done, took(done))

        return run

    def train(folder: Path) -> Training:
        words = row.training_words()
        command = [str(program(row.program, seed=TRAINING_SEED)), *words]
        trace = folder / f"{row.name}.hst"
        _record(command, trace, row.program)
        return Training([(trace, 1.0)], f"{row.program} {' '.join(words)}, another seed")

    def stamp(folder: Path) -> Stamper:
        path = str(program(row.program, stamped=True))
        command = [path, *row.words(quick=True)]

        def run(library: Library, limit_s: float) -> Calls:
            loop = took(_run(path, command, library, folder, limit_s))
            return _calls(loop.malloc_ns, loop.free_ns)

        return run

    stamps = stamp if row.stamped else None
    return Row(row.name, suite, row.shows, prepare, row.threads, stamps, row.ceilings, row, train)


def _calls(malloc_ns: Stamped | None, free_ns: Stamped | None) -> Calls:
    if malloc_ns is None or free_ns is None:
        raise CheckFailed("no stamps in the report")
    return Calls(malloc_ns, free_ns)


def _reported(done: Run, own: Took) -> Sample:
    """A run whose program reports on itself."""
    used = done.used
    peak = own.peak_rss_bytes or used.peak_rss_bytes
    memory = (peak, used.average_rss_bytes)
    return Sample(own.wall_ns, own.cpu_ns, *memory, done.output, own.operations, own.end_rss_bytes)


def _require(one: Program) -> None:
    if lacks := one.lacks():
        raise CheckFailed(f"needs {', '.join(lacks)}")


def _program_row(one: Program, suite: str, other: Program | None) -> Row:
    def prepare(folder: Path) -> Runner:
        _require(one)
        path = find_program(one.command)
        own = own_malloc(Start(one.command, path, environment()), folder, limit_s=GLIBC_LIMIT_S)

        looks: dict[str, Served] = {}

        def run(library: Library, limit_s: float) -> Sample:
            served = looks.setdefault(library.name, Served(library, one.command[0]))
            done = _run(path, one.command, own.of_glibc(library), folder, limit_s, served.images())
            served.ran(done.used.cpu_ns)
            other = beside_malloc(served.seen())
            if one.reports:
                return _reported(done, took(done))._replace(other_memory=other)
            used = done.used
            memory = (used.peak_rss_bytes, used.average_rss_bytes)
            return Sample(used.wall_ns, used.cpu_ns, *memory, done.output, 1, other_memory=other)

        return run

    shows = " ".join(map(os.path.basename, one.command[:3]))
    return Row(one.name, suite, shows, prepare, one.threads, train=_trainer(other))


def _replay_row(one: Program, suite: str, other: Program | None) -> Row:
    def prepare(folder: Path) -> Runner:
        _require(one)
        script = folder / "script"
        write_script(trace_of(one, folder / "trace"), script)

        def run(library: Library, limit_s: float) -> Sample:
            done = replay_once(script, library, env=environment(), limit_s=limit_s)
            memory = (done.peak_rss_bytes, done.average_rss_bytes)
            return Sample(done.wall_ns, done.cpu_ns, *memory, "", done.operations)

        return run

    def stamp(folder: Path) -> Stamper:
        def run(library: Library, limit_s: float) -> Calls:
            done = replay_once(folder / "script", library, latency=True, env=environment(), limit_s=limit_s)
            return _calls(done.malloc_ns, done.free_ns)

        return run

    shows = f"what {one.image} allocates, without the program"
    return Row(f"replay-{one.name}", suite, shows, prepare, one.threads, stamp, train=_replay_trainer(other))


def _trainer(other: Program | None) -> Trainer | None:
    """Records the program with its training input, several times with threads."""
    if other is None:
        return None

    def train(folder: Path) -> Training:
        runs = [record_program(other, folder / f"recorded{number}") for number in _recordings(other)]
        return Training([one for run in runs for one in shares(run)], _training_input(other))

    return train


def _replay_trainer(other: Program | None) -> Trainer | None:
    """Records the replay of what the program does with its training input, several times with threads.

    The program itself touches fewer pages, and its threads take other turns.
    """
    if other is None:
        return None

    def train(folder: Path) -> Training:
        script, recorded = folder / "script", folder / "replayed.hst"
        original = trace_of(other, folder / "recorded")
        write_script(original, script)
        traces = [folder / f"training{number}.hst" for number in _recordings(other)]
        for trace in traces:
            _record(replay_command(script), recorded, f"the replay of {other.name}")
            _write_paced(recorded, original, trace)
        return Training([(trace, 1.0) for trace in traces], f"the replay of {_training_input(other)}")

    return train


def _recordings(other: Program) -> range:
    """Return the numbers of the recordings to train on."""
    return range(RECORDINGS_OF_THREADS if other.hands_over else 1)


def _write_paced(trace: Path, original: Path, out: Path) -> None:
    """Copy the trace of a replay and give its events the times of the original's, by their share of the events.

    The times are scaled to the replay's length. So averages over the copy are over the original's
    time, as those of the replay are.
    """
    with TraceReader(original) as reader:
        times = np.concatenate([[0.0], *(chunk.time_ns for chunk in reader)])
    shares = np.linspace(0, 1, times.size)
    with TraceReader(trace) as reader:
        tells, events = reader.header.has_processors, reader.footer.events
        scale = last_time_ns(reader) / max(times[-1], 1)
        with TraceWriter(out, command=reader.header.command, source=reader.header.source, processors=tells) as writer:
            first = 0
            for chunk in reader:
                passed = np.arange(first + 1, first + chunk.op.size + 1) / events
                paced = np.interp(passed, shares, times) * scale
                writer.append(chunk._replace(time_ns=paced.astype(np.int64)))
                first += chunk.op.size
            writer.close({"samples": reader.footer.samples})


def _training_input(other: Program) -> str:
    return f"{other.name} over an input of {TRAINING_SCALE:.0%} of the size, another seed"


def _record(command: list[str], trace: Path, name: str) -> None:
    """Record the command's own process; CheckFailed if it fails."""
    void = subprocess.DEVNULL
    recorded = record(command, trace, processes=Processes(all=False), stdin=void, stdout=void, stderr=void)
    if recorded.exit_status != 0:
        raise CheckFailed(f"{name} in training: exit status {recorded.exit_status}, 0 was expected")


def _run(
    path: str,
    command: list[str],
    library: Library,
    folder: Path,
    limit_s: float,
    images: list[Image] | None = None,
) -> Run:
    """One run, looked at where `images` are wanted; CheckFailed if a signal or the limit ended it."""
    done = run_once(Start(command, path, environment()), library, folder, limit_s=limit_s, images=images)
    if done.used.signal:
        raise CheckFailed(f"killed by {signal.Signals(done.used.signal).name}")
    return done


def environment() -> dict[str, str]:
    """This process's environment without variables that preload or configure a malloc."""
    return {name: value for name, value in inherited.environment().items() if not name.startswith(SETTINGS)}
