"""Advice on a trace's sites, in words with figures: pins that a region of their own would end, bursts, leaks."""

from collections.abc import Iterator, Sequence

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.policy.segregation.sites import COSTS
from heapsmith.model.predict.own_regions import Held, Region, apart
from heapsmith.model.predict.peaks_without import peaks_without
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.search.choice import SLACK
from heapsmith.model.trace.site_lives import SiteLives
from heapsmith.tools.common.units import amount, duration
from heapsmith.tools.sites.grouping import Groups
from heapsmith.tools.sites.leaks import LeakTable, leaks_of
from heapsmith.tools.sites.sites import Advice, Kept, Site, SiteTable

MOST_PINS, MOST_BURSTS, MOST_LEAKS = 3, 2, 3
"""The most pieces of advice of a kind; of pins under each design."""
LEAST_SHARE, LEAST_BYTES, MOST_USED = 0.01, 65_536, 0.5
"""A pin is simulated if it wastes at least this share of the committed bytes and at least this number of bytes, and
if its blocks fill at most this share of their pages.
"""
LOOK_INSTRUCTIONS = COSTS["alloc.site"]
LASTING = 0.5
"""A row lasts if, at the moment after the peak, it has at least this share of its live blocks at the peak."""
BURST_SHARE, BURST_LIFE = 0.2, 0.25
"""A burst is a row with at least this share of the peak, whose blocks live at most this share of the run."""


def with_advice(
    groups: Groups,
    lives: SiteLives,
    table: SiteTable,
    designs: Sequence[Design],
    *,
    hardware: Hardware | None = None,
    progress: Progress | None = None,
) -> SiteTable:
    """Return the table of these designs and lives with advice: a simulation of each pin, a pass for all bursts."""
    found: list[Advice] = []
    for number, design in enumerate(designs):
        found += _pins(groups, table, number, (design, hardware), progress)
    found += [*_bursts(groups, table, progress), *_leaks(leaks_of(groups, lives))]
    return msgspec.structs.replace(table, advice=found)


def _pins(
    groups: Groups, table: SiteTable, number: int, on: tuple[Design, Hardware | None], progress: Progress | None
) -> Iterator[Advice]:
    row = table.designs[number]
    least = max(LEAST_BYTES, LEAST_SHARE * row.after.bytes)
    pinning = [site for site in table.sites if _is_pin(site.after[number], least)]
    pinning.sort(key=lambda site: -site.after[number].waste)
    sets = [[site] for site in pinning[:MOST_PINS]]
    lasting = [site for site in table.sites if site.after[number].live >= max(1, LASTING * site.peak[number].live)]
    if row.after.shared >= least and 1 < len(lasting) < len(table.sites):
        sets.append(lasting)
    if not sets:
        return
    chosen = [frozenset(site.group for site in one) for one in sets]
    events = [row.peak.event, row.after.event]
    simulated = apart(groups.grouped, on[0], chosen, events, hardware=on[1], progress=progress)
    for one, own, region in zip(sets, chosen, simulated, strict=True):
        found = _pin(one, number, table, {item.event: item for item in region.held})
        yield (
            found if found.freed is None or found.freed <= 0 else _with_cost(found, groups, own, table, number, region)
        )


def _with_cost(
    found: Advice, groups: Groups, own: frozenset[int], table: SiteTable, number: int, region: Region
) -> Advice:
    """The advice with what a design takes for it, and whether `tune` may answer with it."""
    if why_not := groups.why_no_design(own):
        return msgspec.structs.replace(
            found, text=f"{found.text} A pool in the program can do that, a design cannot: {why_not}."
        )
    requests = sum(site.requests for site in table.sites)
    peak = table.designs[number].peak.bytes
    more = next(item.bytes for item in region.held if item.event == table.designs[number].peak.event) / peak
    beyond = f", and for its peak of {more - 1:+.1%} (--max-rss)" if more > SLACK else ""
    cost = (
        f"A pool in the program does it, or a design: there {region.looks:,} requests, {region.looks / requests:.0%} "
        f"of all, take {LOOK_INSTRUCTIONS:.0f} instructions more, for which tune may refuse it (--max-time){beyond}."
    )
    return msgspec.structs.replace(found, looks=region.looks, text=f"{found.text} {cost}")


