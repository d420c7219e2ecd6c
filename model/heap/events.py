"""Events: those of a chunk in order, the entry of the compiled model; docs/machine.md, 'realloc'."""

import numpy as np

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.heap.heap import exit_thread, started_heap
from heapsmith.model.memory import layout
from heapsmith.model.memory.application import birth_lines, death_lines, event_lines
from heapsmith.model.memory.cold_paths import RESIZE
from heapsmith.model.memory.layout import HUGE_CODE, NO_BLOCK, RUN_CODE, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import (
    CACHES,
    NONE,
    SINK,
    acts,
    resident_bytes,
    room_for,
    takes,
    tick,
    touch,
    touch_bytes,
)
from heapsmith.model.parts.block_questions import (
    block_goes,
    block_made,
    born_lines,
    claims_heap,
    class_of_call,
    class_of_size,
    dies_lines,
    first_look,
    heap_ends,
    heap_place,
    live_lines,
    looks_at,
    must_move,
    resealed_lines,
    sampled_block,
    stayed,
    watched_lines,
)
from heapsmith.model.parts.blocks import address_of, block_bytes, class_for, place_of, usable_of
from heapsmith.model.parts.charge import charge, were_the_librarys, were_the_programs, were_the_replays
from heapsmith.model.parts.committed import time_since
from heapsmith.model.parts.front_questions import class_lines, front_first_lines, needs_heap, size_lines
from heapsmith.model.parts.fronts import allocate_first, allocate_small, free_small
from heapsmith.model.parts.large import HUGE_SLOT_BYTES, free_large, large_block, resized
from heapsmith.model.parts.lines import LINE, aligned_lines
from heapsmith.model.parts.moments import event_begins, event_done
from heapsmith.model.trace.events import Op

CALLOC, REALLOC, ALIGNED = int(Op.CALLOC), int(Op.REALLOC), int(Op.ALIGNED)
FREE, FREE_SIZED = int(Op.FREE), int(Op.FREE_SIZED)
THREAD_START, THREAD_EXIT = int(Op.THREAD_START), int(Op.THREAD_EXIT)
"""The operations that the loop tells apart; codes below REALLOC are malloc and calloc."""

DEAD = -2
"""The handle of an unborn block; NO_BLOCK is the handle of a failed allocation (a null pointer)."""

ALREADY_LIVE, NOT_LIVE, NO_SUCH_OPERATION, NEGATIVE_SIZE, TOO_LARGE = range(1, 6)
"""Faults: why an event is invalid."""


@hit_path
def allocate(state: State, thread: int, size: int, align: int) -> int:
    """Return the handle of a new block, a run if no slab is available; NO_BLOCK without room."""
    cls = class_for(state, size, align)
    asked = size
    if align > state.grain:
        asked = aligned_lines(state, cls, size, align)
        if cls >= 0:
            watched_lines(state, int(state.threads[thread]))
    taken = sampled_block(state, int(state.threads[thread]), size, align, cls)
    if taken != NO_BLOCK:
        return taken if taken >= 0 else NO_BLOCK
    if cls < 0:
        return large_block(state, int(state.threads[thread]), size, align)
    wanted, size = size, asked
    if SINK != NONE:
        state.above += size > state.direct_limit
    cls = class_of_call(state, cls)
    heap = int(state.threads[thread])
    if heap >= 0:
        block = allocate_small(state, heap, cls, size)
    else:
        heap = started_heap(state, thread)
        block = allocate_first(state, heap, cls, size)
    if block < 0:
        return large_block(state, heap, int(state.classes[cls]["usable"]), 1)
    born_lines(state, block, size)
    if align > state.grain and state.stops == 1:
        live_lines(state, block, 0)
        class_lines(state, block)
        resealed_lines(state, block, size, wanted)
    return block


@hit_path
def free(state: State, thread: int, block: int, asked: int) -> None:
    """Free the block of this handle and of `asked` bytes; a null pointer is ignored."""
    heap = int(state.threads[thread])
    if block >= 0:
        looks_at(state, block)
        first_look(state, block)
    if block >= RUN_CODE:
        if heap < 0 and block < HUGE_CODE and claims_heap(state):
            heap = started_heap(state, thread)
        free_large(state, heap, block, asked)
    elif block >= 0:
        dies_lines(state, block)
        if heap < 0 and needs_heap(state):
            if state.quarantine == 0 and state.by_table == 1:  # a quarantine needs the heap earlier, without the class
                cls = block & layout.CLASS_MASK
                touch(state.listener, layout.FREE_OF + layout.WORD * (1 - state.by_row + cls), 0)
                front_first_lines(state, cls)
            heap = started_heap(state, thread)
        free_small(state, heap, block)


@kernel
def resized_block(state: State, heap: int, block: int, asked: int, size: int, align: int) -> int:
    """Return the block that has `size` bytes without a copy; NO_BLOCK if it must be copied (align: 1).

    heap: that of the thread, -1 without one.
    """
    if block >= RUN_CODE:
        return resized(state, heap, block, asked, size)
    cls = block & layout.CLASS_MASK
    usable = int(state.classes[cls]["usable"])
    live_lines(state, block, 0)
    class_lines(state, block)
    touch(state.listener, class_at(cls), 0)
    if must_move(state, size):
        return NO_BLOCK
    if size <= state.small_limit:
        size_lines(state, size)
    own = class_of_size(state, cls)
    fits = class_for(state, size, align) == own or (size <= usable and 2 * size >= usable)
    if fits:
        resealed_lines(state, block, asked, size)
    return block if fits else NO_BLOCK


@hit_path
def until_next(state: State, event: int) -> int:
    """Return the time to the next event of the chunk, in the units of time_since."""
    return time_since(state, min(event + 1, len(state.op) - 1 + state.timeless)) - time_since(state, event)


