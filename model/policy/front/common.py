"""The plan of a front, the rules for its numbers, and the stack that several fronts share."""

from typing import Annotated, Literal, TypeAlias

import msgspec

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, block_at, class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.levels import BUMP
from heapsmith.model.parts.slab_questions import transfer_lines
from heapsmith.model.parts.stacks import open_lines, own_slots_lines, row_pop_lines
from heapsmith.model.policy.emitted import SELF, FrontCode, Function, Hit, total

REFILL_BYTES = 4096
"""A refill carves at most one page: larger refills touched memory that no allocation used."""

MAX_CAPACITY = 65_536
"""Blocks that one level may hold: its counter has 32 bits, and each thread reserves its array."""

NEVER = "never"
"""The refill of a front that frees alone fill: a miss takes one block, from the store."""

Refill: TypeAlias = int | Literal["never"] | None


def stack_code(refill: str, full: str, drain: str, resize: str = "NULL") -> FrontCode:
    """Return the code of a front whose level 0 is an array stack: by class; by row malloc and free pop and push."""
    return FrontCode(
        # Reads top and a slot; updates top.
        Function(refill, "== NULL", frozenset({"count_checked", "hs_stack_popped"}), total(SELF, Hit(3, 1, 1))),
        # Reads top and end; writes a slot; updates top.
        Function(
            full,
            "== heap->end[1 + CLASS_{name}]",
            frozenset({"count_checked", "hs_stack_pushed"}),
            total(SELF, Hit(3, 2, 1)),
        ),
        drain,
        resize=resize,
    )


class LevelPlan(msgspec.Struct, frozen=True):
    """The numbers of a level below level 0.

    kind: the row of a front of this level alone; code: its number (model/parts/levels.py). capacity: its most
    blocks; out: how many leave it to make room; up: how many a promotion hands to the level above. at: where its
    first block lies in the slots below level 0. is_apart: its counts lie in two slots before that, not in the
    front's record.
    """

    kind: str
    code: int
    capacity: int
    out: int
    up: int
    at: int
    is_apart: bool

    @property
    def slots(self) -> int:
        """The slots of its blocks: fresh ones, one behind the other, need none."""
        return 0 if self.code == BUMP else self.capacity


class FrontPlan(msgspec.Struct, frozen=True):
    """The numbers of a front (docs/machine-rooms.md), in blocks; 0: not of this kind.

    list_capacity: of all levels below level 0; spill: of level 0; promote: of level 1. levels: those below level 0.
    has_slots: whether level 0 has slots for its blocks. guard_slots: those before and behind its slots, on a page each,
    that no access may touch.
    """

    kind: str
    capacity: int = 0
    list_capacity: int = 0
    refill: int = 1
    flush: int = 0
    spill: int = 0
    promote: int = 0
    levels: tuple[LevelPlan, ...] = ()
    has_slots: bool = True
    guard_slots: int = 0

    @property
    def slots_below(self) -> int:
        """The slots of the levels below level 0."""
        return self.levels[-1].at + self.levels[-1].slots if self.levels else 0

    @property
    def stretch_depth(self) -> int:
        """The level below level 0 that is a bump; 0: none is."""
        return len(self.levels) if self.levels and self.levels[-1].code == BUMP else 0

    @property
    def stretch(self) -> int:
        """The most blocks of a stretch; 0: no level has one."""
        return self.levels[-1].capacity if self.stretch_depth else 0 if self.has_slots else self.capacity

    @property
    def has_plain_levels(self) -> bool:
        """Whether the class's row has all numbers of what lies below level 0: nothing, or the list of the record."""
        return not any(level.is_apart for level in self.levels)


