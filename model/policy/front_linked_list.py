"""Singly linked list through the free blocks' first words: LIFO, no array, but every pop reads the block."""

import msgspec

from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.front import FrontPlan, bounded, one_level_plan, one_level_why_not, stack_pop, stack_push

NAME = "linked_list"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Intrusive singly linked list: LIFO through the block's first word.

    capacity: blocks the front may hold; max_bytes: and bytes; refill: blocks a miss takes from the store (default: one
    page of them, at most half the capacity); flush: blocks an overflow gives back (default: half the capacity).
    """

    capacity: int = 64
    max_bytes: int = 65_536
    refill: int | None = None
    flush: int | None = None


def why_not_valid(params: Params) -> str | None:
    """The reason why these parameters make no front, or None."""
    return one_level_why_not(params.capacity, params.max_bytes, params.refill, params.flush)


def derive(params: Params, stride: int) -> FrontPlan:
    """The plan of this front for a class of `stride` bytes."""
    return one_level_plan(NAME, bounded(params.capacity, params.max_bytes, stride), params.refill, params.flush, stride)


@kernel
def push(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, block: int, moved: Ints) -> int:
    """Free: `block` becomes the newest; from a full list the newest go to `moved` first; their number."""
    flushed = 0
    if fronts[front]["held"] == classes[cls]["capacity"]:
        flushed = int(classes[cls]["flush_batch"])
        for index in range(flushed):
            moved[index] = stack_pop(fronts, slots, front)
        classes[cls]["flush"] += 1
        classes[cls]["flushed"] += flushed
    stack_push(fronts, slots, front, block)
    classes[cls]["push"] += 1
    return flushed


@kernel
def drain(fronts: Records, slots: Ints, front: int, moved: Ints) -> int:
    """All blocks leave for `moved`, newest first; their number."""
    held = int(fronts[front]["held"])
    for index in range(held):
        moved[index] = stack_pop(fronts, slots, front)
    return held
