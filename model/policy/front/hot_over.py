"""Hot stack over further levels: frees alone fill level 0, and a miss takes a single block from level 1."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, block_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.levels import KIND, LIST
from heapsmith.model.parts.stacks import stack_push_lines
from heapsmith.model.policy.front import below, stack_over
from heapsmith.model.policy.front.below import (
    fill_below,
    fill_slots_lines,
    make_room,
    number,
    promoted,
    promoted_lines,
    push_below,
    room_lines,
    stretch_promoted,
)
from heapsmith.model.policy.front.common import links_lines, list_lines, slots_lines, stack_code, stack_push

NAME = "hot_over"
RARE = True
INNER = True
LEVELS = 2
IS_STACK = True
BATCHED = False
SINGLE = True
"""Single blocks go between its levels."""
CODE = stack_code("hot_over_refill", "hot_over_spill", "hot_over_drain")
COSTS = {
    f"alloc.{NAME}": 11.65,
    f"free.{NAME}": 9.02,
    f"refill.{NAME}": 39.95,
    f"refill.block.{NAME}": 8.87,
    f"flush.{NAME}": 0.04,
    f"flush.block.{NAME}": 0.68,
    f"alloc.table.{NAME}": 2.80,  # by hand: instructions of the emitted alloc, less those of a linked list
    f"free.table.{NAME}": 9.44,
}


@kernel
def promote(state: State, front: int, cls: int) -> int:
    """Take the next block of level 1, or return NO_BLOCK."""
    if promoted(state, front, cls) == 0:
        return NO_BLOCK
    return int(state.moved[0])


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1] into an empty level 1; a stretch goes to the last, and is promoted."""
    if state.stretched > 0:
        stretch_promoted(state, front, cls, count)
    else:
        fill_below(state, front, cls, 1, first, count)


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest of level 0, or of level 1 if level 0 is full."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = make_room(state, front, cls)
        push_below(state, front, cls, 1, block)
        state.classes[cls]["spill"] += 1
    else:
        stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


drain, drain_lines = stack_over.drain, stack_over.drain_lines
level_held, overflow_lines = below.held_below, below.spill_overflow_lines


@kernel
def promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch what a theft touches: level 1 and its newest block."""
    promoted_lines(state, heap, front, cls)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches: all blocks pass through slots; all but the first become part of level 1."""
    if state.stretched > 0:
        return
    if number(state, cls, 1, KIND) == LIST:
        slots_lines(state, front, cls, count, layout.CLASS_REFILL)
        if count > 1 and state.levels_table == 0:
            list_lines(state, front, layout.FRONT_LISTED)
            links_lines(state, state.moved, 1, count - 1, 1)
    else:
        fill_slots_lines(state, front, cls, count)


@hit_path
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches; with a full level 0 the block joins level 1."""
    capacity = int(state.classes[cls]["capacity"])
    stack_push_lines(state, front, int(state.fronts[front]["held"]), capacity)
    if state.fronts[front]["held"] == capacity:
        if state.levels_table == 0:
            touch(state.listener, block_at(state, block), 1)
        room_lines(state, front, cls)
