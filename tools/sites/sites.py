"""What each group of a trace's sites asked for, has live and keeps resident, under any designs."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.page_pins import Pins
from heapsmith.model.predict.pins_at_moments import Moments, moments
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.site_lives import SiteLives
from heapsmith.tools.sites.grouping import By, Groups, Place, Spot

MOST_LOCAL_BYTES = 4096
"""What a function may well keep on its stack."""

Instead = Literal["array", "buffer", "none"]
Order = Literal["pinned", "peak", "asked", "requests", "life", "temporary"]


class Kept(msgspec.Struct, frozen=True):
    """What a group's live blocks keep after an event, in bytes of pages (docs/report.md)."""

    pinned: int
    blocks: int  # that pin
    block_bytes: int  # of these
    live: int  # all its live blocks
    with_others: int
    alone: int

    @property
    def waste(self) -> int:
        """The bytes of pinned pages that are no block's."""
        return self.pinned - self.block_bytes


class KeptAll(msgspec.Struct, frozen=True):
    """What all live blocks keep after an event: the `bytes` of pages are kept by single groups, by several, or idle."""

    event: int
    asked: int
    bytes: int
    pinned: int
    shared: int
    idle: int


class Site(msgspec.Struct, frozen=True):
    """A group of sites. Lives are means; a block that is live at the end counts what it has lived.

    places: for each spot of the path the instructions there, to look up their names elsewhere.
    after: what it keeps after the peak under each design, at the worst moment. at: the same at each
    moment that was asked for; peak, end: at these.
    """

    group: int
    name: str
    path: list[Spot]
    places: list[list[Place]]
    stacks: int
    requests: int
    temporary: int  # of these, those whose block the next event of a block ended
    bytes: int
    mean_bytes: float
    life_events: float
    life_ns: float
    peak_blocks: int
    peak_bytes: int
    most_bytes: int
    most_blocks: int
    most_event: int
    end_blocks: int
    end_bytes: int
    peak: list[Kept]
    after: list[Kept]
    end: list[Kept]
    at: list[list[Kept]]


class DesignRow(msgspec.Struct, frozen=True):
    """A design: what all live blocks keep at its moments."""

    design: str
    hash: str
    peak: KeptAll
    after: KeptAll
    end: KeptAll
    at: list[KeptAll]


class Advice(msgspec.Struct, frozen=True):
    """A piece of advice: pin, lasting (rows that last, together), burst or leak. bytes: what it is about.

    design: of pins. freed: the bytes that live blocks keep no longer, if they had a region of their
    own; of a burst what the peak of the live bytes falls by; of leaks none. looks: of pins, the requests whose caller
    a design with these sites apart looks up; None where no design can tell them apart.
    """

    kind: str
    names: list[str]
    design: str | None
    bytes: int
    freed: int | None
    text: str
    looks: int | None = None


class Scoped(msgspec.Struct, frozen=True):
    """A row's blocks that died in the call of the function that asked for them. Lives are means.

    instead: of blocks of at most MOST_LOCAL_BYTES a local "array" if they all have one size, else a "buffer"; "none" of
    larger ones.
    """

    name: str
    requests: int
    known: int  # of these, those whose function is known
    blocks: int
    directly: int  # of these, those that the function freed itself, not another one that it called
    resized: int  # those that a realloc ended
    uncertain: int  # those freed at a place that is not behind the request's: by a loop, or by a later call
    least_bytes: int
    median_bytes: int
    most_bytes: int
    life_events: float
    life_ns: float
    instead: Instead


class ScopedTable(msgspec.Struct, frozen=True):
    """The rows that have such blocks, first those with most that are certain. The counts are of all rows."""

    trace: str
    by: By
    requests: int
    known: int
    blocks: int
    rows: list[Scoped]


class SiteTable(msgspec.Struct, frozen=True):
    """The sites of a trace under designs, all of them, the first in the order first.

    machine: if there is one, pages count by their resident bytes, else by the committed ones. scoped: None of a trace
    without the sites of frees.
    """

    trace: str
    by: By
    events: int
    stacks: int
    machine: str | None
    peak_event: int
    peak_bytes: int
    peak_blocks: int
    designs: list[DesignRow]
    sites: list[Site]
    reasons: list[str]
    advice: list[Advice] = []
    scoped: ScopedTable | None = None


def site_table(
    groups: Groups,
    lives: SiteLives,
    designs: Sequence[Design],
    *,
    hardware: Hardware | None = None,
    order: Order = "pinned",
    at: Sequence[int] = (),
    progress: Progress | None = None,
) -> SiteTable:
    """Return the sites of a trace under designs: one pass. BadInput for events of `at` beyond the trace.

    lives: what `site_lives(groups.grouped)` returned.
    """
    event, live_bytes, live_blocks = lives.peak()
    found = moments(groups.grouped, designs, event, hardware=hardware, at=at, progress=progress)
    sites = _sites(groups, lives, found)
    return SiteTable(
        str(groups.grouped.trace),
        groups.by,
        lives.events,
        sum(groups.stacks),
        hardware.name if hardware else None,
        event,
        live_bytes,
        live_blocks,
        [
            DesignRow(one.design, one.hash, _all(one.peak), _all(one.after), _all(one.end), [*map(_all, one.at)])
            for one in found
        ],
        sorted(sites, key=ORDERS[order], reverse=True),
        groups.reasons,
    )


def _in_vain(site: Site) -> tuple[float, ...]:
    """The most bytes that a site pins and does not use under any design, at the moments asked for or after the peak."""
    return max((kept.waste for row in site.at or [site.after] for kept in row), default=0), site.bytes


ORDERS: dict[Order, Callable[[Site], tuple[float, ...]]] = {
    "pinned": _in_vain,
    "peak": lambda site: (site.peak_bytes, site.bytes),
    "asked": lambda site: (site.bytes, site.requests),
    "requests": lambda site: (site.requests, site.bytes),
    "life": lambda site: (site.life_events, site.bytes),
    "temporary": lambda site: (site.temporary, site.requests),
}


def _sites(groups: Groups, lives: SiteLives, found: Sequence[Moments]) -> list[Site]:
    """The groups that made requests."""
    of, (life_events, life_ns) = lives.groups, lives.mean_lives()
    made = []
    for group in np.flatnonzero(of["requests"]).tolist():
        row = {name: int(of[group][name]) for name in of.dtype.names or ()}
        made.append(
            Site(
                group,
                groups.name(group),
                list(groups.paths[group]),
                groups.places(group),
                groups.stacks[group],
                row["requests"],
                row["temporary"],
                row["bytes"],
                row["bytes"] / row["requests"],
                float(life_events[group]),
                float(life_ns[group]),
                row["peak_blocks"],
                row["peak_bytes"],
                row["most_bytes"],
                row["most_blocks"],
                row["most_event"],
                row["live_blocks"],
                row["live_bytes"],
                [_kept(one.peak, group) for one in found],
                [_kept(one.after, group) for one in found],
                [_kept(one.end, group) for one in found],
                [[_kept(one.at[i], group) for one in found] for i in range(len(found[0].at) if found else 0)],
            )
        )
    return made


def _kept(pins: Pins, group: int) -> Kept:
    return Kept(*(int(getattr(pins, name)[group]) for name in Kept.__struct_fields__))


def _all(pins: Pins) -> KeptAll:
    return KeptAll(pins.event, pins.asked, pins.bytes, int(pins.pinned.sum()), pins.shared, pins.idle)
