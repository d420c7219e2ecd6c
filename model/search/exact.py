"""The exact parts inside the search: classes by dynamic programming, capacities by curves, each computed once."""

from collections.abc import Iterator, Sequence

import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.search.capacities import CapacityPass, Curve, Shape
from heapsmith.model.search.draft import (
    SLAB_BYTES,
    SMALL_LIMITS,
    Sizes,
    best_sizes,
    largest_block,
    with_fronts,
    with_sizes,
)
from heapsmith.model.search.front_budget import Known, Share
from heapsmith.model.search.size_classes import Demand, Histogram, Rules
from heapsmith.model.search.source import Source
from heapsmith.model.search.space import BUSY

BUDGETS = (1.0, 0.25, 0.0625)
"""Budgets for the fronts, as parts of the largest."""


class Exact:
    """The demand of traces, and what is best for it. Reads each trace once per kind of block, and
    once per set of classes whose capacities are asked for.

    max_overhead: the most bytes of idle blocks in fronts, as a fraction of the peak live bytes.
    Raises BadInput if no slab size allows a legal design of at most `max_classes`.
    """

    def __init__(self, sources: Sequence[Source], base: Design, max_classes: int, max_overhead: float) -> None:
        self._sources, self._base, self._max_classes = sources, base, max_classes
        self.traces = len(sources)
        self._largest = largest_block(base)
        self._demands: dict[Rules, Histogram] = {}
        self._sizes: dict[tuple[Rules, int, int], Sizes | str] = {}
        self._curves: dict[tuple[object, ...], tuple[list[Curve], Known]] = {}
        self.histogram = self.demand(Rules.of(base))
        self.budget_bytes = int(max_overhead * self.histogram.peak_live_bytes)
        found = [self.sizes(Rules.of(base), *shape) for shape in self.shapes()]
        if all(isinstance(one, str) for one in found):
            raise BadInput(str(found[-1]))

    def shapes(self) -> Iterator[tuple[int, int]]:
        """Yield the slab sizes and small limits to try, those of the base first."""
        for slab_bytes in dict.fromkeys((self._base.slab_bytes, *SLAB_BYTES)):
            for limit in dict.fromkeys((self._largest, *SMALL_LIMITS)):
                if limit <= self._largest:
                    yield slab_bytes, limit

    def demand(self, rules: Rules) -> Histogram:
        """Return the requests of all traces; each trace counts by its weight and its peak."""
        if rules not in self._demands:
            self._demands[rules] = _merged([self._counted(source, rules) for source in self._sources], self._sources)
        return self._demands[rules]

    def sizes(self, rules: Rules, slab_bytes: int, limit: int) -> Sizes | str:
        """Return the best classes for a shape, or why there are none."""
        key = (rules, slab_bytes, limit)
        if key not in self._sizes:
            self._sizes[key] = best_sizes(self.demand(rules), rules, slab_bytes, limit, self._max_classes)
        return self._sizes[key]

    def shaped(self, design: Design, slab_bytes: int, limit: int) -> Design | None:
        """Return the design with the best classes for a shape, or None if it is not legal."""
        found = self.sizes(Rules.of(design), slab_bytes, limit)
        if isinstance(found, str):
            return None
        made = with_sizes(design, found.sizes, slab_bytes)
        return made if made.why_not_valid() is None else None

    def fronted(self, design: Design, part: float) -> Design | None:
        """Return the design with the best capacities within a part of the budget, or None."""
        made, _ = self.shares(design, part)
        return made if made.why_not_valid() is None else None

    def retuned(self, design: Design, parts: Sequence[float], shapes: Sequence[tuple[int, int]]) -> Iterator[Design]:
        """Yield the design with the best classes for each shape, and the best capacities within each part."""
        for slab_bytes, limit in shapes:
            shaped = self.shaped(design, slab_bytes, limit)
            for part in parts if shaped else ():
                if fronted := self.fronted(shaped, part):  # type: ignore[arg-type]
                    yield fronted

    def shares(self, design: Design, part: float) -> tuple[Design, dict[int, Share]]:
        """Return the design with the best capacities within a part of the budget, and the shares."""
        curves, known = self.curves(design)
        return with_fronts(design, curves, int(part * self.budget_bytes), known)

    def curves(self, design: Design) -> tuple[list[Curve], Known]:
        """Return the misses of the design's classes over all capacities, and the options of fronts."""
        owned = design.row("remote").OWNED
        key = (Rules.of(design), tuple(design.sizes), owned)
        if key not in self._curves:
            plan = make_plan(design)
            heaps = self.demand(Rules.of(design)).heaps
            found = [self._followed(source, plan, heaps) for source in self._sources]
            self._curves[key] = _joined(found, self._sources), {}
        return self._curves[key]

    def busy(self, design: Design) -> list[int]:
        """Return the block sizes with the most allocations."""
        plan = make_plan(design)
        of_class = np.array(plan.size_class)
        counts = self.demand(Rules.of(design)).allocations[: len(of_class)]
        totals = np.bincount(of_class[: len(counts)], weights=counts, minlength=plan.class_count)[: plan.class_count]
        order = np.argsort(-totals, kind="stable")[:BUSY]
        return [plan.classes[cls].size for cls in order.tolist() if totals[cls] > 0]

    def found_sizes(self, design: Design) -> Sizes | None:
        """Return the search result whose classes the design has, if it has those of one."""
        rules = Rules.of(design)
        for shape in self.shapes():
            found = self.sizes(rules, *shape)
            if isinstance(found, Sizes) and found.sizes == design.sizes and shape[0] == design.slab_bytes:
                return found
        return None

    def _counted(self, source: Source, rules: Rules) -> Histogram:
        demand = Demand(rules, self._largest, source.footer.threads, source.footer.max_blocks)
        for chunk in source.chunks():
            demand.feed(chunk)
        return demand.histogram()

    def _followed(self, source: Source, plan: Plan, heaps: int) -> list[Curve]:
        one = CapacityPass(Shape.of(plan), heaps, source.footer.threads, source.footer.max_blocks)
        for chunk in source.chunks():
            one.feed(chunk)
        return one.curves()


