"""Pins: the call sites whose live blocks keep slabs that are mostly empty, and groups of them to try."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import RUN_CODE
from heapsmith.model.policy.segregation.sites import NO_SITES, Group, Params, Site
from heapsmith.model.search.source import Source
from heapsmith.model.trace.events import WITH_SITE, Chunk, op_mask
from heapsmith.model.trace.stacks import CallTree, SitedChunk

STOPS = 32
"""Evenly spaced events after which the slabs are looked at."""

SHARES = (0.5, 0.8, 0.95)
"""The groups to try: of the sites that pin these shares of all pinned bytes, the most first."""

MOST_SITES = 64
"""Of a group; sites beyond pin next to nothing each."""

I64 = npt.NDArray[np.int64]
Pins = dict[tuple[Site, int], float]
"""By call site and block size: bytes that its blocks pin, on average over the stops."""


def pins_of(design: Design, sources: Sequence[Source]) -> Pins:
    """Return what the sites of all traces pin in the heaps of a design.

    A slab's bytes that are committed and in no live block count for its live blocks, in equal
    parts. Sites that no design can name pin nothing.
    """
    found: Pins = defaultdict(float)
    for source in sources:
        walk = _Walk(make_plan(design), source)
        for chunk in source.chunks():
            walk.feed(chunk)
        for key, pinned in walk.named():
            found[key] += pinned * source.weight
    return dict(found)


class _Walk:
    """Follows a trace on a heap, and adds up at each stop what the live blocks pin, by frame and class."""

    def __init__(self, plan: Plan, source: Source) -> None:
        self.plan, self.simulator = plan, Simulator(plan, rare=True)
        self.site = np.zeros(source.footer.max_blocks, np.int64)
        self.stops = sorted({number * source.events // STOPS - 1 for number in range(1, STOPS + 1)} - {-1})
        self.count = len(self.stops)
        self.done = 0
        self.tree: CallTree | None = None
        self.pinned: npt.NDArray[np.float64] = np.zeros((0, 0))

    def feed(self, chunk: Chunk) -> None:
        """Do the events of a chunk."""
        first, end = 0, len(chunk.op)
        while self.stops and self.stops[0] < self.done + end:
            stop = self.stops.pop(0) + 1 - self.done
            self._do(chunk.part(first, stop))
            self._look()
            first = stop
        self._do(chunk.part(first, end))
        self.done += end

    def _do(self, part: Chunk) -> None:
        self.simulator.feed(part)
        if isinstance(part, SitedChunk):
            if self.tree is None:
                self.tree = part.tree
                self.pinned = np.zeros((1 + len(part.tree.innermost), self.plan.class_count))
            born = op_mask(WITH_SITE)[part.op]
            self.site[part.block[born]] = part.site[born]

    def _look(self) -> None:
        state = self.simulator.state
        handles = state.blocks["handle"][: len(self.site)]
        live = np.flatnonzero((handles >= 0) & (handles < RUN_CODE))
        if self.tree is None or not len(live):
            return
        slab, cls = handles[live] >> layout.SLAB_SHIFT, handles[live] & layout.CLASS_MASK
        blocks = np.bincount(slab, minlength=state.slabs_made)
        strides = np.array([row.stride for row in self.plan.classes])
        stride = strides[state.slabs["class"][: state.slabs_made]]
        empty = np.maximum(state.slabs["committed"][: state.slabs_made] - blocks * stride, 0)
        np.add.at(self.pinned, (self.site[live], cls), empty[slab] / blocks[slab] / self.count)

    def named(self) -> Iterator[tuple[tuple[Site, int], float]]:
        """Yield what each site and size pins; ways to one instruction are one site."""
        if self.tree is None:
            return
        for number, cls in np.argwhere(self.pinned[1:] > 0).tolist():
            if site := _site_of(self.tree, int(self.tree.innermost[number])):
                yield (site, self.plan.classes[cls].size), float(self.pinned[1 + number, cls])


def _site_of(tree: CallTree, frame: int) -> Site | None:
    """Return a frame as a design names it, or None if no design can."""
    module = tree.modules[tree.module[frame]] if tree.module[frame] >= 0 else None
    if module is None or module.build_id is None:
        return None
    name = Path(module.path).name
    return None if name.startswith(NO_SITES) else Site(name, module.build_id, int(tree.offset[frame]))


def groups_to_try(pins: Pins) -> list[Params]:
    """Return segregations of the sites that pin the most; each group names all sizes where it pins."""
    of_site: dict[Site, float] = defaultdict(float)
    for (site, _), pinned in pins.items():
        of_site[site] += pinned
    order = sorted(of_site, key=lambda site: (-of_site[site], site.build_id, site.offset))
    total, found = sum(of_site.values()), list[Params]()
    for share in SHARES:
        chosen: list[Site] = []
        while sum(of_site[site] for site in chosen) < share * total and len(chosen) < min(len(order), MOST_SITES):
            chosen.append(order[len(chosen)])
        found += [Params([Group(sizes, chosen)]) for sizes in _sizes(pins, set(chosen))]
    return [one for index, one in enumerate(found) if one not in found[:index]]


def _sizes(pins: Pins, chosen: set[Site]) -> Iterator[list[int]]:
    """Yield the sizes where these sites pin nearly all that they pin."""
    by_size: dict[int, float] = defaultdict(float)
    for (site, size), pinned in pins.items():
        if site in chosen:
            by_size[size] += pinned
    order = sorted(by_size, key=lambda size: -by_size[size])
    for share in SHARES[:-1]:
        most, kept = share * sum(by_size.values()), list[int]()
        while sum(by_size[size] for size in kept) < most:
            kept.append(order[len(kept)])
        if kept:
            yield sorted(kept)
