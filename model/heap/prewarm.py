"""Prewarm: what the thread of a new heap prepares; docs/machine.md section 3."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.heap.charge import any_class
from heapsmith.model.heap.committed import commit
from heapsmith.model.heap.heap import allocate_small, free_small, heap_for, quarantine_base
from heapsmith.model.heap.large import RUN_CODE, free_large
from heapsmith.model.heap.looks import large_block
from heapsmith.model.heap.pools import pool_for, pool_push
from heapsmith.model.heap.shards import heaps_shard_lines, lock_store, store_of
from heapsmith.model.heap.slab_ages import join_age_queue
from heapsmith.model.heap.slabs import acquire, new_slab
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import block_at, class_at, heap_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import NONE, SINK, populated, touch
from heapsmith.model.policy.choice import choice_add
from heapsmith.model.policy.classifier import slab_lines
from heapsmith.model.policy.hardening.lines import born_lines, dies_lines


@kernel
def started_heap(state: State, thread: int) -> int:
    """Return the heap of a thread that had none, as heap_for; a new heap prepares blocks first."""
    any_class(state)
    before = state.heaps_made
    heap = heap_for(state, thread)
    if state.prewarm_end > 0 and state.heaps_made > before:
        prepare(state, heap)
    if state.prewarm_superslabs > 0 and state.heaps_made > before:
        prepare_memory(state, heap)
    return heap


@kernel
def prepare_memory(state: State, heap: int) -> None:
    """Map superslabs for a new heap, and put their slabs into its pool, committed whole."""
    pool = pool_for(state, heap, 0)
    touch(state.listener, layout.POOL_LOCK, 1)
    resident(state, heap_at(state, heap), state.heap_bytes)
    for _ in range(state.prewarm_superslabs):
        first = state.slabs_made
        slab = new_slab(state, heap, pool, 0)
        if slab < 0:
            break
        while state.stores[pool]["left"] > 0:
            new_slab(state, heap, pool, 0)
        slabs = state.slabs_made - first
        resident(state, layout.SPAN + int(state.slabs[slab]["place"]) * state.slab_bytes, slabs * state.slab_bytes)
        for below in range(slabs):
            pool_whole(state, heap, pool, first + slabs - 1 - below)


@kernel
def resident(state: State, address: int, size: int) -> None:
    """Make memory resident, with one call."""
    state.memory_calls += 1
    populated(state.listener, address, size)


@kernel
def pool_whole(state: State, heap: int, pool: int, slab: int) -> None:
    """Put a new slab into its heap's pool, committed whole."""
    slab_lines(state, slab)
    touch(state.listener, slab_at(state, slab), 1)
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CLASS_NUMBER, 1)
    if state.slabs[slab]["committed"] == 0:
        commit(state, state.slab_bytes)
    state.slabs[slab]["committed"] = state.slab_bytes
    state.slabs[slab]["owner"] = heap
    join_age_queue(state, slab)
    pool_push(state, heap, pool, slab)


@kernel
def prepare(state: State, heap: int) -> None:
    """Prepare slabs and blocks of the stated classes for a new heap."""
    for cls in range(state.prewarm_end):
        if heap == 0:
            prepare_slabs(state, heap, cls)
        prepare_blocks(state, heap, cls)


@kernel
def prepare_slabs(state: State, heap: int, cls: int) -> None:
    """Acquire slabs of a class for the first heap's store."""
    heaps_shard_lines(state, heap, 0)
    lock_store(state, store_of(state, heap, cls))
    for _ in range(int(state.classes[cls]["prewarm_slabs"])):
        slab = acquire(state, heap, cls)
        if slab < 0:
            break
        choice_add(state, store_of(state, heap, cls), slab)


@kernel
def prepare_blocks(state: State, heap: int, cls: int) -> None:
    """Allocate blocks of a class, linked through their first words, and free them, last first."""
    limit = int(state.classes[cls]["prewarm_blocks"])
    made = 0
    base = quarantine_base(state, heap) + state.quarantine
    while made < limit:
        block = prepared_block(state, heap, cls)
        if block < 0:
            break
        touch(state.listener, start_of(state, block), 1)
        state.slots[base + made] = block
        made += 1
    while made > 0:
        made -= 1
        block = int(state.slots[base + made])
        touch(state.listener, start_of(state, block), 0)
        if block >= RUN_CODE:
            free_large(state, heap, block, int(state.classes[cls]["usable"]))
        else:
            dies_lines(state, block)
            free_small(state, heap, block)


@kernel
def prepared_block(state: State, heap: int, cls: int) -> int:
    """Do what malloc does for a request of the class's usable bytes; return the handle."""
    size = int(state.classes[cls]["usable"])
    touch(state.listener, class_at(cls), 0)
    if SINK != NONE:
        state.above += size > state.direct_limit
    block = allocate_small(state, heap, cls, size)
    if block < 0:
        return large_block(state, heap, size, 1)
    born_lines(state, block)
    return block


@kernel
def start_of(state: State, block: int) -> int:
    """Return the model address of a block's first word."""
    return layout.RUNS + (block - RUN_CODE) * PAGE if block >= RUN_CODE else block_at(state, block)
