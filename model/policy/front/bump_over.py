"""Bump over further levels: fresh blocks first; freed ones go to level 1, and a miss takes a single one from there."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import FrontCode, Function
from heapsmith.model.policy.front import below, bump, hot_over
from heapsmith.model.policy.front.below import drain_below, make_room, push_below

drain_stretch = bump.drain

NAME = "bump_over"
RARE = True
INNER = True
LEVELS = 2
IS_STACK = False
BATCHED = False
SINGLE = True
WITH = ("front/bump",)
"""What level 0 does."""
CODE = FrontCode(
    bump.ALLOCATE._replace(leaves="bump_over_refill"),
    Function("bump_over_free"),
    "bump_over_drain",
    lend="bump_lend",
)
COSTS = {
    f"alloc.{NAME}": 0.00,
    f"free.{NAME}": 131.09,
    f"refill.{NAME}": 202.28,
    f"refill.block.{NAME}": 0.00,
    f"flush.{NAME}": 0.00,
    f"flush.block.{NAME}": 0.00,
}

pop, fill, promote = bump.pop, bump.fill, hot_over.promote
pop_lines, look_lines, fill_lines, drain_lines = bump.pop_lines, bump.look_lines, bump.fill_lines, bump.drain_lines
level_held, overflow_lines = below.held_below, below.spill_overflow_lines


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest of level 1, which first makes room; return the number flushed."""
    flushed = make_room(state, front, cls)
    push_below(state, front, cls, 1, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch nothing: what goes down touches its lines itself."""


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, in drain order; return their number."""
    return drain_below(state, front, cls, drain_stretch(state, front, cls))
