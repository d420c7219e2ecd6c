"""The size-class table of Google's TCMalloc for traces or a design, in the form of its source.

Rules: tcmalloc/sizemap.cc (IsValidSizeClass), span.h and common.h, for pages of 8 KiB.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.design.design import Design
from heapsmith.model.errors import BadInput
from heapsmith.model.predict.simulate import Progress, feed_chunks
from heapsmith.model.search.draft import request_weights
from heapsmith.model.search.size_classes import (
    PRICE_UNIT,
    STEP,
    WIDEST,
    Candidates,
    Demand,
    Histogram,
    Rules,
    block_sizes,
    fewest_classes,
    search,
)
from heapsmith.model.trace.reader import TraceReader

PAGE = 8192
LARGEST = 262_144
"""kMaxSize: the last class has this size."""
LARGE, LARGE_STEP = 1024, 128
"""kLargeSize and kLargeSizeAlignment: classes above the one are multiples of the other."""
MOST_CLASSES = 85
"""kNumBaseClasses without the class 0."""
MOST_PAGES = 32
MOST_MOVED, LEAST_MOVED = 32, 2
"""As its own table has it: 64 KiB of blocks in a batch, within these."""
BATCH_BYTES = 65_536
ONE_PAGE_BELOW, MOST_BLOCKS = 128, 64
"""Blocks below this size have spans of one page. Spans of larger ones have at most 64: a word is their bitmap."""


class SizeClass(msgspec.Struct, frozen=True):
    """A row of the table: bytes, pages of a span, blocks of a batch."""

    size: int
    pages: int
    num_to_move: int

    @property
    def waste(self) -> float:
        """Return the share of a span that is no block's, with its record of 48 bytes."""
        bytes_ = self.pages * PAGE
        used = bytes_ // self.size * self.size
        return (bytes_ - used + 48) / used


class Table(NamedTuple):
    """The classes, and the bytes per block of the traces that they and the sizes themselves take; 0 of a design."""

    classes: list[SizeClass]
    lost: float


def valid_sizes() -> list[int]:
    """Return all sizes that a class may have with alignments of 16 bytes."""
    return [*range(STEP, LARGE + 1, STEP), *range(LARGE + LARGE_STEP, LARGEST + 1, LARGE_STEP)]


