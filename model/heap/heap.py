"""Heaps: fronts, remote lists and quarantines of small blocks; docs/machine.md, 'threads and heaps'."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.charge import any_class
from heapsmith.model.parts.front_questions import (
    front_drain,
    front_drain_lines,
    hands_over,
    level_held,
    look_lines,
    size_lines,
)
from heapsmith.model.parts.fronts import drain_remote
from heapsmith.model.parts.moments import heap_adopted, heap_made, heap_started, thread_exits
from heapsmith.model.parts.slab_questions import cache_lines, lock_whole, spills_run
from heapsmith.model.parts.store import give_batch

NO_HEAP = -1


@kernel
def rows_lines(state: State, heap: int) -> None:
    """Touch what the creation of a heap touches: its rows, and the tables that fill them."""
    at = heap_at(state, heap)
    limit = state.direct_limit
    touch(state.listener, layout.TOTAL_HEAPS, 1)
    touch_bytes(state.listener, at, state.heap_row_of + limit + 1, 1)
    touch(state.listener, at + state.heap_remote + 2 * layout.WORD, 1)
    touch(state.listener, at + state.heap_slot, 1)
    heap_made(state, heap)
    if limit > 0:
        for size in range(0, limit + 1, state.grain):
            size_lines(state, size)


@hit_path
def heap_for(state: State, thread: int) -> int:
    """Return the thread's heap: its own, else the last abandoned (adopt), else a new heap."""
    heap = int(state.threads[thread])
    if heap >= 0:
        return heap
    touch(state.listener, layout.POOL_LOCK, 1)
    state.locks_heap_start += 1
    heap = state.abandoned
    if heap >= 0:
        state.abandoned = state.heaps[heap]["next"]
        touch(state.listener, layout.TOTAL_ADOPTIONS, 1)
        touch(state.listener, heap_at(state, heap) + state.heap_remote + layout.WORD, 0)
        state.adoptions += 1
        heap_adopted(state, heap)
    else:
        heap = state.heaps_made
        state.heaps_made = heap + 1
        rows_lines(state, heap)
        if heap + 1 > state.heap_room:
            state.full = 1
    state.threads[thread] = heap
    return heap


@kernel
def exit_thread(state: State, thread: int) -> None:
    """Empty and abandon the thread's heap, if any: quarantine, remote list, fronts, cached runs."""
    heap = int(state.threads[thread])
    if heap < 0:
        return
    any_class(state)
    thread_exits(state, heap)
    hands_over(state, heap)
    look_lines(state, heap, -1)
    drain_remote(state, heap, -1)
    for cls in range(state.class_count):
        front = heap * state.class_count + cls
        if state.has_drains > 0:
            touch(state.listener, class_at(cls) + layout.CLASS_DRAIN, 0)
        give_front(state, heap, front, cls)
    spilled = state.run_spill
    while spills_run(state, heap):
        pass
    state.locks_run_spill += int(state.run_spill > spilled)
    cache_lines(state, heap)
    touch(state.listener, heap_at(state, heap) + state.heap_remote + layout.WORD, 1)
    touch(state.listener, layout.POOL_LOCK, 1)
    state.locks_heap_end += 1
    state.exits += 1
    state.heaps[heap]["next"] = state.abandoned
    state.abandoned = heap
    state.threads[thread] = NO_HEAP


@kernel
def give_front(state: State, heap: int, front: int, cls: int) -> None:
    """Give all blocks of a front to the store, one level after the other."""
    zero = int(state.fronts[front]["held"])
    one = zero + held_at(state, front, cls, 1)
    two = one + held_at(state, front, cls, 2)
    front_drain_lines(state, front, cls)
    drained = front_drain(state, front, cls)
    give_level(state, heap, 0, min(zero, drained))
    give_level(state, heap, zero, one)
    give_level(state, heap, one, two)
    give_level(state, heap, two, drained)


@kernel
def held_at(state: State, front: int, cls: int, depth: int) -> int:
    """Return how many blocks a level below level 0 holds; 0 if there is none so deep."""
    return int(level_held(state, front, cls, depth)) if depth <= state.classes[cls]["below"] else 0


@kernel
def give_level(state: State, heap: int, first: int, end: int) -> None:
    """Give the blocks from moved[first] to moved[end - 1] to the store, under one lock of it."""
    if end > first:
        lock_whole(state)
        give_batch(state, heap, state.moved, first, end - first)


@kernel
def started_heap(state: State, thread: int) -> int:
    """Return the heap of a thread that had none, as heap_for; a new heap is told of its start."""
    any_class(state)
    before = state.heaps_made
    heap = heap_for(state, thread)
    if state.heaps_made > before:
        heap_started(state, heap)
    return heap
