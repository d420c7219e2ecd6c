"""A real program under several mallocs: CPU and wall time, peak and average RSS, its output."""

import hashlib
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from heapsmith.bench.common.backing import resident
from heapsmith.bench.common.elf import refuse_musl, why_not_preloaded
from heapsmith.bench.common.foreground import run_foreground
from heapsmith.bench.common.limited import run_limited
from heapsmith.bench.common.ratios import Ratio, are_known, ratio
from heapsmith.bench.common.rounds import Ended, Figure, Progress, Stop, interleaved, quiet
from heapsmith.bench.peers.peers import (
    Library,
    find_libraries,
    find_library,
    placed_anew,
    preload,
    require_malloc_of,
    runtime_tool,
)
from heapsmith.bench.programs.own_malloc import OwnMalloc, own_malloc
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.files import scratch

if TYPE_CHECKING:
    from heapsmith.model.design.design import Design

KEPT_ERRORS = 4096
"""Bytes of standard error to keep of a run."""


PERIOD_US = 5000
"""The time between two samples of RSS; docs/bench.md has what they cost."""
LEAST_LIMIT_S, TIMES_FIRST = 10.0, 20.0
"""The limit of a run: this many seconds, or this many times the first run if that is longer."""


def limit_of(wall_ns: float) -> float:
    """The seconds after which a run is killed where another took `wall_ns`."""
    return max(LEAST_LIMIT_S, TIMES_FIRST * wall_ns / 1e9)


class Launched(msgspec.Struct, frozen=True):
    """The report of heapsmith-launch on one run (`runtime/replay/launch.c`).

    `peak_rss_bytes`: of the largest process among the command and the descendants it waited for.
    `average_rss_bytes`: over time, of the sum over the command and its descendants, from `samples`
    every PERIOD_US, which took `sampling_ns` of CPU time outside the command.
    """

    exec_errno: int
    exit_status: int
    signal: int
    wall_ns: int
    user_ns: int
    system_ns: int
    peak_rss_bytes: int
    average_rss_bytes: int
    samples: int
    sampling_ns: int
    minor_faults: int

    @property
    def cpu_ns(self) -> int:
        return self.user_ns + self.system_ns


class Run(msgspec.Struct, frozen=True):
    """One run of a command: its resources and its output."""

    used: Launched
    output: str
    """Hash of standard output, and the program's end."""
    errors: str
    """The end of standard error."""


class Ratios(msgspec.Struct, frozen=True):
    """One library's rounds to another's, quantity by quantity."""

    cpu: Ratio
    wall: Ratio
    peak_rss: Ratio
    average_rss: Ratio

    def items(self) -> list[tuple[str, Ratio]]:
        """The quantities by their names in tables."""
        return [("CPU", self.cpu), ("time", self.wall), ("peak RSS", self.peak_rss), ("average RSS", self.average_rss)]


class MeasureRow(msgspec.Struct, frozen=True):
    """One library. `ratios` are to the table's first library, round by round.

    `runs`: the report of each counted run, of which the figures are. `same_output`: whether
    standard output and exit status equal those of the table's `output_of` in every round; None if
    these vary there already.
    """

    library: str
    path: str | None
    cpu_ns: Figure
    wall_ns: Figure
    peak_rss_bytes: Figure
    average_rss_bytes: Figure
    minor_faults: Figure
    ratios: Ratios
    exit_status: int
    signal: int
    same_output: bool | None
    note: str
    runs: list[Launched]


class MeasureTable(msgspec.Struct, frozen=True):
    """A command that ran `rounds` times under each library, interleaved; `ended` says why no more.

    `own`: paths of the shared objects of the command's own malloc, without the C library; known if
    glibc was requested. `output_of`: the row whose output the command ought to have: its own
    malloc's if there is one, else the first.
    """

    command: list[str]
    rounds: int
    ended: Ended
    own: list[str]
    output_of: str
    rows: list[MeasureRow]

    def differing(self) -> list[str]:
        """The libraries under which the command behaves in another way."""
        return [row.library for row in self.rows if row.same_output is False]


def find_program(command: list[str], env: Mapping[str, str] | None = None) -> str:
    """The path of the command's program; LD_PRELOAD must affect it (ld.so(8)).

    Raises BadInput without a command, for an unknown program, and for a static or set-user-ID
    program; Missing for a program of musl.
    """
    if not command:
        raise BadInput("no command: expected -- CMD [ARG]...")
    found = shutil.which(command[0], path=(os.environ if env is None else env).get("PATH"))
    if found is None:
        raise BadInput(f"{command[0]}: no such command")
    if reason := why_not_preloaded(Path(found)):
        raise BadInput(reason)
    refuse_musl(Path(found))
    return found


