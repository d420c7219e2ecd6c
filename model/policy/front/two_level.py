"""Two levels: short for an array stack over a linked list (front `levels`)."""

from types import ModuleType
from typing import Annotated

import msgspec

from heapsmith.model.policy.front import levels
from heapsmith.model.policy.front.common import FrontPlan, Refill, why_not_batch, why_not_level
from heapsmith.model.policy.front.levels import Level

NAME = "two_level"
SPELLS = True


class OverList(msgspec.Struct, frozen=True):
    """The parameters of a level 0 over a linked list, between which batches move."""

    capacity: Annotated[int, msgspec.Meta(description="the most blocks of level 0")] = 32
    list_capacity: Annotated[int, msgspec.Meta(description="the most blocks of the list")] = 128
    max_bytes: Annotated[int, msgspec.Meta(description="the most bytes of each level")] = 65_536
    refill: Annotated[
        Refill,
        msgspec.Meta(
            description="blocks that a miss of both levels takes from the store, "
            'or "never" (one block: frees alone fill the front)'
        ),
    ] = None
    spill: Annotated[
        int | None, msgspec.Meta(description="blocks that an overflow of level 0 moves down (default: half of level 0)")
    ] = None
    promote: Annotated[
        int | None, msgspec.Meta(description="blocks that a miss of level 0 brings up (default: half of level 0)")
    ] = None
    flush: Annotated[
        int | None,
        msgspec.Meta(description="blocks that an overflow of the list gives to the store (default: half of it)"),
    ] = None


class Params(OverList, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stack (level 0) over an intrusive linked list (level 1)."""


UPPER = {"two_level": "array_stack", "ring_over_list": "fifo_ring"}
"""The kind of level 0, by spelling."""


def as_levels(params: OverList) -> levels.Params:
    """Return the list of levels for which these parameters are short."""
    upper = Level(UPPER[str(params.__struct_config__.tag)], params.capacity, spill=params.spill)  # type: ignore[arg-type]
    lower = Level("linked_list", params.list_capacity, promote=params.promote)
    return levels.Params((upper, lower), max_bytes=params.max_bytes, refill=params.refill, flush=params.flush)


def why_not_valid(params: OverList) -> str | None:
    """Return why these parameters make no front, or None: with the names that fields have here."""
    return (
        why_not_level("capacity", params.capacity)
        or why_not_level("list_capacity", params.list_capacity)
        or why_not_batch("spill", params.spill, min(params.capacity, params.list_capacity))
        or why_not_batch("promote", params.promote, params.capacity)
        or levels.why_not_valid(as_levels(params))
    )


def row_of(params: OverList) -> ModuleType:
    """Return the row that serves."""
    return levels.row_of(as_levels(params))


def derive(params: OverList, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes."""
    return levels.derive(as_levels(params), stride)
