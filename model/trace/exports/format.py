"""What all exports share: a trace that is followed once, the file that it becomes, and what that file lacks."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
import numpy as np

from heapsmith.model.files import staged
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES
from heapsmith.model.trace.reader import TraceReader

Progress = Callable[[str, int, int], None]


class Exported(msgspec.Struct, frozen=True):
    """A file that was written: `count` rows, operations or packets; `lacks` says what of the trace it does not hold.

    notes: what else a reader should know of the values.
    """

    trace: str
    path: str
    format: str
    rows: str
    count: int
    lacks: list[str]
    notes: list[str] = []


class Followed:
    """The chunks of a trace, with sites if it has them; `operations` counts those so far, by their number."""

    def __init__(self, reader: TraceReader, progress: Progress) -> None:
        self.reader = reader
        self.operations = np.zeros(len(Op), np.int64)
        self._progress = progress

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.reader:
            self.operations += np.bincount(chunk.op, minlength=len(Op))
            yield chunk
            self._progress("events", int(self.operations.sum()), self.reader.footer.events)

    def number_of(self, *ops: Op) -> int:
        """Return how many events so far are one of these operations."""
        return int(self.operations[list(ops)].sum())

    def ends_of_threads(self) -> list[str]:
        """Return what a format lacks that has no starts and ends of threads."""
        count = self.number_of(Op.THREAD_START, Op.THREAD_EXIT)
        return [f"{count:,} starts and ends of threads"] if count else []

    def plain_calls(self) -> list[str]:
        """Return what a format lacks that has no times, threads, processors, stacks and ends of threads."""
        reader, absent = self.reader, without(self.reader)
        found = {
            "the time of each event": "time_ns" not in absent,
            f"which of {reader.footer.threads:,} threads made each call": reader.footer.threads > 1,
            "the processor of each call": reader.header.has_processors,
            "the call stack of each call": reader.header.has_sites,
        }
        return [what for what, there in found.items() if there] + self.ends_of_threads()


def without(reader: TraceReader) -> set[str]:
    """Return the columns that a trace cannot fill, because what it was imported from lacks them."""
    said = reader.footer.lines("inexact")
    return {name for name, what in (("time_ns", NO_TIMES), ("thread", NO_THREADS)) if what in said}


COMMAND = "the command"


def metadata(reader: TraceReader) -> list[str]:
    """Return what beside its events and stacks no other format holds of this trace."""
    footer = reader.footer
    found = {
        COMMAND: bool(reader.header.command),
        "samples of touched pages, resident bytes and processor time": footer.samples is not None,
        f"the count of {footer.drops:,} lost events": footer.drops > 0,
        f"the count of {footer.foreign_frees:,} frees of blocks born before": footer.foreign_frees > 0,
        "what damage the trace was salvaged from": footer.salvaged is not None,
        f"the other fields of the footer ({', '.join(sorted(footer.extra))})": bool(footer.extra),
    }
    return [what for what, there in found.items() if there]


class Target(NamedTuple):
    """A format that is not a table: how it is called, its usual suffixes, and who writes it.

    write: takes the trace and the file to write, with the whole trace still to follow; returns how
    much it wrote, what of the trace the file lacks, and what else a reader should know.
    """

    name: str
    what: str
    suffixes: tuple[str, ...]
    write: Callable[[Followed, IO[bytes]], tuple[int, list[str], list[str]]]


@contextmanager
def opened(out: Path) -> Iterator[IO[bytes]]:
    """Open the file `out` to write, in gzip if its name ends in .gz; it appears whole or not at all.

    Raises BadInput if it cannot be written.
    """
    with staged(out) as path, path.open("wb") as plain:
        if out.suffix != ".gz":
            yield plain
            return
        with gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as packed:  # no name and time in it: the same bytes
            yield packed  # type: ignore[misc]  # GzipFile is no IO[bytes] to mypy
