"""Two levels: an array stack over a linked list; batches spill down and promote up."""

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import FrontCode, Function
from heapsmith.model.policy.front.common import (
    NO_BLOCK,
    FrontPlan,
    bounded,
    links_lines,
    list_lines,
    one_level_plan,
    slots_lines,
    stack_drain_lines,
    stack_fill,
    stack_push,
    stack_push_lines,
    stack_shift,
    why_not_batch,
    why_not_bytes,
    why_not_level,
)
from heapsmith.model.policy.front.common import overflow_lines as one_level_overflow_lines

NAME = "two_level"
LEVELS = 2
IS_STACK = True
BATCHED = False
CODE = FrontCode(Function("two_level_refill"), Function("two_level_spill"), "two_level_drain")


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stack (level 0) over an intrusive linked list (level 1).

    capacity, list_capacity: the most blocks of each level; max_bytes: the most bytes of each;
    refill: blocks that a miss of both levels takes from the store; spill: blocks that an overflow
    of level 0 moves down (default: half of level 0); promote: blocks that a miss of level 0 brings
    up (default: half of level 0); flush: blocks that an overflow of level 1 gives to the store
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
    """Return why these parameters make no front, or None."""
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
    """Return the plan for a class of `stride` bytes; a spill fits after a flush: spill <= flush."""
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
def pop_listed(state: State, front: int, cls: int) -> int:
    """Pop the newest block of a level 1 that is not empty."""
    listed = int(state.fronts[front]["listed"]) - 1
    state.fronts[front]["listed"] = listed
    return int(state.slots[int(state.fronts[front]["base"]) + int(state.classes[cls]["capacity"]) + listed])


@kernel
def push_listed(state: State, front: int, cls: int, block: int) -> None:
    """Push `block` on a level 1 that has room."""
    listed = int(state.fronts[front]["listed"])
    state.slots[int(state.fronts[front]["base"]) + int(state.classes[cls]["capacity"]) + listed] = block
    state.fronts[front]["listed"] = listed + 1


@kernel
def promote(state: State, front: int, cls: int) -> int:
    """Move a batch from level 1 to an empty level 0; return the newest, or NO_BLOCK."""
    batch = min(int(state.classes[cls]["promote_batch"]), int(state.fronts[front]["listed"]))
    if batch == 0:
        return NO_BLOCK
    for index in range(batch):
        state.moved[index] = pop_listed(state, front, cls)
    stack_fill(state, front, cls, 1, batch)
    state.classes[cls]["hit1"] += 1
    return int(state.moved[0])


@kernel
def make_room_in_list(state: State, front: int, cls: int) -> int:
    """Move the newest of level 1 to `moved` if a spill would not fit; return their number."""
    held = int(state.fronts[front]["listed"])
    if held + int(state.classes[cls]["spill_batch"]) <= int(state.classes[cls]["list_capacity"]):
        return 0
    flushed = min(int(state.classes[cls]["flush_batch"]), held)
    for index in range(flushed):
        state.moved[index] = pop_listed(state, front, cls)
    state.classes[cls]["flush"] += 1
    state.classes[cls]["flushed"] += flushed
    return flushed


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full level 0 first spills; return the number flushed."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = make_room_in_list(state, front, cls)
        spilled = stack_shift(state, front, int(state.classes[cls]["spill_batch"]), flushed)
        for index in range(flushed, spilled):
            push_listed(state, front, cls, int(state.moved[index]))
        state.classes[cls]["spill"] += 1
    stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, level 0 oldest first, level 1 newest first; return how many."""
    count = stack_shift(state, front, int(state.fronts[front]["held"]), 0)
    while state.fronts[front]["listed"] > 0:
        state.moved[count] = pop_listed(state, front, cls)
        count += 1
    return count


@kernel
def promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch what a promotion touches: the newest links of level 1, and the slots of level 0."""
    listed = int(state.fronts[front]["listed"])
    batch = min(int(state.classes[cls]["promote_batch"]), listed)
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 0)
    if batch > 0:
        list_lines(state, front, layout.FRONT_LISTED)
        slots_lines(state, front, cls, batch - 1, layout.CLASS_PROMOTE)
        newest = int(state.fronts[front]["base"]) + int(state.classes[cls]["capacity"]) + listed - batch
        links_lines(state, state.slots, newest, batch, 0)
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT1, 1)


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what a drain of the stack and the list touches."""
    listed = int(state.fronts[front]["listed"])
    stack_drain_lines(state, front, cls)
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 1)
    if listed > 0:
        list_lines(state, front, layout.FRONT_LISTED)
    oldest = int(state.fronts[front]["base"]) + int(state.classes[cls]["capacity"])
    links_lines(state, state.slots, oldest, listed, 0)


@kernel
def overflow_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch the counters of a spill, and of a flush if level 1 has no room for the spill."""
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_SPILL, 1)
    spill = int(state.classes[cls]["spill_batch"])
    if state.fronts[front]["listed"] + spill > state.classes[cls]["list_capacity"]:
        one_level_overflow_lines(state, heap, front, cls)


@hit_path
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches; an overflow also spills."""
    capacity = int(state.classes[cls]["capacity"])
    stack_push_lines(state, front, int(state.fronts[front]["held"]), capacity)
    if state.fronts[front]["held"] == capacity:
        spill_lines(state, front, cls)


@kernel
def spill_lines(state: State, front: int, cls: int) -> None:
    """Touch what a spill touches: links of the oldest, all slots, and links that a flush reads."""
    capacity, spill = int(state.classes[cls]["capacity"]), int(state.classes[cls]["spill_batch"])
    base, listed = int(state.fronts[front]["base"]), int(state.fronts[front]["listed"])
    slots_lines(state, front, cls, capacity, layout.CLASS_SPILL)
    touch(state.listener, class_at(cls) + layout.CLASS_LIST_CAPACITY, 0)
    list_lines(state, front, layout.FRONT_LISTED)
    links_lines(state, state.slots, base, spill, 1)
    if listed + spill > state.classes[cls]["list_capacity"]:
        touch(state.listener, class_at(cls) + layout.CLASS_FLUSH, 0)
        flushed = min(int(state.classes[cls]["flush_batch"]), listed)
        links_lines(state, state.slots, base + capacity + listed - flushed, flushed, 0)