def made(size: int) -> SizeClass:
    """Return the class of this size: the span that wastes least, of the shortest of those."""
    most = 1 if size < ONE_PAGE_BELOW else min(MOST_PAGES, max(-(-size // PAGE), MOST_BLOCKS * size // PAGE))
    spans = [SizeClass(size, pages, 0) for pages in range(-(-size // PAGE), most + 1)]
    # a span twice as long must save a good part of the waste: long spans are seldom empty
    best = min(spans, key=lambda one: (round(one.waste + 0.01 * one.pages, 3), one.pages))
    batch = min(MOST_MOVED, max(LEAST_MOVED, BATCH_BYTES // size))
    return msgspec.structs.replace(best, num_to_move=batch)


def why_not_valid(classes: Sequence[SizeClass]) -> str | None:
    """Return which rule of TCMalloc a table breaks, or None."""
    sizes = [one.size for one in classes]
    if not classes or sizes != sorted(set(sizes)) or sizes[-1] != LARGEST or len(sizes) > MOST_CLASSES:
        return f"expected 1 to {MOST_CLASSES} ascending classes, the last of {LARGEST} bytes"
    for one in classes:
        blocks = one.pages * PAGE // one.size
        if one.size % (LARGE_STEP if one.size > LARGE else STEP):
            return f"{one.size}: expected a multiple of {LARGE_STEP if one.size > LARGE else STEP}"
        if not 1 <= one.pages <= MOST_PAGES or blocks < 1:
            return f"{one.size}: expected 1 to {MOST_PAGES} pages and a block in them"
        if one.pages != 1 if one.size < ONE_PAGE_BELOW else blocks > MOST_BLOCKS:
            return f"{one.size}: expected one page, or at most {MOST_BLOCKS} blocks"
        if not LEAST_MOVED <= one.num_to_move <= 128:
            return f"{one.size}: expected {LEAST_MOVED} to 128 blocks of a batch"
    return None


def of_design(design: Design) -> Table:
    """Return the classes of a design, rounded up to valid sizes, and above them those of valid sizes a third apart.

    Raises BadInput if there are more than MOST_CLASSES.
    """
    valid = np.array(valid_sizes())
    sizes = sorted({int(valid[np.searchsorted(valid, size)]) for size in design.sizes if size <= LARGEST})
    while sizes[-1] < LARGEST:
        wanted = sizes[-1] * WIDEST[0] // WIDEST[1]
        sizes.append(int(valid[np.searchsorted(valid, wanted, side="right") - 1]) if wanted < LARGEST else LARGEST)
    if len(sizes) > MOST_CLASSES:
        raise BadInput(
            f"{design.name}: {len(sizes)} classes up to {LARGEST} bytes; TCMalloc has room for {MOST_CLASSES}"
        )
    return Table([made(size) for size in sizes], 0.0)


def of_traces(traces: Sequence[Path], progress: Progress | None = None) -> Table:
    """Return the classes that waste least on the requests of the traces; BadInput for a damaged trace."""
    found = [_demand(trace, progress) for trace in traces]
    live, asked, most, allocations = (
        np.sum([getattr(one, name) for one in found], axis=0) for name in ("live", "asked", "most", "allocations")
    )
    whole = Histogram(live, asked, most, allocations, sum(one.peak_live_bytes for one in found), 1)
    weight, _ = request_weights(whole, LARGEST // STEP, PRICE_UNIT * MOST_PAGES * PAGE)
    given = _candidates(weight)
    count = max(MOST_CLASSES, fewest_classes(given))
    classes = [made(size) for size in block_sizes(search(given, count), count)]
    return Table(classes, _lost(classes, allocations))


def _demand(trace: Path, progress: Progress | None) -> Histogram:
    with TraceReader(trace) as reader:
        footer = reader.footer
        demand = Demand(Rules(STEP, 0, 0), LARGEST, footer.threads, footer.max_blocks)
        feed_chunks(reader, [demand], f"sizes of {trace.name}", progress, footer.events)
    return demand.histogram()


def _candidates(weight: Ints) -> Candidates:
    """Return the valid sizes, each with the bytes per block of its span; the price may not fall."""
    sizes = np.array([0, *valid_sizes()], np.int64)
    spans = [made(size) for size in sizes[1:].tolist()]
    prices = [PRICE_UNIT * one.pages * PAGE // (one.pages * PAGE // one.size) for one in spans]
    return Candidates(
        sizes=sizes,
        served=np.cumsum(weight, dtype=np.int64)[sizes // STEP],
        price=np.array([0, *np.maximum.accumulate(prices)], np.int64),
        widest=np.searchsorted(
            sizes, [*(np.maximum(sizes[1:], STEP) * WIDEST[0] // WIDEST[1] + LARGE_STEP), LARGEST], "right"
        )
        - 1,
    )


def _lost(classes: Sequence[SizeClass], allocations: Ints) -> float:
    """Return the mean bytes by which a request's class is larger than the request, rounded to STEP."""
    asked = STEP * np.arange(LARGEST // STEP + 1)
    sizes = np.array([one.size for one in classes])
    counts = allocations[: len(asked)]
    return float((counts * (sizes[np.searchsorted(sizes, asked)] - asked)).sum() / max(1, counts.sum()))


def source(table: Sequence[SizeClass], what: str) -> str:
    """Return the table as TCMalloc's size_classes.cc has it."""
    rows = [(0, 0, 0, ""), *((one.size, one.pages, one.num_to_move, f"  // {one.waste:.2%}") for one in table)]
    lines = [f"    {{{size:9}, {pages:7}, {moved:11}}},{waste}" for size, pages, moved, waste in rows]
    return "\n".join(
        [
            f"// Size classes for {what}, made by heapsmith knobs.",
            "// For tcmalloc/size_classes.cc, pages of 8 KiB (TCMALLOC_PAGE_SHIFT 13).",
            "    // <bytes>, <pages>, <batch size>    <fixed>",
            *lines,
        ]
    )
