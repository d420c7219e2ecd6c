"""What a trace tells of the settings of other mallocs: one pass over each trace, and the sums over several."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heapsmith.model.knobs import classes
from heapsmith.model.knobs.arena import FIRST_THRESHOLD, LARGEST_THRESHOLD, NEVER, TOP_PAD, Arena, Thresholds, Used
from heapsmith.model.knobs.series import Kept, LiveBytes
from heapsmith.model.knobs.threads import Threads
from heapsmith.model.predict.simulate import Follower, Progress, feed_chunks
from heapsmith.model.search.capacities import CapacityPass, Curve
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.slices import last_time_ns
from heapsmith.model.trace.stats import I64, Figures

MS = 1_000_000
DELAYS_MS = (10, 100, 1000, 4000, 10_000, 30_000)
"""Delays of release to look at, beside never."""

STATIC = tuple(
    Thresholds(mapped, trim, TOP_PAD, is_dynamic=False)
    for mapped in (FIRST_THRESHOLD, 1 << 20, 4 << 20, LARGEST_THRESHOLD)
    for trim in (FIRST_THRESHOLD, 1 << 20, 8 << 20, 64 << 20, NEVER)
)
"""Settings of glibc's thresholds to look at, beside its own, which move."""
GLIBC = (Thresholds(), *STATIC)


class Evidence(NamedTuple):
    """Traces in figures; several count as one that runs them one after the other.

    operations: events without starts and ends of threads. meetings: as in Threads. tcache,
    jemalloc: a curve per class of these thread caches. arenas: by GLIBC. kept: by DELAYS_MS, then
    never; of a trace without times it is empty. by_size: rows of size, requests, live blocks at the
    end and at the peak.
    """

    operations: int
    events_ns: int
    peak_bytes: int
    live_bytes: float
    threads: int
    meetings: int
    tcache: list[Curve]
    jemalloc: list[Curve]
    arenas: list[Used]
    kept: list[Kept]
    by_size: I64
    lacks: list[str]


def gather(traces: Sequence[Path], progress: Progress | None = None) -> Evidence:
    """Return what the traces tell; BadInput if one is damaged or has no block."""
    return reduce(_joined, [_of(trace, progress) for trace in traces])


def _of(trace: Path, progress: Progress | None) -> Evidence:
    with TraceReader(trace) as reader:
        reader.require_blocks()
        footer = reader.footer
        last = last_time_ns(reader)
        said = footer.extra.get("inexact", [])
        lacks = [what for what in (NO_TIMES, NO_THREADS) if what in said]
        heaps = _most_alive(reader)
        figures, threads = Figures(footer.max_blocks), Threads(footer.threads)
        series = LiveBytes(last, footer.max_blocks, footer.threads)
        fronts = [
            CapacityPass(shape, heaps, footer.threads, footer.max_blocks)
            for shape in (classes.glibc(), classes.jemalloc())
        ]
        arenas = [Arena(of, footer.max_blocks) for of in GLIBC]
        followers: list[Follower] = [figures, threads, series, *fronts, *arenas]
        feed_chunks(reader, followers, f"reading {trace.name}", progress, footer.events)
    delays = [] if NO_TIMES in lacks else [*(MS * delay for delay in DELAYS_MS), None]
    return Evidence(
        operations=int(figures.ops[:6].sum()),
        events_ns=last,
        peak_bytes=int(figures.totals["peak_live_bytes"]),
        live_bytes=series.mean(),
        threads=threads.most_alive,
        meetings=threads.meetings,
        tcache=fronts[0].curves(),
        jemalloc=fronts[1].curves(),
        arenas=[arena.used() for arena in arenas],
        kept=[series.kept(delay) for delay in delays],
        by_size=figures.by_size(),
        lacks=lacks,
    )


def _most_alive(reader: TraceReader) -> int:
    """Return the most threads alive at once. Each has a thread cache."""
    threads = Threads(reader.footer.threads)
    for chunk in reader:
        threads.feed(chunk)
    return threads.most_alive


def _joined(one: Evidence, other: Evidence) -> Evidence:
    return Evidence(
        operations=one.operations + other.operations,
        events_ns=one.events_ns + other.events_ns,
        peak_bytes=max(one.peak_bytes, other.peak_bytes),
        live_bytes=max(one.live_bytes, other.live_bytes),
        threads=max(one.threads, other.threads),
        meetings=one.meetings + other.meetings,
        tcache=[*map(_curve, one.tcache, other.tcache)],
        jemalloc=[*map(_curve, one.jemalloc, other.jemalloc)],
        arenas=[*map(_used, one.arenas, other.arenas)],
        kept=[*map(_kept, one.kept, other.kept)] if one.kept and other.kept else one.kept or other.kept,
        by_size=np.concatenate((one.by_size, other.by_size)),
        lacks=[*dict.fromkeys([*one.lacks, *other.lacks])],
    )


def _curve(one: Curve, other: Curve) -> Curve:
    """Return the sum of two curves: the caches of the two programs exist one after the other."""
    larger = max(one.most, other.most, key=lambda most: int(most.sum()))
    return Curve(one.misses + other.misses, one.overflows + other.overflows, larger)


def _used(one: Used, other: Used) -> Used:
    sums = {name: getattr(one, name) + getattr(other, name) for name in Used._fields}
    return Used(**sums | {"peak": max(one.peak, other.peak), "average": max(one.average, other.average)})


def _kept(one: Kept, other: Kept) -> Kept:
    return Kept(max(one.idle, other.idle), one.faulted_again + other.faulted_again)
