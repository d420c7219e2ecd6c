"""No front: every malloc takes a block from the store, and every free gives a block back."""

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import NO_BLOCK
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import FrontCode, Function
from heapsmith.model.policy.front.common import FrontPlan

NAME = "none"
LEVELS = 0
IS_STACK = False
BATCHED = False
CODE = FrontCode(Function("none_alloc"), Function("none_free"), "NULL", lend="NULL")
COSTS = {
    f"alloc.{NAME}": 0.0,  # no block is ever in it
    f"flush.{NAME}": 0.0,
    f"free.{NAME}": 34.66,
    f"refill.{NAME}": 92.71,
    f"refill.block.{NAME}": 5.72,
    f"flush.block.{NAME}": 35.17,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """No front: every allocation goes to the store."""


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan of a class without a front."""
    return FrontPlan(NAME)


@kernel
def pop(state: State, front: int, cls: int) -> int:
    """Return NO_BLOCK: there is no level 0."""
    return NO_BLOCK


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Do nothing: a refill brings the one block that the allocation returns."""


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Return 0: there is nothing to drain."""
    return 0


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: send `block` to the store."""
    state.classes[cls]["direct"] += 1
    state.moved[0] = block
    return 1


@kernel
def no_lines(state: State, front: int, cls: int) -> None:
    """Touch nothing: only the store touches memory."""


pop_lines = look_lines = drain_lines = no_lines


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch nothing: only the store touches memory."""


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch nothing: only the store touches memory."""


@kernel
def overflow_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch nothing: there is no flush."""
