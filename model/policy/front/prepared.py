"""Prepared: all blocks of a class taken at once, then pops and pushes without a test. For measurement alone.

Pages that no access may touch bound each class's array: the processor faults where others test.
"""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE, USED_UP
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import ALLOC_OF, FREE_OF, FRONT_HEAD, NO_BLOCK, WORD
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.stacks import row_pop_lines
from heapsmith.model.policy.emitted import SELF, FrontCode, Function, Hit, total
from heapsmith.model.policy.front.common import MAX_CAPACITY, FrontPlan, stack_fill, stack_fill_lines, stack_push
from heapsmith.model.policy.front.none import overflow_lines

NAME = "prepared"
RARE = True
UNPRICED = True
LEVELS = 1
IS_STACK = True
BATCHED = False
GUARDED = True
"""Whether pages that no access may touch bound the array of each class: malloc and free test nothing."""
MOMENTS = ("heap_made",)
CODE = FrontCode(
    # Reads top and a slot; updates top.
    Function(
        "", calls=frozenset({"count_checked", "hs_guarded_newest", "hs_stack_popped"}), hit=total(SELF, Hit(3, 1, 0))
    ),
    # Reads top; writes a slot; updates top.
    Function(
        "", calls=frozenset({"count_checked", "hs_guarded_push", "hs_stack_pushed"}), hit=total(SELF, Hit(2, 2, 0))
    ),
    "NULL",
    lend="NULL",
)
COSTS = {  # by hand: those of an array stack, less its tests
    f"alloc.{NAME}": 0.0,
    f"free.{NAME}": 0.0,
    f"refill.{NAME}": 173.86,
    f"refill.block.{NAME}": 6.09,
    f"flush.{NAME}": 0.0,  # what finds no room goes to the store alone
    f"flush.block.{NAME}": 0.0,
    f"alloc.table.{NAME}": 0.00,
    f"free.table.{NAME}": 4.82,
}
SLOTS_OF_A_PAGE = PAGE // WORD

__all__ = ["overflow_lines"]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """For measurement alone: all blocks of a class are taken before, then malloc pops and free pushes without a test.

    blocks: of each class and thread. A program that needs more ends.
    """

    blocks: int = 50_000


def why_not_valid(params: Params) -> str | None:
    """Return why this number of blocks cannot be prepared, or None."""
    if 1 <= params.blocks <= MAX_CAPACITY:
        return None
    return f"blocks: {params.blocks}; expected 1 to {MAX_CAPACITY}"


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design cannot do without tests, or None."""
    own = (design.front, *(rule.front for rule in design.class_front))
    if any(not isinstance(design.front_of(size), Params) for size in design.sizes) or len(design.sizes) < 2:
        words = f"front: '{NAME}' is for measurement: expected it as the front of each class, of two classes or more"
        return Refusal(words, ("front",)) if any(isinstance(one, Params) for one in own) else None
    if not design.row("foreign").TRUSTS:
        words = (
            f"foreign: '{design.row('foreign').NAME}' cannot go with front '{NAME}', for measurement: expected 'trust'"
        )
        return Refusal(words, ("foreign", "front"))
    if design.dispatch != "class":
        return Refusal(
            f"dispatch: front '{NAME}' needs functions of each class; expected 'class'", ("dispatch", "front")
        )
    if design.row("remote").OWNED:
        words = f"remote: '{design.row('remote').NAME}' cannot go with front '{NAME}'; expected one store of all heaps"
        return Refusal(words, ("remote", "front"))
    for field in ("crash", "rounding", "background", "segregation"):
        if getattr(design, field) not in (None, "silent"):
            return Refusal(
                f"{field}: '{design.row(field).NAME}' cannot go with front '{NAME}'; expected none", (field, "front")
            )
    return None


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes."""
    capacity = -(-params.blocks // SLOTS_OF_A_PAGE) * SLOTS_OF_A_PAGE
    return FrontPlan(NAME, capacity=capacity, refill=params.blocks, guard_slots=SLOTS_OF_A_PAGE)


def looks_again(design: Any) -> bool:
    """Return True: a heap that its thread got just now may have been filled."""
    return True


@kernel
def promote(state: State, front: int, cls: int) -> int:
    """Return NO_BLOCK, for the first refill; nothing can serve a second."""
    if state.fronts[front]["filled"] > 0:
        state.fault = USED_UP
        state.full = 1
    state.fronts[front]["filled"] = 1
    return NO_BLOCK


fill = stack_fill


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest, or goes to the store if there is no room; return 1 if it does, else 0."""
    if state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        state.classes[cls]["direct"] += 1
        state.moved[0] = block
        return 1
    stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return 0


@kernel
def fault_lines(state: State) -> None:
    """Touch what a fault touches: the handler looks for the class among the functions of all."""
    touch_bytes(state.listener, ALLOC_OF, WORD * state.class_count, 0)
    touch_bytes(state.listener, FREE_OF + WORD, WORD * state.class_count, 0)


@kernel
def first_lines(state: State, cls: int) -> None:
    """Touch what a fault touches: a thread without a heap has its array at address 0."""
    fault_lines(state)


@kernel
def pop_lines(state: State, front: int, cls: int) -> None:
    """Touch what an allocation touches: without a block it faults where no line comes, before it writes."""
    held = int(state.fronts[front]["held"])
    touch(state.listener, int(state.fronts[front]["top_at"]), 0)
    if held > 0:
        row_pop_lines(state, front, held)
    else:
        fault_lines(state)


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches: no end; without room it faults as an allocation does."""
    held = int(state.fronts[front]["held"])
    touch(state.listener, int(state.fronts[front]["top_at"]), int(held < state.classes[cls]["capacity"]))
    if held < state.classes[cls]["capacity"]:
        touch(state.listener, int(state.fronts[front]["slots_at"]) + WORD * held, 1)
    else:
        fault_lines(state)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what the only refill touches: what that of a stack does, and the word that says that it was."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + FRONT_HEAD, 1)
    stack_fill_lines(state, front, cls, count)


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Return 0: the blocks stay with the heap."""
    return 0


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Touch nothing."""
