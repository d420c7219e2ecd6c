"""Records a command and converts its spools to traces, one per process image (docs/live.md)."""

import ctypes
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from heapsmith.codegen.layers import ABOUT_PROCESSORS, HEAP, RUNTIME
from heapsmith.codegen.target import toolchain
from heapsmith.codegen.toolchain import TOOL_FLAGS, Tool
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.policy.sampling.common import LINK as OWN_UNWINDER
from heapsmith.model.trace.kinds import Kinds
from heapsmith.model.trace.reader import CHUNK_EVENTS, TraceReader, TraceWriter
from heapsmith.tools.common.foreground import run_foreground
from heapsmith.tools.common.obstacles import find_program, libc_of
from heapsmith.tools.common.other_memory import OtherMemory, largest
from heapsmith.tools.common.perf_map import generated_code
from heapsmith.tools.common.preload import for_all, preloadable
from heapsmith.tools.common.preload_everywhere import preloading
from heapsmith.tools.common.process_watch import Watch
from heapsmith.tools.common.processes import Running
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.resident_series import Looks
from heapsmith.tools.common.rounds import Progress, quiet
from heapsmith.tools.common.served_share import HELP, Apart, Image, apart, helps, sentences
from heapsmith.tools.record.clock import now_of, record_ticks, tells_processors
from heapsmith.tools.record.resident import Looked, ResidentByKind, by_kind
from heapsmith.tools.record.spool import FIRST_BYTES, Spool
from heapsmith.tools.record.spool_stacks import PLACES
from heapsmith.tools.record.unseen import RecordedTrace, only_recorded, other_memory

SOURCE = "recorder"
"""What a trace of the recorder names as its origin."""