def _merged(found: Sequence[Histogram], sources: Sequence[Source]) -> Histogram:
    """Return the sum of histograms, each scaled to the largest peak and by its trace's weight."""
    if len(found) == 1:
        return found[0]
    peak = max(one.peak_live_bytes for one in found)
    scales = [source.weight * peak / max(1, one.peak_live_bytes) for one, source in zip(found, sources, strict=True)]

    def total(field: str) -> Ints:
        parts = [getattr(one, field) * scale for one, scale in zip(found, scales, strict=True)]
        return np.asarray(np.ceil(np.sum(parts, axis=0)).astype(np.int64))

    live, asked, most, allocations = (total(field) for field in ("live", "asked", "most", "allocations"))
    return Histogram(live, asked, most, allocations, peak, max(one.heaps for one in found))


def _joined(found: Sequence[list[Curve]], sources: Sequence[Source]) -> list[Curve]:
    """Return the curves of several traces as those of one: rates by weight, and the most blocks of all.

    Misses and overflows are scaled to the operations of the longest trace. The heaps that hold most
    on each trace count as the same heap, so that a block idle on several traces is charged once.
    """
    if len(found) == 1:
        return found[0]
    longest = max(source.operations for source in sources)
    scales = [source.weight * longest / source.operations for source in sources]

    def total(parts: Sequence[Ints]) -> Ints:
        return np.asarray(np.ceil(np.tensordot(scales, np.array(parts), axes=1)).astype(np.int64))

    def largest(parts: Sequence[Ints]) -> Ints:
        most = np.zeros((len(parts), max(len(part) for part in parts)), np.int64)
        for row, part in zip(most, parts, strict=True):
            row[: len(part)] = -np.sort(-part)
        return np.asarray(most.max(axis=0))

    return [
        Curve(
            total([curve.misses for curve in curves]),
            total([curve.overflows for curve in curves]),
            largest([curve.most for curve in curves]),
        )
        for curves in zip(*found, strict=True)
    ]
