"""The calls that the stacks of a trace are made of, inlined ones among them, for the lives within a call."""

import numpy as np

from heapsmith.model.trace.scoped_lives import I64, Calls
from heapsmith.tools.sites.functions import FREERS
from heapsmith.tools.sites.grouping import Groups, Spot, inner_wrappers


def calls_of(groups: Groups, depth: int | None) -> Calls:
    """Return the calls of all sites of a trace. depth: stacks with that many frames may be cut; None: none is."""
    table = _Table(groups)
    sites = len(groups.grouped.group_of_site)
    innermost, asking = np.full(sites, -1), np.full(sites, -1)
    freeing = np.full(sites, -1)
    for site in range(1, sites):
        frames = groups.tree.path(site)
        if depth is not None and len(frames) >= depth:
            continue
        path = [call for frame in frames for call in table.of_frame[frame]]
        spots = [spot for frame in frames for spot in groups.spots[frame]]
        own = inner_wrappers(spots, groups.wrappers, groups.library)
        innermost[site] = path[0]
        if spots[own].is_named:
            asking[site] = path[own]
        freeing[site] = len(path) - 1 - inner_wrappers(spots, [FREERS], groups.library)
    above, function, offset = (np.array(column, np.int64) for column in (table.above, table.function, table.offset))
    return Calls(above, function, _depths(above), offset, innermost, asking, freeing)


class _Table:
    """Numbers for calls, each greater than that of the call above it. of_frame: of each frame, the innermost first."""

    def __init__(self, groups: Groups) -> None:
        self.above: list[int] = []
        self.function: list[int] = []
        self.offset: list[int] = []
        self._calls: dict[tuple[int, Spot | int, str, int], int] = {}
        self._functions: dict[tuple[int, str, str], int] = {}
        self.of_frame: list[list[int]] = []
        tree = groups.tree
        for parent, module, offset, spots in zip(
            tree.parent.tolist(), tree.module.tolist(), tree.offset.tolist(), groups.spots, strict=True
        ):
            at = self.of_frame[parent][0] if parent >= 0 else -1
            row = []
            for number in range(len(spots) - 1, -1, -1):
                at = self._number(at, spots[number], (module, offset) if number == 0 else None)
                row.append(at)
            self.of_frame.append(row[::-1])

    def _number(self, above: int, spot: Spot, place: tuple[int, int] | None) -> int:
        """The number of a call by the function of this spot; place: of an instruction, not of an inlined function."""
        key = (above, spot if place is None else place[0], spot.function, -1 if place is None else place[1])
        if key not in self._calls:
            self._calls[key] = len(self.above)
            self.above.append(above)
            maker = (above, spot.function, spot.module)
            self.function.append(self._functions.setdefault(maker, len(self._functions)))
            self.offset.append(key[3])
        return self._calls[key]


def _depths(above: I64) -> I64:
    """How many calls are above each."""
    depth = [0] * len(above)
    for call, over in enumerate(above.tolist()):
        depth[call] = depth[over] + 1 if over >= 0 else 0
    return np.array(depth, np.int64)