SPOOL_VARIABLE = "HEAPSMITH_RECORD"  # names the directory for spools to the recorder
HEADER_WORD = b"\0hs_heap_"
_LIBRARY_FLAGS = (
    *("-shared", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-fno-builtin", "-lpthread"),
    "-Wl,-z,now",  # no call of the dynamic linker from within malloc
)
_NEEDED_CPU_FLAGS = ("constant_tsc", "rdtscp")
_CHUNK_EVENTS = 4 * CHUNK_EVENTS  # what a program repeats is seldom near, and is told once for each chunk


class RecordResult(msgspec.Struct, frozen=True):
    """The result of a run under the recorder."""

    exit_status: int  # 128 + the signal's number after a death by signal
    wall_ns: int
    record_ns: float  # cost of the hot path per record, measured on this machine
    traces: list[RecordedTrace]  # the trace at the requested path first, then by descending events
    inlines: bool  # CMD contains heapsmith.h or an archive, whose blocks are not in the trace
    running: list[Running]  # processes that ran on after CMD's end; later events are in no trace
    unwritten: list[int]  # pids of images without a trace: no spool could be created
    interrupted: bool  # Ctrl-C came while it ran, whatever CMD made of it
    apart: list[Apart] = []  # processes that did a part of the work and that the recorder did not see
    other_memory: list[OtherMemory] = []  # processes with memory that malloc did not give them

    def warnings(self) -> list[str]:
        """One line for each part of the run that the traces lack."""
        found = []
        if self.inlines:
            found.append(
                "the program has a part of a heapsmith library in it (heapsmith.h, an archive): "
                "what that serves is not in the trace (docs/api.md)"
            )
        if self.exit_status == 128 + signal.SIGSYS:
            found.append(
                "the command ended by SIGSYS: a sandbox (seccomp) may forbid it to open files, as the recorder does"
            )
        found += [f"in no trace is {one.sentence()}" for one in self.apart]
        if helps(self.apart):
            found.append(HELP)
        found += [one.sentence() for one in largest(self.other_memory)]
        found += [
            f"process {process.pid} ({process.name}) went on after the command's end: "
            "what it did from then on is in no trace; --wait waits for such processes"
            for process in self.running
        ]
        return found + [f"process {pid} is in no trace: there was no room for its events" for pid in self.unwritten]


class Processes(NamedTuple):
    """Which processes of a command become traces, and how long it may run.

    all: not only the busiest. everywhere: also those of programs that it starts with another environment. limit_s:
    then the command gets SIGTERM, and SIGKILL if it goes on. wait: until all processes that it starts have ended.
    """

    all: bool = True
    everywhere: bool = False
    limit_s: float | None = None
    wait: bool = False


ALL = Processes()


def build_recorder(stacks: int = 0, *, frees: bool = False) -> Path:
    """Build the recorder's shared library from runtime/recorder in the tools' cache.

    stacks: the most frames of a call stack; 0: it records no stacks. frees: frees have stacks too. Raises Missing
    without gcc, or if the processor's TSC does not run at a constant rate.
    """
    _check_processor()
    return recorder_tool(stacks, frees=frees).ready()


def _preloaded(command: list[str], stacks: int, frees: bool) -> list[Path]:
    """The recorder for the C library of the command's program, and then those for other programs that it starts.

    Raises Missing where there is none for the first.
    """
    of_glibc = build_recorder(stacks, frees=frees)
    if libc_of(command) != "musl":
        return [of_glibc]
    compiler = toolchain(target=f"{os.uname().machine}-linux-musl").compiler[0]
    return [recorder_tool(stacks, frees=frees).ready(compiler), of_glibc]


def recorder_tool(stacks: int, *, frees: bool = False) -> Tool:
    """What the recorder is made of."""
    shared = ("definitions", "spool/windows", *(("frames", "unwind") if stacks else ()))
    sources = [*sorted((RUNTIME / "recorder").glob("*.c")), *(HEAP / f"1_base/{name}.c" for name in shared)]
    flags = (*OWN_UNWINDER, f"-DSTACK_DEPTH={stacks}", *(["-DFREE_SITES=1"] if frees else [])) if stacks else ()
    return Tool("recorder.so", sources, (*TOOL_FLAGS, *_LIBRARY_FLAGS, *flags), ABOUT_PROCESSORS)


def _check_processor() -> None:
    flags: list[str] = []
    with suppress(OSError, StopIteration), open("/proc/cpuinfo") as about:
        flags = next(line for line in about if line.startswith("flags")).split()
    for flag in _NEEDED_CPU_FLAGS if os.uname().machine == "x86_64" else ():  # others have one clock of one pace
        if flag not in flags:
            raise Missing(f"the recorder orders events by the x86-64 time stamp counter: /proc/cpuinfo lacks {flag}")


def record(
    command: list[str],
    out: Path,
    *,
    processes: Processes = ALL,
    stacks: int = 0,
    frees: bool = False,
    progress: Progress = quiet,
    **streams: Any,
) -> RecordResult:
    """Run `command` under the recorder; the image with the most records becomes the trace `out`.

    With `processes.all`, the other images (of children, and before and after an exec) become `<out's
    stem>.<pid>.<sequence>.hst` beside it; such files of an earlier run are removed. With `stacks`, each allocation
    has its call stack, of at most `stacks` frames, and with `frees` each free. `streams`: stdin, stdout and stderr
    as of subprocess.Popen, by default this process's own. Signals go to the command, and SIGTERM after
    `processes.limit_s`. Background children are waited for with `processes.wait` alone. Raises BadInput (no such
    command, or one that cannot be recorded; `out` cannot be written), Missing (see build_recorder; no compiler for
    musl, where CMD is of musl; a disk full before the first event) or CheckFailed (the command never loaded the
    recorder).
    """
    libraries = _preloaded(command, stacks, frees)
    program = find_program(command, everywhere=processes.everywhere, libraries=libraries[:1])
    spool = make_spool(out)
    if processes.everywhere:
        spool.chmod(0o1777)  # also for programs of other users
    started = spool.stat().st_mtime
    try:
        loaded = ctypes.CDLL(preloadable(build_recorder(stacks, frees=frees)))
        ticks = record_ticks(loaded)
        processors = tells_processors(loaded)
        start = Start(command, program, added={SPOOL_VARIABLE: str(spool)}, everywhere=processes.everywhere)
        with preloading(start, [for_all(*libraries)], f"{SPOOL_VARIABLE}={spool}") as (whole, files):
            watch = Watch(files[0], command[0], *files[1:])
            watch.looks = Looks(*(os.fsencode(path.resolve()) for path in (spool, *files)))
            began = now_of(loaded)
            ends: dict[str, Any] = {"limit_s": processes.limit_s, "wait": processes.wait}
            pid, status, interrupted = run_foreground(whole, **streams, **ends, watch=watch)
            ended = now_of(loaded)
        wall_ns = ended.ns - began.ns
        ns_per_tick = wall_ns / (ended.stamp - began.stamp)
        record_ns = round(ticks * ns_per_tick, 2)
        facts = (pid, status, began.stamp, wall_ns, ns_per_tick, record_ns, started, processors, stacks, frees)
        run = Run(*facts, start_ns=began.ns)
        running = _still_running(spool)
        records, unwritten = _count_records(spool)
        images = only_recorded(watch.images(), {_image(path)[0] for path in records} | set(unwritten))
        traces = _convert_all(records, out, run, processes.all, watch.looked(), progress)
    finally:
        shutil.rmtree(spool, ignore_errors=True)
    if not traces:
        raise _nothing(out, program, unwritten, images)
    _remove_older(out, {trace.path for trace in traces})
    lacks = (inlines(Path(program)), running, unwritten, interrupted, apart(images), other_memory(traces, images))
    return RecordResult(status, wall_ns, run.record_ns, traces, *lacks)


def _nothing(out: Path, program: str, unwritten: Sequence[int], images: Sequence[Image]) -> Missing | CheckFailed:
    """Why there is no trace."""
    if unwritten:
        return Missing(f"{out}: nothing was recorded: no room for events (a full disk, a limit on the size of files)")
    reason = sentences(apart(images)) or "ended, or gave up LD_PRELOAD, before its first event"
    return CheckFailed(f"nothing was recorded: {program}: {reason}")


def inlines(program: Path) -> bool:
    """Whether the program contains the variable of heapsmith.h and of archives."""
    try:
        with program.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return content.find(HEADER_WORD) >= 0
    except (OSError, ValueError):  # it cannot be read, or is empty
        return False


class Run(NamedTuple):
    """The facts of the whole run. started: by the clock of files, in seconds. processors: records tell them.

    depth: the most frames of a stack. frees: records tell the stacks of frees.
    more: for the footer, of the recording of a process that already ran. start_ns: by CLOCK_MONOTONIC.
    """

    pid: int
    status: int
    start_stamp: int
    wall_ns: int
    ns_per_tick: float
    record_ns: float
    started: float
    processors: bool
    depth: int
    frees: bool = False
    more: dict[str, Any] | None = None
    start_ns: int = 0

    def ns_of(self, stamp: int) -> int:
        """The time of a stamp, by CLOCK_MONOTONIC."""
        return self.start_ns + round((stamp - self.start_stamp) * self.ns_per_tick)


def make_spool(out: Path) -> Path:
    """Make a directory beside `out`: spools are large, and their file system is the trace's."""
    if out.is_dir():
        raise BadInput(f"{out}: cannot write the trace: it is a directory")
    folder = out.absolute().parent
    try:
        with tempfile.TemporaryFile(dir=folder) as room:
            room.write(bytes(FIRST_BYTES))
        return Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".spool", dir=folder))
    except OSError as error:
        raise BadInput(f"{out}: cannot write the trace: {folder}: {error.strerror}") from None


