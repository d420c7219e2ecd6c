"""The cache lines and branches of malloc and free on their way to a front; fronts have their own."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import LEAST_PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.branches import (
    ALIGNED_CLASSES,
    ALLOC_BY_ROW,
    ALLOC_SERVED,
    CLASS_OF_ALLOC,
    CLASS_OF_FREE,
    FREE_BY_ROW,
)
from heapsmith.model.memory.layout import class_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import branch, touch
from heapsmith.model.parts.block_questions import is_apart, last_lines, parked_lines, site_lines
from heapsmith.model.parts.front_questions import (
    capacity_of,
    front_first_lines,
    front_overflow_lines,
    front_pop_lines,
    front_push_lines,
    gives_back,
    has_room,
    room_of,
    size_lines,
)
from heapsmith.model.parts.stacks import open_lines, own_slots_lines, row_pop_lines, stack_push_lines

LINE = 64
"""Bytes of a cache line."""

CLOSED = -1
"""A front that keeps no block yet."""


@hit_path
def alloc_lines(state: State, heap: int, front: int, cls: int, size: int, is_new: bool) -> None:
    """Touch what an allocation touches up to and in its front, and follow its branches.

    is_new: the heap is new to the thread, so the thread has not looked into the heap's rows.
    """
    apart = is_apart(state, cls)
    if state.by_row == 1 and not is_new:
        if 0 < state.direct_limit >= size:
            touch(state.listener, heap_at(state, heap) + state.heap_row_of + size, 0)
        else:
            size_lines(state, size)
        if apart:
            touch(state.listener, heap_at(state, heap), 0)
            branch(state.listener, ALLOC_BY_ROW, 0)
            site_lines(state, cls, size)
        held = int(state.fronts[front]["held"]) if state.classes[cls]["stack"] > 0 else 0
        row_pop_lines(state, front, held)
        branch(state.listener, ALLOC_SERVED if apart else ALLOC_BY_ROW, int(held > 0))
        if held > 0:
            return
    elif apart:
        site_lines(state, cls, size)
    size_lines(state, size)
    if state.by_table == 1:
        branch(state.listener, CLASS_OF_ALLOC, cls)
        touch(state.listener, layout.ALLOC_OF + layout.WORD * cls, 0)
    if is_new:
        front_first_lines(state, cls)
    elif state.classes[cls]["by_row"] == 0:
        front_pop_lines(state, front, cls)


@hit_path
def free_lines(state: State, heap: int, front: int, cls: int, block: int) -> int:
    """Touch what a free into a front touches, and an overflow before the store takes its blocks.

    Follow its branches too. Return how many blocks left the front so that it has room; CLOSED if it keeps no block yet.
    """
    capacity = room_of(state, front, cls) if state.classes[cls]["stack"] > 0 else 0
    held = int(state.fronts[front]["held"]) if capacity > 0 else 0
    serves = held < capacity and state.fronts[front]["closed_at"] == 0
    closed = capacity > 0 and not serves and gives_back(state, front, cls)
    if state.by_row == 1:
        last_lines(state, front, held)
        stack_push_lines(state, front, held, held if closed else capacity)
        branch(state.listener, FREE_BY_ROW, int(serves))
        if serves:
            return 0
    left = 0
    if state.by_table == 1:
        branch(state.listener, CLASS_OF_FREE, cls)
        touch(state.listener, layout.FREE_OF + layout.WORD * (1 - state.by_row + cls), 0)
    if capacity > 0 and not serves and state.classes[cls]["guarded"] == 0:
        parked_lines(state, heap, cls)
        own_slots_lines(state, front, cls)
        if closed:
            if state.by_row == 0:
                stack_push_lines(state, front, held, held)
            return CLOSED
        open_lines(state, front, cls)
        if held == capacity and held < capacity_of(state, front, cls):
            left = has_room(state, heap, front, cls, held)
    front_push_lines(state, front, cls, block)
    if state.fronts[front]["held"] == capacity_of(state, front, cls):
        front_overflow_lines(state, heap, front, cls)
    return left


@kernel
def aligned_lines(state: State, cls: int, size: int, align: int) -> int:
    """Touch what the search for a class of aligned blocks touches, and return the size that malloc is asked for.

    cls: the result, -1: none. The size is the rounded one if its class is the result, else the largest of the result.
    """
    bias = state.bias
    least = ((size + bias + align - 1) & -align) - bias
    if least > state.small_limit or align > LEAST_PAGE or (size == 0 and state.live_map == 1):
        return size
    size_lines(state, least)
    last = cls if cls >= 0 else state.size_classes - 1
    looked_at = 0
    for row in range(last + 1):
        if state.classes[row]["usable"] >= least:
            looked_at += 1
            touch(state.listener, class_at(row) + layout.CLASS_STRIDE, 0)
            touch(state.listener, class_at(row) + layout.CLASS_FIRST, 0)
    branch(state.listener, ALIGNED_CLASSES, looked_at)
    if cls < 0 or looked_at == 1:
        return least
    touch(state.listener, class_at(cls), 0)
    return int(state.classes[cls]["usable"])