@hit_path
def note(state: State, is_death: bool) -> None:
    """Update the peaks after an event and sample the time line when due; a death raises no peak."""
    event = state.events
    state.events = event + 1
    if not is_death:
        if state.live_bytes > state.peak_live_bytes:
            state.peak_live_event = event
            state.peak_live_bytes = state.live_bytes
            state.peak_live_block_bytes = state.live_block_bytes
            state.peak_live_committed = state.committed
        if state.committed > state.peak_committed_committed:
            state.peak_committed_event = event
            state.peak_committed_bytes = state.live_bytes
            state.peak_committed_block_bytes = state.live_block_bytes
            state.peak_committed_committed = state.committed
    if event == state.next_sample:
        sample(state, event)


@kernel
def sample(state: State, event: int) -> None:
    """Add a point to the time line; a full line loses every other point and doubles its stride."""
    kept = state.samples
    if kept == len(state.timeline):
        kept = (kept + 1) // 2
        for index in range(kept):
            state.timeline[index]["event"] = state.timeline[2 * index]["event"]
            state.timeline[index]["live_bytes"] = state.timeline[2 * index]["live_bytes"]
            state.timeline[index]["committed"] = state.timeline[2 * index]["committed"]
            state.timeline[index]["resident"] = state.timeline[2 * index]["resident"]
        state.stride *= 2
    if event % state.stride == 0:
        state.timeline[kept]["event"] = event
        state.timeline[kept]["live_bytes"] = state.live_bytes
        state.timeline[kept]["committed"] = state.committed
        state.timeline[kept]["resident"] = resident_bytes(state.listener)
        kept += 1
    state.samples = kept
    state.next_sample = (event // state.stride + 1) * state.stride


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
    block_made(state, name)
    if handle >= 0:
        at = place_of(state, handle)
        if kind == CALLOC and (size <= state.small_limit or state.clean == 0):
            state.cleared_bytes += size
            touch_bytes(state.listener, at, size, 1)
        were_the_librarys(state)
        birth_lines(state, at, 0, size)
    return handle


@hit_path
def death(state: State, thread: int, name: int) -> None:
    """Do free or free_sized for block `name`."""
    handle = int(state.blocks[name]["handle"])
    asked = int(state.blocks[name]["asked"])
    if handle >= 0:
        death_lines(state, place_of(state, handle), asked)
        were_the_programs(state)
    block_goes(state, name, handle)
    discount(state, name)
    free(state, thread, handle, asked)


@kernel
def reallocate(state: State, thread: int, name: int, size: int, align: int) -> int:
    """Do realloc (docs/machine.md, 'realloc'; align: 1) with size > 0; return the handle, NO_BLOCK without room."""
    old = int(state.blocks[name]["handle"])
    asked = int(state.blocks[name]["asked"])
    takes(state.listener, RESIZE)
    discount(state, name)
    state.asked_lines += (max(0, size - asked) + LINE - 1) // LINE
    kept = resized_block(state, int(state.threads[thread]), old, asked, size, align) if old >= 0 else NO_BLOCK
    if kept >= 0:
        state.realloc_in_place += 1
        block_goes(state, name, old)
        account(state, name, kept, size)
        stayed(state, kept, size)
        block_made(state, name)
        touch(state.listener, layout.TOTAL_IN_PLACE, 1)
        were_the_librarys(state)
        birth_lines(state, place_of(state, kept), asked, size)
        return kept
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
        touch(state.listener, layout.TOTAL_MOVED, 1)
        block_goes(state, name, old)
        free(state, thread, old, asked)
        state.realloc_moved += 1
    account(state, name, handle, size)
    block_made(state, name)
    were_the_librarys(state)
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
        event_begins(state, event)
        who = int(np.int64(state.thread[event]))
        place = heap_place(state, event, who)
        name = int(np.int64(state.block[event]))
        bytes_asked = int(state.size[event])
        align = 1 << int(np.int64(state.align_log2[event])) if kind == ALIGNED else 1
        handle = NO_BLOCK
        if SINK != NONE and bytes_asked > HUGE_SLOT_BYTES:
            state.fault = TOO_LARGE
            return event
        if not room_for(state.listener, bytes_asked + state.slack_bytes):
            state.wanted_bytes = bytes_asked + state.slack_bytes
            state.full = 1
            return event
        fault = fault_of(state, kind, name, bytes_asked)
        if fault > 0:
            state.fault = fault
            return event
        tally(state, kind)
        if SINK != NONE:
            acts(state.listener, int(np.int64(state.cores[event])))
        old = NO_BLOCK
        if kind <= FREE_SIZED:
            old = int(state.blocks[name]["handle"])
            event_lines(state, name, old == DEAD)
            if state.table == 1:
                were_the_replays(state)
        is_death = kind in (FREE, FREE_SIZED) or (kind == REALLOC and bytes_asked == 0)
        if is_death:
            death(state, place, name)
        elif kind < REALLOC or kind == ALIGNED:
            handle = birth(state, place, name, bytes_asked, align, kind)
            if SINK != NONE:
                state.asked_lines += (bytes_asked + LINE - 1) // LINE
        elif kind == REALLOC:
            handle = reallocate(state, place, name, bytes_asked, align)
        elif kind == THREAD_EXIT and heap_ends(state):
            exit_thread(state, who)
        if tell:
            state.addresses[event] = address_of(state, handle)
        event_done(state)
        if SINK == CACHES:
            tick(state.listener, until_next(state, event))
        if SINK == CACHES and state.charging > 0:
            charge(state, event, int(kind <= FREE_SIZED), old, handle)
        note(state, is_death)
        if state.full == 1:
            return event + int(state.fault == 0)
    return len(state.op)