def _still_running(spool: Path) -> list[Running]:
    """The processes that have a spool mapped."""
    mapped = os.fsencode(spool).replace(b"\n", rb"\012") + b"/"  # proc_pid_maps(5)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process ended or is another user's
            if mapped in (process / "maps").read_bytes():
                found.append(Running(int(process.name), (process / "comm").read_text(errors="replace").strip()))
    return found


def _convert_all(
    records: dict[Path, int], out: Path, run: Run, all_processes: bool, looked: Looked, progress: Progress
) -> list[RecordedTrace]:
    """The traces of all spools, or only of the spool with the most records.

    records: the number of records of each spool. looked: the looks at the memory of all programs.
    """
    heaviest_first = sorted(records, key=lambda path: -records[path])[: None if all_processes else 1]
    advance = advancing(progress, sum(records[path] for path in heaviest_first))
    last_of_command = max((path for path in records if _image(path)[0] == run.pid), key=_image, default=None)
    resident = by_kind(heaviest_first, records, looked, run.ns_of, run.ns_per_tick)
    traces: list[RecordedTrace] = []
    for path in heaviest_first:
        pid, sequence = _image(path)
        to = out.with_name(f"{out.stem}.{pid}.{sequence}.hst") if traces else out
        status = run.status if path == last_of_command else None
        traces.append(convert(path, to, run, status, advance, resident[path]))
    return traces


def advancing(progress: Progress, total: int) -> Callable[[int], None]:
    """Takes numbers of further events; foreign frees are records but no events, so it may end early."""
    done = 0

    def advance(events: int) -> None:
        nonlocal done
        done = min(done + events, total)
        progress("ordering events", done, total)

    return advance


