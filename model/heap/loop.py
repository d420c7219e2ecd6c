"""The loop: the events of a chunk in order, each accounted for; the entry of the compiled model."""

import numpy as np

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.heap.events import (
    ALIGNED,
    ALREADY_LIVE,
    CALLOC,
    DEAD,
    FREE,
    FREE_SIZED,
    NEGATIVE_SIZE,
    NO_SUCH_OPERATION,
    NOT_LIVE,
    REALLOC,
    THREAD_EXIT,
    THREAD_START,
    TOO_LARGE,
    address_of,
    allocate,
    block_bytes,
    fits_in_place,
    free,
    note,
    place_of,
    usable_of,
)
from heapsmith.model.heap.heap import exit_thread
from heapsmith.model.heap.large import HUGE_SLOT_BYTES, RUN_CODE
from heapsmith.model.memory.application import birth_lines, death_lines, event_lines
from heapsmith.model.memory.layout import TOTAL_IN_PLACE, TOTAL_MOVED
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import NONE, SINK, acts, room_for, tick, touch, touch_bytes
from heapsmith.model.policy.front.common import NO_BLOCK

SLACK_BYTES = 1 << 21
"""What an event may touch for the first time besides its block: records, and a superslab."""


LINE = 64
"""Bytes of a cache line."""


@hit_path
def fault_of(state: State, kind: int, name: int, size: int) -> int:
    """Return why the event is invalid, or 0."""
    if kind > THREAD_EXIT:
        return NO_SUCH_OPERATION
    if kind >= THREAD_START:
        return 0
    if size < 0:
        return NEGATIVE_SIZE
    born = kind < REALLOC or kind == ALIGNED
    if (state.blocks[name]["handle"] == DEAD) != born:
        return ALREADY_LIVE if born else NOT_LIVE
    return 0


@hit_path
def account(state: State, name: int, handle: int, asked: int) -> None:
    """Record the birth of block `name` with this handle and size."""
    state.blocks[name]["handle"] = handle
    state.blocks[name]["asked"] = asked
    if handle >= 0:
        state.live_blocks += 1
        state.live_bytes += asked
        state.live_block_bytes += block_bytes(state, handle, asked)


@hit_path
def discount(state: State, name: int) -> None:
    """Record the death of block `name`; call this before its pages merge with others."""
    handle = int(state.blocks[name]["handle"])
    asked = int(state.blocks[name]["asked"])
    state.blocks[name]["handle"] = DEAD
    if handle >= 0:
        state.live_blocks -= 1
        state.live_bytes -= asked
        state.live_block_bytes -= block_bytes(state, handle, asked)


@hit_path
def birth(state: State, thread: int, name: int, size: int, align: int, kind: int) -> int:
    """Do malloc, calloc or aligned for block `name`; return its handle, NO_BLOCK without room."""
    handle = allocate(state, thread, size, align)
    account(state, name, handle, size)
    if handle >= 0:
        at = place_of(state, handle)
        if kind == CALLOC and (handle < RUN_CODE or state.clean == 0):
            state.cleared_bytes += size
            touch_bytes(state.listener, at, size, 1)
        birth_lines(state, at, 0, size)
    return handle


@hit_path
def death(state: State, thread: int, name: int) -> None:
    """Do free or free_sized for block `name`."""
    handle = int(state.blocks[name]["handle"])
    asked = int(state.blocks[name]["asked"])
    if handle >= 0:
        death_lines(state, place_of(state, handle), asked)
    discount(state, name)
    free(state, thread, handle, asked)


@kernel
def reallocate(state: State, thread: int, name: int, size: int, align: int) -> int:
    """Do realloc (section 9; align: 1) with size > 0; return the handle, NO_BLOCK without room."""
    old = int(state.blocks[name]["handle"])
    asked = int(state.blocks[name]["asked"])
    discount(state, name)
    state.asked_lines += (max(0, size - asked) + LINE - 1) // LINE
    if old >= 0 and fits_in_place(state, old, asked, size, align):
        state.realloc_in_place += 1
        account(state, name, old, size)
        touch(state.listener, TOTAL_IN_PLACE, 1)
        birth_lines(state, place_of(state, old), asked, size)
        return old
    handle = allocate(state, thread, size, align)
    if handle < 0:
        account(state, name, old, asked)
        return NO_BLOCK
    at = place_of(state, handle)
    if old >= 0:
        copied = min(size, usable_of(state, old, asked))
        touch_bytes(state.listener, place_of(state, old), copied, 0)
        touch_bytes(state.listener, at, copied, 1)
        state.copied_bytes += copied
        touch(state.listener, TOTAL_MOVED, 1)
        free(state, thread, old, asked)
        state.realloc_moved += 1
    account(state, name, handle, size)
    birth_lines(state, at, asked if old >= 0 else 0, size)
    return handle


@hit_path
def tally(state: State, kind: int) -> None:
    """Count a call of the operation."""
    if SINK != NONE:
        state.callocs += kind == CALLOC
        state.reallocs += kind == REALLOC
        state.aligned += kind == ALIGNED
        state.sized_frees += kind == FREE_SIZED


@kernel
def run(state: State, start: int) -> int:
    """Do events from `start` until the chunk ends or arrays must grow; return the next index."""
    tell = len(state.addresses) > 0
    for event in range(start, len(state.op)):
        kind = int(np.int64(state.op[event]))
        who = int(np.int64(state.thread[event]))
        name = int(np.int64(state.block[event]))
        bytes_asked = int(state.size[event])
        align = 1 << int(np.int64(state.align_log2[event])) if kind == ALIGNED else 1
        handle = NO_BLOCK
        if SINK != NONE and bytes_asked > HUGE_SLOT_BYTES:
            state.fault = TOO_LARGE
            return event
        if not room_for(state.listener, bytes_asked + SLACK_BYTES):
            state.wanted_bytes = bytes_asked + SLACK_BYTES
            state.full = 1
            return event
        fault = fault_of(state, kind, name, bytes_asked)
        if fault > 0:
            state.fault = fault
            return event
        tally(state, kind)
        acts(state.listener, who)
        if kind <= FREE_SIZED:
            event_lines(state, name)
        is_death = kind in (FREE, FREE_SIZED) or (kind == REALLOC and bytes_asked == 0)
        if is_death:
            death(state, who, name)
        elif kind < REALLOC or kind == ALIGNED:
            handle = birth(state, who, name, bytes_asked, align, kind)
            if SINK != NONE:
                state.asked_lines += (bytes_asked + LINE - 1) // LINE
        elif kind == REALLOC:
            handle = reallocate(state, who, name, bytes_asked, align)
        elif kind == THREAD_EXIT:
            exit_thread(state, who)
        if tell:
            state.addresses[event] = address_of(state, handle)
        tick(state.listener)
        note(state, is_death)
        if state.full == 1:
            return event + 1
    return len(state.op)
