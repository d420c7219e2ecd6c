"""Stack over further levels: level 0 is an array stack; batches spill down and promote up."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK
from heapsmith.model.memory.state import State
from heapsmith.model.parts.stacks import open_lines, stack_push_lines
from heapsmith.model.policy.front import below
from heapsmith.model.policy.front.below import (
    drain_below,
    drain_below_lines,
    make_room,
    promoted,
    promoted_lines,
    room_lines,
    spill_below,
    stretch_promoted,
)
from heapsmith.model.policy.front.common import (
    links_lines,
    slots_lines,
    stack_code,
    stack_drain_lines,
    stack_fill,
    stack_fill_lines,
    stack_push,
    stack_shift,
)

NAME = "stack_over"
RARE = True
INNER = True
LEVELS = 2
IS_STACK = True
BATCHED = False
CODE = stack_code("stack_over_refill", "stack_over_spill", "stack_over_drain")
COSTS = {
    f"alloc.{NAME}": 16.09,
    f"free.{NAME}": 4.33,
    f"refill.{NAME}": 185.53,
    f"refill.block.{NAME}": 1.15,
    f"flush.{NAME}": 40.31,
    f"flush.block.{NAME}": 9.30,
    f"alloc.table.{NAME}": 2.80,  # by hand: instructions of the emitted alloc, less those of a linked list
    f"free.table.{NAME}": 6.52,
}


@kernel
def promote(state: State, front: int, cls: int) -> int:
    """Move a batch from level 1 to an empty level 0; return its first, or NO_BLOCK."""
    return put_up(state, front, cls, promoted(state, front, cls))


@kernel
def put_up(state: State, front: int, cls: int, batch: int) -> int:
    """Put a promotion's batch from `moved` into an empty level 0, but for its first; return that, or NO_BLOCK."""
    if batch == 0:
        return NO_BLOCK
    if state.levels_table > 0:
        slots_lines(state, front, cls, batch - 1, layout.CLASS_PROMOTE)
    first = int(state.moved[0])
    stack_fill(state, front, cls, 1, batch)
    return first


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1] into an empty level 0; a stretch goes to the last level, and is promoted."""
    if state.stretched > 0:
        open_lines(state, front, cls)
        put_up(state, front, cls, stretch_promoted(state, front, cls, count))
    else:
        stack_fill(state, front, cls, first, count)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches; a promotion touches its lines itself."""
    if state.stretched == 0:
        stack_fill_lines(state, front, cls, count)


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full level 0 first spills; return the number flushed."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = make_room(state, front, cls)
        spilled = stack_shift(state, front, int(state.classes[cls]["spill_batch"]), flushed)
        flushed = spill_below(state, front, cls, flushed, spilled)
    stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, in drain order; return their number."""
    count = stack_shift(state, front, int(state.fronts[front]["held"]), 0)
    return drain_below(state, front, cls, count)


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what a drain touches of the stack, and of a list below it."""
    stack_drain_lines(state, front, cls)
    drain_below_lines(state, front, cls)


@kernel
def promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch what a promotion touches: the newest links of level 1, and the slots of level 0."""
    batch = promoted_lines(state, heap, front, cls)
    if batch > 0:
        slots_lines(state, front, cls, batch - 1, layout.CLASS_PROMOTE)


level_held, overflow_lines = below.held_below, below.spill_overflow_lines


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
    if state.levels_table == 0:
        links_lines(state, state.slots, int(state.fronts[front]["base"]), int(state.classes[cls]["spill_batch"]), 1)
    room_lines(state, front, cls)
