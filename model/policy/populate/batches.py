"""Populate in batches: pages become resident by one call for several, when they are committed."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import HUGE_PAGE, LEAST_PAGE, PAGE
from heapsmith.model.memory.layout import RUNS, page_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import populated, touch
from heapsmith.model.policy.populate.common import carved_at

NAME = "batches"
WITH = ("populate/runs",)
MOMENTS = ("run_taken",)
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
NUMBERS = ("populate_bytes",)


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Pages of the spans become resident when they are committed, some at once.

    pages: pages of a batch, of 4 KiB, a power of two. A page of a batch of 16 takes about 30 % less time than
    a page fault; pages that the program does not touch cost memory, and time for nothing.
    """

    pages: int = 16


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such batch, or None."""
    most = HUGE_PAGE // LEAST_PAGE
    if not 1 <= params.pages <= most or params.pages & (params.pages - 1):
        return f"pages: {params.pages}; expected a power of two, 1 to {most}"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the bytes of a batch."""
    return {"populate_bytes": batch_bytes(design)}


def batch_bytes(design: Any) -> int:
    """Return the bytes by which committed memory rises, but for longer pages."""
    return int(design.populate.pages) * LEAST_PAGE


@hit_path
def populate(state: State, address: int, size: int) -> None:
    """Make memory resident that is being committed, with one call."""
    if size > 0:
        state.memory_calls += 1
        populated(state.listener, address, size)


@kernel
def run_taken(state: State, first: int, pages: int) -> None:
    """Make those of a free run's low pages resident that are not committed, with one call for each extent."""
    page, end = first, first + pages
    while page < end:
        touch(state.listener, page_at(page), 0)
        state.run_extents += 1
        behind = min(page + int(state.pages[page]["extent"]), end)
        if state.pages[page]["holds"] == 0:
            populate(state, RUNS + page * PAGE, (behind - page) * PAGE)
        page = behind


@kernel
def carved(state: State, slab: int, size: int, step: int) -> None:
    """Make the next `size` bytes of a slab resident."""
    populate(state, carved_at(state, slab), size)
