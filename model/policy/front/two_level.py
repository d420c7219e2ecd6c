"""Two levels: an array stack over a linked list; overflow spills down in batches, misses promote up in batches."""

import msgspec

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.memory.layout import (
    CLASS_BYTES,
    CLASS_FLUSH,
    CLASS_LIST_CAPACITY,
    CLASS_PROMOTE,
    CLASS_SPILL,
    CLASSES,
    FRONT_LISTED,
)
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front.common import (
    NO_BLOCK,
    FrontPlan,
    bounded,
    links_lines,
    list_lines,
    one_level_plan,
    slots_lines,
    stack_fill,
    stack_push,
    stack_push_lines,
    stack_shift,
    why_not_batch,
    why_not_bytes,
    why_not_level,
)

NAME = "two_level"
IS_STACK = True


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
        why_not_level("capacity", params.capacity)
        or why_not_bytes(params.max_bytes)
        or why_not_batch("refill", params.refill, params.capacity)
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


@kernel
def pop_below(classes: Records, fronts: Records, slots: Ints, front: int, cls: int) -> int:
    """The newest block of a level 1 that is not empty."""
    below = int(fronts[front]["below"]) - 1
    fronts[front]["below"] = below
    return int(slots[int(fronts[front]["base"]) + int(classes[cls]["capacity"]) + below])


@kernel
def push_below(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, block: int) -> None:
    """`block` becomes the newest of a level 1 that has room."""
    below = int(fronts[front]["below"])
    slots[int(fronts[front]["base"]) + int(classes[cls]["capacity"]) + below] = block
    fronts[front]["below"] = below + 1


@kernel
def promote(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, moved: Ints) -> int:
    """Level 0 is empty: a batch comes up from level 1; its newest is returned, NO_BLOCK if level 1 is empty too."""
    batch = min(int(classes[cls]["promote_batch"]), int(fronts[front]["below"]))
    if batch == 0:
        return NO_BLOCK
    for index in range(batch):
        moved[index] = pop_below(classes, fronts, slots, front, cls)
    stack_fill(fronts, slots, front, moved, 1, batch)
    classes[cls]["hit1"] += 1
    return int(moved[0])


@kernel
def make_room_below(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, moved: Ints) -> int:
    """The newest of level 1 leave for `moved` if a spill would not fit; their number."""
    held = int(fronts[front]["below"])
    if held + int(classes[cls]["spill_batch"]) <= int(classes[cls]["list_capacity"]):
        return 0
    flushed = min(int(classes[cls]["flush_batch"]), held)
    for index in range(flushed):
        moved[index] = pop_below(classes, fronts, slots, front, cls)
    classes[cls]["flush"] += 1
    classes[cls]["flushed"] += flushed
    return flushed


@kernel
def push(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, block: int, moved: Ints) -> int:
    """Free: `block` becomes the newest of level 0; if it is full its oldest spill first; the number in `moved`."""
    flushed = 0
    if fronts[front]["held"] == classes[cls]["capacity"]:
        flushed = make_room_below(classes, fronts, slots, front, cls, moved)
        spilled = stack_shift(fronts, slots, front, int(classes[cls]["spill_batch"]), moved, flushed)
        for index in range(flushed, spilled):
            push_below(classes, fronts, slots, front, cls, int(moved[index]))
        classes[cls]["spill"] += 1
    stack_push(fronts, slots, front, block)
    classes[cls]["push"] += 1
    return flushed


@kernel
def drain(classes: Records, fronts: Records, slots: Ints, front: int, cls: int, moved: Ints) -> int:
    """All blocks leave for `moved`: level 0 oldest first, then level 1 newest first; their number."""
    count = stack_shift(fronts, slots, front, int(fronts[front]["held"]), moved, 0)
    while fronts[front]["below"] > 0:
        moved[count] = pop_below(classes, fronts, slots, front, cls)
        count += 1
    return count


@kernel
def promote_lines(
    touched: Ints,
    machine: Records,
    classes: Records,
    fronts: Records,
    slots: Ints,
    slabs: Records,
    front: int,
    cls: int,
) -> None:
    """Of a promotion: the newest of level 1, whose links are read, and the slots of level 0."""
    below = int(fronts[front]["below"])
    batch = min(int(classes[cls]["promote_batch"]), below)
    touch(touched, int(fronts[front]["front_at"]) + FRONT_LISTED, 0)
    if batch > 0:
        list_lines(touched, fronts, front, FRONT_LISTED)
        slots_lines(touched, fronts, front, cls, batch - 1, CLASS_PROMOTE)
        newest = int(fronts[front]["base"]) + int(classes[cls]["capacity"]) + below - batch
        links_lines(touched, machine, classes, slabs, slots, newest, batch, 0)


@hit_path
def push_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, front: int,
    cls: int, block: int,
) -> None:  # fmt: skip
    """Of a free; an overflow links the oldest blocks, moves all slots, and may read the newest links of level 1."""
    capacity = int(classes[cls]["capacity"])
    stack_push_lines(touched, fronts, front, int(fronts[front]["held"]), capacity)
    if fronts[front]["held"] == capacity:
        spill_lines(touched, machine, classes, fronts, slots, slabs, front, cls)


@kernel
def spill_lines(
    touched: Ints,
    machine: Records,
    classes: Records,
    fronts: Records,
    slots: Ints,
    slabs: Records,
    front: int,
    cls: int,
) -> None:
    """Of an overflow of level 0."""
    capacity, spill = int(classes[cls]["capacity"]), int(classes[cls]["spill_batch"])
    base, below = int(fronts[front]["base"]), int(fronts[front]["below"])
    slots_lines(touched, fronts, front, cls, capacity, CLASS_SPILL)
    touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_LIST_CAPACITY, 0)
    list_lines(touched, fronts, front, FRONT_LISTED)
    links_lines(touched, machine, classes, slabs, slots, base, spill, 1)
    if below + spill > classes[cls]["list_capacity"]:
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_FLUSH, 0)
        flushed = min(int(classes[cls]["flush_batch"]), below)
        links_lines(touched, machine, classes, slabs, slots, base + capacity + below - flushed, flushed, 0)
