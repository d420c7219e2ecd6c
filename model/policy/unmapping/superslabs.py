"""Unmapped superslabs: those whose slabs are all empty go back to the OS, beyond a few that stay."""

from typing import Any

import msgspec

from heapsmith.model.errors import Refusal

NAME = "superslabs"
MOMENTS = (
    *("superslab_ready", "superslab_wanted", "slab_pooled", "slab_reused", "slab_covered", "slab_claimed"),
    *("vacate", "check", "reset"),
)
NUMBERS = ("unmap_from",)
MOST_KEPT = 1 << 20
COSTS = {
    "slab.unpooled": 276.97,
    "slab.unmap": 45.00,  # an estimate, counted in the disassembly
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A superslab is unmapped when its last slab empties, if `keep` others are empty already.

    keep: empty superslabs that stay, of all classes and heaps together. An unmapped superslab takes
    no memory and counts against no limit; another class or heap may map it again. Each costs a call,
    and a fault for each page that is used again.
    """

    keep: int = 1


def why_not_valid(params: Params) -> str | None:
    """Return why that many cannot stay, or None."""
    if 0 <= params.keep <= MOST_KEPT:
        return None
    return f"keep: {params.keep} is out of range; expected 0 to {MOST_KEPT}"


def why_not_with(design: Any) -> Refusal | None:
    """Return why superslabs of this design cannot be unmapped, or None."""
    pool = design.row("pool")
    if pool.SWAPS:
        words = f"unmapping: '{NAME}' cannot go with pool '{pool.NAME}', from whose middle no slab can be taken"
        return Refusal(words, ("unmapping", "pool"))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return at how many empty superslabs the last of them goes."""
    return {"unmap_from": design.unmapping.keep + 1}
