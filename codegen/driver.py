"""The conformance driver: a process that performs events on a library and returns its addresses."""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from heapsmith.codegen.difference import BYTES, LOCK_NAMES
from heapsmith.codegen.layers import RUNTIME
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.constants import BENCHFAST, NS_PER_MS, PAGE
from heapsmith.model.errors import Missing
from heapsmith.model.memory.numa_nodes import write_nodes
from heapsmith.model.parts.counters import UNTOLD_LOCKS
from heapsmith.model.trace.reader import Chunk

FIELDS = {"op": "u1", "align_log2": "u1", "group": "<u2", "thread": "<u4", "block": "<u4"}
FIELDS |= {"processor": "<u4", "bytes": "<i8", "time_ms": "<i8"}
RECORD = np.dtype(list(FIELDS.items()), align=True)
"""One event on the driver's standard input: struct event of runtime/verify/driver.h."""

RESET, BATCH = 254, 255
PLACE = "libundertest.so"
"""What a driver for musl is linked with, behind its C library: dlopen(3) takes no library with such TLS there."""
LACKING = 3
"""The driver's exit status if the system is out of memory."""
WORD = np.dtype("<i8")
LOCK_COUNTS = len(LOCK_NAMES) + len(UNTOLD_LOCKS)
"""What a library that counts locks counts of them."""


class DriverFailed(Exception):
    """The driver failed: `event` is the event's number if known, `what` the driver's message."""

    def __init__(self, event: int | None, what: str) -> None:
        super().__init__(what)
        self.event = event
        self.what = what


class Host(NamedTuple):
    """Where the driver runs: a command that runs it, and the compiler that makes it (as for `build_tool`)."""

    under: Sequence[str] = ()
    compiler: str | None = None


def driver_tool(compiler: str | None = None) -> Path:
    """The driver's executable. compiler: as for `build_tool`. Raises Missing without it."""
    folder = RUNTIME / "verify"
    sources = [folder / name for name in ("driver.c", "perform.c", "callers.c", "facts.c", "storm.c", "refusals.c")]
    sources.append(RUNTIME / "replay" / "watchdog.c")
    flags = [*TOOL_FLAGS, "-pthread", "-rdynamic", "-ldl"]
    if is_for_musl(compiler):
        empty = [*TOOL_FLAGS, "-shared", "-nostdlib", f"-Wl,-soname,{PLACE}"]
        place = build_tool("undertest", [folder / "undertest.c"], empty, compiler=compiler)
        flags += ["-Wl,--no-as-needed", f"-L{place.parent}", "-lc", f"-l:{place.name}"]
    return build_tool("driver", sources, flags, compiler=compiler)


def is_for_musl(compiler: str | None) -> bool:
    """Whether a gcc makes programs for musl, by its name: musl-gcc, x86_64-linux-musl-gcc."""
    return compiler is not None and "-musl" in f"-{Path(compiler).name}"


def _head(op: int, size: int, events: int) -> NDArray[np.void]:
    """A head record, followed by empty records for the events of a batch."""
    records = np.zeros(1 + events, RECORD)
    records["op"][0], records["bytes"][0] = op, size
    return records


