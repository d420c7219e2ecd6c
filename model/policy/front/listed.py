"""A level 1 that is a linked list, LIFO through the blocks' first words: what several fronts do with it."""

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front.common import (
    FrontPlan,
    Refill,
    bounded,
    links_lines,
    list_lines,
    overflow_lines,
    refill_of,
    stack_drain_lines,
    stack_shift,
    why_not_batch,
    why_not_bytes,
    why_not_level,
    why_not_refill,
)


class OverList(msgspec.Struct, frozen=True):
    """The parameters of a level 0 over a linked list, between which batches move.

    capacity, list_capacity: the most blocks of each level; max_bytes: the most bytes of each;
    refill: blocks that a miss of both levels takes from the store, or "never" (one block: frees
    alone fill the front); spill: blocks that an overflow
    of level 0 moves down (default: half of level 0); promote: blocks that a miss of level 0 brings
    up (default: half of level 0); flush: blocks that an overflow of level 1 gives to the store
    (default: half of level 1).
    """

    capacity: int = 32
    list_capacity: int = 128
    max_bytes: int = 65_536
    refill: Refill = None
    spill: int | None = None
    promote: int | None = None
    flush: int | None = None


def why_not_over_list(params: OverList) -> str | None:
    """Return why these parameters make no front of two levels, or None."""
    return (
        why_not_level("capacity", params.capacity)
        or why_not_bytes(params.max_bytes)
        or why_not_refill(params.refill, params.capacity)
        or why_not_level("list_capacity", params.list_capacity)
        or why_not_batch("spill", params.spill, min(params.capacity, params.list_capacity))
        or why_not_batch("promote", params.promote, params.capacity)
        or why_not_batch("flush", params.flush, params.list_capacity)
    )


def plan_over_list(params: OverList, capacity: int, stride: int) -> FrontPlan:
    """Return the plan with a level 0 of `capacity`; a spill fits after a flush: spill <= flush."""
    kind = str(params.__struct_config__.tag)
    list_capacity = bounded(params.list_capacity, params.max_bytes, stride)
    half = max(1, capacity // 2)
    spill = min(params.spill or half, capacity, list_capacity)
    return FrontPlan(
        kind,
        capacity=capacity,
        list_capacity=list_capacity,
        refill=refill_of(params.refill, capacity, stride),
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
def newest_listed(state: State, front: int, cls: int, at: int, most: int) -> int:
    """Move up to `most` of the newest of level 1 to moved[at] on, newest first; return how many."""
    count = min(most, int(state.fronts[front]["listed"]))
    for index in range(count):
        state.moved[at + index] = pop_listed(state, front, cls)
    return count


@kernel
def promoted(state: State, front: int, cls: int) -> int:
    """Move the batch of a promotion to `moved`, newest first; return how many."""
    batch = newest_listed(state, front, cls, 0, int(state.classes[cls]["promote_batch"]))
    if batch > 0:
        state.classes[cls]["hit1"] += 1
    return batch


@kernel
def make_room_in_list(state: State, front: int, cls: int) -> int:
    """Move the newest of level 1 to `moved` if a spill would not fit; return their number."""
    held = int(state.fronts[front]["listed"])
    if held + int(state.classes[cls]["spill_batch"]) <= int(state.classes[cls]["list_capacity"]):
        return 0
    flushed = newest_listed(state, front, cls, 0, int(state.classes[cls]["flush_batch"]))
    state.classes[cls]["flush"] += 1
    state.classes[cls]["flushed"] += flushed
    return flushed


@kernel
def spill_to_list(state: State, front: int, cls: int, first: int, end: int) -> None:
    """Push moved[first] to moved[end - 1] on level 1, which has room, and count a spill."""
    for index in range(first, end):
        push_listed(state, front, cls, int(state.moved[index]))
    state.classes[cls]["spill"] += 1


@kernel
def newest_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch the links of the newest `count` blocks of level 1."""
    newest = int(state.fronts[front]["base"]) + int(state.classes[cls]["capacity"])
    newest += int(state.fronts[front]["listed"]) - count
    links_lines(state, state.slots, newest, count, 0)


@kernel
def promoted_lines(state: State, heap: int, front: int, cls: int) -> int:
    """Touch what a promotion touches of level 1, and its counter; return how many blocks move."""
    listed = int(state.fronts[front]["listed"])
    batch = min(int(state.classes[cls]["promote_batch"]), listed)
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 0)
    if batch > 0:
        list_lines(state, front, layout.FRONT_LISTED)
        newest_lines(state, front, cls, batch)
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT1, 1)
    return batch


@kernel
def list_drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what the drain of level 1 touches."""
    listed = int(state.fronts[front]["listed"])
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 1)
    if listed > 0:
        list_lines(state, front, layout.FRONT_LISTED)
    newest_lines(state, front, cls, listed)


@kernel
def spill_overflow_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch the counters of a spill, and of a flush if level 1 has no room for the spill."""
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_SPILL, 1)
    spill = int(state.classes[cls]["spill_batch"])
    if state.fronts[front]["listed"] + spill > state.classes[cls]["list_capacity"]:
        overflow_lines(state, heap, front, cls)


@kernel
def room_lines(state: State, front: int, cls: int) -> None:
    """Touch what a spill touches of level 1: its record, and the links that a flush reads."""
    listed = int(state.fronts[front]["listed"])
    touch(state.listener, class_at(cls) + layout.CLASS_LIST_CAPACITY, 0)
    list_lines(state, front, layout.FRONT_LISTED)
    if listed + int(state.classes[cls]["spill_batch"]) > state.classes[cls]["list_capacity"]:
        touch(state.listener, class_at(cls) + layout.CLASS_FLUSH, 0)
        newest_lines(state, front, cls, min(int(state.classes[cls]["flush_batch"]), listed))


@kernel
def drain_stack(state: State, front: int, cls: int) -> int:
    """Move all blocks of a stack over a list to `moved`, in drain order; return how many."""
    count = stack_shift(state, front, int(state.fronts[front]["held"]), 0)
    return count + newest_listed(state, front, cls, count, int(state.fronts[front]["listed"]))


@kernel
def drain_stack_lines(state: State, front: int, cls: int) -> None:
    """Touch what a drain of the stack and the list touches."""
    stack_drain_lines(state, front, cls)
    list_drain_lines(state, front, cls)
