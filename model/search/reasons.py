"""Reasons for a tuned design: text and figures for each choice, as comments of the design file."""

from collections.abc import Iterator, Sequence

import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import Reason
from heapsmith.model.errors import printable
from heapsmith.model.search.capacities import LEVELS
from heapsmith.model.search.choice_worth import Worth
from heapsmith.model.search.confirm import Finalist
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import Known
from heapsmith.model.search.gain import Gain
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.size_classes import STEP, Histogram, Rules
from heapsmith.model.search.source import Source

Figures = dict[str, int | float]

WORDS = {"time": "time", "peak": "peak", "average": "average bytes", "end": "bytes at the end"}


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "0 %"


def why_base(base: str, priced: int, finalists: Sequence[Finalist]) -> Reason:
    """Explain why the base of this name is kept."""
    why = f"The base {base} stays, because none of {priced} simulated designs within the limits is clearly better."
    if finalists:
        why = (
            f"The base {base} stays: of {priced} simulated designs {len(finalists)} were replayed beside it, and "
            "none within the limits is clearly better."
        )
    return Reason("design", base, why, {"simulations": priced})


def why_design(
    sources: Sequence[Source], known_as: str, base: Known, found: Known, finalists: Sequence[Finalist], gain: Gain
) -> Reason:
    """Explain the design as a whole, by its first trace; known_as: the name of the base."""
    before, after = base.outcomes[0], found.outcomes[0]
    names = ", ".join(printable(source.path.name) for source in sources)
    waits = ""
    if before.lock_wait_ns_per_op or after.lock_wait_ns_per_op:
        waits = f"{after.lock_wait_ns_per_op:.2f} ns of them waits for locks ({before.lock_wait_ns_per_op:.2f}), "
    why = (
        f"Tuned for {names} from {known_as}. {gain.why} Predicted for {printable(sources[0].path.name)}: "
        f"{after.allocator_ns_per_op:.2f} ns per operation in the allocator ({before.allocator_ns_per_op:.2f} with the "
        f"base), {waits}{after.resident_peak:,} bytes resident at the peak ({before.resident_peak:,}), "
        f"{after.resident_average:,.0f} on average ({before.resident_average:,.0f}), {after.resident_end:,} at the end "
        f"({before.resident_end:,}). {after.peak_live_bytes:,} bytes are live at most. "
        + "".join(f"{_replayed(one)} " for one in finalists if one.hash == found.design.hash())
        + "Values without a comment are those of the base."
    )
    figures: Figures = {}
    for name, now, then in zip(OBJECTIVES, after.predicted(), before.predicted(), strict=True):
        figures |= {name: now, f"base_{name}": then}
    return Reason("design", after.hash, why, figures)


def _replayed(one: Finalist) -> str:
    return (
        f"In replays the allocator took {one.replayed:.3f} of the base's time (standard error {one.error:.3f}; "
        f"predicted {one.predicted:.3f})."
    )


def why_choices(worth: Sequence[Worth]) -> Iterator[Reason]:
    """Explain each choice by what the design would be without it."""
    for one in worth:
        field = "slab_bytes" if "sizes" in one.fields else "front" if "class_front" in one.fields else one.fields[0]
        yield Reason(field, one.chosen, f"{in_words(one)}.", dict(one.without))


def in_words(worth: Worth) -> str:
    """Return what the objectives would be with the base's choice."""
    if not worth.without:
        return f"Not simulated with the base's value ({worth.base}): the time was up, or no such design is legal"
    parts = [f"{WORDS[name]} {ratio - 1:+.1%}" for name, ratio in worth.without.items() if abs(ratio - 1) >= 5e-4]
    return f"With the base's choice ({worth.base}): {', '.join(parts) or 'no difference of 0.05 %'}"


def why_classes(design: Design, base: Design, exact: Exact, max_classes: int) -> Iterator[Reason]:
    """Explain the classes, all together and each."""
    plan, histogram = make_plan(design), exact.demand(Rules.of(design))
    found = exact.found_sizes(design)
    figures: Figures = {}
    why = f"These {len(plan.sized)} block sizes are those of a built-in design, or the best under other policies."
    if design.sizes == base.sizes:
        why = f"These {len(plan.sized)} block sizes are those of the base."
    elif found:
        why = (
            f"These {len(plan.sized)} block sizes commit the fewest bytes for the blocks live at the peak. The last "
            f"class saves {found.last_saves:,.0f} bytes there, one more class would save {found.next_saves:,.0f}, and "
            f"a class costs {found.class_bytes:,}: half a page of its slab and of each heap's refill. The limit is "
            f"{max_classes} classes. No size, in the trace or not, loses over a quarter of its block beyond the "
            f"rounding to {STEP}."
        )
        figures = {
            "last_saves": found.last_saves,
            "next_saves": found.next_saves,
            "class_bytes": found.class_bytes,
        }
    yield Reason("sizes", f"{len(plan.sized)} classes", why, figures)
    yield from _each_class(design, histogram, exact.traces)


def _each_class(design: Design, histogram: Histogram, traces: int) -> Iterator[Reason]:
    """Explain each class. What several traces ask for is weighted and scaled, so only parts of it mean something."""
    plan = make_plan(design)
    of_class = np.array(plan.size_class)
    seen = [counts[: len(of_class)] for counts in (histogram.live, histogram.asked, histogram.allocations)]
    of_class = of_class[: len(seen[0])]
    for row in plan.sized:
        live, asked, allocations = (int(counts[of_class == row.index].sum()) for counts in seen)
        why = f"{row.smallest_request} to {row.usable}: "
        blocks = f"in {_share(asked, live * row.stride)} of their blocks" if live else ""
        if not allocations:
            why += "no allocations"
        elif traces == 1:
            why += f"{allocations:,} allocations" + (f", {live:,} live at the peak {blocks}" if live else "")
        else:
            why += f"{_share(allocations, int(seen[2].sum()))} of the allocations"
            why += f", {_share(live, int(seen[0].sum()))} of the blocks live at the peaks, {blocks}" if live else ""
        figures: Figures = {"allocations": allocations, "live": live, "asked_bytes": asked}
        yield Reason(f"sizes[{row.index}]", str(row.size), why, figures)


def why_fronts(design: Design, exact: Exact) -> Iterator[Reason]:
    """Explain each row of fronts by the slow operations of its classes."""
    plan, (curves, _) = make_plan(design), exact.curves(design)
    of_size = {row.size: row for row in plan.sized}
    for index, row in enumerate(design.class_front):
        words, slow = [], 0.0
        for size in row.sizes:
            front, curve = of_size[size].front, curves[of_size[size].index]
            held = min(LEVELS, front.capacity + front.list_capacity)
            if len(curve.most):
                none, here = (
                    float(curve.misses[at] / max(1, refill) + curve.overflows[at] / max(1, flush))
                    for at, refill, flush in ((0, 1, 1), (held, front.refill, front.flush))
                )
                slow += here
                if exact.traces == 1:
                    words.append(f"{here:,.0f} slow operations estimated for {size} ({none:,.0f} without a front)")
                else:
                    words.append(f"{_share(here, none)} of the slow operations without a front estimated for {size}")
        why = "; ".join(words) or "The trace has no allocations of these sizes"
        yield Reason(f"class_front[{index}]", f"{', '.join(map(str, row.sizes))}", f"{why}.", {"slow": slow})
