"""The traces that a new one is made of: their events with numbers that do not collide, and all else they hold."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.edit.numbering import Numbering
from heapsmith.model.trace.edit.samples import Place, carried
from heapsmith.model.trace.edit.trees import joined, part_of
from heapsmith.model.trace.events import Chunk, Rules
from heapsmith.model.trace.frames import Footer
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stacks import CallTree

_IF_EQUAL = {
    "perf_map": "the names of generated code",  # an address has its name in one process
    "sample_rate": "the share of the program's blocks",
}
"""Fields of `extra` that a trace of several keeps if all have the same one."""
_MOST = 1 << 32  # numbers of a column of 32 bits


Progress = Callable[[str, int, int], None]
"""Called as progress("events", events read, events in all) after each chunk."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report nothing."""


class Events(NamedTuple):
    """Consecutive events, and their sites if the new trace has stacks."""

    chunk: Chunk
    site: U32 | None

    def part(self, first: int, stop: int) -> "Events":
        """Return events `first` to `stop - 1`, as views."""
        return Events(self.chunk.part(first, stop), None if self.site is None else self.site[first:stop])

    def where(self, kept: Any) -> "Events":
        """Return the events of a mask or of a list of indexes."""
        columns: list[Any] = [column[kept] for column in self.chunk]
        return Events(Chunk(*columns), None if self.site is None else self.site[kept])


class Inputs:
    """Open traces. Context manager.

    The blocks, threads and sites of each trace have numbers of their own. blocks, threads: how many numbers
    there are in all. tree: the stacks of all sites, None if no trace has any. Raises what TraceReader raises.
    """

    def __init__(self, paths: Sequence[Path], progress: Progress = no_progress) -> None:
        self.readers: list[TraceReader] = []
        self._progress, self._read_events = progress, 0
        try:
            trees: dict[Path, CallTree | None] = {}
            for path in paths:
                self.readers.append(TraceReader(path))
                if path not in trees:
                    trees[path] = self.readers[-1].stacks()
            self.tree, self._sites = joined([trees[path] for path in paths])
            self._blocks = _starts(paths, "blocks", [one.footer.max_blocks for one in self.readers])
            self._threads = _starts(paths, "threads", [one.footer.threads for one in self.readers])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all traces."""
        for reader in self.readers:
            reader.file.close()

    @property
    def blocks(self) -> int:
        """The numbers of blocks of all traces."""
        return self._blocks[-1]

    @property
    def threads(self) -> int:
        """The numbers of threads of all traces."""
        return self._threads[-1]

    @property
    def events(self) -> int:
        """The events of all traces."""
        return sum(reader.footer.events for reader in self.readers)

    def numbering(self) -> Numbering:
        """Return a numbering for events of these traces."""
        return Numbering(self.blocks, self.threads, self.tree.innermost.size if self.tree else 0)

    def of(self, trace: int) -> Iterator[Events]:
        """Yield the events of one of the traces, checked."""
        reader, block, thread = self.readers[trace], np.uint32(self._blocks[trace]), np.uint32(self._threads[trace])
        new = self._sites[trace]
        for chunk, site in self._read(reader):
            own = chunk
            if block or thread:  # the block of a thread's start, which is none, becomes 0 again when it is numbered
                own = chunk._replace(block=chunk.block + block, thread=chunk.thread + thread)
            yield Events(own, site if site is None or new is None else new[site])
            self._read_events += chunk.op.size
            self._progress("events", self._read_events, self.events)

    def _read(self, reader: TraceReader) -> Iterator[tuple[Chunk, U32 | None]]:
        if self.tree is None:
            yield from ((chunk, None) for chunk in reader.checked_by(Rules()))
        elif reader.header.has_sites:
            yield from reader.sited(frees=True)
        else:
            yield from ((chunk, np.zeros(chunk.op.size, np.uint32)) for chunk in reader.checked_by(Rules()))

    def footer(self, numbering: Numbering, places: Sequence[Place], *, whole: bool) -> dict[str, Any]:
        """Return what the new trace's footer keeps of those of the traces (docs/other-tools.md, 'what is kept').

        places: where the time of each trace lies, before the numbering's first event became time 0. whole: as in
        `carried`.
        """
        footers = [reader.footer for reader in self.readers]
        first = numbering.first_ns or 0
        moved = [place._replace(begin_ns=place.begin_ns - first) for place in places]
        samples = carried([one.samples for one in footers], moved, self._origins(numbering), whole=whole)
        damage = [one.salvaged for one in footers if one.salvaged]
        return begun_later(_joined_extra(footers), first) | {
            "drops": sum(one.drops for one in footers),
            "foreign_frees": sum(one.foreign_frees for one in footers),
            "salvaged": "; ".join(dict.fromkeys(damage)) or None,
            "samples": samples,
            "stacks": part_of(self.tree, numbering.sites()).packed() if self.tree else None,
        }

    def dropped(self) -> list[str]:
        """Return which fields of `extra` the new trace lacks because they differ, in words."""
        extras = [reader.footer.extra for reader in self.readers]
        return [
            f"{what} ({name}), which differ between the traces"
            for name, what in _IF_EQUAL.items()
            if any(one.get(name) != extras[0].get(name) for one in extras)
        ]

    def _origins(self, numbering: Numbering) -> list[tuple[int, int]]:
        """Return the trace, and the thread there, of each of the new trace's threads."""
        keys = numbering.threads()
        traces = np.searchsorted(self._threads, keys, side="right") - 1
        return list(zip(traces.tolist(), (keys - np.array(self._threads)[traces]).tolist(), strict=True))


def _starts(paths: Sequence[Path], what: str, counts: Sequence[int]) -> list[int]:
    """Return the first number of each trace, and behind them the number of all."""
    starts = [0, *np.cumsum(counts).tolist()]
    if starts[-1] > _MOST:
        raise BadInput(f"{paths[-1]}: {starts[-1]:,} {what} with the traces before it; expected at most {_MOST:,}")
    return starts


def begun_later(extra: dict[str, Any], first_ns: int) -> dict[str, Any]:
    """Return a recorder's figures for a trace whose time 0 is `first_ns` later: start_ns, when it began in its run."""
    start = extra.get("start_ns")
    return extra | ({"start_ns": start + first_ns} if isinstance(start, int) else {})


def _joined_extra(footers: Sequence[Footer]) -> dict[str, Any]:
    """Return the own figures of a trace's source; of several traces what holds for all."""
    extras = [one.extra for one in footers]
    if all(one == extras[0] for one in extras):
        return dict(extras[0])
    found: dict[str, Any] = {}
    for name in ("inexact", "edits"):
        lines = dict.fromkeys(line for one in footers for line in one.lines(name))
        found |= {name: list(lines)} if lines else {}
    for name in _IF_EQUAL:
        if all(name in one and one[name] == extras[0].get(name) for one in extras):
            found[name] = extras[0][name]
    return found
