"""Two levels: an array stack over a linked list; overflow spills down in batches, misses promote up in batches."""

import msgspec

from heapsmith.model.policy.front import (
    FrontPlan,
    bounded,
    one_level_plan,
    one_level_why_not,
    why_not_batch,
    why_not_level,
)

NAME = "two_level"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stack (level 0) over an intrusive linked list (level 1).

    capacity, list_capacity: blocks each level may hold; max_bytes: bytes each may hold; refill: blocks a miss of both
    takes from the store into level 0; spill: blocks an overflow of level 0 moves down (default: half of it); promote:
    blocks a miss of level 0 brings up (default: half of it); flush: blocks an overflow of level 1 gives to the store
    (default: half of level 1).
    """

    capacity: int = 32
    list_capacity: int = 128
    max_bytes: int = 65_536
    refill: int | None = None
    spill: int | None = None
    promote: int | None = None
    flush: int | None = None


def why_not_valid(params: Params) -> str | None:
    """The reason why these parameters make no front, or None."""
    return (
        one_level_why_not(params.capacity, params.max_bytes, params.refill, None)
        or why_not_level("list_capacity", params.list_capacity)
        or why_not_batch("spill", params.spill, min(params.capacity, params.list_capacity))
        or why_not_batch("promote", params.promote, params.capacity)
        or why_not_batch("flush", params.flush, params.list_capacity)
    )


def derive(params: Params, stride: int) -> FrontPlan:
    """The plan of this front for a class of `stride` bytes.

    A spill always fits after a flush: spill <= flush <= list_capacity.
    """
    capacity = bounded(params.capacity, params.max_bytes, stride)
    list_capacity = bounded(params.list_capacity, params.max_bytes, stride)
    half = max(1, capacity // 2)
    spill = min(params.spill or half, capacity, list_capacity)
    return FrontPlan(
        NAME,
        capacity=capacity,
        list_capacity=list_capacity,
        refill=one_level_plan(NAME, capacity, params.refill, None, stride).refill,
        flush=max(spill, min(params.flush or max(1, list_capacity // 2), list_capacity)),
        spill=spill,
        promote=min(params.promote or half, capacity),
    )