def launcher() -> Path:
    """heapsmith-launch, which runs a command from a small process (launch.c says why)."""
    return runtime_tool("heapsmith-launch", "launch.c")


def run_once(
    program: str,
    command: list[str],
    library: Library,
    env: Mapping[str, str],
    folder: Path,
    *,
    limit_s: float | None = None,
) -> Run:
    """One run with /dev/null as standard input; its output passes through files in `folder`.

    Raises BadInput if the system cannot execute `program`, Missing if the launcher cannot run,
    CheckFailed for a run that exceeds `limit_s`, which is killed.
    """
    outside = {name: value for name, value in env.items() if name != "LD_PRELOAD"} | BENCHFAST | library.settings
    report, output = folder / "report", folder / "output"
    with (
        placed_anew(library, folder) as placed,
        output.open("wb") as stdout,
        (folder / "errors").open("wb") as stderr,
    ):
        launch = [str(launcher()), str(report), preload(placed, env), str(PERIOD_US), program, *command]
        done = run_limited(launch, limit_s, env=outside, stdout=stdout, stderr=stderr)
    if done.returncode != 0:
        said = (folder / "errors").read_text(errors="replace").strip()
        raise Missing(f"the launcher cannot run {command[0]}: {said or f'{report} cannot be written'}")
    used = msgspec.json.decode(report.read_bytes(), type=Launched)
    if used.exec_errno:
        raise BadInput(f"{command[0]}: cannot be executed: {os.strerror(used.exec_errno)}")
    with output.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    with (folder / "errors").open("rb") as written:
        written.seek(max(0, written.seek(0, os.SEEK_END) - KEPT_ERRORS))
        errors = written.read().decode(errors="replace")
    return Run(used, f"{digest} {used.exit_status} {used.signal}", errors)


QUANTITIES = ("cpu_ns", "wall_ns", "peak_rss_bytes", "average_rss_bytes")


def ratios(its: Sequence[Launched], first: Sequence[Launched]) -> Ratios:
    """The ratios of two libraries' runs of the same rounds."""
    return Ratios(*(ratio(*([getattr(run, name) for run in runs] for runs in (its, first))) for name in QUANTITIES))


def is_known(runs: Sequence[Sequence[Run]], *, pivot: int) -> bool:
    """Whether the intervals of CPU time and peak RSS to the entry `pivot` are all narrow."""
    series = [[[getattr(run.used, name) for run in its] for its in runs] for name in ("cpu_ns", "peak_rss_bytes")]
    pairs = ((its, of[pivot]) for of in series for entry, its in enumerate(of) if entry != pivot)
    return are_known(len(runs[0]), pairs)


def same_output(runs: Sequence[Run], wanted: Sequence[Run]) -> bool | None:
    """Whether outputs and ends of runs are those wanted; None if the outputs wanted vary.

    A run that ends as no wanted run does is different even then.
    """
    ends = {(run.used.exit_status, run.used.signal) for run in wanted}
    if any((run.used.exit_status, run.used.signal) not in ends for run in runs):
        return False
    outputs = {run.output for run in wanted}
    return None if len(outputs) > 1 else all(run.output in outputs for run in runs)


def measured_row(
    library: Library, runs: Sequence[Run], first: Sequence[Run], same: bool | None, note: str
) -> MeasureRow:
    """A row from the runs of a library and of the first library; see MeasureRow for `same`."""
    used = [run.used for run in runs]
    killed = next((u.signal for u in used if u.signal), 0)
    notes = [note, f"killed by {signal.Signals(killed).name}" if killed else ""]
    cpu, wall, peak, average = (Figure.of([getattr(u, name) for u in used]) for name in QUANTITIES)
    return MeasureRow(
        library=library.name,
        path=str(library.path) if library.path is not None else None,
        cpu_ns=cpu,
        wall_ns=wall,
        peak_rss_bytes=peak,
        average_rss_bytes=average,
        minor_faults=Figure.of([u.minor_faults for u in used]),
        ratios=ratios(used, [run.used for run in first]),
        exit_status=next((u.exit_status for u in used if u.exit_status), 0),
        signal=killed,
        same_output=same,
        note="; ".join(note for note in notes if note),
        runs=used,
    )


Variants = Callable[[Library], list[Library]]
"""The rows that a library becomes: itself, and itself with settings."""


