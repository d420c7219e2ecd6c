"""Doubling growth: superslabs become usable in steps, each twice as long as the step before."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.state import State

NAME = "doubling"
MOMENTS = ("reset",)
STATE = {"classes": {"growth_step": 0}}
"""Superslabs that become usable together next, in the region of this number; 0: the first step."""
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
NUMBERS = ("growth_first", "growth_most")
MOST_BYTES = 1 << 30


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Superslabs become usable in steps that double.

    initial_bytes: the first step; most_bytes: the largest. Both are powers of two, at least a
    superslab. A large heap makes fewer system calls; memory that is only usable costs nothing but
    its part of a limit on address space.
    """

    initial_bytes: int = 2_097_152
    most_bytes: int = 16_777_216


def why_not_valid(params: Params) -> str | None:
    """Return why there are no such steps, or None."""
    for field, low in (("initial_bytes", 1), ("most_bytes", params.initial_bytes)):
        value = getattr(params, field)
        if not max(1, low) <= value <= MOST_BYTES or value & (value - 1):
            return f"{field}: {value}; expected a power of two, {low} to {MOST_BYTES}"
    return None


def why_not_with(design: Any) -> Refusal | None:
    """Return why superslabs of this design cannot become usable together, or None."""
    if design.growth.initial_bytes < design.superslab_bytes:
        words = f"growth.initial_bytes: {design.growth.initial_bytes}; expected a superslab or more"
        return Refusal(words, ("growth",))
    if design.row("hardening").GUARDED and design.superslab_bytes > design.slab_bytes:
        words = f"growth: '{NAME}' cannot go with guard slabs, which end each superslab; expected none"
        return Refusal(words, ("growth",))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the first and the largest step in superslabs."""
    steps = design.growth.initial_bytes, design.growth.most_bytes
    first, most = (step // design.superslab_bytes for step in steps)
    return {"growth_first": first, "growth_most": most}


@kernel
def superslabs_at_once(state: State, region: int, number: int) -> int:
    """Return the next step, which doubles the one after it; a single superslab where the step has no room."""
    step = max(state.growth_first, int(state.classes[region]["growth_step"]))
    state.classes[region]["growth_step"] = min(2 * step, state.growth_most)
    return step if step <= state.region_superslabs - number else 1
