"""The search: size classes, front capacities and slab size for one trace, each with the reason why (docs/tuning.md)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from heapsmith.model.capacities import CapacityPass, allot
from heapsmith.model.design import MAX_CLASSES, Design
from heapsmith.model.design_toml import Reason
from heapsmith.model.draft import Draft, drafts, largest_block, with_shares
from heapsmith.model.errors import BadInput
from heapsmith.model.plan import make_plan
from heapsmith.model.simulate import Progress, Simulation, simulate
from heapsmith.model.size_classes import STEP, Demand, Histogram
from heapsmith.model.trace import Chunk, TraceReader

SLOW_SLACK = 0.02
"""Slow operations that a tuned design may do more than the base, per operation. A slow one costs tens of nanoseconds,
some ten hits: 2 % of them is about a nanosecond per operation."""

SLOW_IN_CLASSES = ("refill", "flush", "direct")
LARGE = ("run_reuse", "run_grow", "run_extend", "run_free", "huge_map", "huge_unmap", "huge_remap")
SLOW_IN_ALL = (*LARGE, "releases")
"""Counters of the slow operations: takes, flushes and single frees to the store; runs, mappings and releases."""

NEAR_TIE = 0.01
"""Committed peaks this close count as equal: they leave out the slabs' own records, 56 bytes and a bit per block, 2.1 %
of a 4 KiB slab of the smallest blocks and 0.9 % of a 64 KiB one."""

Figures = dict[str, int | float]


class Outcome(msgspec.Struct, frozen=True):
    """What a design comes to on the trace, simulated; bytes where the name says nothing else.

    The fragmentations are those at the committed peak. slow_operations: takes from the store, flushes, single frees to
    it, runs and mappings made, resized or ended, and releases.
    """

    name: str
    hash: str
    classes: int
    slab_bytes: int
    committed_peak: int
    peak_live_bytes: int
    internal_fragmentation: float
    external_fragmentation: float
    operations: int
    slow_operations: int
    superslabs: int
    acquires: int


class Tuned(msgspec.Struct, frozen=True):
    """The better of tuned design and base, the reasons, what it came to before and after and with each slab size."""

    design: Design
    kept_base: bool
    reasons: list[Reason]
    before: Outcome
    after: Outcome
    tried: list[Outcome]


def tune(
    trace: Path,
    *,
    base: Design,
    max_overhead: float = 0.05,
    max_classes: int = 48,
    name: str,
    progress: Progress | None = None,
) -> Tuned:
    """The design that commits least on this trace, for the policies of `base`; or the base if that is the better one.

    max_overhead: bytes that blocks idle in fronts may come to, as a fraction of the trace's peak live bytes.
    max_classes: the most size classes. Reads the trace three times, in constant memory. Raises BadInput for arguments
    out of range, for a trace that cannot be read or holds no allocation.
    """
    _check(base, max_overhead, max_classes, name)
    histogram = _demand(trace, base, progress)
    budget_bytes = int(max_overhead * histogram.peak_live_bytes)
    made = _with_fronts(trace, drafts(base, histogram, max_classes, name), histogram, budget_bytes, progress)
    before, *tried = _simulated(trace, [base, *(draft.design for draft in made)], progress)
    best = _best(before, tried)
    if best is None:
        kept = msgspec.structs.replace(base, name=name)
        return Tuned(kept, True, [_why_base(base, before, tried)], before, before, tried)
    draft, after = made[best], tried[best]
    about = f"Tuned for {trace.name} from {base.name}"
    design = msgspec.structs.replace(draft.design, name=name, about=about)
    reasons = [
        _why_design(trace, base, histogram, before, after),
        _why_budget(draft, histogram, max_overhead, budget_bytes),
        _why_slab(after, tried),
        *_why_classes(draft, histogram, max_classes),
        *_why_fronts(draft),
    ]
    return Tuned(design, False, reasons, before, after, tried)


def _check(base: Design, max_overhead: float, max_classes: int, name: str) -> None:
    if not 0 < max_overhead <= 1:
        raise BadInput(f"max overhead: {max_overhead} is no fraction of peak live bytes; expected above 0, at most 1")
    if not 1 <= max_classes <= MAX_CLASSES:
        raise BadInput(f"max classes: {max_classes} is out of range; expected 1 to {MAX_CLASSES}")
    if reason := msgspec.structs.replace(base, name=name).why_not_valid():
        raise BadInput(reason)


def _chunks(reader: TraceReader, stage: str, progress: Progress | None) -> Iterator[Chunk]:
    done = 0
    for chunk in reader:
        yield chunk
        done += len(chunk.op)
        if progress:
            progress(stage, done, reader.footer.events)


def _demand(trace: Path, base: Design, progress: Progress | None) -> Histogram:
    with TraceReader(trace) as reader:
        footer = reader.footer
        plan = make_plan(base)
        demand = Demand(
            plan.grain,
            plan.header_bytes,
            largest_block(base),
            footer.threads,
            footer.max_blocks,
            tail_bytes=plan.tail_bytes,
        )
        for chunk in _chunks(reader, "counting requests", progress):
            demand.feed(chunk)
    histogram = demand.histogram()
    if not histogram.allocations.any():
        raise BadInput(f"{trace}: no allocation to tune for")
    return histogram


def _with_fronts(
    trace: Path, drafts: list[Draft], histogram: Histogram, budget_bytes: int, progress: Progress | None
) -> list[Draft]:
    """The drafts with the front capacities that the budget buys, by one pass over the trace."""
    plans = [make_plan(draft.design) for draft in drafts]
    with TraceReader(trace) as reader:
        footer = reader.footer
        passes = [CapacityPass(plan, histogram.heaps, footer.threads, footer.max_blocks) for plan in plans]
        for chunk in _chunks(reader, "following every capacity", progress):
            for one in passes:
                one.feed(chunk)
    return [
        with_shares(draft, plan, allot(one.curves(), plan, budget_bytes))
        for draft, plan, one in zip(drafts, plans, passes, strict=True)
    ]


def _simulated(trace: Path, designs: Sequence[Design], progress: Progress | None) -> list[Outcome]:
    table = simulate(trace, designs, progress=progress)
    return [_outcome(design, row, table.operations) for design, row in zip(designs, table.rows, strict=True)]


def _outcome(design: Design, simulation: Simulation, operations: int) -> Outcome:
    of, totals = simulation.counters.classes, simulation.counters.totals
    peaks = simulation.statistics
    return Outcome(
        name=design.name,
        hash=simulation.hash,
        classes=len(design.sizes),
        slab_bytes=design.slab_bytes,
        committed_peak=simulation.committed_peak,
        peak_live_bytes=peaks.peak_live.live_bytes,
        internal_fragmentation=peaks.peak_committed.internal_fragmentation,
        external_fragmentation=peaks.peak_committed.external_fragmentation,
        operations=operations,
        slow_operations=sum(sum(of[name]) for name in SLOW_IN_CLASSES) + sum(totals[name] for name in SLOW_IN_ALL),
        superslabs=totals["superslabs"],
        acquires=sum(of["acquire"]),
    )


def _best(before: Outcome, tried: Sequence[Outcome]) -> int | None:
    """Which outcome to take: of those no worse than the base, the least committed, near ties by the fewest acquires,
    then superslabs; None if the base is the better one."""
    most_slow = before.slow_operations + SLOW_SLACK * before.operations
    fit = [
        index
        for index, outcome in enumerate(tried)
        if outcome.committed_peak <= before.committed_peak and outcome.slow_operations <= most_slow
    ]
    if not fit:
        return None
    near = (1 + NEAR_TIE) * min(tried[index].committed_peak for index in fit)
    fit = [index for index in fit if tried[index].committed_peak <= near]
    best = min(fit, key=lambda index: (tried[index].acquires, tried[index].superslabs))
    after = tried[best]
    is_better = (after.committed_peak, after.slow_operations) < (before.committed_peak, before.slow_operations)
    return best if is_better else None


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "0 %"


def _why_base(base: Design, before: Outcome, tried: Sequence[Outcome]) -> Reason:
    nearest = min(tried, key=lambda outcome: outcome.committed_peak)
    why = (
        f"The base {base.name} unchanged: no tuned design is better. The least that one commits is "
        f"{nearest.committed_peak:,} bytes, with {nearest.slow_operations:,} slow operations; the base commits "
        f"{before.committed_peak:,} with {before.slow_operations:,} of {before.operations:,}. A larger overhead buys "
        f"larger fronts."
    )
    return Reason("design", base.name, why, {"committed_peak": before.committed_peak, "tried": nearest.committed_peak})


def _why_design(trace: Path, base: Design, histogram: Histogram, before: Outcome, after: Outcome) -> Reason:
    why = (
        f"Tuned for {trace.name} from {base.name}, simulated: {after.committed_peak:,} bytes committed at the peak, "
        f"{before.committed_peak:,} with the base; {histogram.peak_live_bytes:,} live. Slow operations: "
        f"{_share(after.slow_operations, after.operations)} of {after.operations:,}, "
        f"{_share(before.slow_operations, before.operations)} with the base. What has no comment is the base's."
    )
    figures: Figures = {
        "committed_peak": after.committed_peak,
        "base_committed_peak": before.committed_peak,
        "slow_operations": after.slow_operations,
        "base_slow_operations": before.slow_operations,
    }
    return Reason("design", after.hash, why, figures)


def _why_budget(draft: Draft, histogram: Histogram, max_overhead: float, budget_bytes: int) -> Reason:
    used = sum(share.chosen.bytes for share in draft.shares.values())
    why = (
        f"Blocks idle in fronts come to at most {used:,} bytes in this trace, the worst moments of all classes and "
        f"threads added up; {max_overhead:.1%} of the peak live bytes allow {budget_bytes:,}."
    )
    return Reason(
        "budget", f"{used} bytes", why, {"bytes": used, "budget_bytes": budget_bytes, "heaps": histogram.heaps}
    )


def _why_slab(after: Outcome, tried: Sequence[Outcome]) -> Reason:
    others = "; ".join(
        f"{outcome.slab_bytes:,}: {outcome.committed_peak:,} ({outcome.acquires:,} acquires, "
        f"{_share(outcome.slow_operations, outcome.operations)} slow)"
        for outcome in tried
    )
    why = (
        f"The least bytes committed at the peak without {SLOW_SLACK:.0%} more slow operations than the base; within "
        f"{NEAR_TIE:.0%} the fewest acquires, then superslabs. By slab bytes: {others}."
    )
    figures: Figures = {f"committed_peak_{outcome.slab_bytes}": outcome.committed_peak for outcome in tried}
    return Reason("slab_bytes", str(after.slab_bytes), why, figures)


def _why_classes(draft: Draft, histogram: Histogram, max_classes: int) -> Iterator[Reason]:
    plan = make_plan(draft.design)
    why = (
        f"The {plan.class_count} block sizes that commit the fewest bytes for the blocks live at the peak. The last "
        f"class saves {draft.last_saves:,.0f} bytes there, one more would save {draft.next_saves:,.0f}; a class costs "
        f"{draft.class_bytes:,}: half a page of its slab and of each heap's refill. At most {max_classes} classes; "
        f"none so wide that any size, seen or not, loses over a quarter of its block beyond the rounding to {STEP}."
    )
    figures: Figures = {
        "last_saves": draft.last_saves,
        "next_saves": draft.next_saves,
        "class_bytes": draft.class_bytes,
    }
    yield Reason("sizes", f"{plan.class_count} classes", why, figures)
    of_class = np.array(plan.size_class)
    seen = [counts[: len(of_class)] for counts in (histogram.live, histogram.asked, histogram.allocations)]
    for row in plan.classes:
        live, asked, allocations = (int(counts[of_class == row.index].sum()) for counts in seen)
        why = f"{row.smallest_request} to {row.usable}: "
        why += f"{allocations:,} allocations" if allocations else "never asked for"
        if live:
            why += f", {live:,} live at the peak in {_share(asked, live * row.stride)} of their blocks"
        figures = {"allocations": allocations, "live": live, "asked_bytes": asked}
        yield Reason(f"sizes[{row.index}]", str(row.size), why, figures)


def _why_fronts(draft: Draft) -> Iterator[Reason]:
    used = {draft.design.sizes[cls]: share for cls, share in draft.shares.items()}
    for index, row in enumerate(draft.design.class_front):
        shares = {size: used[size] for size in row.sizes if size in used}
        words = [
            f"{share.chosen.slow:,.0f} slow operations estimated for {size} ({share.options[0].slow:,.0f} without a "
            f"front, {share.options[-1].slow:,.0f} with room for {share.options[-1].blocks})"
            for size, share in shares.items()
        ]
        why = "; ".join(words) or "The base's front for these sizes; the trace does not ask for them"
        held = sum(share.chosen.bytes for share in shares.values())
        slow = sum(share.chosen.slow for share in shares.values())
        blocks = max((share.chosen.blocks for share in shares.values()), default=0)
        yield Reason(f"class_front[{index}]", f"{blocks} blocks", f"{why}.", {"bytes": held, "slow": slow})
