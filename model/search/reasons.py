"""Reasons for a tuned design: text and figures for each choice, as comments of the design file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import Reason
from heapsmith.model.search.draft import Draft
from heapsmith.model.search.outcome import SLOW_SLACK, Outcome
from heapsmith.model.search.size_classes import STEP, Histogram

Figures = dict[str, int | float]


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "0 %"


def why_base(base: Design, before: Outcome, tried: Sequence[Outcome]) -> Reason:
    """Explain why the base is kept."""
    nearest = min(tried, key=lambda outcome: outcome.committed_peak)
    why = (
        f"The base {base.name} stays, because no tuned design is better. The leanest tuned design commits "
        f"{nearest.committed_peak:,} bytes, with {nearest.slow_operations:,} slow operations. The base commits "
        f"{before.committed_peak:,} bytes, with {before.slow_operations:,} of {before.operations:,}."
    )
    return Reason("design", base.name, why, {"committed_peak": before.committed_peak, "tried": nearest.committed_peak})


def why_design(trace: Path, base: Design, histogram: Histogram, before: Outcome, after: Outcome) -> Reason:
    """Explain the design as a whole."""
    why = (
        f"Tuned for {trace.name} from {base.name}. Simulated peak: {after.committed_peak:,} bytes committed, "
        f"{before.committed_peak:,} with the base; {histogram.peak_live_bytes:,} live. Slow operations: "
        f"{_share(after.slow_operations, after.operations)} of {after.operations:,}, "
        f"{_share(before.slow_operations, before.operations)} with the base. "
        "Values without a comment are those of the base."
    )
    figures: Figures = {
        "committed_peak": after.committed_peak,
        "base_committed_peak": before.committed_peak,
        "slow_operations": after.slow_operations,
        "base_slow_operations": before.slow_operations,
    }
    return Reason("design", after.hash, why, figures)


def why_budget(draft: Draft, histogram: Histogram, max_overhead: float) -> Reason:
    """Explain the memory that the fronts may hold."""
    budget_bytes = int(max_overhead * histogram.peak_live_bytes)
    used = sum(share.chosen.bytes for share in draft.shares.values())
    why = (
        f"At most {used:,} bytes lie idle in fronts in this trace: the sum of the worst moments of all classes and "
        f"threads. The limit is {max_overhead:.1%} of the peak live bytes: {budget_bytes:,}."
    )
    return Reason(
        "budget", f"{used} bytes", why, {"bytes": used, "budget_bytes": budget_bytes, "heaps": histogram.heaps}
    )


def why_slab(after: Outcome, tried: Sequence[Outcome]) -> Reason:
    """Explain the slab size, with the best design of each size."""
    others = "; ".join(
        f"{outcome.slab_bytes:,}: {outcome.committed_peak:,} ({outcome.acquires:,} acquires, "
        f"{_share(outcome.slow_operations, outcome.operations)} slow, blocks up to {outcome.largest_block:,})"
        for outcome in tried
    )
    why = (
        f"This slab size costs least in memory and time. Slow operations may take {SLOW_SLACK:.0%} of the run more "
        f"than with the base. The best design of each size in bytes: {others}."
    )
    figures: Figures = {f"committed_peak_{outcome.slab_bytes}": outcome.committed_peak for outcome in tried}
    return Reason("slab_bytes", str(after.slab_bytes), why, figures)


def why_classes(draft: Draft, histogram: Histogram, max_classes: int) -> Iterator[Reason]:
    """Explain the classes, all together and each."""
    plan = make_plan(draft.design)
    why = (
        f"These {plan.class_count} block sizes commit the fewest bytes for the blocks live at the peak. The last class "
        f"saves {draft.last_saves:,.0f} bytes there, one more class would save {draft.next_saves:,.0f}, and a class "
        f"costs {draft.class_bytes:,}: half a page of its slab and of each heap's refill. The limit is {max_classes} "
        f"classes. No size, in the trace or not, loses over a quarter of its block beyond the rounding to {STEP}."
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
        why += f"{allocations:,} allocations" if allocations else "no allocations"
        if live:
            why += f", {live:,} live at the peak in {_share(asked, live * row.stride)} of their blocks"
        figures = {"allocations": allocations, "live": live, "asked_bytes": asked}
        yield Reason(f"sizes[{row.index}]", str(row.size), why, figures)


def why_fronts(draft: Draft) -> Iterator[Reason]:
    """Explain each row of fronts."""
    used = {draft.design.sizes[cls]: share for cls, share in draft.shares.items()}
    for index, row in enumerate(draft.design.class_front):
        shares = {size: used[size] for size in row.sizes if size in used}
        words = [
            f"{share.chosen.slow:,.0f} slow operations estimated for {size} ({share.options[0].slow:,.0f} without a "
            f"front, {share.options[-1].slow:,.0f} with room for {share.options[-1].blocks})"
            for size, share in shares.items()
        ]
        why = "; ".join(words) or "The front of the base: the trace has no allocations of these sizes"
        held = sum(share.chosen.bytes for share in shares.values())
        slow = sum(share.chosen.slow for share in shares.values())
        blocks = max((share.chosen.blocks for share in shares.values()), default=0)
        yield Reason(f"class_front[{index}]", f"{blocks} blocks", f"{why}.", {"bytes": held, "slow": slow})


def why_run_cache(base: Design, before: Outcome, after: Outcome, tried: Sequence[Outcome]) -> Iterator[Reason]:
    """Explain a run cache other than the base's; `tried`: outcomes with other caches and fronts."""
    if after.run_cache_bytes == base.run_cache_bytes:
        return
    dearest = sorted((one for one in tried if one.name == after.name), key=lambda one: -one.cost(before))
    by_cache = {one.run_cache_bytes: one for one in dearest}
    others = "; ".join(
        f"{cache:,}: {one.committed_peak:,} ({_share(one.slow_operations, one.operations)} slow)"
        for cache, one in sorted(by_cache.items())
    )
    smaller = after.run_cache_bytes < base.run_cache_bytes
    saves = "The base's run cache saves less" if smaller else "A larger run cache saves more"
    why = f"{saves} than its idle runs cost. Committed bytes by cache bytes: {others}."
    figures: Figures = {f"committed_peak_{cache}": one.committed_peak for cache, one in by_cache.items()}
    yield Reason("run_cache_bytes", str(after.run_cache_bytes), why, figures)
