"""Huge pages for what has grown: superslabs of short blocks and runs beyond the first, on small pages."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import HUGE_PAGE, NEVER, PAGE
from heapsmith.model.memory.state import State
from heapsmith.model.policy.thp import common

NAME = "grown"
BY_PLACE = True
NUMBERS = ("thp_slabs_from_bytes", "thp_runs_from_bytes", "thp_block_bytes")
FIELD_STEPS = {
    "thp_slabs_from_bytes": (HUGE_PAGE, 1 << 40),
    "thp_runs_from_bytes": (HUGE_PAGE, 1 << 40),
    "thp_block_bytes": (1, HUGE_PAGE),
}
COSTS: dict[str, float] = {}  # a call of the system, and faults of huge pages
why_not_with = common.why_not_short


def numbers(design: Any) -> dict[str, int]:
    """Return the bytes that keep small pages. A superslab with guard slabs lies on small pages if it is no longer
    than a huge page, of which guard slabs are never part.
    """
    has_guards = design.row("hardening").GUARDED and design.superslab_bytes > design.slab_bytes
    is_too_short = has_guards and design.superslab_bytes <= HUGE_PAGE
    return {
        "thp_slabs_from_bytes": NEVER if is_too_short else design.thp_slabs_from_bytes,
        "thp_runs_from_bytes": design.thp_runs_from_bytes,
        "thp_block_bytes": PAGE if design.thp_block_bytes is None else design.thp_block_bytes,
    }


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for: samples tell where runs are written."""
    if design.thp_runs_from_bytes == 0:
        return {"runs": "whole_runs"}
    return {"runs": "sampled_runs" if design.thp_runs_from_bytes < design.run_span_bytes else "unadvised_runs"}


def huge_runs(design: Any, fills: bool) -> bool:
    """Return whether runs lie on huge pages: without small pages before them all do."""
    return bool(design.thp_runs_from_bytes == 0 or fills)


def beyond_small_pages(plan: Any, superslabs: int, run_span_bytes: int, fills: bool) -> tuple[int, int]:
    """Return the most bytes beyond the design's bounds: with regions each has a bound of its own."""
    small = -(-plan.numbers["thp_slabs_from_bytes"] // plan.superslab_bytes)
    slabs = (superslabs - small) * plan.superslab_bytes
    runs = (run_span_bytes - plan.numbers["thp_runs_from_bytes"]) * huge_runs(plan.design, fills)
    return max(0, slabs), max(0, runs)


@kernel
def huge_superslab(state: State, cls: int) -> bool:
    """Return whether enough superslabs were mapped before it in its region, and the class's blocks are short."""
    before = int(state.classes[cls if state.regions > 1 else 0]["mapped"])
    has_grown = before * state.slabs_per_superslab * state.slab_bytes >= state.thp_slabs_from_bytes
    return bool(has_grown and state.classes[cls]["stride"] <= state.thp_block_bytes)


@kernel
def huge_runs_from(state: State) -> int:
    """Return the first page of the run span beyond those that keep small pages."""
    return int(state.thp_runs_from_bytes // PAGE)
