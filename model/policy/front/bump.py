"""Bump: the thread takes the next fresh block of a stretch of a slab; neither a list nor an array.

Frees go to the store, one by one. So it is for programs that free little, or much at a time.
"""

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import FULL, SELF, FrontCode, Function, Hit, total
from heapsmith.model.policy.front.common import FrontPlan, bounded, list_lines, why_not_bytes, why_not_level
from heapsmith.model.policy.front.none import overflow_lines, push, push_lines

NAME = "bump"
RARE = True
LEVELS = 1
IS_STACK = False
BATCHED = False
WITH = ("front/none",)
"""Its frees are those of no front."""
ALLOCATE = Function(
    "bump_refill",
    FULL,
    frozenset({"count_checked", "word_set", "hs_bumped"}),
    # Reads held and the next block; writes both.
    total(SELF, Hit(2, 2, 1)),
    numbers=("stride",),
)
CODE = FrontCode(ALLOCATE, Function("none_free"), "bump_drain", lend="bump_lend")
COSTS = {
    f"flush.{NAME}": 0.0,  # it is never full
    f"flush.block.{NAME}": 0.0,
    f"alloc.{NAME}": 0.00,
    f"free.{NAME}": 0.0,  # its frees are those of no front
    f"refill.{NAME}": 161.05,
    f"refill.block.{NAME}": 0.00,
}
NEXT = 1 << layout.INDEX_SHIFT
"""From a block's handle to that of the next block of its slab."""

__all__ = ["overflow_lines", "push", "push_lines"]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Fresh blocks, by a pointer that moves through a slab: neither a list nor an array.

    capacity: the most fresh blocks of a slab that a miss brings; max_bytes: the most bytes of them. A freed block goes
    to the store, and a miss takes it from there alone.
    """

    capacity: int = 64
    max_bytes: int = 65_536


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no front, or None."""
    return why_not_level("capacity", params.capacity) or why_not_bytes(params.max_bytes)


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes."""
    return FrontPlan(NAME, capacity=bounded(params.capacity, params.max_bytes, stride), has_slots=False)


@hit_path
def pop(state: State, front: int, cls: int) -> int:
    """Take the next block of the stretch, or NO_BLOCK."""
    held = int(state.fronts[front]["held"])
    if held == 0:
        return NO_BLOCK
    block = int(state.fronts[front]["head"])
    state.fronts[front]["head"] = block + NEXT
    state.fronts[front]["held"] = held - 1
    return block


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Keep moved[first] to moved[count - 1], which are a stretch or none."""
    state.stretched = 0
    state.fronts[front]["held"] = count - first
    if count > first:
        state.fronts[front]["head"] = state.moved[first]


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move the blocks that are left of the stretch to `moved`; return their number."""
    held = int(state.fronts[front]["held"])
    for index in range(held):
        state.moved[index] = pop(state, front, cls)
    return held


@kernel
def pop_lines(state: State, front: int, cls: int) -> None:
    """Touch what an allocation touches: how many blocks are left, and the next."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_HELD, 1)
    if state.fronts[front]["held"] > 0:
        touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LIST, 1)


@kernel
def look_lines(state: State, front: int, cls: int) -> None:
    """Touch what another look, or a drain, touches: its code reads the stride from the class's row."""
    pop_lines(state, front, cls)
    if state.fronts[front]["held"] > 0:
        touch(state.listener, class_at(cls) + layout.CLASS_STRIDE, 0)


drain_lines = look_lines


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches: numbers of the class, and the front's record where it brought a stretch."""
    touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
    if state.stretched > 0:
        list_lines(state, front, layout.FRONT_HELD)
