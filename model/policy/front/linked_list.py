"""Linked list through the free blocks' first words: LIFO, no array; every pop reads the block."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import block_at, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.front_questions import capacity_of
from heapsmith.model.policy.emitted import FULL, SELF, FrontCode, Function, Hit, total
from heapsmith.model.policy.front.common import (
    OneLevel,
    links_lines,
    list_lines,
    one_level,
    slots_lines,
    stack_pop,
    stack_push,
    why_not_one_level,
)

NAME = "linked_list"
LEVELS = 1
IS_STACK = False
BATCHED = False
CODE = FrontCode(
    # Reads list, the block's link and held; writes list and held.
    Function(
        "linked_list_refill",
        "== NULL",
        frozenset({"count_checked", "link_take", "word_subtract"}),
        total(SELF, Hit(3, 2, 1)),
    ),
    # Reads held and list; writes held, list and the block's link.
    Function(
        "linked_list_flush", FULL, frozenset({"count_checked", "link_set", "word_set"}), total(SELF, Hit(2, 3, 1))
    ),
    "linked_list_drain",
    lend="linked_list_lend",
    resize="linked_list_resize",
)
COSTS = {
    f"alloc.{NAME}": 8.61,
    f"free.{NAME}": 6.24,
    f"refill.{NAME}": 138.02,
    f"refill.block.{NAME}": 2.41,
    f"flush.{NAME}": 69.48,
    f"flush.block.{NAME}": 0.00,
}


class Params(OneLevel, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Intrusive singly linked list: LIFO through the block's first word."""


derive = one_level
why_not_valid = why_not_one_level


@kernel
def surplus(state: State, front: int, cls: int, count: int) -> int:
    """Move the newest `count` blocks to `moved`, newest first; return their number."""
    for index in range(count):
        state.moved[index] = stack_pop(state, front, cls)
    return count


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full list first flushes its newest; return the number of flushed blocks."""
    flushed = 0
    if state.fronts[front]["held"] == capacity_of(state, front, cls):
        flushed = surplus(state, front, cls, int(state.classes[cls]["flush_batch"]))
        state.classes[cls]["flush"] += 1
        state.classes[cls]["flushed"] += flushed
    stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, newest first; return their number."""
    return surplus(state, front, cls, int(state.fronts[front]["held"]))


@kernel
def pop_lines(state: State, front: int, cls: int) -> None:
    """Touch what an allocation touches: the front's record, and the link of the newest block."""
    held = int(state.fronts[front]["held"])
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LIST, 1)
    if held > 0:
        touch(state.listener, int(state.fronts[front]["front_at"]), 1)
        links_lines(state, state.slots, int(state.fronts[front]["base"]) + held - 1, 1, 0)


@kernel
def look_lines(state: State, front: int, cls: int) -> None:
    """Touch what another look into the list touches."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_HELD, 0)
    if state.fronts[front]["held"] > 0:
        pop_lines(state, front, cls)


@kernel
def resize_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a change of the capacity touches; `count` blocks are too many."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_HELD, int(count > 0))
    if count > 0:
        list_lines(state, front, layout.FRONT_HELD)
        newest_lines(state, front, count)


@kernel
def newest_lines(state: State, front: int, count: int) -> None:
    """Touch the links of the newest `count` blocks."""
    newest = int(state.fronts[front]["base"]) + int(state.fronts[front]["held"]) - count
    links_lines(state, state.slots, newest, count, 0)


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what a drain touches: the count of an empty list, else the list's record and all links."""
    held = int(state.fronts[front]["held"])
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_HELD, int(held > 0))
    if held > 0:
        list_lines(state, front, layout.FRONT_HELD)
        links_lines(state, state.slots, int(state.fronts[front]["base"]), held, 0)


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches: the record and the block; an overflow reads the newest links."""
    list_lines(state, front, layout.FRONT_HELD)
    touch(state.listener, block_at(state, block), 1)
    if state.fronts[front]["held"] == capacity_of(state, front, cls):
        touch(state.listener, class_at(cls) + layout.CLASS_FLUSH, 0)
        newest_lines(state, front, int(state.classes[cls]["flush_batch"]))


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches: all blocks pass through slots; all but the first get links."""
    slots_lines(state, front, cls, count, layout.CLASS_REFILL)
    if count > 1:
        list_lines(state, front, layout.FRONT_HELD)
        links_lines(state, state.moved, 1, count - 1, 1)
