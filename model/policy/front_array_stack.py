"""Array stack: a LIFO of pointers in an array; the freed block itself is never touched."""

import msgspec

from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.front import FrontPlan, bounded, one_level_plan, one_level_why_not, stack_push, stack_shift

NAME = "array_stack"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stack (a magazine): LIFO, pointers in an array.

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