def as_it_is(library: Library) -> list[Library]:
    """The library alone."""
    return [library]


def _rows_of(library: Library, own: OwnMalloc, variants: Variants) -> list[Library]:
    """The rows of a library of `measure`."""
    found = own.baselines() if library.path is None else [library]
    return [row for one in found for row in ([one] if one.is_own else variants(one))]


def measure(
    command: list[str],
    libs: "Sequence[str | Design]",
    *,
    stop: Stop,
    pivot: int = 0,
    env: Mapping[str, str] | None = None,
    variants: Variants = as_it_is,
    must_succeed: bool = False,
    progress: Progress = quiet,
) -> MeasureTable:
    """Run `command` under each library in interleaved rounds, after a warm-up round.

    `libs`: see find_library. Without a number of rounds, `stop` also ends them once the intervals
    of CPU time and peak RSS to the library `pivot` are narrow (is_known). Standard input is
    /dev/null; standard output and error do not reach the terminal. `env` replaces the environment;
    its LD_PRELOAD stays, behind the library. `variants` makes the rows of a library of `libs`: by
    default it alone. Wall time is from fork to the command's end, with loading. For `glibc`, one
    more run finds the command's own malloc. If this is not the C library's, `glibc` is the C
    library's malloc preloaded, and another row `own (...)`, with nothing preloaded, stands behind
    it. Without `stop.run_limit_s` the limit of a run follows from the first. Raises BadInput for a
    missing command or library, or a command that LD_PRELOAD does not reach, and CheckFailed for a
    run that exceeds the limit, or that fails where it `must_succeed`.
    """
    stop.check()
    environment = dict(os.environ if env is None else env)
    program = find_program(command, environment)
    libraries = find_libraries(libs)
    require_malloc_of(*libraries)
    with scratch() as folder:
        own = OwnMalloc([], [], operators=False)
        if any(library.path is None for library in libraries):
            progress(f"{command[0]}: whose malloc it uses", 0, 1)
            own = own_malloc(program, command, environment, folder, limit_s=stop.run_limit_s)
        libraries = [row for each in libraries for row in _rows_of(each, own, variants)]
        limit_s = stop.run_limit_s

        def run(entry: int) -> Run:
            nonlocal limit_s
            try:
                done = run_once(program, command, libraries[entry], environment, folder, limit_s=limit_s)
            except CheckFailed as error:
                raise CheckFailed(f"{command[0]} under {libraries[entry].name}: {error}") from error
            if must_succeed:
                _require_success(done.used, command, libraries[entry])
            limit_s = limit_s or limit_of(done.used.wall_ns)
            return done

        known = stop if stop.rounds is not None else stop._replace(enough=partial(is_known, pivot=pivot))
        names = [library.name for library in libraries]
        taken = interleaved(command[0], names, known, run, progress, resident=lambda run: resident(run.used))
        truth = next((place for place, one in enumerate(libraries) if one.is_own), 0)
        wanted = [*taken.runs[truth]]
        if len(wanted) == 1 and not all(same_output(its, wanted) for its in taken.runs):  # perhaps it varies anyway
            wanted.append(run(truth))
    rows = [
        measured_row(one, its, taken.runs[0], same_output(its, wanted), own.note() if one.path is None else "")
        for one, its in zip(libraries, taken.runs, strict=True)
    ]
    return MeasureTable(list(command), len(taken.runs[0]), taken.ended, own.objects, libraries[truth].name, rows)


def _require_success(used: Launched, command: list[str], library: Library) -> None:
    """Raise CheckFailed if the run has failed."""
    if used.signal or used.exit_status:
        how = f"killed by {signal.Signals(used.signal).name}" if used.signal else f"exit status {used.exit_status}"
        raise CheckFailed(f"{shlex.join(command)}: {how} under {library.name}; expected exit status 0")


def run_under(lib: Path, command: list[str]) -> int:
    """Run `command` with `lib` preloaded and this process's standard streams; returns its status.

    The status is 128 + n if signal n killed it. The terminal's SIGINT and SIGQUIT are left to the
    command; SIGTERM and SIGHUP are passed on to it. Raises BadInput for a missing library or
    command, or a command that LD_PRELOAD does not reach.
    """
    library = find_library(str(lib.absolute()))
    program = find_program(command)
    require_malloc_of(library)
    environment = os.environ | {"LD_PRELOAD": preload(library, os.environ)}
    return run_foreground(command, program, environment)[1]
