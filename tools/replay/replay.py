"""Replays a trace under several mallocs in interleaved rounds: ns per operation and peak RSS."""

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from heapsmith.model.constants import BENCHFAST
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.call_times import LatencyFigures, Stamped
from heapsmith.tools.common.host_memory import resident
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.ratios import Ratio, are_known, ratio
from heapsmith.tools.common.rounds import UNRELIABLE, Ended, Figure, Progress, Stop, interleaved, quiet
from heapsmith.tools.peers.peers import (
    GLIBC,
    Library,
    driver_for,
    find_libraries,
    placed_anew,
    preload,
    replay_driver,
    require_malloc_of,
)
from heapsmith.tools.replay.script import write_script

if TYPE_CHECKING:
    from heapsmith.model.design.design import Design

NOT_LOADED = "cannot be preloaded"
"""What the loader says of a library that it goes on without (ld.so(8)): in a folder mounted noexec, for example."""


class GlibcBytes(msgspec.Struct, frozen=True):
    """What glibc's bytes are for at the trace's peak of live bytes, measured; `committed` is the sum.

    rounding: usable bytes of live blocks beyond the request, and their headers. thread_caches: blocks
    there, and what the C library has for itself. bins: free blocks. top: free at the main heap's end.
    """

    asked: int
    rounding: int
    thread_caches: int
    bins: int
    top: int
    committed: int


class Replayed(msgspec.Struct, frozen=True):
    """The driver's report of one replay.

    RSS is the process's anonymous memory without the replayer's own tables and script. It is given
    at the start (after the library was loaded, before the first event), at most (of samples), on
    average over the trace's time (of samples), at the trace's peak of live bytes, and at the end.
    `stalls` counts the events that waited for another thread. `latency_ns` is of all operations,
    `malloc_ns` of those that return a block, realloc included, and `free_ns` of frees.
    """

    operations: int
    threads: int
    checked: bool
    wall_ns: int
    cpu_ns: int
    minor_faults: int
    stalls: int
    start_rss_bytes: int
    peak_rss_bytes: int
    average_rss_bytes: int
    peak_live_rss_bytes: int
    end_rss_bytes: int
    latency_ns: Stamped | None = None
    malloc_ns: Stamped | None = None
    free_ns: Stamped | None = None
    bytes: GlibcBytes | None = None


class ReplayRow(msgspec.Struct, frozen=True):
    """One library; ratios to the table's first library by round; `note` warns of bad figures.

    `runs`: the report of each counted replay, of which the figures are.
    """

    library: str
    path: str | None
    ns_per_op: Figure
    cpu_ns_per_op: Figure
    peak_rss_bytes: Figure
    average_rss_bytes: Figure
    peak_live_rss_bytes: Figure
    end_rss_bytes: Figure
    start_rss_bytes: Figure
    minor_faults: Figure
    stalls: Figure
    time_ratio: Ratio
    cpu_ratio: Ratio
    rss_ratio: Ratio
    average_ratio: Ratio
    checked: bool
    note: str
    runs: list[Replayed]
    latency_ns: LatencyFigures | None = None


class ReplayTable(msgspec.Struct, frozen=True):
    """A replay of a trace: `operations` calls, and at most `peak_live_bytes` requested bytes.

    `rounds` were counted; `ended` says why no more.
    """

    trace: str
    operations: int
    threads: int
    peak_live_bytes: int
    rounds: int
    ended: Ended
    rows: list[ReplayRow]
    glibc_bytes: GlibcBytes | None = None


def replay_command(script: Path, library: Library | None = None) -> list[str]:
    """The command that replays `script` (of write_script) under a library, and reports as Replayed in JSON."""
    return [str(driver_for(library) if library else replay_driver()), str(script)]


