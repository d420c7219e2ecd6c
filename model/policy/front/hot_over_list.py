"""Hot over list: short for a hot array stack over a linked list (front `levels`)."""

from types import ModuleType

import msgspec

from heapsmith.model.policy.front import levels
from heapsmith.model.policy.front.common import FrontPlan, Refill, why_not_level
from heapsmith.model.policy.front.levels import Level

NAME = "hot_over_list"
SPELLS = True


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Small array stack (level 0), filled by frees alone, over an intrusive linked list (level 1).

    Hits are cheapest while few blocks are free at a time; beyond that each call pays for both
    levels. capacity, list_capacity: the most blocks of each level; max_bytes: the most bytes of
    each; refill: blocks that a miss of both levels takes from the store, or "never" (one block:
    frees alone fill the front); flush: blocks that an overflow of level 1 gives to the store
    (default: half of level 1).
    """

    capacity: int = 8
    list_capacity: int = 64
    max_bytes: int = 65_536
    refill: Refill = None
    flush: int | None = None


def as_levels(params: Params) -> levels.Params:
    """Return the list of levels for which these parameters are short."""
    both = (Level("array_stack", params.capacity), Level("linked_list", params.list_capacity))
    return levels.Params(both, hot=True, max_bytes=params.max_bytes, refill=params.refill, flush=params.flush)


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no front, or None: with the names that fields have here."""
    return (
        why_not_level("capacity", params.capacity)
        or why_not_level("list_capacity", params.list_capacity)
        or levels.why_not_valid(as_levels(params))
    )


def row_of(params: Params) -> ModuleType:
    """Return the row that serves."""
    return levels.row_of(as_levels(params))


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes."""
    return levels.derive(as_levels(params), stride)
