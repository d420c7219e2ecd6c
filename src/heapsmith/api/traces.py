"""Traces in Python: record them, look at their figures, their events as numpy arrays and frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypedDict, Unpack, overload

from heapsmith.api.results import Progress, Result, frames_of
from heapsmith.api.stated import Argument, Option, Unfit
from heapsmith.api.typed import typed

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import polars as pl

    from heapsmith.model.trace.stats import TraceInfo
    from heapsmith.tools.record.record import RecordResult


class Figures(Result):
    """A trace in figures; bytes are bytes asked for."""

    details: TraceInfo

    @property
    def allocated_bytes(self) -> int:
        """Bytes asked for by allocations, and added by reallocs."""
        return self.details.allocated_bytes

    @property
    def peak_live_bytes(self) -> int:
        """The most bytes that were live at once."""
        return self.details.peak_live_bytes

    @property
    def live_bytes_at_end(self) -> int:
        """Bytes that were never freed."""
        return self.details.live_bytes_at_end

    @property
    def duration_ns(self) -> int:
        """Time from the first event to the last."""
        return self.details.duration_ns

    @property
    def events_by_operation(self) -> dict[str, int]:
        """The number of events of each of Trace.OPERATIONS."""
        return self.details.events_by_op

    def show(self) -> None:
        """Print the figures as `heapsmith trace info` does."""
        from heapsmith.api import printed

        printed.trace_info(self.details)


class Trace:
    """A trace file (.hst): what a program allocated and freed, event by event (docs/trace.md).

    >>> trace = Trace.from_arrays("a.hst", op=["malloc", "free"], block=[1, 1], size=[24, 0])
    >>> trace
    Trace('a.hst')
    >>> trace.events, trace.threads, trace.blocks
    (2, 1, 1)
    """

    OPERATIONS: ClassVar[tuple[str, ...]] = (
        *("malloc", "calloc", "realloc", "aligned", "free", "free_sized"),
        *("thread_start", "thread_exit"),
    )
    """The names of the operations: the column `op` has places in this tuple."""

    path: Path
    """The file."""
    command: list[str]
    """The recorded program and its arguments, if any."""
    source: str
    """Where the trace is from: "recorder", or the tool whose file was imported."""
    has_stacks: bool
    """Whether each allocation has its call stack."""
    events: int
    """The number of events."""
    threads: int
    """The number of threads."""
    blocks: int
    """The most blocks that were live at once: their numbers are from 0 to one less."""

    @typed
    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a trace: read its header and its totals. Raises BadInput if the file is no whole trace."""
        from heapsmith.model.trace.reader import TraceReader

        self.path = Path(path)
        with TraceReader(self.path) as reader:
            header, footer = reader.header, reader.footer
        self.command, self.source, self.has_stacks = header.command, header.source, header.has_sites
        self.events, self.threads, self.blocks = footer.events, footer.threads, footer.max_blocks

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def __fspath__(self) -> str:
        return str(self.path)

    def __len__(self) -> int:
        return self.events

    @typed
    def figures(self, *, progress: Progress | None = None) -> Figures:
        """Return sizes, lifetimes and peaks; one pass in constant memory. Raises BadInput if the trace is damaged."""
        from heapsmith.model.trace.stats import trace_info
        from heapsmith.tools.common.rounds import quiet

        return Figures(trace_info(self.path, progress=progress or quiet))

    def chunks(self) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Yield the events in order, up to 1,048,576 at once: arrays of one length by the names of docs/python.md.

        Memory is that of a chunk. Raises BadInput if the trace is damaged.
        """
        from heapsmith.model.trace.reader import TraceReader

        with TraceReader(self.path) as reader:
            for chunk in reader:
                yield chunk._asdict()

    @typed
    def columns(self, first: int = 0, count: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Return `count` events from event `first` on, by default all: 28 bytes of memory for each.

        >>> trace = Trace.from_arrays("a.hst", op=["malloc", "free"], block=[1, 1], size=[24, 0])
        >>> trace.columns()["size"]
        array([24,  0])
        """
        from heapsmith.model.trace.events import Chunk, join
        from heapsmith.model.trace.reader import TraceReader

        stop = self.events if count is None else first + count
        with TraceReader(self.path) as reader:
            return join([Chunk.of(*[[]] * len(Chunk._fields)), *reader.part(first, stop)])._asdict()

    @overload
    def to_frame(
        self, library: Literal["pandas"] = "pandas", *, first: int = 0, count: int | None = None
    ) -> pd.DataFrame: ...

    @overload
    def to_frame(self, library: Literal["polars"], *, first: int = 0, count: int | None = None) -> pl.DataFrame: ...

    @typed
    def to_frame(self, library: str = "pandas", *, first: int = 0, count: int | None = None) -> Any:
        """Return `columns(first, count)` as a frame of "pandas" or "polars"; `op` has the names of OPERATIONS.

        Raises Missing without the library, and BadInput for the name of another.
        """
        module, columns = frames_of(library), dict(self.columns(first, count))
        if library == "pandas":
            op: Any = module.Categorical.from_codes(columns["op"], list(self.OPERATIONS))
        else:
            names = list(self.OPERATIONS)
            op = module.Series(columns["op"])
            op = op.replace_strict(list(range(len(names))), names, return_dtype=module.Enum(names))
        return module.DataFrame(columns | {"op": op})

    @classmethod
    @typed
    def from_arrays(
        cls,
        path: str | os.PathLike[str],
        *,
        op: npt.ArrayLike,
        block: npt.ArrayLike,
        size: npt.ArrayLike,
        command: Sequence[str] = (),
        **columns: npt.ArrayLike,
    ) -> Self:
        """Write a trace of arrays of one length, and open it.

        op: names or places of OPERATIONS. block: any number from 0 on that names the block while it
        lives, such as its address; of a realloc, that of the block before and after. size: bytes.
        columns: `thread` (any numbers; by default all 0), `align_log2` and `time_ns` (by default 0).
        The trace numbers blocks and threads anew. Raises BadInput, and writes nothing, for columns of
        another shape or type, numbers below 0, and an event that no program can have made: the
        message names the event.

        >>> heaps = Trace.from_arrays("b.hst", op=[0, 0, 4], block=[160, 320, 160], size=[8, 8, 0])
        >>> heaps.columns()["block"].tolist()
        [0, 1, 0]
        """
        from heapsmith.model.trace.imports.arrays import write_arrays

        write_arrays(Path(path), {"op": op, "block": block, "size": size, **columns}, cls.OPERATIONS, list(command))
        return cls(path)


