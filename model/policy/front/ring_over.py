"""Ring over further levels: level 0 is a FIFO ring; batches spill down and promote up."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.policy.front import below, ring
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
from heapsmith.model.policy.front.common import links_lines
from heapsmith.model.policy.front.ring import append, oldest_lines, pop_oldest, put_lines, ring_code

fill_ring, fill_ring_lines = ring.fill, ring.fill_lines

NAME = "ring_over"
RARE = True
INNER = True
LEVELS = 2
IS_STACK = False
BATCHED = False
CODE = ring_code("ring_over_refill", "ring_over_spill", "ring_over_drain", "ring_over_lend")
COSTS = {
    f"alloc.{NAME}": 2.70,
    f"free.{NAME}": 18.11,
    f"refill.{NAME}": 206.94,
    f"refill.block.{NAME}": 11.86,
    f"flush.{NAME}": 0.04,
    f"flush.block.{NAME}": 0.00,
}


pop = ring.pop
pop_lines, look_lines = ring.pop_lines, ring.look_lines


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
        raise_lines(state, front, cls, batch)
    first = int(state.moved[0])
    fill_ring(state, front, cls, 1, batch)
    return first


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1] into an empty level 0; a stretch goes to the last level, and is promoted."""
    if state.stretched > 0:
        put_up(state, front, cls, stretch_promoted(state, front, cls, count))
    else:
        fill_ring(state, front, cls, first, count)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches; a promotion touches its lines itself."""
    if state.stretched == 0:
        fill_ring_lines(state, front, cls, count)


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full ring first spills; return the number flushed."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = make_room(state, front, cls)
        spilled = pop_oldest(state, front, cls, int(state.classes[cls]["spill_batch"]), flushed)
        flushed = spill_below(state, front, cls, flushed, spilled)
    append(state, front, cls, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, in drain order; return their number."""
    count = pop_oldest(state, front, cls, int(state.fronts[front]["held"]), 0)
    state.fronts[front]["head"] = 0
    return drain_below(state, front, cls, count)


@kernel
def promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch what a promotion touches: the newest links of level 1, and the slots of level 0."""
    batch = promoted_lines(state, heap, front, cls)
    if batch > 0:
        raise_lines(state, front, cls, batch)


@kernel
def raise_lines(state: State, front: int, cls: int, batch: int) -> None:
    """Touch what a promotion touches besides level 1: numbers of the class, and the slots of level 0."""
    touch(state.listener, class_at(cls) + layout.CLASS_PROMOTE, 0)
    touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
    touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
    touch_bytes(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD, layout.WORD * (batch - 1), 1)


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what a drain of the ring and the list touches."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    oldest_lines(state, front, cls, int(state.fronts[front]["held"]))
    drain_below_lines(state, front, cls)


level_held, overflow_lines = below.held_below, below.spill_overflow_lines


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches; an overflow also spills."""
    put_lines(state, front, cls)
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        spill_lines(state, front, cls)


@kernel
def spill_lines(state: State, front: int, cls: int) -> None:
    """Touch what a spill touches: the oldest slots and their blocks' links, and level 1."""
    spill = int(state.classes[cls]["spill_batch"])
    touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
    touch(state.listener, class_at(cls) + layout.CLASS_SPILL, 0)
    touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
    oldest_lines(state, front, cls, spill)
    last = int(state.classes[cls]["capacity"]) - 1
    base, head = int(state.fronts[front]["base"]), int(state.fronts[front]["head"])
    if state.levels_table == 0:
        for index in range(spill):
            links_lines(state, state.slots, base + ((head + index) & last), 1, 1)
    room_lines(state, front, cls)
