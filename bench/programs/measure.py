"""A real program under several mallocs: time, CPU time, peak RSS, and changes of its output."""

import hashlib
import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

import msgspec

from heapsmith.bench.common.elf import why_not_preloaded
from heapsmith.bench.common.foreground import run_foreground
from heapsmith.bench.common.limited import run_limited
from heapsmith.bench.common.rounds import Figure, Progress, interleaved, quiet, ratios, spread_note
from heapsmith.bench.peers.peers import Library, find_libraries, find_library, preload, require_malloc_of, runtime_tool
from heapsmith.bench.programs.own_malloc import OwnMalloc, own_malloc
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import scratch

KEPT_ERRORS = 4096
"""Bytes of standard error to keep of a run."""


class Launched(msgspec.Struct, frozen=True):
    """The report of heapsmith-launch on one run (`runtime/replay/launch.c`)."""

    exec_errno: int
    exit_status: int
    signal: int
    wall_ns: int
    user_ns: int
    system_ns: int
    peak_rss_bytes: int
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


class MeasureRow(msgspec.Struct, frozen=True):
    """One library. Ratios are to the table's first library, round by round.

    `peak_rss_bytes`: of the largest process among the command and the descendants it waited for.
    `cpu_ns`: their sum, user and system. `same_output`: standard output and exit status equal those
    under the first library in every round; None if the first library's own rounds differ.
    """

    library: str
    path: str | None
    wall_ns: Figure
    cpu_ns: Figure
    peak_rss_bytes: Figure
    minor_faults: Figure
    wall_ratio: Figure
    cpu_ratio: Figure
    rss_ratio: Figure
    exit_status: int
    signal: int
    same_output: bool | None
    note: str


class MeasureTable(msgspec.Struct, frozen=True):
    """A command that ran `rounds` times under each library, interleaved.

    `own`: paths of the shared objects of the command's own malloc, without the C library; known if
    glibc was requested.
    """

    command: list[str]
    rounds: int
    own: list[str]
    rows: list[MeasureRow]


def find_program(command: list[str], env: Mapping[str, str] | None = None) -> str:
    """The path of the command's program; LD_PRELOAD must affect it (ld.so(8)).

    Raises BadInput without a command, for an unknown program, and for a static or set-user-ID
    program.
    """
    if not command:
        raise BadInput("no command: expected -- CMD [ARG]...")
    found = shutil.which(command[0], path=(os.environ if env is None else env).get("PATH"))
    if found is None:
        raise BadInput(f"{command[0]}: no such command")
    if reason := why_not_preloaded(Path(found)):
        raise BadInput(reason)
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
    outside = {name: value for name, value in env.items() if name != "LD_PRELOAD"} | BENCHFAST
    report, output = folder / "report", folder / "output"
    launch = [str(launcher()), str(report), preload(library, env), program, *command]
    with output.open("wb") as stdout, (folder / "errors").open("wb") as stderr:
        done = run_limited(launch, limit_s, env=outside, stdout=stdout, stderr=stderr)
    if done.returncode != 0:
        said = (folder / "errors").read_text(errors="replace").strip()
        raise Missing(f"the launcher cannot run {command[0]}: {said or done.returncode}")
    used = msgspec.json.decode(report.read_bytes(), type=Launched)
    if used.exec_errno:
        raise BadInput(f"{command[0]}: cannot be executed: {os.strerror(used.exec_errno)}")
    with output.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    with (folder / "errors").open("rb") as written:
        written.seek(max(0, written.seek(0, os.SEEK_END) - KEPT_ERRORS))
        errors = written.read().decode(errors="replace")
    return Run(used, f"{digest} {used.exit_status} {used.signal}", errors)


def _row(library: Library, runs: list[Run], first: list[Run], own: OwnMalloc) -> MeasureRow:
    used, used_first = [run.used for run in runs], [run.used for run in first]
    wall, rss = Figure.of([u.wall_ns for u in used]), Figure.of([u.peak_rss_bytes for u in used])
    wanted = {run.output for run in first}
    same = None if len(wanted) > 1 else {run.output for run in runs} == wanted
    notes = [spread_note(wall, "time"), spread_note(rss, "peak RSS"), own.note() if library.path is None else ""]
    killed = next((u.signal for u in used if u.signal), 0)
    if killed:
        notes.append(f"killed by {signal.Signals(killed).name}")
    if same is None:
        notes.append("the output differs from run to run under the first library itself")
    return MeasureRow(
        library=library.name,
        path=str(library.path) if library.path is not None else None,
        wall_ns=wall,
        cpu_ns=Figure.of([u.cpu_ns for u in used]),
        peak_rss_bytes=rss,
        minor_faults=Figure.of([u.minor_faults for u in used]),
        wall_ratio=ratios([u.wall_ns for u in used], [u.wall_ns for u in used_first]),
        cpu_ratio=ratios([u.cpu_ns for u in used], [u.cpu_ns for u in used_first]),
        rss_ratio=ratios([u.peak_rss_bytes for u in used], [u.peak_rss_bytes for u in used_first]),
        exit_status=next((u.exit_status for u in used if u.exit_status), 0),
        signal=killed,
        same_output=same,
        note="; ".join(note for note in notes if note),
    )


def measure(
    command: list[str],
    libs: list[str],
    *,
    rounds: int = 5,
    env: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> MeasureTable:
    """Run `command` `rounds` times under each library, interleaved, after a warm-up round.

    `libs`: see find_library. Standard input is /dev/null; standard output and error do not reach
    the terminal. `env` replaces the environment; its LD_PRELOAD stays, behind the library. Wall
    time is from fork to the command's end, with loading. For `glibc`, one more run finds the
    command's own malloc. If this is not the C library's there are two rows: `own (...)`, with
    nothing preloaded, and `glibc`, with the C library's malloc preloaded. Raises BadInput for a
    missing command or library, or a command that LD_PRELOAD does not reach.
    """
    if rounds < 1:
        raise BadInput(f"rounds: expected at least 1, not {rounds}")
    environment = dict(os.environ if env is None else env)
    program = find_program(command, environment)
    libraries = find_libraries(libs)
    require_malloc_of(*libraries)
    with scratch() as folder:
        own = OwnMalloc([], [], operators=False)
        if any(library.path is None for library in libraries):
            progress(f"{command[0]}: whose malloc it uses", 0, 1)
            own = own_malloc(program, command, environment, folder)
        libraries = [one for each in libraries for one in (own.baselines() if each.path is None else [each])]
        runs = interleaved(
            command[0],
            [library.name for library in libraries],
            rounds,
            lambda entry: run_once(program, command, libraries[entry], environment, folder),
            progress,
        )
    rows = [_row(library, its, runs[0], own) for library, its in zip(libraries, runs, strict=True)]
    return MeasureTable(list(command), rounds, own.objects, rows)


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
