"""The search: classes, fronts, slab size and run cache for a trace, with reasons."""

from pathlib import Path

import msgspec

from heapsmith.model.design.design import MAX_CLASSES, Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import Reason
from heapsmith.model.errors import BadInput, printable
from heapsmith.model.predict.simulate import Progress, feed_all
from heapsmith.model.search import reasons
from heapsmith.model.search.capacities import CapacityPass, Curve
from heapsmith.model.search.draft import Draft, drafts, largest_block, with_fronts
from heapsmith.model.search.huge_pages import cost_with_touches, page_variants, why_pages
from heapsmith.model.search.outcome import Outcome, by_slab, least_cached, outcomes, ranked
from heapsmith.model.search.size_classes import Demand, Histogram
from heapsmith.model.trace.reader import TraceReader

CLASSES = 48
"""Size classes at most, unless the caller says otherwise."""

BUDGETS = (1.0, 0.25, 0.0625)
"""Budgets for the fronts, as parts of the largest; slab sizes are compared with the first."""

FINALISTS = 2
"""The number of shapes whose fronts and run caches are searched."""

RUN_CACHES = (0, 65_536, 262_144)
"""Bytes of run caches to try besides the base's."""


class Tuned(msgspec.Struct, frozen=True):
    """The better of tuned design and base, with reasons and outcomes: before, after, by slab."""

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
    max_overhead: float = 1.0,
    max_classes: int = CLASSES,
    huge_pages: bool = False,
    name: str,
    progress: Progress | None = None,
) -> Tuned:
    """Return the cheapest design for this trace with the policies of `base`, or the base.

    max_overhead: the most bytes of idle blocks in fronts, as a fraction of the trace's peak live
    bytes. max_classes: the most size classes. huge_pages: the program touches all that it asks for,
    so that the spans may lie on huge pages. Reads the trace four times, with huge_pages five times,
    in constant memory. Raises BadInput for arguments out of range, and for a trace that is damaged
    or has no allocation.
    """
    check_arguments(base, max_overhead, max_classes, name)
    histogram = _demand(trace, base, progress)
    shaped = drafts(base, histogram, max_classes, name)
    curves = _curves(trace, shaped, histogram, progress)
    budget_bytes = int(max_overhead * histogram.peak_live_bytes)
    made = [with_fronts(*of, budget_bytes) for of in zip(shaped, curves, strict=True)]
    designs = [base, *(draft.design for draft in made)]
    before, *tried = outcomes(trace, designs, histogram, progress, "simulating shapes")
    found = ranked(before, tried)[:FINALISTS]
    variants = [one for index in found for one in _variants(shaped[index], curves[index], budget_bytes)]
    varied = outcomes(trace, [one.design for one in variants], histogram, progress, "simulating caches")
    last = least_cached(before, varied)
    slabs = by_slab(before, [*tried, *varied])
    if last is None:
        kept = msgspec.structs.replace(base, name=name)
        tuned = Tuned(kept, True, [reasons.why_base(base, before, slabs)], before, before, slabs)
    else:
        draft, after = variants[last], varied[last]
        slabs = [after if one.slab_bytes == after.slab_bytes else one for one in slabs]
        design = msgspec.structs.replace(draft.design, name=name, about=_about(trace, base))
        given = [
            reasons.why_design(trace, base, histogram, before, after),
            reasons.why_budget(draft, histogram, max_overhead),
            reasons.why_slab(after, slabs),
            *reasons.why_run_cache(base, before, after, varied),
            *reasons.why_classes(draft, histogram, max_classes),
            *reasons.why_fronts(draft),
        ]
        tuned = Tuned(design, False, given, before, after, slabs)
    return _on_huge_pages(tuned, trace, base, histogram, progress) if huge_pages else tuned


def _about(trace: Path, base: Design) -> str:
    return f"Tuned for {printable(trace.name)} from {base.name}"


def _on_huge_pages(tuned: Tuned, trace: Path, base: Design, histogram: Histogram, progress: Progress | None) -> Tuned:
    """Return the tuned design with its spans on huge pages if that costs less, else as it is."""
    designs = [tuned.design, *page_variants(tuned.design)]
    if len(designs) == 1:
        return tuned
    found = [tuned.after, *outcomes(trace, designs[1:], histogram, progress, "simulating huge pages")]
    design, after = min(
        zip(designs, found, strict=True), key=lambda one: cost_with_touches(one[0], one[1], tuned.before)
    )
    if design is tuned.design:
        return tuned
    after = msgspec.structs.replace(after, name=tuned.after.name)
    tried = [after if one == tuned.after else one for one in tuned.tried]
    given = [
        reasons.why_design(trace, base, histogram, tuned.before, after),
        *tuned.reasons[1:],
        why_pages(design, after, tuned.design, tuned.after),
    ]
    design = msgspec.structs.replace(design, about=_about(trace, base))
    return Tuned(design, False, given, tuned.before, after, tried)


def _variants(draft: Draft, curves: list[Curve], budget_bytes: int) -> list[Draft]:
    """Return the draft with each budget for its fronts and each run cache, without duplicates."""
    caches = sorted({*RUN_CACHES, draft.design.run_cache_bytes})
    made: dict[str, Draft] = {}
    for part in BUDGETS:
        fronts = with_fronts(draft, curves, int(part * budget_bytes))
        for cache in caches:
            found = fronts._replace(design=msgspec.structs.replace(fronts.design, run_cache_bytes=cache))
            made.setdefault(found.design.hash(), found)
    return list(made.values())


def check_arguments(base: Design, max_overhead: float, max_classes: int, name: str) -> None:
    """Raise BadInput for arguments that `tune` refuses whatever the trace."""
    if not 0 < max_overhead <= 1:
        raise BadInput(f"max overhead: {max_overhead} is no fraction of peak live bytes; expected above 0, at most 1")
    if not 1 <= max_classes <= MAX_CLASSES:
        raise BadInput(f"max classes: {max_classes} is out of range; expected 1 to {MAX_CLASSES}")
    if reason := msgspec.structs.replace(base, name=name).why_not_valid():
        raise BadInput(reason)


def _demand(trace: Path, base: Design, progress: Progress | None) -> Histogram:
    with TraceReader(trace) as reader:
        demand = Demand(make_plan(base), largest_block(base), reader.footer.threads, reader.footer.max_blocks)
        feed_all(reader, [demand], "counting requests", progress)
    histogram = demand.histogram()
    if not histogram.allocations.any():
        raise BadInput(f"{trace}: no allocation to tune for")
    return histogram


def _curves(trace: Path, drafts: list[Draft], histogram: Histogram, progress: Progress | None) -> list[list[Curve]]:
    """Return the misses of each draft's classes over all capacities, in one pass over the trace."""
    with TraceReader(trace) as reader:
        room = (histogram.heaps, reader.footer.threads, reader.footer.max_blocks)
        passes = [CapacityPass(make_plan(draft.design), *room) for draft in drafts]
        feed_all(reader, passes, "following every capacity", progress)
    return [one.curves() for one in passes]
