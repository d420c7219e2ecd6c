"""FIFO ring: a power-of-two ring of pointers; the block freed first is reused first."""

from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.front import NO_BLOCK, FrontPlan, OneLevel, bounded, one_level_plan, why_not_one_level

NAME = "fifo_ring"
IS_STACK = False


class Params(OneLevel, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """FIFO ring: the block freed first is reused first; the capacity is rounded down to a power of two."""


why_not_valid = why_not_one_level


def derive(params: Params, stride: int) -> FrontPlan:
    """The plan of this front for a class of `stride` bytes: the ring's index is a mask."""
    capacity = 1 << (bounded(params.capacity, params.max_bytes, stride).bit_length() - 1)
    return one_level_plan(NAME, capacity, params.refill, params.flush, stride)


@kernel
def pop(classes: Records, fronts: Records, slots: Ints, front: int, cls: int) -> int:
    """The oldest block, or NO_BLOCK."""
    held = int(fronts[front]["held"])
    if held == 0:
        return NO_BLOCK
    head = int(fronts[front]["head"])
    fronts[front]["held"] = held - 1
    fronts[front]["head"] = (head + 1) & (int(classes[cls]["capacity"]) - 1)
    return int(slots[int(fronts[front]["base"]) + head])


@kernel
def append(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, block: int) -> None:
    """`block` becomes the newest of a ring that has room."""
    held = int(fronts[front]["held"])
    tail = (int(fronts[front]["head"]) + held) & (int(classes[cls]["capacity"]) - 1)
    slots[int(fronts[front]["base"]) + tail] = block
    fronts[front]["held"] = held + 1


@kernel
def fill(
    classes: Records, fronts: Records, slots: Ints, front: int, cls: int, moved: Ints, first: int, count: int
) -> None:
    """moved[first] .. moved[count - 1] go into an empty ring so that they come out in this order."""
    for index in range(first, count):
        append(classes, fronts, slots, front, cls, int(moved[index]))


@kernel
def push(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, block: int, moved: Ints) -> int:
    """Free: `block` becomes the newest; from a full ring the oldest go to `moved`, and their number is returned."""
    flushed = 0
    if fronts[front]["held"] == classes[cls]["capacity"]:
        flushed = int(classes[cls]["flush_batch"])
        for index in range(flushed):
            moved[index] = pop(classes, fronts, slots, front, cls)
        classes[cls]["flush"] += 1
        classes[cls]["flushed"] += flushed
    append(classes, fronts, slots, front, cls, block)
    classes[cls]["push"] += 1
    return flushed


@kernel
def drain(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, moved: Ints) -> int:
    """All blocks leave for `moved`, oldest first; their number."""
    held = int(fronts[front]["held"])
    for index in range(held):
        moved[index] = pop(classes, fronts, slots, front, cls)
    return held
