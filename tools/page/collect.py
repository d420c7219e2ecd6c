"""Collects what a page shows of traces: figures, histories of designs, misses by cache size."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.history import Histories, histories
from heapsmith.model.predict.reuse import reuse
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import sites_at
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount
from heapsmith.tools.page.contents import Births, Shown
from heapsmith.tools.page.page import Page
from heapsmith.tools.page.paths import paths_of
from heapsmith.tools.sites.grouping import Groups, group_sites

REUSE_EVENTS = 3_000_000
"""The longest trace whose misses by cache size are counted: they take ten times as long as the rest."""


def collect(
    trace: Path,
    designs: Sequence[Design],
    *,
    hardware: Hardware | None = None,
    with_reuse: bool = True,
    progress: Progress | None = None,
) -> Shown:
    """Return what a page shows of a trace under these designs.

    hardware: also resident bytes; with_reuse: also the misses by cache size, unless the trace is long.

    Raises BadInput if the trace is empty or damaged.
    """
    info = trace_info(trace) if progress is None else trace_info(trace, progress=progress)
    found = histories(trace, designs, hardware=hardware, progress=progress)
    curves = reuse(trace, designs, progress=progress) if with_reuse and info.events <= REUSE_EVENTS else None
    with TraceReader(trace) as reader:
        if not reader.header.has_sites:
            return Shown(trace, info, found, curves)
    sites = group_sites(trace)
    stops = [found.events[pixel] for pixel in found.stops]
    paths = paths_of(sites, stops, designs, hardware=hardware, progress=progress)
    return Shown(trace, info, found, curves, _births(sites, found), paths)


def _births(groups: Groups, found: Histories) -> Births | None:
    """Return where the blocks that the maps name were born; None if they name none."""
    events = np.unique(np.concatenate([row.maps.born.ravel() for row in found.rows]))
    events = events[events >= 0]
    if not len(events):
        return None
    with TraceReader(groups.grouped.trace) as reader:
        sites = sites_at(reader, events)
    numbers, index = np.unique(groups.grouped.group_of_site[sites], return_inverse=True)
    return Births(events, index, [groups.name(number) for number in numbers.tolist()])


def predicted(shown: list[Shown], ledgers: Sequence[Words] = ()) -> Page:
    """Return the page of traces; nothing was measured on them but perhaps ledgers of another malloc."""
    first = shown[0]
    names = ", ".join(one.trace.name for one in shown)
    why = [sentence for one in shown for sentence in _sentences(one)]
    command = shlex.join(first.info.command) or "CMD"
    who = f"heapsmith sites {first.trace}"
    if not first.paths:
        who = f"heapsmith inspect -o seen -- {command}"
    forge = [
        "# which code holds the memory",
        who,
        "# search for a better design",
        f"heapsmith tune {first.trace} -o tuned.toml",
        "# the same, and measure",
        f"heapsmith forge -o out -- {command}",
    ]
    return Page(f"{names}: where the bytes go", why, forge, [_table(one) for one in shown], [], shown, ledgers=ledgers)


def _sentences(one: Shown) -> list[str]:
    rows, live = one.found.rows, max(1, one.info.peak_live_bytes)
    most = [(row.simulated.design, row.simulated.committed_peak) for row in rows]
    best = min(most, key=lambda each: each[1])
    name, peak = most[0]
    each = [f"{name} {amount(peak)} ({peak / live:.2f}x the bytes asked for)"]
    each += [f"{name} {amount(peak)} ({peak / live:.2f}x)" for name, peak in most[1:]]
    found = [f"{one.trace.name}: predicted at the peak: {', '.join(each)}."]
    last = ", ".join(f"{row.simulated.design} {amount(row.committed.last[-1])}" for row in rows)
    found.append(f"At the end of the trace: {last}.")
    if len(most) > 1:
        found.append(f"{best[0]} is the leanest of these designs at the peak. Times are not part of this report.")
    return found


def _table(one: Shown) -> Words:
    rows = []
    for row in one.found.rows:
        committed = row.committed
        mean = sum(committed.last) / len(committed.last)
        rates = row.simulated.rates
        rows.append(
            (
                row.simulated.design,
                *(amount(number) for number in (row.simulated.committed_peak, mean, committed.last[-1])),
                *((amount(max(row.resident)),) if row.resident else ("-",)),
                f"{rates.hit0 + rates.hit1:.2%}",
            )
        )
    columns = ("design", "committed peak", "average", "at the end", "resident peak", "hits of fronts")
    return Words(f"{one.trace.name}, predicted: averages are over events", columns, rows)
