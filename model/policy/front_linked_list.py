"""Singly linked list through the free blocks' first words: LIFO, no array, but every pop reads the block."""

from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.front import (
    FrontPlan,
    OneLevel,
    bounded,
    one_level_plan,
    stack_pop,
    stack_push,
    why_not_one_level,
)

NAME = "linked_list"
IS_STACK = False


class Params(OneLevel, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Intrusive singly linked list: LIFO through the block's first word."""


why_not_valid = why_not_one_level


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
