"""Drafts: the best classes for a slab size and small limit, and the best fronts within a budget, for traces."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.constants import PAGE, first_bytes
from heapsmith.model.design.choices import Front
from heapsmith.model.design.design import ClassFront, Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.search import size_classes
from heapsmith.model.search.capacities import Curve
from heapsmith.model.search.front_budget import Known, Share, allot
from heapsmith.model.search.size_classes import PRICE_UNIT, STEP, UNREACHED, Histogram, Rules

SPAN_SLABS = 1 << 24
"""The most slabs of the span of a draft: its tables need address space for each slab."""
SLAB_BYTES = (4096, 8192, 16_384, 32_768, 65_536)
"""Slab sizes to try besides the base's: half-empty slabs fill a small heap, not a large heap."""

SMALL_LIMITS = (2048, 8192)
"""Small limits to try besides the base's: runs for larger blocks leave no slab half empty."""

MOST_SHARE = 0.25
"""The weight of the most blocks of a size that were ever live: another run of the program peaks at
another moment, when other sizes are live.
"""

ALLOCATION_SHARE = 0.05
"""The weight of all allocations of the trace; the rest is the weight of blocks live at the peak.
Classes cost bytes at the peak. The small weight lets sizes count that are gone by then.
"""

UNSEEN_SHARE = 1e-6
"""The weight of all sizes, as 1/size: it decides only between classes that are otherwise equal."""


class Sizes(NamedTuple):
    """The best classes for a slab size and small limit.

    Bytes at the peak: class_bytes is the least that a class must save, last_saves is what the last
    class saves, next_saves is what another class would save.
    """

    sizes: list[int]
    class_bytes: int
    last_saves: float
    next_saves: float


def largest_block(base: Design) -> int:
    """Return the largest block size to tune for: the base's, as a whole number of steps."""
    return -(-base.sizes[-1] // STEP) * STEP


def request_weights(histogram: Histogram, entries: int, largest_price: int) -> tuple[Ints, float]:
    """Return (integer weights of requests up to `entries` grains, the weight of a live block)."""
    live = histogram.live[: entries + 1].astype(np.float64)
    allocations = histogram.allocations[: entries + 1].astype(np.float64)
    blocks = max(1.0, live.sum())
    unseen = 1 / np.arange(1, entries + 1)
    mix = (1 - MOST_SHARE - ALLOCATION_SHARE) * live + MOST_SHARE * histogram.most[: entries + 1]
    mix += ALLOCATION_SHARE * blocks * allocations / max(1.0, allocations.sum())
    mix[1:] += UNSEEN_SHARE * blocks * unseen / unseen.sum()
    unit = (UNREACHED >> 2) / (float(mix.sum()) * largest_price)
    return np.floor(mix * unit).astype(np.int64), unit


def best_sizes(histogram: Histogram, rules: Rules, slab_bytes: int, limit: int, max_classes: int) -> Sizes | str:
    """Return the best classes up to `limit` for a slab size, or why there are none."""
    header_bytes, grain = rules.header_bytes, rules.grain
    largest = min(limit, (slab_bytes - first_bytes(header_bytes) + header_bytes) // STEP * STEP)
    weight, unit = request_weights(histogram, largest // grain, PRICE_UNIT * slab_bytes)
    given = size_classes.candidates(weight, grain, slab_bytes, header_bytes)
    found = size_classes.search(given, min(max_classes + 1, len(given.sizes)))
    class_bytes = PAGE // 2 * (1 + histogram.heaps)
    count = size_classes.best_count(found.totals[:-1], class_bytes * unit * PRICE_UNIT)
    if count is None:
        fewest = size_classes.fewest_classes(given)
        return f"max classes: {max_classes} is too few for sizes up to {largest}; expected at least {fewest}"
    bias = header_bytes + rules.tail_bytes
    sizes = [size for size in size_classes.block_sizes(found, count) if size > bias]
    last_saves, next_saves = (_saving(found.totals, more, unit) for more in (count, count + 1))
    return Sizes(sizes, class_bytes, last_saves, next_saves)


def _saving(totals: Ints, count: int, unit: float) -> float:
    """Return the bytes at the peak that the last of `count` classes saves; 0: no comparison."""
    if count >= len(totals) or totals[count - 1] >= UNREACHED or totals[count] >= UNREACHED:
        return 0.0
    return float(totals[count - 1] - totals[count]) / (unit * PRICE_UNIT)


def with_sizes(design: Design, sizes: list[int], slab_bytes: int) -> Design:
    """Return the design with these classes; each has the front that served its size before."""
    return msgspec.structs.replace(
        design,
        sizes=sizes,
        slab_bytes=slab_bytes,
        superslab_bytes=max(design.superslab_bytes, slab_bytes),
        slab_span_bytes=min(design.slab_span_bytes, slab_bytes * SPAN_SLABS),
        class_front=class_rows(design, {size: front_for(design, size) for size in sizes}),
    )


def front_for(design: Design, size: int) -> Front:
    """Return the front of the design's class that serves blocks of this size."""
    return design.front_of(next((known for known in design.sizes if known >= size), design.sizes[-1]))


def class_rows(design: Design, fronts: dict[int, Front]) -> list[ClassFront]:
    """Return `class_front` for the sizes with other fronts than the design's, grouped by front."""
    rows: dict[Front, list[int]] = {}
    for size, front in fronts.items():
        if front != design.front:
            rows.setdefault(front, []).append(size)
    return [ClassFront(sizes, front) for front, sizes in rows.items()]


def with_fronts(
    design: Design, curves: Sequence[Curve], budget_bytes: int, known: Known | None = None
) -> tuple[Design, dict[int, Share]]:
    """Return the design with the front capacities that a budget allows, and each class's share."""
    shares = allot(curves, make_plan(design), budget_bytes, known)
    fronts = {
        size: shares[cls].front if cls in shares else design.front_of(size) for cls, size in enumerate(design.sizes)
    }
    return msgspec.structs.replace(design, class_front=class_rows(design, fronts)), shares
