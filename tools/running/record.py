"""`heapsmith record --pid`: records a process that already runs under a library whose malloc can be led elsewhere.

While the process is held outside its heap, this reads which blocks are live, tells the library where to write events,
and writes a jump over the beginning of each function of malloc's family (runtime/heap/9_api/sampling/record.h). At the
end it puts the beginnings back. The census becomes a stream of its own in the spool, of allocations at time 0.
"""

import ctypes
import os
import platform
import select
import shutil
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.model.errors import BadInput, Missing
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.process_memory import Gone, ProcessMemory
from heapsmith.tools.common.rounds import Progress, quiet
from heapsmith.tools.record.clock import Moment, now_of, tells_processors
from heapsmith.tools.record.record import (
    Run,
    advancing,
    build_recorder,
    convert,
    inlines,
    make_spool,
)
from heapsmith.tools.record.resident import ResidentByKind
from heapsmith.tools.record.spool import VERSION, Spool, add_births, add_stacks, new_spool, set_drops, set_start
from heapsmith.tools.running.census import Copied, census, copy_heap
from heapsmith.tools.running.hold import code_of, held
from heapsmith.tools.sampled.process import Place, sites_so_far, snapshot
from heapsmith.tools.sampled.snapshot import FRAMES, Snapshot
from heapsmith.tools.top.process import command, facts, image
from heapsmith.tools.top.view import View, serving

_FUNCTION_BYTES, _JUMP_BYTES = 8, 5
_HEAD = struct.Struct("<10IQ")
"""The first fields of struct recording, then the beginnings of the functions, then the path."""
_PATH_BYTES = 4352
_CENSUS_STREAM = 0xFFFFFFFE
_STEP_S = 0.05
_LOOK_S = 1.0
"""Between two looks at the call stacks of a process that runs."""

STARTED_ANEW = "a program that is started anew can be recorded: heapsmith record -o FILE -- CMD"
READY = 'a library of a design with [sampling] kind = "ready", such as: heapsmith run sampling-ready -- CMD'


class RunningResult(msgspec.Struct, frozen=True):
    """The recording of a process that already ran.

    census_blocks, census_bytes: what was live when it began, in bytes that the program may use. heap_bytes: what the
    heap had of the system then. held_ns, held_at_end_ns: how long no thread ran, at the beginning and at the end.
    ended: what ended the recording: "time", "signal", "process", or "exec" where the process began another program.
    """

    path: str
    pid: int
    program: list[str]
    design: str
    events: int
    census_blocks: int
    census_bytes: int
    heap_bytes: int
    held_ns: int
    held_at_end_ns: int
    ended: str
    drops: int
    foreign_frees: int
    lost_frees: int


class _Head(NamedTuple):
    """The first fields of struct recording (runtime/heap/9_api/sampling/record.h)."""

    number: int
    last: int
    pid: int
    recorder: int
    streams: int
    threads: int
    units: int
    leads: int
    stacks: int
    reserved: int
    drops: int


