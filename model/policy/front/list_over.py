"""List over further levels: level 0 is a linked list; batches spill down and promote up."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, block_at, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import FrontCode
from heapsmith.model.policy.front import below, linked_list
from heapsmith.model.policy.front.below import drain_below, make_room, promoted, spill_below, stretch_promoted
from heapsmith.model.policy.front.common import links_lines, list_lines, stack_fill, stack_pop, stack_push
from heapsmith.model.policy.front.linked_list import newest_lines, surplus

fill_list_lines = linked_list.fill_lines

NAME = "list_over"
RARE = True
INNER = True
LEVELS = 2
IS_STACK = False
BATCHED = False
CODE = FrontCode(
    linked_list.CODE.allocate._replace(leaves="list_over_refill"),
    linked_list.CODE.free._replace(leaves="list_over_spill"),
    "list_over_drain",
    lend="linked_list_lend",
)
COSTS = {  # an estimate: those of a linked list alone
    f"alloc.{NAME}": 5.08,
    f"free.{NAME}": 9.71,
    f"refill.{NAME}": 156.02,
    f"refill.block.{NAME}": 14.85,
    f"flush.{NAME}": 78.59,
    f"flush.block.{NAME}": 3.91,
}

pop_lines, look_lines = linked_list.pop_lines, linked_list.look_lines
level_held, overflow_lines = below.held_below, below.spill_overflow_lines


@kernel
def promote(state: State, front: int, cls: int) -> int:
    """Move a batch from level 1 to an empty level 0; return its first, or NO_BLOCK."""
    return put_up(state, front, cls, promoted(state, front, cls))


@kernel
def put_up(state: State, front: int, cls: int, batch: int) -> int:
    """Put a promotion's batch from `moved` into an empty level 0, but for its first; return that, or NO_BLOCK."""
    if batch == 0:
        return NO_BLOCK
    touch(state.listener, class_at(cls) + layout.CLASS_PROMOTE, 0)
    if batch > 1:
        list_lines(state, front, layout.FRONT_HELD)
        links_lines(state, state.moved, 1, batch - 1, 1)
    first = int(state.moved[0])
    stack_fill(state, front, cls, 1, batch)
    return first


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1] into an empty level 0; a stretch goes to the last level, and is promoted."""
    if state.stretched > 0:
        put_up(state, front, cls, stretch_promoted(state, front, cls, count))
    else:
        stack_fill(state, front, cls, first, count)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches; a promotion touches its lines itself."""
    if state.stretched == 0:
        fill_list_lines(state, front, cls, count)


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full list first spills its newest; return the number flushed."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = make_room(state, front, cls)
        count = int(state.classes[cls]["spill_batch"])
        newest_lines(state, front, count)
        taken = flushed + count
        for index in range(flushed, taken):
            state.moved[index] = stack_pop(state, front, cls)
        flushed = spill_below(state, front, cls, flushed, taken)
    stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, in drain order; return their number."""
    return drain_below(state, front, cls, surplus(state, front, cls, int(state.fronts[front]["held"])))


drain_lines = linked_list.drain_lines


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches: the record and the block; an overflow reads the newest links."""
    list_lines(state, front, layout.FRONT_HELD)
    touch(state.listener, block_at(state, block), 1)
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        touch(state.listener, class_at(cls) + layout.CLASS_SPILL, 0)