def _remove_older(out: Path, written: set[str]) -> None:
    """Remove the traces that an earlier run left beside `out`: files of their names that say so themselves."""
    name = re.compile(re.escape(out.stem) + r"\.([0-9]+)\.([0-9]+)\.hst")
    with suppress(OSError):  # they are no part of this run
        for path in out.parent.iterdir():
            named = name.fullmatch(path.name)
            if named and str(path) not in written and _is_of(path, *map(int, named.groups())):
                path.unlink()


def _is_of(path: Path, pid: int, sequence: int) -> bool:
    """Whether a file is the recorder's trace of this process image."""
    try:
        with TraceReader(path) as reader:
            about = reader.footer.extra
            return reader.header.source == SOURCE and (about.get("pid"), about.get("sequence")) == (pid, sequence)
    except BadInput:
        return False


def _image(path: Path) -> tuple[int, int]:
    """The pid and the sequence in a spool's name."""
    pid, sequence, _ = path.name.split(".")
    return int(pid), int(sequence)


def _count_records(directory: Path) -> tuple[dict[Path, int], list[int]]:
    """Records of each spool, and the pids of spools without a header, which are empty."""
    records, unwritten = {}, []
    for path in sorted(directory.glob("*.spool"), key=_image):
        try:
            with Spool(path) as spool:
                records[path] = spool.count_records()
        except BadInput:
            unwritten.append(_image(path)[0])
    return records, unwritten


def convert(
    path: Path, to: Path, run: Run, exit_status: int | None, advance: Callable[[int], None], resident: ResidentByKind
) -> RecordedTrace:
    """Write the trace of a spool, and what was resident by kind."""
    with Spool(path) as spool:
        sites = spool.tree is not None
        about: dict[str, Any] = {"command": spool.header.argv, "processors": run.processors, "sites": sites}
        about |= {"free_sites": sites and run.frees, "chunk_events": _CHUNK_EVENTS}
        with TraceWriter(to, source=SOURCE, **about) as writer:
            for chunk, site, address in spool.chunks(run.ns_per_tick):
                resident.feed(chunk, address, run.ns_of(spool.header.start_stamp + spool.first_ticks))
                writer.append(chunk, site)
                advance(chunk.op.size)
            extra = _extra(spool, run, exit_status, resident.kinds())
            footer = writer.close(extra)
        stacks = footer.stacks.stacks if footer.stacks else 0
        own = {"path": str(to), "program": spool.header.argv, "events": footer.events, "max_blocks": footer.max_blocks}
    return msgspec.convert(extra | own | {"stacks": stacks}, RecordedTrace)


def _extra(spool: Spool, run: Run, exit_status: int | None, kinds: Kinds | None) -> dict[str, Any]:
    """The metadata for the trace's footer (docs/trace.md, 'the footer')."""
    head, totals = spool.header, spool.totals
    spool_ns = round(head.spool_ticks * run.ns_per_tick)
    return (
        {
            "drops": head.drops,
            "foreign_frees": totals.foreign_frees,
            "lost_frees": totals.lost_frees,
            "backsteps": totals.backsteps,
            "nested": head.nested,
            "pid": head.pid,
            "parent_pid": head.parent_pid,
            "sequence": head.sequence,
            "forked": head.forked,
            "start_ns": round((head.start_stamp - run.start_stamp) * run.ns_per_tick),
            "run_wall_ns": run.wall_ns,
            "exit_status": exit_status,
            "samples": msgspec.structs.replace(spool.samples, kinds=kinds) if spool.samples else None,
            "stacks": spool.tree.packed() if spool.tree else None,
            "sites_checked": head.checked,
            "sites_wrong": head.wrong,
            "cost": {"record_ns": run.record_ns, "records": totals.records, "spool_ns": spool_ns},
        }
        | ({"depth": run.depth} if spool.tree else {})
        | _generated(spool, run)
        | (run.more or {})
    )


def _generated(spool: Spool, run: Run) -> dict[str, Any]:
    """The names of the frames of Python, and what the process's map says of the generated code in its stacks."""
    if spool.tree is None:
        return {}
    addresses = np.unique(spool.tree.offset[spool.tree.module < 0])
    code = addresses[addresses < PLACES].tolist()
    found = (generated_code(spool.header.pid, code, run.started) if code else []) + spool.python
    return {"perf_map": found} if found else {}