def bounded(capacity: int, max_bytes: int, stride: int) -> int:
    """Return the capacity in blocks that respects both bounds; at least one block."""
    return max(1, min(capacity, max_bytes // stride))


def frees_alone_fill(params: msgspec.Struct) -> bool:
    """Return whether no refill brings more than the block that is asked for."""
    return getattr(params, "refill", None) == NEVER


def refill_of(refill: Refill, capacity: int, stride: int) -> int:
    """Return the blocks of a refill; no batch exceeds the capacity."""
    page_of_blocks = max(1, min(REFILL_BYTES // stride, capacity // 2))
    return 1 if isinstance(refill, str) else min(capacity, refill or page_of_blocks)


def one_level_plan(kind: str, capacity: int, refill: Refill, flush: int | None, stride: int) -> FrontPlan:
    """Return the plan of a front of one level; no batch exceeds the capacity."""
    return FrontPlan(
        kind,
        capacity=capacity,
        refill=refill_of(refill, capacity, stride),
        flush=min(capacity, flush or max(1, capacity // 2)),
    )


class OneLevel(msgspec.Struct, frozen=True):
    """The parameters of a front of one level."""

    capacity: Annotated[int, msgspec.Meta(description="the most blocks")] = 64
    max_bytes: Annotated[int, msgspec.Meta(description="the most bytes")] = 65_536
    refill: Annotated[
        Refill,
        msgspec.Meta(
            description="blocks that a miss takes from the store (default: a page of blocks, at most half the "
            'capacity), or "never": frees alone fill the front, which then holds no block that was never used, but '
            "each miss is a call of the store"
        ),
    ] = None
    flush: Annotated[
        int | None, msgspec.Meta(description="blocks that an overflow gives back (default: half the capacity)")
    ] = None


def one_level(params: OneLevel, stride: int) -> FrontPlan:
    """Return the plan of a front of one level for a class of `stride` bytes."""
    capacity = bounded(params.capacity, params.max_bytes, stride)
    return one_level_plan(str(params.__struct_config__.tag), capacity, params.refill, params.flush, stride)


def why_not_level(field: str, capacity: int) -> str | None:
    """Return why a level cannot have this capacity, or None."""
    if not 1 <= capacity <= MAX_CAPACITY:
        return (
            f"{field}: {capacity} is not a capacity; expected 1 to {MAX_CAPACITY} blocks (kind = 'none' for no front)"
        )
    return None


def why_not_bytes(max_bytes: int) -> str | None:
    """Return why a level cannot have this bound, or None."""
    return f"max_bytes: {max_bytes} is too few; expected at least 1" if max_bytes < 1 else None


def why_not_batch(field: str, batch: int | None, capacity: int) -> str | None:
    """Return why a batch cannot have this size, or None."""
    if batch is not None and not 1 <= batch <= capacity:
        return f"{field}: {batch} is not a batch; expected 1 to the capacity, {capacity}"
    return None


def why_not_refill(refill: Refill, capacity: int) -> str | None:
    """Return why a miss cannot take `refill` blocks, or None."""
    return None if isinstance(refill, str) else why_not_batch("refill", refill, capacity)


def why_not_one_level(params: OneLevel) -> str | None:
    """Return why these parameters make no front of one level, or None."""
    return (
        why_not_level("capacity", params.capacity)
        or why_not_bytes(params.max_bytes)
        or why_not_refill(params.refill, params.capacity)
        or why_not_batch("flush", params.flush, params.capacity)
    )


@hit_path
def stack_pop(state: State, front: int, cls: int) -> int:
    """Pop the newest block of a level 0 that is a stack (oldest first in `slots`), or NO_BLOCK."""
    held = int(state.fronts[front]["held"])
    if held == 0:
        return NO_BLOCK
    state.fronts[front]["held"] = held - 1
    return int(state.slots[int(state.fronts[front]["base"]) + held - 1])


@hit_path
def stack_push(state: State, front: int, block: int) -> None:
    """Push `block` on a level 0 that has room."""
    held = int(state.fronts[front]["held"])
    state.slots[int(state.fronts[front]["base"]) + held] = block
    state.fronts[front]["held"] = held + 1


@kernel
def stack_fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Push moved[first] to moved[count - 1] on an empty level 0; pops return them in this order."""
    for index in range(count - 1, first - 1, -1):
        stack_push(state, front, int(state.moved[index]))


@kernel
def stack_shift(state: State, front: int, count: int, at: int) -> int:
    """Move the oldest `count` blocks of level 0 to moved[at] on; return the end of `moved`."""
    base = int(state.fronts[front]["base"])
    held = int(state.fronts[front]["held"])
    for index in range(count):
        state.moved[at + index] = state.slots[base + index]
    for index in range(count, held):
        state.slots[base + index - count] = state.slots[base + index]
    state.fronts[front]["held"] = held - count
    return at + count


@kernel
def stack_unload(state: State, front: int, count: int) -> int:
    """Move the newest `count` blocks of level 0 to `moved`, newest first; return their number."""
    held = int(state.fronts[front]["held"])
    top = int(state.fronts[front]["base"]) + held
    for index in range(count):
        state.moved[index] = state.slots[top - 1 - index]
    state.fronts[front]["held"] = held - count
    return count


# The functions below touch the cache lines of an operation, from the state before the operation.


@kernel
def stack_pop_lines(state: State, front: int, cls: int) -> None:
    """Touch what the alloc function of a class with a stack touches."""
    row_pop_lines(state, front, int(state.fronts[front]["held"]))


@kernel
def look_lines(state: State, front: int, cls: int) -> None:
    """Touch what another look into a stack touches."""
    touch(state.listener, int(state.fronts[front]["top_at"]), 0)
    own_slots_lines(state, front, cls)
    if state.fronts[front]["held"] > 0:
        stack_pop_lines(state, front, cls)


@kernel
def overflow_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch the flush counters of a front of one level."""
    counts = count_at(state, heap, cls)
    touch(state.listener, counts + layout.COUNT_FLUSH, 1)
    touch(state.listener, counts + layout.COUNT_FLUSH + layout.WORD, 1)


@kernel
def stack_drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what the drain of a stack touches."""
    touch(state.listener, int(state.fronts[front]["top_at"]), 1)
    blocks_lines(state, front, cls, int(state.fronts[front]["held"]))


@kernel
def stack_fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill of a stack touches: slots, top, and the class's word on transfers."""
    slots_lines(state, front, cls, count, layout.CLASS_REFILL)
    open_lines(state, front, cls)
    touch(state.listener, int(state.fronts[front]["top_at"]), 1)
    transfer_lines(state, cls)


@kernel
def slots_lines(state: State, front: int, cls: int, count: int, number: int) -> None:
    """Touch `count` slots of level 0, and `number` and the slots' place in the class's row."""
    touch(state.listener, class_at(cls) + number, 0)
    blocks_lines(state, front, cls, count)


@kernel
def blocks_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch `count` slots of level 0, and the slots' place."""
    own_slots_lines(state, front, cls)
    touch_bytes(state.listener, int(state.fronts[front]["slots_at"]), layout.WORD * count, 1)


@hit_path
def list_lines(state: State, front: int, number: int) -> None:
    """Touch a list: its count in the front's record, and its head."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + number, 1)
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LIST, 1)


@kernel
def links_lines(state: State, blocks: Ints, first: int, count: int, write: int) -> None:
    """Touch the links of `count` blocks from blocks[first] on, their first words; hardening clears one that is read."""
    for index in range(first, first + count):
        touch(state.listener, block_at(state, int(blocks[index])), int(write > 0 or state.tail_bytes > 0))
