"""Huge pages for a tuned design: whether they pay if the program touches all that it asks for."""

import msgspec

from heapsmith.model.constants import HUGE_PAGE, PAGE
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import Reason
from heapsmith.model.search.outcome import TIME_PRICE, Outcome

TOUCH_NS, HUGE_TOUCH_NS = 1500, 250_000
"""The approximate cost of the first touch of a page of 4 KiB and of 2 MiB (docs/tuning.md)."""


def page_variants(design: Design) -> list[Design]:
    """Return the design with its runs, its slabs or both on huge pages from the first byte.

    The result is empty if the design says never or always, or if its superslabs are smaller than a
    huge page. A design that leaves the choice to the system only gets both.
    """
    if design.thp in ("never", "always"):
        return []
    grown = design.thp == "grown"
    slabs, runs = (design.thp_slabs_from_bytes, design.thp_runs_from_bytes) if grown else (0, 0)
    made: dict[str, Design] = {}
    for slabs_from, runs_from in ((slabs, 0), (0, runs), (0, 0)):
        one = msgspec.structs.replace(
            design, thp="grown", thp_slabs_from_bytes=slabs_from, thp_runs_from_bytes=runs_from
        )
        if one.hash() != design.hash() and one.why_not_valid() is None:
            made.setdefault(one.hash(), one)
    return list(made.values())


def touch_ns(design: Design, outcome: Outcome) -> float:
    """Return the approximate time of first touches of all memory committed at the peak."""
    plan = make_plan(design)
    huge = 0
    if plan.thp_asked:
        small = min(outcome.superslabs * plan.superslab_bytes, plan.thp_slabs_from_bytes)
        huge = outcome.superslabs * plan.superslab_bytes - small
        huge += max(0, -(-outcome.run_span_bytes // HUGE_PAGE) * HUGE_PAGE - plan.thp_runs_from_bytes)
    huge = min(huge, outcome.committed_peak)
    return (outcome.committed_peak - huge) / PAGE * TOUCH_NS + huge / HUGE_PAGE * HUGE_TOUCH_NS


def cost_with_touches(design: Design, outcome: Outcome, before: Outcome) -> float:
    """Return Outcome.cost with the time of first touches."""
    return outcome.cost(before) + TIME_PRICE * touch_ns(design, outcome) / outcome.run_ns


def why_pages(design: Design, after: Outcome, chosen: Design, outcome: Outcome) -> Reason:
    """Explain the spans on huge pages: `design` with outcome `after`, instead of `chosen`."""
    small, huge = touch_ns(chosen, outcome), touch_ns(design, after)
    why = (
        f"Huge pages, because the program touches all that it asks for: first touches take {huge / 1e6:.2f} ms "
        f"instead of {small / 1e6:.2f}, of a run of {after.run_ns / 1e6:.0f} ms; {after.committed_peak:,} bytes are "
        f"committed at the peak instead of {outcome.committed_peak:,}."
    )
    figures = {"touch_ns": huge, "touch_ns_small": small, "committed_peak_small": outcome.committed_peak}
    return Reason("thp", design.thp, why, figures)
