"""Drafts: a design per slab size and small limit, with the best classes and fronts for a trace."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.constants import PAGE, first_bytes
from heapsmith.model.design.choices import Front
from heapsmith.model.design.design import ClassFront, Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.search import size_classes
from heapsmith.model.search.capacities import Curve, Share, allot
from heapsmith.model.search.size_classes import PRICE_UNIT, STEP, UNREACHED, Histogram

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


class Draft(NamedTuple):
    """A design for a slab size and small limit; shares by class, none before fronts are chosen.

    Bytes at the peak: class_bytes is the least that a class must save, last_saves is what the last
    class saves, next_saves is what another class would save.
    """

    design: Design
    class_bytes: int
    last_saves: float
    next_saves: float
    shares: dict[int, Share]


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


def drafts(base: Design, histogram: Histogram, max_classes: int, name: str) -> list[Draft]:
    """Return a draft per slab size and small limit that allows a valid design within `max_classes`.

    The base's small limit comes first. Raises BadInput if no design is valid.
    """
    refused = f"max classes: {max_classes} is too few for any slab size"
    made: dict[tuple[int, int], Draft] = {}
    for slab_bytes in sorted({*SLAB_BYTES, base.slab_bytes}):
        for limit in (largest_block(base), *SMALL_LIMITS):
            draft = _draft(base, histogram, slab_bytes, limit, max_classes, name)
            if isinstance(draft, Draft):
                made.setdefault((slab_bytes, draft.design.sizes[-1]), draft)
            else:
                refused = draft
    if not made:
        raise BadInput(refused)
    return list(made.values())


def _draft(base: Design, histogram: Histogram, slab_bytes: int, limit: int, max_classes: int, name: str) -> Draft | str:
    """Return the best classes up to `limit` for a slab size, with the base's fronts; or why not."""
    header_bytes, bias = make_plan(base).header_bytes, make_plan(base).bias
    largest = min(limit, largest_block(base), (slab_bytes - first_bytes(header_bytes) + header_bytes) // STEP * STEP)
    weight, unit = request_weights(histogram, largest // base.grain, PRICE_UNIT * slab_bytes)
    given = size_classes.candidates(weight, base.grain, slab_bytes, header_bytes)
    found = size_classes.search(given, min(max_classes + 1, len(given.sizes)))
    class_bytes = PAGE // 2 * (1 + histogram.heaps)
    count = size_classes.best_count(found.totals[:-1], class_bytes * unit * PRICE_UNIT)
    if count is None:
        fewest = size_classes.fewest_classes(given)
        return f"max classes: {max_classes} is too few for sizes up to {largest}; expected at least {fewest}"
    sizes = [size for size in size_classes.block_sizes(found, count) if size > bias]
    design = msgspec.structs.replace(
        base,
        name=f"{name}-slab-{slab_bytes}-to-{sizes[-1]}",
        sizes=sizes,
        slab_bytes=slab_bytes,
        slab_span_bytes=min(base.slab_span_bytes, slab_bytes * SPAN_SLABS),
        class_front=_rows(base, {size: _front_for(base, size) for size in sizes}),
    )
    last_saves, next_saves = (_saving(found.totals, more, unit) for more in (count, count + 1))
    return design.why_not_valid() or Draft(design, class_bytes, last_saves, next_saves, {})


def _saving(totals: Ints, count: int, unit: float) -> float:
    """Return the bytes at the peak that the last of `count` classes saves; 0: no comparison."""
    if count >= len(totals) or totals[count - 1] >= UNREACHED or totals[count] >= UNREACHED:
        return 0.0
    return float(totals[count - 1] - totals[count]) / (unit * PRICE_UNIT)


def _front_for(base: Design, size: int) -> Front:
    """Return the front of the base's class that serves blocks of this size."""
    return base.front_of(next((known for known in base.sizes if known >= size), base.sizes[-1]))


def _rows(base: Design, fronts: dict[int, Front]) -> list[ClassFront]:
    """Return `class_front` for the sizes with other fronts than the base's, grouped by front."""
    rows: dict[Front, list[int]] = {}
    for size, front in fronts.items():
        if front != base.front:
            rows.setdefault(front, []).append(size)
    return [ClassFront(sizes, front) for front, sizes in rows.items()]


def with_fronts(draft: Draft, curves: Sequence[Curve], budget_bytes: int) -> Draft:
    """Return the draft with the front capacities that a budget allows."""
    shares = allot(curves, make_plan(draft.design), budget_bytes)
    fronts = {
        size: shares[cls].front if cls in shares else draft.design.front_of(size)
        for cls, size in enumerate(draft.design.sizes)
    }
    design = msgspec.structs.replace(draft.design, class_front=_rows(draft.design, fronts))
    return draft._replace(design=design, shares=shares)
