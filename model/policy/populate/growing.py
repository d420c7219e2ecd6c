"""Populate growing: the more slabs a class has, the more of their pages become resident by one call."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import HUGE_PAGE, LEAST_PAGE, PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import populated, touch
from heapsmith.model.policy.populate.common import carved_at

NAME = "growing"
MOMENTS = ("slab_acquired", "slab_retired", "reset")
COSTS: dict[str, float] = {}  # of kinds that other rows have too
NUMBERS = ("populate_most_bytes", "populate_share")
MOST_SHARE = 1 << 20


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Fresh blocks of a class with many slabs bring several pages at once; large blocks bring none.

    pages: most pages of a batch, of 4 KiB, a power of two; share: a batch is at most this part of the bytes
    of the slabs that the class has. So what nobody touches is a small part of the class, and a
    class with few slabs makes no call.
    """

    pages: int = 16
    share: int = 32


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such batch, or None."""
    most = HUGE_PAGE // LEAST_PAGE
    if not 1 <= params.pages <= most or params.pages & (params.pages - 1):
        return f"pages: {params.pages}; expected a power of two, 1 to {most}"
    if not 1 <= params.share <= MOST_SHARE:
        return f"share: {params.share}; expected 1 to {MOST_SHARE}"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the most pages of a batch, and the part of the class's slabs."""
    return {"populate_most_bytes": design.populate.pages * LEAST_PAGE, "populate_share": design.populate.share}


@hit_path
def slabs_held_at(cls: int) -> int:
    """Return the address of the number of slabs that a class has."""
    return layout.SLABS_HELD + cls * layout.NUMBER_BYTES


@kernel
def step(state: State, cls: int) -> int:
    """Return the bytes of a batch: a power of two of pages, at most a share of the class's slabs."""
    if state.classes[cls]["stride"] > PAGE or state.populate_most_bytes <= PAGE:
        return PAGE
    touch(state.listener, slabs_held_at(cls), 0)
    held = int(state.classes[cls]["acquire"]) - int(state.classes[cls]["retire"])
    pages = held * (state.slab_bytes // PAGE) // state.populate_share
    batch = 1
    while 2 * batch <= pages and 2 * batch <= state.populate_most_bytes // PAGE:
        batch *= 2
    return batch * PAGE


@kernel
def carved(state: State, slab: int, size: int, step: int) -> None:
    """Make the next `size` bytes of a slab resident if they are a batch of pages."""
    if step > PAGE:
        state.memory_calls += 1
        populated(state.listener, carved_at(state, slab), size)


@kernel
def slab_acquired(state: State, heap: int, cls: int, slab: int) -> None:
    """Count the slab."""
    touch(state.listener, slabs_held_at(cls), 1)


@kernel
def slab_retired(state: State, heap: int, cls: int, slab: int) -> None:
    """Count the slab no more."""
    touch(state.listener, slabs_held_at(cls), 1)
