"""Figures of a trace: operations, sizes, lifetimes, peaks; one pass, constant memory."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.trace.events import MAX_PROCESSORS, nowhere
from heapsmith.model.trace.frames import Samples
from heapsmith.model.trace.reader import Chunk, Op, TraceReader

I64 = npt.NDArray[np.int64]


class SizeCount(msgspec.Struct, frozen=True):
    """Requests (births and reallocs) of one size."""

    size: int
    requests: int


class SizeLive(msgspec.Struct, frozen=True):
    """Live blocks of one size and their bytes."""

    size: int
    blocks: int
    bytes: int


class Bucket(msgspec.Struct, frozen=True):
    """Requests of the sizes first to last."""

    first: int
    last: int
    requests: int


class Quantiles(msgspec.Struct, frozen=True):
    """Upper bounds, 2^k - 1, of the quantiles' power-of-two buckets, or the most that can be; 0 without values."""

    p50: int
    p90: int
    p99: int


class TraceInfo(msgspec.Struct, frozen=True):
    """A trace in figures; bytes are bytes asked for, events are numbered from 0."""

    path: str
    command: list[str]
    source: str
    events: int
    events_by_op: dict[str, int]
    threads: int
    processors: int  # on which events happened; 0: the trace does not tell
    migrations: int  # events on another processor than the event before of the same thread
    duration_ns: int
    allocated_bytes: int  # bytes asked for by births and added by reallocs
    distinct_sizes: int
    top_sizes: list[SizeCount]
    size_histogram: list[Bucket]
    peak_live_bytes: int
    peak_live_bytes_event: int  # the first event that reaches it
    top_sizes_at_peak: list[SizeLive]  # at peak_live_bytes_event, by bytes
    peak_live_blocks: int
    peak_live_blocks_event: int
    live_bytes_at_end: int
    live_blocks_at_end: int
    lifetime_bytes: Quantiles  # bytes allocated between birth and free (Barrett and Zorn 1993)
    lifetime_events: Quantiles  # events between birth and free
    cross_thread_frees: int  # frees by another thread than the block's birth
    reallocs_growing: int
    reallocs_shrinking: int
    reallocs_same: int
    alignments: dict[int, int]  # bytes -> aligned requests
    sized_free_mismatches: int  # free_sized with another size than the request
    drops: int
    foreign_frees: int
    salvaged: str | None
    inexact: list[str]  # what a trace of another tool's file does not tell, or tells wrongly
    edits: list[str]  # the tools that made it of other traces (docs/other-tools.md), the first one first
    sample_rate: float  # the share of the program's blocks that it has, by `trace sample`
    samples: Samples | None  # what the recorder saw of large blocks, resident bytes and processor time
    bytes_on_disk: int
    bytes_per_event: float


_TOTALS = (
    *("events", "allocated_bytes", "live_bytes_at_end", "live_blocks_at_end"),
    *("peak_live_bytes", "peak_live_bytes_event", "peak_live_blocks", "peak_live_blocks_event"),
    *("cross_thread_frees", "reallocs_growing", "reallocs_shrinking", "reallocs_same", "sized_free_mismatches"),
)
"""The counts of the loop: fields of TraceInfo. allocated_bytes is the clock of lifetimes in bytes."""
_BUCKETS = 65  # bucket k: 2^(k-1) .. 2^k - 1; bucket 0: 0


@cached_njit
def slot_of(keys: I64, key: int) -> int:
    """Return the slot of a key in an open-addressed table of 2^n keys with room; -1 is no key."""
    slot = ((key * 0x1E3779B97F4A7C15) >> 20) & (keys.size - 1)
    while keys[slot] != key and keys[slot] != -1:
        slot = (slot + 1) & (keys.size - 1)
    return slot


@cached_njit
def _rewind(before: I64, live: I64, came: I64, gone: I64) -> None:
    """Set `before` to the live blocks by slot before these events made them `live`.

    The block of event i came to the size in slot came[i] and left the size in slot gone[i]; -1:
    none.
    """
    before[:] = live
    for i in range(came.size):
        if came[i] >= 0:
            before[came[i]] -= 1
        if gone[i] >= 0:
            before[gone[i]] += 1


