"""Looks at what is empty, where an allocation leaves level 0 or has a large block; docs/machine.md section 6."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.heap.age import read_clock
from heapsmith.model.heap.large import allocate_large, release_kept, resize_large, run_becomes_huge
from heapsmith.model.heap.run_cache import spill_run
from heapsmith.model.heap.runs import release_runs
from heapsmith.model.heap.slab_ages import release_slabs
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def look(state: State, heap: int) -> None:
    """Release what is due if the clock has moved since the last look, or if the heap is near its limit."""
    if state.limit_mark_bytes > 0:
        look_near_limit(state, heap)
    elif state.release_delay_in_milliseconds > 0:
        read_clock(state)
        if state.clock != state.looked:
            state.looked = state.clock
            look_at_ages(state)


@kernel
def look_at_ages(state: State) -> None:
    """Release the oldest slabs and runs that are due."""
    touch(state.listener, layout.POOL_LOCK, 1)
    release_slabs(state)
    touch(state.listener, layout.LARGE_LOCK, 1)
    release_runs(state)


@kernel
def look_near_limit(state: State, heap: int) -> None:
    """Release as much as brings the heap down to its mark, for a thread of `heap` (-1: none)."""
    touch(state.listener, layout.TOTAL_COMMITTED, 0)
    if state.committed <= state.limit_mark_bytes:
        return
    look_at_ages(state)
    if state.committed <= state.limit_mark_bytes:
        return
    if heap >= 0:
        touch(state.listener, heap_at(state, heap) + state.heap_runs, 0)
    while heap >= 0 and state.committed > state.limit_mark_bytes and state.heaps[heap]["oldest"] >= 0:
        spill_run(state, heap)
    if state.huge_kept_bytes > 0:
        release_kept(state)


@kernel
def large_block(state: State, heap: int, size: int, align: int) -> int:
    """Allocate as allocate_large, and look if the heap has a limit and got a block."""
    block = allocate_large(state, heap, size, align)
    if state.limit_mark_bytes > 0 and block >= 0:
        look_near_limit(state, heap)
    return block


@kernel
def resized(state: State, heap: int, block: int, asked: int, size: int) -> int:
    """Return the large block that has the new size, and look if the heap has a limit; NO_RUN if the block must move."""
    found = block if resize_large(state, block, asked, size) else run_becomes_huge(state, block, size)
    if state.limit_mark_bytes > 0 and found >= 0:
        look_near_limit(state, heap)
    return found