def _is_pin(kept: Kept, least: float) -> bool:
    return kept.waste >= least and kept.block_bytes <= MOST_USED * kept.pinned


def _pin(sites: list[Site], number: int, table: SiteTable, held: dict[int, Held]) -> Advice:
    row, pages = table.designs[number], "resident" if table.machine else "committed"
    after, kept = held[row.after.event], row.after.bytes - row.after.idle
    freed, given_back = kept - after.kept, row.after.bytes - after.bytes
    more = held[row.peak.event].bytes - row.peak.bytes
    own = [site.after[number] for site in sites]
    pinned, blocks = sum(one.pinned for one in own), sum(one.blocks for one in own)
    share = f"{pinned / row.after.bytes:.0%} of the {pages} bytes after the peak"
    if len(sites) == 1:
        used = f"use {own[0].block_bytes / pinned:.1%} of these pages"
        which = f"{blocks:,} block{'s' * (blocks != 1)} of {sites[0].name}, which {used}"
        said = f"{row.design}: {share}, {amount(pinned)}, are pinned by {which}"
        who, kind = "a region of their own", "pin"
    else:
        live = sum(one.live for one in own)
        said = f"{row.design}: the {live:,} blocks of the {len(sites):,} rows whose blocks last keep pages with others"
        who, kind = "a region for all of them", "lasting"
    text = f"{said}; {who} {_effect(freed, given_back, more)}."
    return Advice(kind, [site.name for site in sites], row.design, pinned, freed, text)


def _effect(freed: int, given_back: int, more: int) -> str:
    """What a region would do: bytes kept no longer, those that go back, and those that the peak grows by."""
    if freed <= 0:
        more_kept = f" (live blocks would keep {amount(-freed)} more)" if freed < 0 else ""
        return f"would free nothing{more_kept}, as blocks of the same rows filled these pages: simulated"
    back = "" if given_back >= freed else f", of which {amount(max(0, given_back))} go back to the system"
    peak = f"; the peak grows by {amount(more)}" if more > 0 else f"; the peak falls by {amount(-more)}"
    return f"would free {amount(freed)}{back}{peak if more else ''}: simulated"


def _bursts(groups: Groups, table: SiteTable, progress: Progress | None) -> Iterator[Advice]:
    bursts = [
        site
        for site in table.sites
        if site.peak_bytes >= BURST_SHARE * table.peak_bytes and site.life_events <= BURST_LIFE * table.events
    ]
    bursts = sorted(bursts, key=lambda site: -site.peak_bytes)[:MOST_BURSTS]
    if not bursts:
        return
    peaks = peaks_without(groups.grouped, [site.group for site in bursts], progress)
    for site, peak in zip(bursts, peaks, strict=True):
        freed = table.peak_bytes - peak
        text = (
            f"{site.peak_bytes / table.peak_bytes:.0%} of the live bytes at the peak, {amount(site.peak_bytes)}, are "
            f"{site.peak_blocks:,} blocks of {site.name}, which live {duration(site.life_ns)} on average, "
            f"{site.life_events / table.events:.1%} of the run's events; without them the peak would be "
            f"{amount(peak)}, not {amount(table.peak_bytes)}: counted."
        )
        yield Advice("burst", [site.name], None, site.peak_bytes, freed, text)


def _leaks(leaks: LeakTable) -> Iterator[Advice]:
    for leak in [one for one in leaks.leaks if one.kind == "grows"][:MOST_LEAKS]:
        text = (
            f"{leak.name} never freed {leak.blocks:,} of its {leak.requests:,} blocks, {amount(leak.bytes)}; they were "
            f"born all through the run, from event {leak.first_event:,} to {leak.last_event:,}: a leak, or a table "
            "without a bound."
        )
        yield Advice("leak", [leak.name], None, leak.bytes, None, text)
