"""Array stack: a LIFO of pointers in an array; a free never touches the freed block."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.block_questions import overflow
from heapsmith.model.parts.front_questions import capacity_lines, capacity_of
from heapsmith.model.parts.slab_questions import transfer_lines
from heapsmith.model.parts.stacks import own_slots_lines, stack_push_lines
from heapsmith.model.policy.front.common import (
    OneLevel,
    blocks_lines,
    one_level,
    slots_lines,
    stack_code,
    stack_push,
    stack_shift,
    why_not_one_level,
)

NAME = "array_stack"
DEFAULT = True
LEVELS = 1
IS_STACK = True
"""Level 0 is an array stack; by row malloc and free pop and push its top themselves."""
RECORD = False
"""A heap has no record of it besides top and end, but for a capacity that it learns."""
BATCHED = True
"""A flush may return neighbours of one slab, and its batch may wait in the transfer cache."""
CODE = stack_code("array_stack_refill", "array_stack_flush", "stack_drain", "array_stack_resize")
COSTS = {
    f"alloc.{NAME}": 7.14,
    f"free.{NAME}": 13.20,
    f"refill.{NAME}": 189.86,
    f"refill.block.{NAME}": 8.29,
    f"flush.{NAME}": 94.63,
    f"alloc.table.{NAME}": 2.80,  # by hand: instructions of the emitted alloc, less those of a linked list
    f"free.table.{NAME}": 8.74,
}


class Params(OneLevel, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stack (a magazine): LIFO, pointers in an array."""


derive = one_level
why_not_valid = why_not_one_level


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Free: `block` becomes the newest; a full front first flushes; return the number of flushed blocks.

    The oldest blocks leave, but the newest where the stack is a processor's.
    """
    flushed = 0
    if state.fronts[front]["held"] == capacity_of(state, front, cls):
        count = int(state.classes[cls]["flush_batch"])
        flushed = overflow(state, front, count)
        state.classes[cls]["flush"] += 1
        state.classes[cls]["flushed"] += flushed
    stack_push(state, front, block)
    state.classes[cls]["push"] += 1
    return flushed


@kernel
def surplus(state: State, front: int, cls: int, count: int) -> int:
    """Move the oldest `count` blocks to `moved`, oldest first; return their number."""
    return stack_shift(state, front, count, 0)


@kernel
def resize_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a change of the capacity touches; `count` blocks are too many."""
    touch(state.listener, int(state.fronts[front]["top_at"]), int(count > 0))
    if state.fronts[front]["closed_at"] == 0:
        touch(state.listener, int(state.fronts[front]["end_at"]), 1)
    own_slots_lines(state, front, cls)
    if count > 0:
        blocks_lines(state, front, cls, int(state.fronts[front]["held"]))


@kernel
def drain(state: State, front: int, cls: int) -> int:
    """Move all blocks to `moved`, oldest first; return their number."""
    return stack_shift(state, front, int(state.fronts[front]["held"]), 0)


@hit_path
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what a free touches; an overflow moves all slots."""
    capacity = capacity_of(state, front, cls)
    stack_push_lines(state, front, int(state.fronts[front]["held"]), capacity)
    if state.fronts[front]["held"] == capacity:
        slots_lines(state, front, cls, capacity, layout.CLASS_FLUSH)
        capacity_lines(state, front, cls)
        transfer_lines(state, cls)
