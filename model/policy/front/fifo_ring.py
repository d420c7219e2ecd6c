"""FIFO ring: a power-of-two ring of pointers; the oldest free block is reused first."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import FULL, SELF, FrontCode, Function, Hit, total
from heapsmith.model.policy.front.common import (
    NO_BLOCK,
    FrontPlan,
    OneLevel,
    bounded,
    one_level_plan,
    slots_lines,
    why_not_one_level,
)

NAME = "fifo_ring"
LEVELS = 1
IS_STACK = False
BATCHED = False
CODE = FrontCode(
    # Reads held, head and the slot; writes held and head.
    Function("fifo_ring_refill", FULL, frozenset({"count_checked", "word_set"}), total(SELF, Hit(3, 2, 1))),
    # Reads held and head; writes slot and held. A ring of capacity 1 has its head at 0.
    Function(
        "fifo_ring_flush",
        FULL,
        frozenset({"count_checked", "word_set"}),
        total(SELF, Hit(2, 2, 1)),
        total(SELF, Hit(1, 2, 1)),
    ),
    "fifo_ring_drain",
    has_slots=True,
)


class Params(OneLevel, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """FIFO ring: the oldest free block is reused first; the capacity is a power of two."""


why_not_valid = why_not_one_level


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes, with a power of two for an index mask."""
    capacity = 1 << (bounded(params.capacity, params.max_bytes, stride).bit_length() - 1)
    return one_level_plan(NAME, capacity, params.refill, params.flush, stride)


@kernel
def pop(state: State, front: int, cls: int) -> int:
    """Take the oldest block, or NO_BLOCK."""
    held = int(state.fronts[front]["held"])
    if held == 0:
        return NO_BLOCK
    head = int(state.fronts[front]["head"])
    state.fronts[front]["held"] = held - 1
    state.fronts[front]["head"] = (head + 1) & (int(state.classes[cls]["capacity"]) - 1)
    return int(state.slots[int(state.fronts[front]["base"]) + head])


@kernel
def append(state: State, front: int, cls: int, block: int) -> None:
    """Put `block` at the end of a ring that has room."""
    held = int(state.fronts[front]["held"])
    tail = (int(state.fronts[front]["head"]) + held) & (int(state.classes[cls]["capacity"]) - 1)
    state.slots[int(state.fronts[front]["base"]) + tail] = block
    state.fronts[front]["held"] = held + 1


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1] into an empty ring, each at the place of its index."""
    state.fronts[front]["head"] = first & (int(state.classes[cls]["capacity"]) - 1)
    for index in range(first, count):
        append(state, front, cls, int(state.moved[index]))


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full ring first flushes its oldest; return how many."""
    flushed = 0
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        flushed = int(state.classes[cls]["flush_batch"])
        for index in range(flushed):
            state.moved[index] = pop(state, front, cls)
        state.classes[cls]["flush"] += 1
        state.classes[cls]["flushed"] += flushed
    append(state, front, cls, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, oldest first; return their number."""
    held = int(state.fronts[front]["held"])
    for index in range(held):
        state.moved[index] = pop(state, front, cls)
    state.fronts[front]["head"] = 0
    return held


@kernel
def pop_lines(state: State, front: int, cls: int) -> None:
    """Touch what an allocation touches: the front's record, and the slot of the oldest block."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    if state.fronts[front]["held"] > 0:
        touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * int(state.fronts[front]["head"]), 0)


@kernel
def look_lines(state: State, front: int, cls: int) -> None:
    """Touch what another look touches: its code reads mask and slots from the class's row."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_HELD, 0)
    if state.fronts[front]["held"] > 0:
        pop_lines(state, front, cls)
        touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what a drain touches: the ring's record, and the slots of its blocks."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    last = int(state.classes[cls]["capacity"]) - 1
    for index in range(int(state.fronts[front]["held"])):
        place = (int(state.fronts[front]["head"]) + index) & last
        touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * place, 0)


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches: the record and a slot; an overflow reads the oldest slots."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    last = int(state.classes[cls]["capacity"]) - 1
    head, held = int(state.fronts[front]["head"]), int(state.fronts[front]["held"])
    touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * ((head + held) & last), 1)
    if held > last:
        touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_FLUSH, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
        for index in range(int(state.classes[cls]["flush_batch"])):
            touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * ((head + index) & last), 0)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    slots_lines(state, front, cls, count, layout.CLASS_REFILL)