class _Library:
    """The library of a process, and what of it is read and written for a recording."""

    def __init__(self, pid: int, memory: ProcessMemory) -> None:
        self.pid, self.memory = pid, memory
        self.view = self._view()
        at = self.view.at
        self.place, count = at["recording"], at["RECORDED"]
        if (
            at["SPOOL_VERSION"] != VERSION
            or at["recording_bytes"] != _HEAD.size + _FUNCTION_BYTES * count + _PATH_BYTES
        ):
            raise BadInput(f"process {pid}: its library is of another version of heapsmith; expected this one's")
        words = memory.read(at["recorded"], 16 * count)
        self.pairs = list(struct.iter_unpack("<QQ", words))
        self.code, file = code_of(pid, self.pairs[0][0])
        if file == os.readlink(f"/proc/{pid}/exe") or inlines(Path(f"/proc/{pid}/exe")):
            raise BadInput(f"process {pid} has a part of {self.view.design} in its program; expected {READY}")
        before = self.head()
        if before.number and Path(f"/proc/{before.recorder}").exists():
            raise BadInput(f"process {pid} is recorded by process {before.recorder} already")

    def _view(self) -> View:
        view = serving(self.memory)
        if view is None:
            raise BadInput(f"process {self.pid} runs under no heapsmith library; expected {READY}; or {STARTED_ANEW}")
        if "recording" not in view.at or "marks" not in view.at:
            raise BadInput(
                f"process {self.pid} runs under {view.design}, which cannot be recorded while it runs; "
                f"expected {READY}, with freed blocks in a bitmap; or {STARTED_ANEW}"
            )
        return view

    def head(self) -> _Head:
        """The recording's fields now."""
        return _Head(*_HEAD.unpack(self.memory.read(self.place, _HEAD.size)))

    def lead(self, spool: Path, *, stacks: bool) -> None:
        """Lead the family to its recorded functions, which write to a spool. The process is held."""
        before = self.head()
        saved = [self._beginning(number, before.leads) for number in range(len(self.pairs))]
        self.memory.write(self.place + _HEAD.size, b"".join(saved) + os.fsencode(spool).ljust(_PATH_BYTES, b"\0"))
        number = before.last + 1
        self.memory.write(
            self.place, _HEAD.pack(*_Head(number, number, self.pid, os.getpid(), 0, 0, 1, 1, int(stacks), 0, 0))
        )
        for (function, recorded), old in zip(self.pairs, saved, strict=True):
            distance = struct.pack("<i", recorded - function - _JUMP_BYTES)
            self.memory.write(function, b"\xe9" + distance + old[_JUMP_BYTES:])

    def _beginning(self, number: int, leads: int) -> bytes:
        """The beginning of a function: where a recorder was killed, the function still leads elsewhere."""
        function, _ = self.pairs[number]
        if leads:
            return self.memory.read(self.place + _HEAD.size + _FUNCTION_BYTES * number, _FUNCTION_BYTES)
        return self.memory.read(function, _FUNCTION_BYTES)

    def leave(self) -> _Head:
        """Put the beginnings back; what the recording counted. The process is held."""
        found = self.head()
        for number, (function, _) in enumerate(self.pairs):
            self.memory.write(function, self._beginning(number, 1))
        self.memory.write(self.place, _HEAD.pack(*found._replace(number=0, leads=0)))
        return found


class _Stacks:
    """The call stacks that the library has numbered, as they were last read: the process may end by itself."""

    def __init__(self, library: _Library, asked: "_Asked") -> None:
        self._library, self._asked, self._due = library, asked, 0.0
        self.latest: Snapshot | None = None

    def look(self, *, is_held: bool = False) -> None:
        """Read them if they are asked for: all of a process that is held, else all but perhaps the last."""
        if not self._asked.stacks or (not is_held and time.monotonic() < self._due):
            return
        pid, memory, view = self._library.pid, self._library.memory, self._library.view
        self.latest = (snapshot if is_held else sites_so_far)(pid, memory, Place(view.at, view.design))
        self._due = time.monotonic() + _LOOK_S


class _Began(NamedTuple):
    """The beginning of a recording: the heap then, the moment, and how long the process was held."""

    heap: Copied
    moment: Moment
    held_ns: int


def record_running(
    pid: int, out: Path, *, seconds: float | None = None, stacks: bool = False, progress: Progress = quiet
) -> RunningResult:
    """Record a process until it ends, SIGINT or SIGTERM comes, or `seconds` are over; the trace is `out`.

    stacks: the events have call stacks, of at most 32 frames; the blocks that live at the beginning have none.

    Raises BadInput for no such process, one that runs under no library that can be recorded so, and an `out` that
    cannot be written; Missing if it may not be held, or sees other files or processes than this one; CheckFailed if its
    heap contradicts itself.
    """
    if platform.machine() != "x86_64":
        raise Missing(f"{platform.machine()}: only processes of x86-64 can be recorded while they run")
    recorder = ctypes.CDLL(preloadable(build_recorder()))
    try:
        with ProcessMemory(pid, writes=True) as memory:
            library = _Library(pid, memory)
            folder = make_spool(out)
            try:
                return _recorded(library, recorder, folder, out, _Asked(seconds, stacks), progress)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except (Gone, ProcessLookupError, FileNotFoundError):
        raise BadInput(f"{pid}: no such process, or it ended before it was recorded") from None


class _Asked(NamedTuple):
    """When a recording ends, and whether its events have call stacks."""

    seconds: float | None
    stacks: bool


