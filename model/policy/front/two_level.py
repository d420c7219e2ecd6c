"""Two levels: an array stack over a linked list; batches spill down and promote up."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK
from heapsmith.model.memory.state import State
from heapsmith.model.parts.stacks import stack_push_lines
from heapsmith.model.policy.front import listed
from heapsmith.model.policy.front.common import (
    FrontPlan,
    bounded,
    links_lines,
    slots_lines,
    stack_code,
    stack_fill,
    stack_push,
    stack_shift,
)
from heapsmith.model.policy.front.listed import (
    OverList,
    make_room_in_list,
    plan_over_list,
    promoted,
    promoted_lines,
    room_lines,
    spill_to_list,
    why_not_over_list,
)

NAME = "two_level"
LEVELS = 2
IS_STACK = True
BATCHED = False
CODE = stack_code("two_level_refill", "two_level_spill", "two_level_drain")
COSTS = {
    f"alloc.{NAME}": 16.12,
    f"free.{NAME}": 3.89,
    f"refill.{NAME}": 161.98,
    f"refill.block.{NAME}": 0.00,
    f"flush.{NAME}": 33.49,
    f"flush.block.{NAME}": 4.80,
    f"alloc.table.{NAME}": 2.80,  # by hand: instructions of the emitted alloc, less those of a linked list
    f"free.table.{NAME}": 6.52,
}


class Params(OverList, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stack (level 0) over an intrusive linked list (level 1)."""


why_not_valid = why_not_over_list


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes."""
    return plan_over_list(params, bounded(params.capacity, params.max_bytes, stride), stride)


@kernel
def promote(state: State, front: int, cls: int) -> int:
    """Move a batch from level 1 to an empty level 0; return the newest, or NO_BLOCK."""
    batch = promoted(state, front, cls)
    if batch == 0:
        return NO_BLOCK
    stack_fill(state, front, cls, 1, batch)
    return int(state.moved[0])


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full level 0 first spills; return the number flushed."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = make_room_in_list(state, front, cls)
        spilled = stack_shift(state, front, int(state.classes[cls]["spill_batch"]), flushed)
        spill_to_list(state, front, cls, flushed, spilled)
    stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


drain, drain_lines = listed.drain_stack, listed.drain_stack_lines


@kernel
def promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch what a promotion touches: the newest links of level 1, and the slots of level 0."""
    batch = promoted_lines(state, heap, front, cls)
    if batch > 0:
        slots_lines(state, front, cls, batch - 1, layout.CLASS_PROMOTE)


overflow_lines = listed.spill_overflow_lines


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
    slots_lines(state, front, cls, int(state.classes[cls]["capacity"]), layout.CLASS_SPILL)
    links_lines(state, state.slots, int(state.fronts[front]["base"]), int(state.classes[cls]["spill_batch"]), 1)
    room_lines(state, front, cls)
