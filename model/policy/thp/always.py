"""Huge pages for all superslabs, the whole run span and huge blocks."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.thp import common

NAME = "always"
UNPRICED = True
"""Superslabs of long blocks would lie on huge pages, whatever the program writes of a block."""
WHOLE = True
COSTS: dict[str, float] = {}  # a call of the system, and faults of huge pages
why_not_with = common.why_not_short


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"runs": "whole_runs"}


def huge_runs(design: Any, fills: bool) -> bool:
    """Return True: all of the run span is asked for."""
    return True


def beyond_small_pages(plan: Any, superslabs: int, run_span_bytes: int, fills: bool) -> tuple[int, int]:
    """Return all bytes."""
    return superslabs * plan.superslab_bytes, run_span_bytes


@kernel
def huge_superslab(state: State, cls: int) -> bool:
    """Return True."""
    return True


@kernel
def huge_runs_from(state: State) -> int:
    """Return 0: from the first page of the run span on."""
    return 0
