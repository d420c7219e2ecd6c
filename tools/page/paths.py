"""The call paths of a page: live bytes at each stop, bytes asked for, bytes pinned under each design; and of sites the
leaks, the temporary blocks and those that were freed in the call that asked for them.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.design.design import Design
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.pins_at_moments import moments, pieces, site_lives
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import SiteLives
from heapsmith.tools.page.payload import Payload
from heapsmith.tools.sites.grouping import Groups, group_sites
from heapsmith.tools.sites.leaks import LeakTable, leaks_of
from heapsmith.tools.sites.scoped import scoped_table
from heapsmith.tools.sites.sites import Scoped

I64 = npt.NDArray[np.int64]

LEAST_SHARE, MOST_PATHS = 0.0005, 1500
"""A path is followed inwards as long as its paths together have at least this share of some figure; twice the share,
and so on, if there are too many.
"""
SMALLER = "smaller paths"
MOMENTS = ("peak", "after", "end")


class Paths(msgspec.Struct, frozen=True):
    """The paths of a trace. names: of spots; paths: of each path these, the outermost first.

    live: bytes, (stops, paths). pinned: of each design bytes at each of MOMENTS, (designs, MOMENTS,
    paths). `cut` paths end with SMALLER, where they have less than the share `least` of each figure.
    """

    names: list[str]
    paths: list[list[int]]
    live: I64
    allocated: I64
    requests: I64
    pinned: I64
    cut: int
    least: float
    leaks: LeakTable
    temporary: list[tuple[str, int, int]]  # name of a site, its temporary blocks, its requests
    scoped: list[Scoped] | None
    reasons: list[str]


def paths_of(
    sites: Groups,
    stops: Sequence[int],
    designs: Sequence[Design],
    *,
    hardware: Hardware | None = None,
    progress: Progress | None = None,
) -> Paths:
    """Return the paths of a trace, and the leaks of its sites; `stops` are events, ascending."""
    groups = group_sites(sites.grouped.trace, "path", depth=0)
    live, lives = _live_at(groups, stops, progress)
    found = moments(groups.grouped, designs, lives.peak()[0], hardware=hardware, progress=progress)
    pinned = np.array([[getattr(one, name).pinned for name in MOMENTS] for one in found], np.int64)
    used = np.flatnonzero(lives.groups["requests"])
    allocated, requests, live, pinned = (
        values[..., used] for values in (lives.groups["bytes"], lives.groups["requests"], live, pinned)
    )
    figures = np.vstack([live, allocated, pinned.reshape(-1, len(used))])
    share = (figures / np.maximum(1, figures.sum(axis=1, keepdims=True))).max(axis=0)
    named = [tuple(spot.name for spot in reversed(path)) for path in map(groups.paths.__getitem__, used)]
    least = LEAST_SHARE
    while len(set(shown := _cut(named, share.tolist(), least))) > MOST_PATHS:
        least *= 2
    rows = {path: row for row, path in enumerate(dict.fromkeys(shown))}
    row_of = np.array([rows[path] for path in shown])

    def summed(values: I64) -> I64:
        found = np.zeros((*values.shape[:-1], len(rows)), np.int64)
        np.add.at(found.T, row_of, values.T)
        return found

    numbers: dict[str, int] = {}
    paths = [[numbers.setdefault(name, len(numbers)) for name in path] for path in rows]
    cut = sum(short != path for short, path in zip(shown, named, strict=True))
    by_site = site_lives(sites.grouped, progress)
    rest = (leaks_of(sites, by_site), _temporary(sites, by_site), _scoped(sites, progress))
    sums = (summed(live), summed(allocated), summed(requests), summed(pinned))
    return Paths(list(numbers), paths, *sums, cut, least, *rest, groups.reasons)


def _temporary(sites: Groups, lives: SiteLives) -> list[tuple[str, int, int]]:
    """The sites with temporary blocks, those with most first."""
    of = lives.groups
    order = np.argsort(-of["temporary"], kind="stable")[: np.count_nonzero(of["temporary"])].tolist()
    return [(sites.name(group), int(of[group]["temporary"]), int(of[group]["requests"])) for group in order]


def _scoped(sites: Groups, progress: Progress | None) -> list[Scoped] | None:
    found = scoped_table(sites, progress)
    return found.rows if found else None


def _cut(paths: Sequence[tuple[str, ...]], shares: Sequence[float], least: float) -> list[tuple[str, ...]]:
    """Return each path as far as the shares of the paths that go on with it add up to `least`."""
    sums: dict[int, float] = {}
    nodes: dict[tuple[int, str], int] = {}
    for path, share in zip(paths, shares, strict=True):
        node = 0
        for name in path:
            node = nodes.setdefault((node, name), len(nodes) + 1)
            sums[node] = sums.get(node, 0.0) + share
    found = []
    for path in paths:
        node = length = 0
        while length < len(path) and sums[node := nodes[node, path[length]]] >= least:
            length += 1
        found.append(path if length == len(path) else (*path[:length], SMALLER))
    return found


def _live_at(groups: Groups, stops: Sequence[int], progress: Progress | None) -> tuple[I64, SiteLives]:
    """The live bytes of each group after each of these events, and what lived in the whole trace."""
    found = np.zeros((len(stops), groups.grouped.groups), np.int64)
    row = {event: place for place, event in enumerate(stops)}
    with TraceReader(groups.grouped.trace) as reader:
        lives = SiteLives(reader.footer.max_blocks, groups.grouped.group_of_site, groups.grouped.groups)
        for part, site in pieces(reader, set(row)):
            lives.feed(part, site)
            if (place := row.get(lives.events - 1)) is not None:
                found[place] = lives.groups["live_bytes"]
            if progress:
                progress("following call sites", lives.events, reader.footer.events)
    return found, lives


def paths_data(paths: Paths, payload: Payload) -> dict[str, Any]:
    """Return what the page's script draws of the paths."""
    return {
        "names": paths.names,
        "paths": paths.paths,
        "moments": MOMENTS,
        "least": paths.least,
        "cut": paths.cut,
        **{name: payload.array(getattr(paths, name), "f8") for name in ("live", "allocated", "requests", "pinned")},
        "leaks": [
            {
                "name": leak.name,
                "kind": leak.kind,
                "blocks": leak.blocks,
                "bytes": leak.bytes,
                "first": leak.first_event,
                "last": leak.last_event,
            }
            for leak in paths.leaks.leaks
        ],
        "temporary": [dict(zip(("name", "blocks", "requests"), row, strict=True)) for row in paths.temporary],
        "scoped": paths.scoped,
        "reasons": paths.reasons,
    }
