"""Traces: read in chunks, verify, salvage and print `.hst` files in constant memory
(docs/trace.md).

The module also exports Op, Chunk and TraceWriter.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TextIO

import msgspec
import numpy as np

from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.trace.codec import U32, Damage
from heapsmith.model.trace.events import CHUNK_EVENTS, SIZED, WITH_BLOCK, WITH_SITE, Chunk, Op, Rules, op_mask
from heapsmith.model.trace.frames import FOOTER_TAG, Footer, Frame, Header, TraceFile
from heapsmith.model.trace.stacks import CallTree, SitedChunk, Stacks, unpacked
from heapsmith.model.trace.writer import TraceWriter

__all__ = [
    "CHUNK_EVENTS",
    "Chunk",
    "Footer",
    "Header",
    "Op",
    "SalvageReport",
    "TraceReader",
    "TraceWriter",
    "VerifyReport",
    "print_events",
    "salvage",
    "verify",
]


class TraceReader:
    """A complete trace: header, footer and, by iteration, its chunks in order. Context manager.

    Memory is a chunk and a byte per block number, for any number of events. The chunks obey the
    rules of docs/trace.md: block numbers are below footer.max_blocks, threads are below
    footer.threads, and only live blocks are freed. Opening or iterating raises BadInput with the
    file and the chunk if the trace is damaged. sited: the chunks of a trace with stacks have their
    sites (SitedChunk).
    """

    def __init__(self, path: str | Path, *, sited: bool = False) -> None:
        self.path = Path(path)
        self.is_sited = sited
        self.file = TraceFile(self.path)
        self.header = self.file.header
        try:
            with self._naming_file():
                self.footer = _footer(self.file)
        except BadInput:
            self.file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __iter__(self) -> Iterator[Chunk]:
        tree = self.stacks() if self.is_sited else None
        if tree is None:
            return self.checked_by(Rules())
        return (SitedChunk.with_sites(chunk, site, tree) for chunk, site in self.sited())

    def checked_by(self, rules: Rules) -> Iterator[Chunk]:
        """Yield the chunks in order, checked by the caller's own `rules`, which keep the state."""
        with self._naming_file():
            for _, chunk in self._frames_checked_by(rules):
                yield chunk

    def sited(self, rules: Rules | None = None, *, frees: bool = False) -> Iterator[tuple[Chunk, U32]]:
        """Yield each chunk with the sites of its requests, checked too; all are 0 in a trace without stacks.

        frees: with the sites of frees, if the trace has them.
        """
        with self._naming_file():
            stacks = self.footer.stacks.stacks if self.footer.stacks else 0
            for frame, chunk in self._frames_checked_by(rules or Rules()):
                site = _sites(self.file, frame, chunk, stacks)
                yield chunk, site if frees else _of_requests(chunk, site)

    def stacks(self) -> CallTree | None:
        """Return the stacks of the column `site`; None for a trace without them."""
        with self._naming_file():
            return unpacked(self.footer.stacks, self.footer.events) if self.footer.stacks else None

    def require_blocks(self) -> None:
        """Raise BadInput for a trace without a block, of which there is nothing to say."""
        if not self.footer.max_blocks:
            raise BadInput(f"{self.path}: no allocation, so there is nothing to show: its program never called malloc")

    def _frames_checked_by(self, rules: Rules) -> Iterator[tuple[Frame, Chunk]]:
        for frame, chunk in _sound_chunks(self.file, rules):
            if rules.blocks > self.footer.max_blocks or rules.threads > self.footer.threads:
                raise Damage(f"{frame.name}: more blocks or threads than the footer says")
            yield frame, chunk
        found = (rules.events, rules.blocks, rules.threads)
        if found != (self.footer.events, self.footer.max_blocks, self.footer.threads):
            raise Damage(f"footer: events, blocks and threads are {found}, which is not what it says")

    def part(self, first: int, stop: int) -> Iterator[Chunk]:
        """Yield events `first` to `stop - 1`, as far as there are any, from their chunks, without rules."""
        begin, stop = 0, min(stop, self.footer.events)
        tree = self.stacks() if self.is_sited else None
        with self._naming_file():
            for frame in self.file.frames():
                end = begin + frame.events
                if first < end and begin < stop:
                    chunk = self.file.chunk(frame)
                    if tree:
                        site = _of_requests(chunk, _sites(self.file, frame, chunk, len(tree.innermost)))
                        chunk = SitedChunk.with_sites(chunk, site, tree)
                    yield chunk.part(max(first - begin, 0), stop - begin)
                begin = end

    @contextmanager
    def _naming_file(self) -> Iterator[None]:
        try:
            yield
        except Damage as damage:
            hint = "`heapsmith trace repair` keeps what is sound (`trace verify --salvage` what precedes the damage)"
            raise BadInput(f"{self.path}: {damage}; {hint}") from None


def _footer(file: TraceFile) -> Footer:
    """Return the footer by the trailer; on failure, Damage names the first incomplete chunk."""
    try:
        return file.footer(file.footer_frame())
    except Damage:
        for _ in file.frames():
            pass
        raise


def _sound_chunks(file: TraceFile, rules: Rules) -> Iterator[tuple[Frame, Chunk]]:
    """Yield the chunks before the footer and their frames; Damage at the first bad chunk."""
    for frame in file.frames():
        if frame.tag == FOOTER_TAG:
            return
        chunk = file.chunk(frame)
        breach = rules.breach(chunk)
        if breach:
            raise Damage(f"{frame.name}: {breach}")
        yield frame, chunk


