"""FIFO ring: a power-of-two ring of pointers; the oldest free block is reused first."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front import ring
from heapsmith.model.policy.front.common import FrontPlan, OneLevel, bounded, one_level_plan, why_not_one_level
from heapsmith.model.policy.front.ring import append, oldest_lines, pop_oldest, put_lines, ring_capacity, ring_code

NAME = "fifo_ring"
LEVELS = 1
IS_STACK = False
BATCHED = False
CODE = ring_code("fifo_ring_refill", "fifo_ring_flush", "fifo_ring_drain", "fifo_ring_lend")
COSTS = {
    f"alloc.{NAME}": 5.22,
    f"free.{NAME}": 15.53,
    f"refill.{NAME}": 149.28,
    f"refill.block.{NAME}": 8.39,
    f"flush.{NAME}": 91.39,
    f"flush.block.{NAME}": 0.00,
}


class Params(OneLevel, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """FIFO ring: the oldest free block is reused first; the capacity is a power of two."""


why_not_valid = why_not_one_level


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes, with a power of two for an index mask."""
    capacity = ring_capacity(bounded(params.capacity, params.max_bytes, stride))
    return one_level_plan(NAME, capacity, params.refill, params.flush, stride)


pop, fill = ring.pop, ring.fill
pop_lines, look_lines, fill_lines = ring.pop_lines, ring.look_lines, ring.fill_lines


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full ring first flushes its oldest; return the number of flushed blocks."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = pop_oldest(state, front, cls, int(state.classes[cls]["flush_batch"]), 0)
        state.classes[cls]["flush"] += 1
        state.classes[cls]["flushed"] += flushed
    append(state, front, cls, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, oldest first; return their number."""
    held = pop_oldest(state, front, cls, int(state.fronts[front]["held"]), 0)
    state.fronts[front]["head"] = 0
    return held


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what a drain touches: the ring's record, and the slots of its blocks."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    oldest_lines(state, front, cls, int(state.fronts[front]["held"]))


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches: the record and a slot; an overflow reads the oldest slots."""
    put_lines(state, front, cls)
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_FLUSH, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
        oldest_lines(state, front, cls, int(state.classes[cls]["flush_batch"]))
