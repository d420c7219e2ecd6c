"""Later: an array stack keeps nothing until its class has missed some times in the heap.

A thread that asks for a class once leaves no block of it behind.
"""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy import front
from heapsmith.model.policy.emitted import Field

NAME = "later"
CLASS_NUMBERS = ("opens_after",)
SLOTS = 1
"""The misses of a front that is closed, in `slots`."""
MOST_MISSES = 255
COSTS: dict[str, float] = {}  # a refill of one block, and a free to the store


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stacks keep nothing until their class has missed often enough in the heap.

    misses: with this miss, in a heap and of a class, the stack opens. Each miss before takes one block, each
    free gives it back. Threads that use a class once hold no block of it; each other costs some more misses.
    """

    misses: int = 2


def why_not_valid(params: Params) -> str | None:
    """Return why no stack opens with this miss, or None."""
    if not 2 <= params.misses <= MOST_MISSES:
        return f"misses: {params.misses}; expected 2 to {MOST_MISSES}"
    return None


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class the miss with which its stack opens; 0: at once."""
    opens = [_opens(front.row_of(design.front_of(size))) for size in design.sizes]
    return [{"opens_after": design.opening.misses * able} for able in opens]


def _opens(row: Any) -> bool:
    return bool(row.CODE.resize != "NULL" and getattr(row, "IS_STACK", False))


def heap_fields(design: Any) -> list[Field]:
    """Return the misses of a heap's fronts."""
    classes = len(design.classes())
    words = -(-classes // layout.WORD)
    return [Field("uint8_t missed[CLASS_COUNT]", words, "by class, of a stack that is closed")]


@kernel
def misses_at(state: State, heap: int, cls: int) -> int:
    """Return where `slots` has the misses of a class in a heap."""
    return state.shared_slots + heap * state.heap_slots + state.opening_slots_at + SLOTS * cls


@kernel
def missed_line(state: State, heap: int, cls: int, write: int) -> None:
    """Touch the misses of a class in a heap."""
    touch(state.listener, heap_at(state, heap) + state.opening_at + cls, write)


@kernel
def is_closed(state: State, front: int, cls: int) -> bool:
    """Return whether the front keeps no block yet."""
    if state.fronts[front]["closed_at"] == 0 or state.classes[cls]["opens_after"] == 0:
        return False
    heap = (front - cls) // state.class_count
    missed_line(state, heap, cls, 0)
    return bool(state.slots[misses_at(state, heap, cls)] < state.classes[cls]["opens_after"])


@kernel
def stays_closed(state: State, front: int, cls: int) -> bool:
    """Count a miss; return whether the front stays closed, so that it brings one block."""
    if state.classes[cls]["opens_after"] == 0:
        return False
    touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
    if not is_closed(state, front, cls):
        return False
    heap = (front - cls) // state.class_count
    missed_line(state, heap, cls, 1)
    state.slots[misses_at(state, heap, cls)] += 1
    return bool(state.slots[misses_at(state, heap, cls)] < state.classes[cls]["opens_after"])