def _of_requests(chunk: Chunk, site: U32) -> U32:
    """Return the sites without those of frees."""
    return np.where(op_mask(WITH_SITE)[chunk.op], site, np.uint32(0))


def _sites(file: TraceFile, frame: Frame, chunk: Chunk, stacks: int) -> U32:
    """Return the sites of a chunk, those of frees too; Damage if it names one of more than `stacks` stacks."""
    site = file.site(frame, chunk)
    if site.max(initial=0) > stacks:
        raise Damage(f"{frame.name}: site {site.max()}; the footer has {stacks} stacks")
    return site


class VerifyReport(msgspec.Struct, frozen=True):
    """The content of a whole trace."""

    path: str
    events: int
    chunks: int
    threads: int
    max_blocks: int
    live_at_end: int
    bytes_on_disk: int


def verify(path: str | Path) -> VerifyReport:
    """Check every checksum, rule and total of the trace; BadInput at the first fault."""
    rules = Rules()
    with TraceReader(path) as trace:
        for _ in trace.sited(rules):
            pass
        trace.stacks()
        return VerifyReport(
            str(path), rules.events, trace.footer.chunks, rules.threads, rules.blocks, rules.live, trace.file.size
        )


class SalvageReport(msgspec.Struct, frozen=True):
    """The result of salvage and the reason for its stop."""

    path: str
    out: str
    events: int
    chunks: int
    bytes_lost: int  # bytes from the first damage to the file's end
    damage: str | None  # None: the trace was whole


def salvage(path: str | Path, out: str | Path) -> SalvageReport:
    """Write to `out` a whole trace of the chunks before the first damage of `path`.

    The footer's `salvaged` then names the damage. Raises BadInput if the header is unreadable or
    `out` cannot be written, and CheckFailed if no event precedes the damage; `out` then stays as it is.
    """
    with TraceFile(Path(path)) as file:
        head = file.header
        stacks = _salvaged_stacks(file)
        with TraceWriter(
            out,
            command=head.command,
            source=head.source,
            chunk_events=head.chunk_events,
            processors=head.has_processors,
            sites=stacks is not None,
            free_sites=head.has_free_sites,
        ) as writer:
            sound, damage, footer = _copy_sound_chunks(file, writer, stacks)
            if damage and not writer.events:
                raise CheckFailed(f"{path}: no event precedes the damage, so no trace is written ({damage})")
            written = writer.close(_known(footer) | {"stacks": stacks} | ({"salvaged": damage} if damage else {}))
        return SalvageReport(str(path), str(out), written.events, written.chunks, file.size - sound, damage)


def _salvaged_stacks(file: TraceFile) -> Stacks | None:
    """Return the stacks, if the footer is whole and a tree; without them the numbers of sites mean nothing."""
    with suppress(Damage):
        footer = file.footer(file.footer_frame())
        if file.header.has_sites and footer.stacks:
            unpacked(footer.stacks, footer.events)
            return footer.stacks
    return None


def _copy_sound_chunks(
    file: TraceFile, writer: TraceWriter, stacks: Stacks | None
) -> tuple[int, str | None, Footer | None]:
    """Return (sound bytes of the file, the first damage, the footer if reached)."""
    sound, footer = file.first_frame, None
    try:
        for frame, chunk in _sound_chunks(file, Rules()):
            writer.append(chunk, _sites(file, frame, chunk, stacks.stacks) if stacks else None)
            sound = frame.end
        frame = file.frame(sound, -1)
        footer = file.footer(frame)
        sound = frame.end
        file.footer_frame()
    except Damage as damage:
        return sound, str(damage), footer
    return file.size, None, footer


def _known(footer: Footer | None) -> dict[str, Any]:
    """Return what only the footer of a damaged trace tells, not its events."""
    if footer is None:
        return {}
    named = ("drops", "foreign_frees", "salvaged", "samples")
    return footer.extra | {name: getattr(footer, name) for name in named}


def print_events(path: str | Path, out: TextIO, first: int = 0, count: int | None = None) -> int:
    """Write `count` events from `first` on as text, one per line (docs/trace.md 5); return how
    many.

    Reads only the chunks that hold the events. `count` None: to the end.
    """
    with TraceReader(path) as trace:
        stop = trace.footer.events if count is None else min(trace.footer.events, first + count)
        number = first
        for chunk in trace.part(first, stop):
            out.writelines(_lines(chunk, number, trace.header.has_processors))
            number += chunk.op.size
    return number - first


def _lines(chunk: Chunk, number: int, has_processors: bool) -> Iterator[str]:
    for i, row in enumerate(zip(*(c.tolist() for c in chunk), strict=True)):
        op, thread, block, size, align_log2, time_ns, processor = row
        which = Op(op)
        about_block = block if which in WITH_BLOCK else "-"
        bytes_asked = size if which in SIZED else "-"
        alignment = 1 << align_log2 if align_log2 else "-"
        place = "" if not has_processors else f" {processor}" if processor >= 0 else " -"
        yield f"{number + i} {time_ns} {thread} {which.name.lower()} {about_block} {bytes_asked} {alignment}{place}\n"


def require_events(trace: Path | str, events: int, asked: Sequence[int]) -> None:
    """Raise BadInput if a trace of this many events lacks one of those asked for."""
    if beyond := [event for event in asked if not 0 <= event < events]:
        there = f"expected an event of the trace, 0 to {events - 1}" if events else "it has no events"
        raise BadInput(f"{trace}: has no event {beyond[0]}; {there}")