@cached_njit
def _count(
    op: npt.NDArray[np.uint8],
    thread: npt.NDArray[np.uint32],
    block: npt.NDArray[np.uint32],
    size: I64,
    of_block: I64,
    of_size: I64,
    lifetimes: I64,
    totals: Any,
) -> int:
    """Count a chunk in all figures; return the number of new sizes.

    `of_block` (4, blocks): size, clock at birth, event of birth, thread of birth. `of_size` (4, slots):
    size or -1, requests, live blocks, live blocks at the peak. `lifetimes` (2, 65): freed blocks by
    bucket of bytes and of events. The clock is the number of bytes allocated so far.
    """
    keys, requests, live, live_at_peak = of_size[0], of_size[1], of_size[2], of_size[3]
    came, gone = np.full(op.size, -1, np.int64), np.full(op.size, -1, np.int64)
    peak_at, new = -1, 0
    for i in range(op.size):
        o, b, n = op[i], block[i], size[i]
        if o > 5:
            continue
        old = 0
        if o == 2 or o == 4 or o == 5:
            old = of_block[0, b]
            gone[i] = slot_of(keys, old)
            live[gone[i]] -= 1
        if o < 4:
            came[i] = slot_of(keys, n)
            new += keys[came[i]] == -1
            keys[came[i]] = n
            requests[came[i]] += 1
            live[came[i]] += 1
            of_block[0, b] = n
            totals.allocated_bytes += max(0, n - old)
            totals.live_bytes_at_end += n
        totals.live_bytes_at_end -= old
        if o == 2:
            totals.reallocs_growing += n > old
            totals.reallocs_shrinking += n < old
            totals.reallocs_same += n == old
        elif o < 4:
            of_block[1, b], of_block[2, b], of_block[3, b] = totals.allocated_bytes, totals.events + i, thread[i]
            totals.live_blocks_at_end += 1
            if totals.live_blocks_at_end > totals.peak_live_blocks:
                totals.peak_live_blocks, totals.peak_live_blocks_event = totals.live_blocks_at_end, totals.events + i
        else:
            lifetimes[0, math.frexp(totals.allocated_bytes - of_block[1, b])[1]] += 1
            lifetimes[1, math.frexp(totals.events + i - of_block[2, b])[1]] += 1
            totals.live_blocks_at_end -= 1
            totals.cross_thread_frees += thread[i] != of_block[3, b]
            totals.sized_free_mismatches += o == 5 and n != old
        if totals.live_bytes_at_end > totals.peak_live_bytes:
            totals.peak_live_bytes, totals.peak_live_bytes_event = totals.live_bytes_at_end, totals.events + i
            peak_at = i
    totals.events += op.size
    if peak_at >= 0:
        _rewind(live_at_peak, live, came[peak_at + 1 :], gone[peak_at + 1 :])
    return new


class Figures:
    """The figures of the chunks so far: 32 bytes per block number and 32 per slot of the table of sizes.

    lifetimes (2, 65): freed blocks by bucket of bytes, and of events, between birth and free; bucket
    k is 2^(k-1) to 2^k - 1.
    """

    def __init__(self, max_blocks: int) -> None:
        self.ops = np.zeros(len(Op), np.int64)
        self.alignments = np.zeros(64, np.int64)
        self.totals = np.zeros(1, record_type(*_TOTALS))[0]
        self.lifetimes = np.zeros((2, _BUCKETS), np.int64)
        self.duration_ns = 0
        self._of_block = np.zeros((4, max_blocks), np.int64)
        self._of_size = _empty_table(1024)
        self._sizes = 0

    def feed(self, chunk: Chunk) -> None:
        """Count the next chunk."""
        self._make_room(self._sizes + chunk.op.size)
        self.ops += np.bincount(chunk.op, minlength=len(Op))
        self.alignments += np.bincount(chunk.align_log2[chunk.op == Op.ALIGNED], minlength=64)
        self.duration_ns = int(chunk.time_ns[-1]) if chunk.op.size else self.duration_ns
        self._sizes += _count(
            chunk.op, chunk.thread, chunk.block, chunk.size, self._of_block, self._of_size, self.lifetimes, self.totals
        )

    def _make_room(self, sizes: int) -> None:
        """Keep the table of sizes at most half full after the next chunk."""
        if 2 * sizes > self._of_size.shape[1]:
            old = self.by_size()
            self._of_size = _empty_table(1 << (4 * sizes - 1).bit_length())
            for entry in old:
                self._of_size[:, slot_of(self._of_size[0], entry[0])] = entry

    def lived_bytes(self) -> Quantiles:
        """Return how many bytes were allocated between birth and free."""
        return quantiles(self.lifetimes[0], int(self.totals["allocated_bytes"]))

    def by_size(self) -> I64:
        """Return (sizes, 4) numbers: size, requests, live blocks, live blocks at the peak."""
        table = self._of_size[:, self._of_size[0] >= 0].T
        return table[np.argsort(table[:, 0])]


class Lives:
    """When each thread had its first and its last event, in the units of `when`; feed chunks in order."""

    def __init__(self, threads: int) -> None:
        self.first, self.last = (np.full(threads, -1, np.int64) for _ in range(2))

    def feed(self, thread: npt.NDArray[np.uint32], when: I64) -> None:
        """Note the events of a chunk. Of an assignment to one place many times, the last stays."""
        first = np.full(len(self.first), -1, np.int64)
        first[thread[::-1]] = when[::-1]
        self.first = np.where(self.first < 0, first, self.first)
        self.last[thread] = when

    def ran(self, shares: npt.NDArray[np.float64]) -> float:
        """Return how long the first threads ran in all; shares: the part of its life in which each ran."""
        lives = (self.last - self.first)[: len(shares)]
        return float(lives @ shares[: len(lives)])

    def others(self, shares: npt.NDArray[np.float64]) -> float:
        """Return how many other threads run, on average over the time of all, while a thread runs.

        shares: the part of its life in which each of the first threads ran; the others never ran.
        """
        known = np.flatnonzero(self.first[: len(shares)] >= 0)
        share, times = np.tile(shares[known], 2), np.concatenate([self.first[known], self.last[known]])
        share[len(known) :] *= -1
        order = np.argsort(times, kind="stable")
        spans = np.diff(times[order], append=times.max(initial=0))
        run, alone = np.cumsum(share[order]), np.cumsum((share * np.abs(share))[order])
        total = float(run @ spans)
        return float((run * run - alone) @ spans) / total if total > 0 else 0.0