TraceLike: TypeAlias = Trace | str | os.PathLike[str]
"""A trace, or the path of its file."""

TRACE = Argument("A trace (.hst).", "TRACE", piped=True)
COMMAND = Argument("The program and its arguments[, after --].", "CMD")
OUT = Option("The file to write.", "FILE", "-o --out")


class Recording(Trace):
    """The trace of a run under the recorder, and what else the run left."""

    details: RecordResult
    exit_status: int
    """That of the command; 128 + n after a death by signal n."""
    warnings: list[str]
    """A line for each part of the run that no trace has."""

    def __init__(self, path: str | os.PathLike[str], details: RecordResult) -> None:
        super().__init__(path)
        self.details = details
        self.exit_status, self.warnings = details.exit_status, details.warnings()

    def others(self) -> list[Trace]:
        """Return the traces of the other processes of the run, the longest first."""
        return [Trace(trace.path) for trace in self.details.traces[1:]]


def words_of(command: Sequence[str]) -> list[str]:
    """Return the words of a command; BadInput for a string, whose letters are no words, and for none."""
    from heapsmith.model.errors import BadInput

    if isinstance(command, str) or not command:
        raise BadInput(f"command: {command!r}; expected a list of words, such as ['python3', 'job.py']")
    return list(command)


class Streams(TypedDict, total=False):
    """The streams of a command, as of `subprocess.Popen`; by default those of this process."""

    stdin: int | IO[Any] | None
    stdout: int | IO[Any] | None
    stderr: int | IO[Any] | None


@typed
def record(
    command: Annotated[Sequence[str], COMMAND],
    out: Annotated[str | os.PathLike[str], OUT],
    *,
    only: Annotated[bool, Option("Keep only the trace of the busiest process.")] = False,
    stacks: int = 0,
    frees: Annotated[bool, Option("Record the call stack of each free too.")] = False,
    progress: Progress | None = None,
    **options: Unpack[Streams],
) -> Recording:
    """Run a command and write a trace of its allocations to `out`: that of the busiest process.

    Each other process has a trace beside it, unless `only`. stacks: the most frames of the call stack
    of each allocation, up to 256; 0: no stacks. frees: each free has one too. options: stdin,
    stdout and stderr as for `subprocess.Popen`, by default those of this process. The command may
    fail: see `exit_status`. Warns of each part of the run that no trace has. Raises BadInput for an unknown
    command and an `out` that cannot be written, Missing without gcc or a usable processor clock,
    CheckFailed if the command never loaded the recorder.

    >>> from subprocess import DEVNULL
    >>> recording = record(["ls", "/"], "ls.hst", stdout=DEVNULL)
    >>> recording.exit_status, recording.command
    (0, ['ls', '/'])
    """
    result = recorded(command, out, only=only, stacks=stacks, frees=frees, progress=progress, **options)
    recording = Recording(out, result)
    for warning in recording.warnings:
        warnings.warn(warning, stacklevel=3)
    return recording


def check_frames(stacks: int, *, frees: bool = False) -> None:
    """Raise BadInput for more frames of a call stack than a trace can have, or for stacks of frees alone."""
    from heapsmith.model.trace.stacks import MAX_DEPTH

    if not 0 <= stacks <= MAX_DEPTH:
        raise Unfit(("stacks",), f"expected 1 to {MAX_DEPTH} frames, got {stacks}")
    if frees and not stacks:
        raise Unfit(("frees",), "expected {stacks} too")


def recorded(
    command: Sequence[str],
    out: str | os.PathLike[str],
    *,
    only: bool,
    stacks: int,
    frees: bool = False,
    everywhere: bool = False,
    wait: bool = False,
    progress: Progress | None = None,
    **streams: Any,
) -> RecordResult:
    """Return the traces of a run, as `record`; everywhere: also of programs with another environment or user.

    wait: until all processes that the command starts have ended, and not only the command.
    """
    from heapsmith.model.files import writable_file
    from heapsmith.tools.common.rounds import quiet
    from heapsmith.tools.record.record import Processes
    from heapsmith.tools.record.record import record as run_recorded

    check_frames(stacks, frees=frees)
    words, file = words_of(command), writable_file(Path(out))
    processes = Processes(not only, everywhere, wait=wait)
    whose: dict[str, Any] = {"processes": processes, "stacks": stacks, "frees": frees}
    return run_recorded(words, file, **whose, progress=progress or quiet, **streams)
