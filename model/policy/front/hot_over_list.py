"""Hot over list: a small array stack over a linked list, from which a miss steals single blocks."""

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, block_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.stacks import stack_push_lines
from heapsmith.model.policy.front import listed
from heapsmith.model.policy.front.common import (
    FrontPlan,
    Refill,
    bounded,
    links_lines,
    list_lines,
    refill_of,
    slots_lines,
    stack_code,
    stack_push,
    why_not_batch,
    why_not_bytes,
    why_not_level,
    why_not_refill,
)
from heapsmith.model.policy.front.listed import make_room_in_list, promoted, promoted_lines, push_listed, room_lines

NAME = "hot_over_list"
RARE = True
LEVELS = 2
IS_STACK = True
BATCHED = False
SINGLE = True
"""Single blocks go between its levels."""
CODE = stack_code("hot_over_list_refill", "hot_over_list_spill", "hot_over_list_drain")
COSTS = {
    f"alloc.{NAME}": 11.24,
    f"free.{NAME}": 8.97,
    f"refill.{NAME}": 38.58,
    f"refill.block.{NAME}": 8.59,
    f"flush.{NAME}": 0.00,
    f"flush.block.{NAME}": 0.00,
    f"alloc.table.{NAME}": 2.80,  # by hand: instructions of the emitted alloc, less those of a linked list
    f"free.table.{NAME}": 6.52,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Small array stack (level 0), filled by frees alone, over an intrusive linked list (level 1).

    Hits are cheapest while few blocks are free at a time; beyond that each call pays for both
    levels. capacity, list_capacity: the most blocks of each level; max_bytes: the most bytes of
    each; refill: blocks that a miss of both levels takes from the store, or "never" (one block:
    frees alone fill the front); flush: blocks that an overflow of level 1 gives to the store
    (default: half of level 1).
    """

    capacity: int = 8
    list_capacity: int = 64
    max_bytes: int = 65_536
    refill: Refill = None
    flush: int | None = None


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no front, or None."""
    return (
        why_not_level("capacity", params.capacity)
        or why_not_bytes(params.max_bytes)
        or why_not_level("list_capacity", params.list_capacity)
        or why_not_refill(params.refill, params.list_capacity)
        or why_not_batch("flush", params.flush, params.list_capacity)
    )


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes."""
    list_capacity = bounded(params.list_capacity, params.max_bytes, stride)
    return FrontPlan(
        NAME,
        capacity=bounded(params.capacity, params.max_bytes, stride),
        list_capacity=list_capacity,
        refill=refill_of(params.refill, list_capacity, stride),
        flush=min(params.flush or max(1, list_capacity // 2), list_capacity),
        spill=1,
        promote=1,
    )


@kernel
def promote(state: State, front: int, cls: int) -> int:
    """Steal the newest block of level 1, or return NO_BLOCK."""
    if promoted(state, front, cls) == 0:
        return NO_BLOCK
    return int(state.moved[0])


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Push moved[first] to moved[count - 1] on an empty level 1; pops return them in this order."""
    for index in range(count - 1, first - 1, -1):
        push_listed(state, front, cls, int(state.moved[index]))


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest of level 0, or of level 1 if level 0 is full."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = make_room_in_list(state, front, cls)
        push_listed(state, front, cls, block)
        state.classes[cls]["spill"] += 1
    else:
        stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


drain, drain_lines = listed.drain_stack, listed.drain_stack_lines
overflow_lines = listed.spill_overflow_lines


@kernel
def promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch what a theft touches: level 1 and its newest block."""
    promoted_lines(state, heap, front, cls)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches: all blocks pass through slots; all but the first get links."""
    slots_lines(state, front, cls, count, layout.CLASS_REFILL)
    if count > 1:
        list_lines(state, front, layout.FRONT_LISTED)
        links_lines(state, state.moved, 1, count - 1, 1)


@hit_path
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches; with a full level 0 the block joins level 1."""
    capacity = int(state.classes[cls]["capacity"])
    stack_push_lines(state, front, int(state.fronts[front]["held"]), capacity)
    if state.fronts[front]["held"] == capacity:
        touch(state.listener, block_at(state, block), 1)
        room_lines(state, front, cls)