class Moves:
    """The processors of the chunks so far, and how often a thread went from one to another; 2 bytes per thread."""

    def __init__(self, threads: int) -> None:
        self.migrations = 0
        self._last = nowhere(threads)
        self._used = np.zeros(MAX_PROCESSORS, np.bool_)

    @property
    def processors(self) -> int:
        """How many processors had events."""
        return int(np.count_nonzero(self._used))

    def feed(self, chunk: Chunk) -> None:
        """Follow the next chunk."""
        self.migrations += _follow_moves(chunk.thread, chunk.processor, self._last, self._used)


@cached_njit
def _follow_moves(
    thread: npt.NDArray[np.uint32],
    processor: npt.NDArray[np.int16],
    last: npt.NDArray[np.int16],
    used: npt.NDArray[np.bool_],
) -> int:
    """Return how many events are on another processor than the last known one of their thread, in `last`."""
    moves = 0
    for i in range(thread.size):
        here = processor[i]
        if here >= 0:
            before = last[thread[i]]
            moves += before >= 0 and before != here
            last[thread[i]] = here
            used[here] = True
    return moves


def _empty_table(slots: int) -> I64:
    table = np.zeros((4, slots), np.int64)
    table[0] = -1
    return table


def trace_info(
    path: str | Path, top: int = 10, progress: Callable[[str, int, int], None] = lambda what, done, total: None
) -> TraceInfo:
    """Return all figures of a trace; `top`: the length of the lists of sizes.

    Raises BadInput as TraceReader does. `progress` is called after each chunk with ("events",
    events done, events in all). Makes one pass; memory: 32 bytes per block number
    (footer.max_blocks) and at most 256 per distinct size.
    """
    with TraceReader(path) as trace:
        figures, moves = Figures(trace.footer.max_blocks), Moves(trace.footer.threads)
        for chunk in trace:
            figures.feed(chunk)
            moves.feed(chunk)
            progress("events", int(figures.totals["events"]), trace.footer.events)
        return _info(trace, figures, moves, top)


def _info(trace: TraceReader, figures: Figures, moves: Moves, top: int) -> TraceInfo:
    by_size = figures.by_size()
    requests = by_size[np.argsort(-by_size[:, 1], kind="stable")][:top].tolist()
    at_peak = by_size[np.argsort(-by_size[:, 0] * by_size[:, 3], kind="stable")][:top].tolist()
    return TraceInfo(
        path=str(trace.path),
        command=trace.header.command,
        source=trace.header.source,
        events_by_op={op.name.lower(): int(figures.ops[op]) for op in Op},
        threads=trace.footer.threads,
        processors=moves.processors,
        migrations=moves.migrations,
        duration_ns=figures.duration_ns,
        distinct_sizes=len(by_size),
        top_sizes=[SizeCount(size, count) for size, count, _, _ in requests],
        size_histogram=_histogram(by_size),
        top_sizes_at_peak=[SizeLive(size, live, size * live) for size, _, _, live in at_peak if size * live],
        lifetime_bytes=figures.lived_bytes(),
        lifetime_events=quantiles(figures.lifetimes[1], int(figures.totals["events"]) - 1),
        alignments={1 << k: count for k, count in enumerate(figures.alignments.tolist()) if count},
        drops=trace.footer.drops,
        foreign_frees=trace.footer.foreign_frees,
        salvaged=trace.footer.salvaged,
        inexact=trace.footer.lines("inexact"),
        edits=trace.footer.lines("edits"),
        sample_rate=trace.footer.sample_rate,
        samples=trace.footer.samples,
        bytes_on_disk=trace.file.size,
        bytes_per_event=trace.file.size / max(1, trace.footer.events),
        **dict(zip(_TOTALS, figures.totals.tolist(), strict=True)),
    )


def _histogram(by_size: I64) -> list[Bucket]:
    """Return requests by power-of-two bucket of size, from the first used bucket to the last."""
    counts = [0] * _BUCKETS
    for size, count in by_size[:, :2].tolist():
        counts[size.bit_length()] += count
    used = [k for k, count in enumerate(counts) if count]
    return [
        Bucket((1 << k) >> 1, (1 << k) - 1, counts[k]) for k in range(min(used, default=0), max(used, default=-1) + 1)
    ]


def quantiles(buckets: I64, most: int) -> Quantiles:
    """Return the ends of the buckets that reach each share of the values, none of which is above `most`."""
    reached = np.cumsum(buckets)
    ends = [(1 << int(np.searchsorted(reached, q * reached[-1]))) - 1 for q in (0.5, 0.9, 0.99)]
    return Quantiles(*(max(0, min(end, most)) for end in ends))
