"""FIFO ring: a power-of-two ring of pointers; the block freed first is reused first."""

from heapsmith.model.compile.kernel import Ints, Records, kernel
from heapsmith.model.memory.layout import (
    CLASS_BYTES,
    CLASS_CAPACITY,
    CLASS_FLUSH,
    CLASS_REFILL,
    CLASS_SLOT,
    CLASSES,
    WORD,
)
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front.common import (
    NO_BLOCK,
    FrontPlan,
    OneLevel,
    bounded,
    one_level_plan,
    slots_lines,
    why_not_one_level,
)

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
    """moved[first] .. moved[count - 1] go into an empty ring, in places of these numbers, to come out in this order."""
    fronts[front]["head"] = first & (int(classes[cls]["capacity"]) - 1)
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
    fronts[front]["head"] = 0
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
    """Of an allocation: the front's record, and the slot of the oldest."""
    touch(touched, int(fronts[front]["front_at"]), 1)
    if fronts[front]["held"] > 0:
        touch(touched, int(fronts[front]["slots_at"]) + WORD * int(fronts[front]["head"]), 0)


@kernel
def push_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, front: int,
    cls: int, block: int,
) -> None:  # fmt: skip
    """Of a free: the front's record, and the slot behind the newest; an overflow reads the slots of the oldest."""
    touch(touched, int(fronts[front]["front_at"]), 1)
    last = int(classes[cls]["capacity"]) - 1
    head, held = int(fronts[front]["head"]), int(fronts[front]["held"])
    touch(touched, int(fronts[front]["slots_at"]) + WORD * ((head + held) & last), 1)
    if held > last:
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_CAPACITY, 0)
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_FLUSH, 0)
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)
        for index in range(int(classes[cls]["flush_batch"])):
            touch(touched, int(fronts[front]["slots_at"]) + WORD * ((head + index) & last), 0)


@kernel
def fill_lines(touched: Ints, fronts: Records, front: int, cls: int, count: int) -> None:
    """Of a refill."""
    touch(touched, int(fronts[front]["front_at"]), 1)
    slots_lines(touched, fronts, front, cls, count, CLASS_REFILL)
