"""What every front derives for one size class, the rules its numbers share, and the stack several are built on."""

import msgspec

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory.layout import (
    CLASS_BYTES,
    CLASS_REFILL,
    CLASS_SLOT,
    CLASS_TRANSFER,
    CLASSES,
    COUNT_FLUSH,
    FRONT_LIST,
    WORD,
    block_at,
    count_at,
)
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes

REFILL_BYTES = 4096
"""A refill carves at most one page: more was touched memory without use in the measurements behind design.md."""

MAX_CAPACITY = 65_536
"""Blocks one level may hold: its counter is 32 bits wide, its array is reserved per thread."""

NO_BLOCK = -1
"""What an empty level gives."""


class FrontPlan(msgspec.Struct, frozen=True):
    """The numbers of one front (docs/machine.md section 4); blocks, 0 where the kind has no such number."""

    kind: str
    capacity: int = 0
    list_capacity: int = 0
    refill: int = 1
    flush: int = 0
    spill: int = 0
    promote: int = 0


def bounded(capacity: int, max_bytes: int, stride: int) -> int:
    """The capacity in blocks that respects both bounds; at least one block."""
    return max(1, min(capacity, max_bytes // stride))


def one_level_plan(kind: str, capacity: int, refill: int | None, flush: int | None, stride: int) -> FrontPlan:
    """The plan of a front of one level: stated batches never above the capacity, defaults derived from it."""
    page_of_blocks = max(1, min(REFILL_BYTES // stride, capacity // 2))
    return FrontPlan(
        kind,
        capacity=capacity,
        refill=min(capacity, refill or page_of_blocks),
        flush=min(capacity, flush or max(1, capacity // 2)),
    )


def why_not_level(field: str, capacity: int) -> str | None:
    """The reason why a level cannot have this capacity."""
    if not 1 <= capacity <= MAX_CAPACITY:
        return (
            f"{field}: {capacity} is not a capacity; expected 1 to {MAX_CAPACITY} blocks (kind = 'none' for no front)"
        )
    return None


def why_not_bytes(max_bytes: int) -> str | None:
    """The reason why a byte bound cannot be this."""
    return f"max_bytes: {max_bytes} is too few; expected at least 1" if max_bytes < 1 else None


def why_not_batch(field: str, batch: int | None, capacity: int) -> str | None:
    """The reason why a batch cannot have this size."""
    if batch is not None and not 1 <= batch <= capacity:
        return f"{field}: {batch} is not a batch; expected 1 to the capacity, {capacity}"
    return None


class OneLevel(msgspec.Struct, frozen=True):
    """What a design states of a front of one level.

    capacity: blocks the front may hold; max_bytes: and bytes; refill: blocks a miss takes from the store (default: one
    page of them, at most half the capacity); flush: blocks an overflow gives back (default: half the capacity).
    """

    capacity: int = 64
    max_bytes: int = 65_536
    refill: int | None = None
    flush: int | None = None


def why_not_one_level(params: OneLevel) -> str | None:
    """The reason why these parameters make no front of one level, or None."""
    return (
        why_not_level("capacity", params.capacity)
        or why_not_bytes(params.max_bytes)
        or why_not_batch("refill", params.refill, params.capacity)
        or why_not_batch("flush", params.flush, params.capacity)
    )


@hit_path
def stack_pop(state: State, front: int, cls: int) -> int:
    """The newest block of a level 0 kept as a stack (oldest first in `slots`), or NO_BLOCK."""
    held = int(state.fronts[front]["held"])
    if held == 0:
        return NO_BLOCK
    state.fronts[front]["held"] = held - 1
    return int(state.slots[int(state.fronts[front]["base"]) + held - 1])


@hit_path
def stack_push(state: State, front: int, block: int) -> None:
    """`block` becomes the newest of a level 0 that has room."""
    held = int(state.fronts[front]["held"])
    state.slots[int(state.fronts[front]["base"]) + held] = block
    state.fronts[front]["held"] = held + 1


@kernel
def stack_fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """moved[first] .. moved[count - 1] go on an empty level 0 so that they come out in this order."""
    for index in range(count - 1, first - 1, -1):
        stack_push(state, front, int(state.moved[index]))


@kernel
def stack_shift(state: State, front: int, count: int, at: int) -> int:
    """The oldest `count` blocks leave level 0 for moved[at] on, oldest first; the number in `moved` then."""
    base = int(state.fronts[front]["base"])
    held = int(state.fronts[front]["held"])
    for index in range(count):
        state.moved[at + index] = state.slots[base + index]
    for index in range(count, held):
        state.slots[base + index - count] = state.slots[base + index]
    state.fronts[front]["held"] = held - count
    return at + count


@kernel
def no_promotion(state: State, front: int, cls: int) -> int:
    """There is no level 1."""
    return NO_BLOCK


# Lines: each front states which cache lines its operations touch, out of the state before them.


@hit_path
def row_pop_lines(state: State, front: int, held: int) -> None:
    """Of a pop of a stack of `held` blocks: its top, and the slot below, which is NULL under the oldest."""
    touch(state.touched, int(state.fronts[front]["top_at"]), 1)
    touch(state.touched, int(state.fronts[front]["slots_at"]) + WORD * (held - 1), 0)


@kernel
def stack_pop_lines(state: State, front: int, cls: int) -> None:
    """Of the alloc function of a class with a stack."""
    row_pop_lines(state, front, int(state.fronts[front]["held"]))


@kernel
def look_lines(state: State, front: int, cls: int) -> None:
    """Of another look into a stack."""
    touch(state.touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)
    if state.fronts[front]["held"] > 0:
        stack_pop_lines(state, front, cls)


@kernel
def no_promotion_lines(state: State, heap: int, front: int, cls: int) -> None:
    """There is no level 1."""


@kernel
def overflow_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Of an overflow of a front of one level: its flush is counted."""
    counts = count_at(state, heap, cls)
    touch(state.touched, counts + COUNT_FLUSH, 1)
    touch(state.touched, counts + COUNT_FLUSH + WORD, 1)


@kernel
def stack_drain_lines(state: State, front: int, cls: int) -> None:
    """Of a stack that is emptied."""
    touch(state.touched, int(state.fronts[front]["top_at"]), 1)
    slots_lines(state, front, cls, int(state.fronts[front]["held"]), CLASS_SLOT)


@hit_path
def stack_push_lines(state: State, front: int, held: int, capacity: int) -> None:
    """Of a push on a stack of `held` blocks: its top, its end, and the slot unless it is full."""
    touch(state.touched, int(state.fronts[front]["top_at"]), 1)
    touch(state.touched, int(state.fronts[front]["end_at"]), 0)
    if held < capacity:
        touch(state.touched, int(state.fronts[front]["slots_at"]) + WORD * held, 1)


@kernel
def stack_fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Of a refill of a stack: the slots, its top, and of the class's row whether batches may wait for it."""
    slots_lines(state, front, cls, count, CLASS_REFILL)
    touch(state.touched, int(state.fronts[front]["top_at"]), 1)
    touch(state.touched, CLASSES + cls * CLASS_BYTES + CLASS_TRANSFER, 0)


@kernel
def slots_lines(state: State, front: int, cls: int, count: int, number: int) -> None:
    """Of a batch of `count` blocks of level 0: its slots, and where the class's row has them and `number`."""
    touch(state.touched, CLASSES + cls * CLASS_BYTES + number, 0)
    touch(state.touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)
    touch_bytes(state.touched, int(state.fronts[front]["slots_at"]), WORD * count, 1)


@hit_path
def list_lines(state: State, front: int, number: int) -> None:
    """Of a list: its count, in the front's record, and its head."""
    touch(state.touched, int(state.fronts[front]["front_at"]) + number, 1)
    touch(state.touched, int(state.fronts[front]["front_at"]) + FRONT_LIST, 1)


@kernel
def links_lines(state: State, blocks: Ints, first: int, count: int, write: int) -> None:
    """Of the links of blocks[first] .. blocks[first + count - 1]: their first words."""
    for index in range(first, first + count):
        touch(state.touched, block_at(state, int(blocks[index])), write)
