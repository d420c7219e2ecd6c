"""Guard: has the workload drifted from what a design was made for, and would tuning again pay?"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.search import MOST_CLASSES, size_classes
from heapsmith.model.search.draft import largest_block
from heapsmith.model.search.size_classes import PRICE_UNIT, UNREACHED
from heapsmith.model.search.workload import Observed, Workload, observe, read_baseline

WORTH = 0.02
"""Tuning again may pay if new size classes alone save this share of the committed peak."""


class Limits(msgspec.Struct, frozen=True):
    """How much may change: rises as shares of the baseline, shifts as total variation distances."""

    waste_rise: float = 0.05
    slow_rise: float = 0.20
    size_shift: float = 0.10
    lifetime_shift: float = 0.10


class Verdict(msgspec.Struct, frozen=True):
    """A figure then and now. limit: the most `now` may be; None for a figure without a limit."""

    figure: str
    baseline: float
    now: float
    limit: float | None
    ok: bool


class Retuning(msgspec.Struct, frozen=True):
    """What the best size classes for the recordings would save, without any search.

    Bytes of the blocks live at the peaks, with their share of slabs' tails, in full slabs: in the
    classes of the design, and in the best classes (at most `classes`; exact, by dynamic
    programming). saves: the difference as a share of the committed peak. Slabs that are not full
    may take part of it back; other slab sizes, capacities and policies may save more.
    """

    design_bytes: int
    best_bytes: int
    classes: int
    saves: float
    may_pay: bool


class Guarded(msgspec.Struct, frozen=True):
    """The judgement on new recordings."""

    design: str
    baseline: str
    traces: list[str]
    ok: bool
    verdicts: list[Verdict]
    grown: list[str]  # the sizes whose shares of the requests changed most, in words
    retuning: Retuning


def guard(design: Design, baseline: Path, traces: Sequence[Path], limits: Limits, progress: Progress) -> Guarded:
    """Judge new recordings by a baseline file; raises as read_baseline and observe do."""
    before = read_baseline(baseline, design)
    observed = observe(design, traces, progress)
    now = observed.workload
    if len(before.sizes) != len(now.sizes) or len(before.lifetimes) != len(now.lifetimes):
        raise BadInput(f"{baseline}: sizes or lifetimes are not as many as the design's: write the baseline anew")
    judged = verdicts(before, now, limits)
    return Guarded(
        design=design.name,
        baseline=str(baseline),
        traces=[str(path) for path in traces],
        ok=all(one.ok for one in judged),
        verdicts=judged,
        grown=_changes(make_plan(design), before.sizes, now.sizes),
        retuning=retuning(design, observed),
    )


def verdicts(before: Workload, now: Workload, limits: Limits) -> list[Verdict]:
    """Judge what recordings ask of a design by what it was made for."""
    return [
        _rise("waste", before.waste(), now.waste(), limits.waste_rise),
        _rise("slow operations per million", before.slow_per_million(), now.slow_per_million(), limits.slow_rise),
        _shift("size shift", before.sizes, now.sizes, limits.size_shift),
        _shift("lifetime shift", before.lifetimes, now.lifetimes, limits.lifetime_shift),
        Verdict("hit rate", before.hit_rate(), now.hit_rate(), None, True),
    ]


def _rise(figure: str, before: float, now: float, most: float) -> Verdict:
    limit = before * (1 + most)
    return Verdict(figure, before, now, limit, now <= limit)


def _shift(figure: str, before: Sequence[int], now: Sequence[int], most: float) -> Verdict:
    """Judge the total variation distance of two distributions: the share that lies elsewhere."""
    distance = float(np.abs(_shares(now) - _shares(before)).sum() / 2)
    return Verdict(figure, 0.0, distance, most, distance <= most)


def _shares(counts: Sequence[int]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array(counts, np.float64) / max(1, sum(counts))


def _changes(plan: Plan, before: Sequence[int], now: Sequence[int]) -> list[str]:
    """Return, in words, the three ranges of sizes whose shares of the requests changed most."""
    was, became = _shares(before), _shares(now)
    classes = len(plan.classes)
    found: list[str] = []
    for place in np.argsort(-np.abs(became - was), kind="stable")[:3].tolist():
        if was[place] == became[place]:
            break
        if place < classes:
            row = plan.classes[place]
            sizes = f"{row.smallest_request:,} to {row.usable:,} bytes"
        else:
            sizes = f"{1 << max(0, place - classes - 1):,} bytes and more, below twice that"
        found.append(f"requests of {sizes}: {was[place]:.1%} before, {became[place]:.1%} now")
    return found


def retuning(design: Design, observed: Observed) -> Retuning:
    """Compare the design's classes with the best for the blocks live at the peaks."""
    plan = make_plan(design)
    entries = largest_block(plan.design) // plan.grain
    live: Ints = np.zeros(entries + 1, np.int64)
    for one in observed.histograms:
        live += one.live[: entries + 1]
    slab_bytes, header = plan.slab_bytes, plan.header_bytes
    given = size_classes.candidates(live, plan.grain, slab_bytes, header)
    most = min(max(MOST_CLASSES, len(plan.classes)), len(given.sizes) - 1)
    totals = size_classes.search(given, most).totals
    strides = np.array([row.size for row in plan.classes], np.int64)
    needed = np.flatnonzero(live)
    prices = [size_classes.block_price(stride, slab_bytes, header) for stride in strides.tolist()]
    place = np.minimum(np.searchsorted(strides, needed * plan.grain), len(strides) - 1)
    own = int((live[needed] * np.array(prices, np.int64)[place]).sum())
    count = min(range(len(totals)), key=lambda classes: (int(totals[classes]), classes))
    best = min(own, int(totals[count])) if totals[count] < UNREACHED else own
    saves = (own - best) / PRICE_UNIT / max(1, observed.workload.committed_peak)
    return Retuning(own // PRICE_UNIT, best // PRICE_UNIT, most, saves, saves >= WORTH)
