"""Singly linked list through the free blocks' first words: LIFO, no array, but every pop reads the block."""

from heapsmith.model.compile.kernel import Ints, Records, kernel
from heapsmith.model.memory.layout import (
    CLASS_BYTES,
    CLASS_FLUSH,
    CLASS_REFILL,
    CLASSES,
    FRONT_HELD,
    FRONT_LIST,
    block_at,
)
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front.common import (
    FrontPlan,
    OneLevel,
    bounded,
    links_lines,
    list_lines,
    one_level_plan,
    slots_lines,
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


@kernel
def pop_lines(
    touched: Ints,
    machine: Records,
    classes: Records,
    fronts: Records,
    slots: Ints,
    slabs: Records,
    front: int,
    cls: int,
) -> None:
    """Of an allocation: the front's record, and the newest block, whose link is read."""
    held = int(fronts[front]["held"])
    touch(touched, int(fronts[front]["front_at"]) + FRONT_LIST, 1)
    if held > 0:
        touch(touched, int(fronts[front]["front_at"]), 1)
        links_lines(touched, machine, classes, slabs, slots, int(fronts[front]["base"]) + held - 1, 1, 0)


@kernel
def push_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, front: int,
    cls: int, block: int,
) -> None:  # fmt: skip
    """Of a free: the front's record, and the block, whose link is written; an overflow reads those of the newest."""
    list_lines(touched, fronts, front, FRONT_HELD)
    touch(touched, block_at(machine, classes, slabs, block), 1)
    held = int(fronts[front]["held"])
    if held == classes[cls]["capacity"]:
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_FLUSH, 0)
        flushed = int(classes[cls]["flush_batch"])
        newest = int(fronts[front]["base"]) + held - flushed
        links_lines(touched, machine, classes, slabs, slots, newest, flushed, 0)


@kernel
def fill_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slabs: Records, front: int, cls: int,
    moved: Ints, count: int,
) -> None:  # fmt: skip
    """Of a refill: blocks pass through the heap's slots, and all but the first are linked."""
    slots_lines(touched, fronts, front, cls, count, CLASS_REFILL)
    if count > 1:
        list_lines(touched, fronts, front, FRONT_HELD)
        links_lines(touched, machine, classes, slabs, moved, 1, count - 1, 1)