class Driver:
    """One driver process on one library. A context manager that kills the process at its end.

    grain: least alignment of a block, bytes. counters: number of the library's counters.
    check_every: events between two calls of heapsmith_check (0: never). stall_s: how long
    nothing may move. under: a command that runs the driver. compiler: of the driver, as for `build_tool`.
    nodes: the processors of each node, in place of the system's; none: one node. Raises Missing without gcc.
    """

    def __init__(
        self,
        library: Path,
        grain: int,
        counters: int,
        *,
        check_every: int = 0,
        stall_s: int = 30,
        under: Sequence[str] = (),
        compiler: str | None = None,
        nodes: Sequence[str] = (),
    ) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._nodes = tempfile.TemporaryDirectory(prefix="nodes-") if nodes else None
        if self._nodes:
            write_nodes(Path(self._nodes.name), nodes)
        numbers = [grain, counters, LOCK_COUNTS, check_every, stall_s]
        path = library.resolve()
        # dlopen(3) replaces tokens such as $ORIGIN in a path, so the folder is not part of it
        command = [*under, str(driver_tool(compiler)), f"./{path.name}", *map(str, numbers)]
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "HEAPSMITH")}
        environment |= BENCHFAST | {"HEAPSMITH": f"limit=0,nodes={self._nodes.name if self._nodes else ''}"}
        self._place = tempfile.TemporaryDirectory(prefix="place-") if is_for_musl(compiler) else None
        if self._place:
            (Path(self._place.name) / PLACE).symlink_to(path)
            environment["LD_LIBRARY_PATH"] = self._place.name
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=environment,
                cwd=path.parent,
            )
        except OSError as error:
            raise Missing(f"{command[0]} cannot be run: {error.strerror}") from error
        self._in = cast(IO[bytes], self._process.stdin)
        self._out = cast(IO[bytes], self._process.stdout)
        self._counters = counters
        self.bytes = np.zeros(len(BYTES), np.int64)  # what the library said of its bytes with the last answer
        self.locks = np.zeros(LOCK_COUNTS, np.int64)  # and of its locks; 0 if it does not count them
        self.refused_bytes = 0  # that the system refused the library, until the last answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._stderr.close()
        for folder in filter(None, (self._nodes, self._place)):
            folder.cleanup()
        with suppress(BrokenPipeError):  # the buffered input has no reader any more
            self._in.close()

    def send(
        self, chunk: Chunk, groups: NDArray[np.uint8] | None = None, processors: NDArray[np.int64] | None = None
    ) -> None:
        """Send the events of a chunk; `receive` returns the answer. Raises DriverFailed.

        groups: of call sites, by event. processors: by event.
        """
        records = _head(BATCH, len(chunk.op), len(chunk.op))
        events = records[1:]
        events["op"], events["thread"], events["block"] = chunk.op, chunk.thread, chunk.block
        events["bytes"], events["align_log2"] = chunk.size, chunk.align_log2
        events["group"] = 0 if groups is None else groups
        events["processor"] = 0 if processors is None else processors
        events["time_ms"] = chunk.time_ns // NS_PER_MS
        self._write(records)

    def reset(self, span_bytes: int = 1 << 62) -> None:
        """Checked build: end all threads and reset the heap, with so much of each span to use.

        Raises DriverFailed.
        """
        self._write(_head(RESET, span_bytes, 0))

    def receive(self, events: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Address code per event (-1: no block), and all counters; then `bytes` and `locks` are of this moment.

        Raises DriverFailed, Missing.
        """
        sizes = (events, self._counters, LOCK_COUNTS, len(BYTES))
        size = (sum(sizes) + 1) * WORD.itemsize
        data = self._out.read(size)
        if len(data) < size:
            raise self._failure()
        words = np.frombuffer(data, WORD)
        addresses, counters, self.locks, self.bytes, refused = np.split(words, np.cumsum(sizes))
        self.refused_bytes = int(refused[0])
        return addresses, counters

    def rss_bytes(self) -> int:
        """Return the resident bytes of the driver's process: library, blocks, and its own tables."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * PAGE

    def close(self) -> None:
        """End the input; the driver then runs its own checks. Raises DriverFailed."""
        with suppress(BrokenPipeError):
            self._in.close()
        if self._process.wait() != 0:
            raise self._failure()

    def _write(self, records: NDArray[np.void]) -> None:
        try:
            self._in.write(records.tobytes())
            self._in.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def _failure(self) -> DriverFailed | Missing:
        """The failure for the driver's last message or signal; Missing if it ran out of memory."""
        status = self._process.wait()
        self._stderr.seek(0)
        lines = [line for line in self._stderr.read().decode(errors="replace").splitlines() if line]
        if status < 0:
            lines.append(f"killed by {signal.Signals(-status).name}")
        if status in (LACKING, -signal.SIGKILL):
            return Missing(f"the conformance driver ran out of memory: {'; '.join(lines)}")
        event = None
        for index, line in enumerate(lines):
            if found := re.fullmatch(r"event (\d+): (.*)", line):
                event, lines[index] = int(found[1]), found[2]
        return DriverFailed(event, "; ".join(lines) or f"ended with status {status}")
