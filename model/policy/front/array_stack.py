"""Array stack: a LIFO of pointers in an array; the freed block itself is never touched."""

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.memory.layout import CLASS_BYTES, CLASS_CAPACITY, CLASS_FLUSH, CLASS_TRANSFER, CLASSES
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front.common import (
    FrontPlan,
    OneLevel,
    bounded,
    one_level_plan,
    slots_lines,
    stack_push,
    stack_push_lines,
    stack_shift,
    why_not_one_level,
)

NAME = "array_stack"
IS_STACK = True
"""Level 0 is an array stack."""


class Params(OneLevel, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stack (a magazine): LIFO, pointers in an array."""


why_not_valid = why_not_one_level


def derive(params: Params, stride: int) -> FrontPlan:
    """The plan of this front for a class of `stride` bytes."""
    return one_level_plan(NAME, bounded(params.capacity, params.max_bytes, stride), params.refill, params.flush, stride)


@kernel
def push(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, block: int, moved: Ints) -> int:
    """Free: `block` becomes the newest; from a full front the oldest go to `moved`, and their number is returned."""
    flushed = 0
    if fronts[front]["held"] == classes[cls]["capacity"]:
        flushed = stack_shift(fronts, slots, front, int(classes[cls]["flush_batch"]), moved, 0)
        classes[cls]["flush"] += 1
        classes[cls]["flushed"] += flushed
    stack_push(fronts, slots, front, block)
    classes[cls]["push"] += 1
    return flushed


@kernel
def drain(fronts: Records, slots: Ints, front: int, moved: Ints) -> int:
    """All blocks leave for `moved`, oldest first; their number."""
    return stack_shift(fronts, slots, front, int(fronts[front]["held"]), moved, 0)


@hit_path
def push_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, front: int,
    cls: int, block: int,
) -> None:  # fmt: skip
    """Of a free; an overflow moves all slots."""
    capacity = int(classes[cls]["capacity"])
    stack_push_lines(touched, fronts, front, int(fronts[front]["held"]), capacity)
    if fronts[front]["held"] == capacity:
        slots_lines(touched, fronts, front, cls, capacity, CLASS_FLUSH)
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_CAPACITY, 0)
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_TRANSFER, 0)