def replay_once(
    script: Path,
    library: Library,
    *,
    check: bool = False,
    latency: bool = False,
    count_bytes: bool = False,
    touched: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> Replayed:
    """One process that replays `script` (of write_script) under `library`, within `limit_s`.

    `env` replaces the environment; LD_PRELOAD is never taken from it. `check` checks every block's
    contents and alignment. `latency` stamps each operation. Raises CheckFailed if the malloc fails,
    breaks a block, crashes or exceeds the limit, BadInput for a script that cannot be read.
    `count_bytes` is for glibc. `touched`: the parts of large blocks that are touched, as
    Application.shares gives them (model/memory/application.py); without them all is.
    """
    given = os.environ if env is None else env
    environment = {name: value for name, value in given.items() if name != "LD_PRELOAD"} | BENCHFAST | library.settings
    command = (
        replay_command(script, library) + ["--check"] * check + ["--latency"] * latency + ["--bytes"] * count_bytes
    )
    command += ["--touched", ",".join(map(str, touched))] if touched else []
    with placed_anew(library, script.parent) as placed:
        if placed.path is not None:
            environment["LD_PRELOAD"] = preload(placed, {})
        done = run_limited(command, limit_s, env=environment)
    if done.returncode < 0:
        raise CheckFailed(f"{library.name}: the replay was killed by {signal.Signals(-done.returncode).name}")
    if NOT_LOADED in done.stderr:
        raise CheckFailed(f"{library.name}: {done.stderr.strip().splitlines()[0]}")
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise (BadInput if done.returncode == 2 else CheckFailed)(f"{library.name}: {said}")
    return msgspec.json.decode(done.stdout, type=Replayed)


def glibc_bytes(trace: Path, progress: Progress = quiet) -> GlibcBytes:
    """What the bytes of glibc are for at the trace's peak of live bytes, by one replay.

    Raises as `replay` does; CheckFailed for a trace that asks for no bytes.
    """
    glibc = Library(GLIBC, None)
    require_malloc_of(glibc)
    with scratch() as folder:
        write_script(trace, folder / "script", progress)
        found = replay_once(folder / "script", glibc, count_bytes=True).bytes
    if found is None:
        raise CheckFailed(f"{trace}: has no live bytes to count")
    return found


def _row(
    library: Library, runs: list[Replayed], stamped: list[Replayed], first: list[Replayed], checked: bool
) -> ReplayRow:
    operations = max(1, runs[0].operations)

    def figure(name: str) -> Figure:
        return Figure.of([getattr(run, name) for run in runs])

    return ReplayRow(
        library=library.name,
        path=str(library.path) if library.path is not None else None,
        ns_per_op=Figure.of([run.wall_ns / operations for run in runs]),
        cpu_ns_per_op=Figure.of([run.cpu_ns / operations for run in runs]),
        peak_rss_bytes=figure("peak_rss_bytes"),
        average_rss_bytes=figure("average_rss_bytes"),
        peak_live_rss_bytes=figure("peak_live_rss_bytes"),
        end_rss_bytes=figure("end_rss_bytes"),
        start_rss_bytes=figure("start_rss_bytes"),
        minor_faults=figure("minor_faults"),
        stalls=figure("stalls"),
        time_ratio=_ratio("wall_ns", runs, first),
        cpu_ratio=_ratio("cpu_ns", runs, first),
        rss_ratio=_ratio("peak_rss_bytes", runs, first),
        average_ratio=_ratio("average_rss_bytes", runs, first),
        checked=checked,
        note="; ".join(_notes(runs)),
        runs=runs,
        latency_ns=LatencyFigures.of([one for run in stamped if (one := run.latency_ns)]) if stamped else None,
    )


def _ratio(name: str, runs: list[Replayed], first: list[Replayed]) -> Ratio:
    return ratio(*_series(name, runs, first))


def _series(name: str, *entries: list[Replayed]) -> tuple[list[float], ...]:
    return tuple([getattr(run, name) for run in runs] for runs in entries)


def _is_known(runs: list[list[Replayed]]) -> bool:
    """Whether the intervals of CPU time and peak RSS to the first library are all narrow."""
    series = (_series(name, *runs) for name in ("cpu_ns", "peak_rss_bytes"))
    return are_known(len(runs[0]), ((its, of[0]) for of in series for its in of[1:]))


def _notes(runs: list[Replayed]) -> list[str]:
    """Why not to trust the row: a lack of processors."""
    notes = []
    waited = Figure.of([1 - run.cpu_ns / max(1, run.wall_ns) for run in runs]).median
    cores = len(os.sched_getaffinity(0))
    if runs[0].threads == 1 and waited > UNRELIABLE:
        notes.append(f"{waited:.0%} of the time it waited for a processor: other programs run")
    if runs[0].threads > cores:
        notes.append(f"{runs[0].threads} threads share {cores} processors: time holds their waits")
    return notes


def replay(
    trace: Path,
    libs: "Sequence[str | Design]",
    *,
    stop: Stop,
    check: bool = False,
    latency: bool = False,
    count_bytes: bool = False,
    progress: Progress = quiet,
) -> ReplayTable:
    """Replay `trace` at full speed under each library of `libs`, in interleaved rounds.

    `libs`: see find_library. The replay writes a byte to each cache line of a new block. `check`:
    one more replay per library, before the rounds, checks alignment and contents of every block.
    `latency`: as many rounds again with a stamp around each operation, whose times are not those of
    the row; of a time, each kind of rounds has half. `count_bytes`: one more replay, under glibc,
    tells what its bytes are for. A warm-up round is not counted. Without a number of rounds, `stop`
    also ends them once the intervals of CPU time and peak RSS are narrow. `stop.run_limit_s` is the
    limit of one. Raises BadInput for unknown libraries and bad traces, CheckFailed where a library
    breaks, Missing without a compiler or room for the script (16 bytes per event, in the temporary
    directory).
    """
    stop.check()
    limit_s = stop.run_limit_s
    libraries = find_libraries(libs)
    glibc = Library(GLIBC, None)
    require_malloc_of(*libraries, *[glibc] * count_bytes)
    with scratch() as folder:
        script = folder / "script"
        facts = write_script(trace, script, progress)
        for library in libraries if check else []:
            replay_once(script, library, check=True, limit_s=limit_s)
        counted = replay_once(script, glibc, count_bytes=True, limit_s=limit_s).bytes if count_bytes else None
        names = [library.name for library in libraries]
        known = stop if stop.rounds is not None else stop._replace(enough=_is_known)
        if latency and stop.limit_s is not None:
            known = known._replace(limit_s=stop.limit_s / 2)

        def plain(entry: int) -> Replayed:
            return replay_once(script, libraries[entry], limit_s=limit_s)

        runs, ended = interleaved("replay", names, known, plain, progress, resident=resident)
        stamped: list[list[Replayed]] = [[] for _ in libraries]
        if latency:

            def stamp(entry: int) -> Replayed:
                return replay_once(script, libraries[entry], latency=True, limit_s=limit_s)

            rounds = stop._replace(rounds=len(runs[0]), limit_s=known.limit_s)
            stamped = interleaved("stamp operations", names, rounds, stamp, progress, resident=resident).runs
    rows = [_row(*each, runs[0], check) for each in zip(libraries, runs, stamped, strict=True)]
    scale = (facts.operations, facts.threads, facts.peak_live_bytes)
    return ReplayTable(str(trace), *scale, len(runs[0]), ended, rows, counted)
