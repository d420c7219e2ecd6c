"""Leaks: the blocks that were never freed, by site, and whether a site's grow in number through the whole trace."""

from typing import Literal

import msgspec
import numpy as np

from heapsmith.model.predict.pins_at_moments import site_lives
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.site_lives import BYTES, EVENT, GROUP_OF, I64, SiteLives
from heapsmith.tools.sites.grouping import By, Groups, Spot

PARTS = 10
"""Equal parts of the events in which births are counted."""

LEAST_IN_PART, GROWING_PARTS, MOST_IN_ONE, EARLY = 0.025, 5, 0.5, 0.9
"""A part counts if at least LEAST_IN_PART of the row's live blocks were born in it. A row grows if GROWING_PARTS parts
count, the last part among them, and no part has more than MOST_IN_ONE of the blocks. A row is of the start if the first
part has at least EARLY of them.
"""

Kind = Literal["grows", "start", "once"]


class Leak(msgspec.Struct, frozen=True):
    """A row's live blocks. born: how many of them were born in each tenth of the events."""

    name: str
    path: list[Spot]
    kind: Kind
    blocks: int
    bytes: int
    requests: int
    first_event: int
    last_event: int
    born: list[int]


class LeakTable(msgspec.Struct, frozen=True):
    """The live blocks after an event by site: first the rows that grow, of each kind first those of most bytes."""

    trace: str
    by: By
    event: int
    time_ns: int
    blocks: int
    bytes: int
    leaks: list[Leak]
    reasons: list[str]


def leak_table(groups: Groups, at: int | None = None, progress: Progress | None = None) -> LeakTable:
    """Return the blocks that are live after event `at`, or at the end: one pass."""
    return leaks_of(groups, site_lives(groups.grouped, progress, at))


def leaks_of(groups: Groups, lives: SiteLives) -> LeakTable:
    """Return the blocks that are live after the events that were followed."""
    live = lives.of_block[:, lives.live()]
    order = np.argsort(live[GROUP_OF], kind="stable")
    live = live[:, order]
    numbers, first = np.unique(live[GROUP_OF], return_index=True)
    leaks = []
    for group, blocks in zip(numbers.tolist(), np.split(live, first[1:], axis=1), strict=False):
        born = np.bincount(blocks[EVENT] * PARTS // lives.events, minlength=PARTS)
        leaks.append(
            Leak(
                groups.name(group),
                list(groups.paths[group]),
                _kind(born),
                blocks.shape[1],
                int(blocks[BYTES].sum()),
                int(lives.groups[group]["requests"]),
                int(blocks[EVENT].min()),
                int(blocks[EVENT].max()),
                born.tolist(),
            )
        )
    kinds = ("grows", "once", "start")
    leaks.sort(key=lambda leak: (kinds.index(leak.kind), -leak.bytes, leak.name))
    return LeakTable(
        str(groups.grouped.trace),
        groups.by,
        lives.events - 1,
        lives.time_ns,
        live.shape[1],
        int(live[BYTES].sum()),
        leaks,
        groups.reasons,
    )


def _kind(born: I64) -> Kind:
    share = born / born.sum()
    parts = share >= LEAST_IN_PART
    if parts[-1] and parts.sum() >= GROWING_PARTS and share.max() <= MOST_IN_ONE:
        return "grows"
    return "start" if share[0] >= EARLY else "once"