def _recorded(
    library: _Library, recorder: ctypes.CDLL, folder: Path, out: Path, asked: _Asked, progress: Progress
) -> RunningResult:
    pid, words, was = library.pid, command(library.pid), image(library.pid)
    spool = new_spool(folder / f"{pid}.0.spool", pid, facts(pid).parent, words)
    stacks = _Stacks(library, asked)
    _share(pid, folder, spool)
    with _stopping() as stop:
        began = _begin(library, recorder, spool, asked)
        end = _Head(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        held_at_end, why = 0, "process"
        try:
            found = census(library.view, began.heap)
            why = _wait(pid, was, asked.seconds, stop, stacks)
        finally:
            with suppress(Gone):
                if image(pid) == was:
                    held_at_end, end = _end(library, stacks)
        ended = now_of(recorder)
    set_drops(spool, end.drops)
    if stacks.latest is not None:
        frames = [(number, row["frame"][: int(row["depth"])]) for number, row in enumerate(stacks.latest.sites)]
        add_stacks(spool, [one for one in frames if len(one[1])], stacks.latest.mappings())
    add_births(spool, _CENSUS_STREAM, began.moment.stamp, found.addresses, found.sizes)
    ns_per_tick = (ended.ns - began.moment.ns) / (ended.stamp - began.moment.stamp)
    about = {"blocks": len(found.sizes), "bytes": int(found.sizes.sum()), "held_ns": began.held_ns}
    inexact = f"of {len(found.sizes):,} blocks, live at the beginning, the sizes are the bytes that may be used of them"
    run = Run(
        pid=pid,
        status=0,
        start_stamp=began.moment.stamp,
        wall_ns=ended.ns - began.moment.ns,
        ns_per_tick=ns_per_tick,
        record_ns=0.0,
        started=spool.stat().st_mtime,
        processors=tells_processors(recorder),
        depth=FRAMES,
        more={"census": about, "inexact": [inexact], "samples": None},
    )
    with Spool(spool) as whole:
        total = whole.count_records()
    made = convert(spool, out, run, None, advancing(progress, total), ResidentByKind())
    return RunningResult(
        path=str(out),
        pid=pid,
        program=words,
        design=library.view.design,
        events=made.events,
        census_blocks=about["blocks"],
        census_bytes=about["bytes"],
        heap_bytes=found.heap_bytes,
        held_ns=began.held_ns,
        held_at_end_ns=held_at_end,
        ended=why,
        drops=made.drops,
        foreign_frees=made.foreign_frees,
        lost_frees=made.lost_frees,
    )


def _share(pid: int, folder: Path, spool: Path) -> None:
    """Let the process write the spool. Missing where it sees other files or other numbers of processes than we do."""
    try:
        if os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid"):
            raise Missing(f"process {pid} is in a container of its own: expected heapsmith to run in it too")
        if not Path(f"/proc/{pid}/root{spool.absolute()}").samefile(spool):
            raise Missing(f"process {pid} does not see {folder.parent}; expected a trace where it sees the files")
        owner = os.stat(f"/proc/{pid}")
        if os.geteuid() == 0:
            for path in (folder, spool):
                os.chown(path, owner.st_uid, owner.st_gid)
    except FileNotFoundError:
        raise Missing(f"process {pid} does not see {folder.parent}; expected a trace where it sees the files") from None


def _begin(library: _Library, recorder: ctypes.CDLL, spool: Path, asked: _Asked) -> _Began:
    """Hold the process, copy what tells its live blocks, and lead its malloc to the spool."""
    code = library.code
    trial = Copied(library.memory)
    copy_heap(library.view, trial, (code.begin, code.end))  # what is known before need not be found while it is held
    copied = Copied(library.memory, trial.size * 5 // 4)
    started = time.monotonic_ns()
    with held(library.pid, library.memory, code):
        copy_heap(library.view, copied, (code.begin, code.end))
        moment = now_of(recorder)
        set_start(spool, moment.stamp)
        library.lead(spool.absolute(), stacks=asked.stacks)
    held_ns = time.monotonic_ns() - started
    copied.freeze()
    return _Began(copied, moment, held_ns)


def _end(library: _Library, stacks: _Stacks) -> tuple[int, _Head]:
    """Hold the process, and let its malloc be as before."""
    started = time.monotonic_ns()
    with held(library.pid, library.memory, library.code):
        found = library.leave()
        with suppress(Missing):  # a thread in doubt changes them: those of the last look are there
            stacks.look(is_held=True)
    return time.monotonic_ns() - started, found


def _wait(pid: int, was: bytes, seconds: float | None, stop: list[int], stacks: _Stacks) -> str:
    """Until the recording ends: why."""
    deadline = None if seconds is None else time.monotonic() + seconds
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return "process"
    try:
        while not select.select([process], [], [], _STEP_S)[0]:
            if stop:
                return "signal"
            if deadline is not None and time.monotonic() >= deadline:
                return "time"
            if image(pid) != was:
                return "exec"
            stacks.look()
    except Gone:
        pass
    finally:
        os.close(process)
    return "process"


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """The signals that ask for the end, as they come."""
    seen: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda which, _: seen.append(which)) for number in numbers]
    try:
        yield seen
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
