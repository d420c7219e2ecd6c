"""Two traces side by side: their totals, the sites and the sizes that differ most."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from heapsmith.model.predict.pins_at_moments import site_lives
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stats import Figures, Quantiles
from heapsmith.tools.sites.grouping import By, Groups

Order = Literal["peak", "asked", "requests", "life", "end"]


class Totals(msgspec.Struct, frozen=True):
    """A trace in figures.

    allocated_bytes: of births, and what reallocs add; a site's `bytes` are what its requests ask for, reallocs in
    whole. peak_blocks: live at the event of most live bytes. lifetimes: bytes allocated between birth and free, upper
    bounds of their quantiles; None if no block was freed.
    """

    trace: str
    events: int
    duration_ns: int
    threads: int
    requests: int
    allocated_bytes: int
    peak_bytes: int
    peak_blocks: int
    end_bytes: int
    end_blocks: int
    lifetimes: Quantiles | None


class Figure(msgspec.Struct, frozen=True):
    """A site in one of the traces; all 0 if it has none of its requests. Lives are means."""

    requests: int
    bytes: int
    peak_blocks: int
    peak_bytes: int
    end_blocks: int
    end_bytes: int
    life_events: float
    life_ns: float


class SitePair(msgspec.Struct, frozen=True):
    """A site in both traces."""

    name: str
    first: Figure
    second: Figure


class SizePair(msgspec.Struct, frozen=True):
    """A size in both traces: requests, and live blocks at the peak."""

    size: int
    requests: tuple[int, int]
    peak_blocks: tuple[int, int]


class Difference(msgspec.Struct, frozen=True):
    """Two traces. Sites and sizes are sorted by how much they differ; sites is None if a trace has no stacks."""

    by: By
    totals: tuple[Totals, Totals]
    sites: list[SitePair] | None
    sizes: list[SizePair]
    reasons: list[str]


ORDERS: dict[Order, Callable[[Figure], float]] = {
    "peak": lambda one: one.peak_bytes,
    "asked": lambda one: one.bytes,
    "requests": lambda one: one.requests,
    "life": lambda one: one.life_events,
    "end": lambda one: one.end_bytes,
}


def difference(
    traces: tuple[Path, Path],
    groups: tuple[Groups, Groups] | None,
    by: By,
    *,
    order: Order = "peak",
    progress: Progress | None = None,
) -> Difference:
    """Return how two traces differ: two passes over each. groups: those of the traces, if both have stacks."""
    totals, sizes = zip(*(_totals(trace, progress) for trace in traces), strict=True)
    sites, reasons = None, []
    if groups:
        reasons = [reason for one in groups for reason in one.reasons]
        first, second = (_figures(one, progress) for one in groups)
        sites = _sites(first, second, ORDERS[order])
    return Difference(by, totals, sites, _sizes(*sizes), list(dict.fromkeys(reasons)))


def _totals(trace: Path, progress: Progress | None) -> tuple[Totals, dict[int, tuple[int, int]]]:
    """Return a trace in figures; and of each size the requests, and the live blocks at the peak."""
    with TraceReader(trace) as reader:
        figures = Figures(reader.footer.max_blocks)
        for chunk in reader:
            figures.feed(chunk)
            if progress:
                progress("counting", int(figures.totals["events"]), reader.footer.events)
    found, sizes = figures.totals, figures.by_size()
    made = Totals(
        str(trace),
        int(found["events"]),
        figures.duration_ns,
        reader.footer.threads,
        int(sizes[:, 1].sum()),
        int(found["allocated_bytes"]),
        int(found["peak_live_bytes"]),
        int(sizes[:, 3].sum()),
        int(found["live_bytes_at_end"]),
        int(found["live_blocks_at_end"]),
        figures.lived_bytes() if figures.lifetimes[0].any() else None,
    )
    return made, {size: (requests, at_peak) for size, requests, _, at_peak in sizes.tolist()}


def _figures(groups: Groups, progress: Progress | None) -> dict[str, Figure]:
    """Return the figures of each site of a trace by its name; equal names are one site."""
    lives = site_lives(groups.grouped, progress)
    named = np.flatnonzero(lives.groups["requests"])
    names, number = np.unique([groups.name(group) for group in named.tolist()], return_inverse=True)
    fields = ("requests", "bytes", "peak_blocks", "peak_bytes", "live_blocks", "live_bytes")
    sums = np.zeros((len(fields), len(names)), np.int64)
    for row, field in zip(sums, fields, strict=True):
        np.add.at(row, number, lives.groups[field][named])
    requests = lives.groups["requests"][named]
    means = [np.bincount(number, weights=life[named] * requests) / sums[0] for life in lives.mean_lives()]
    rows = zip(names.tolist(), *sums.tolist(), *(mean.tolist() for mean in means), strict=True)
    return {name: Figure(*figures) for name, *figures in rows}


def _sites(first: dict[str, Figure], second: dict[str, Figure], of: Callable[[Figure], float]) -> list[SitePair]:
    nothing = Figure(0, 0, 0, 0, 0, 0, 0.0, 0.0)
    pairs = [SitePair(name, first.get(name, nothing), second.get(name, nothing)) for name in {**first, **second}]
    return sorted(pairs, key=lambda pair: (-abs(of(pair.second) - of(pair.first)), -pair.second.bytes, pair.name))


def _sizes(first: dict[int, tuple[int, int]], second: dict[int, tuple[int, int]]) -> list[SizePair]:
    pairs = []
    for size in sorted({**first, **second}):
        one, other = first.get(size, (0, 0)), second.get(size, (0, 0))
        pairs.append(SizePair(size, (one[0], other[0]), (one[1], other[1])))
    return sorted(pairs, key=lambda pair: -pair.size * abs(pair.requests[1] - pair.requests[0]))
