"""Heaps: fronts, remote lists and quarantines of small blocks; docs/machine.md 3, 4, 7 and 11."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.heap.background import missed
from heapsmith.model.heap.charge import any_class
from heapsmith.model.heap.learn import FLUSHES, MISSES, learn
from heapsmith.model.heap.lend import lent
from heapsmith.model.heap.lines import alloc_lines, free_lines
from heapsmith.model.heap.looks import look
from heapsmith.model.heap.run_cache import empty_cache
from heapsmith.model.heap.shards import heaps_shard_lines
from heapsmith.model.heap.slabs import owner_lines
from heapsmith.model.heap.store import give_batch, take
from heapsmith.model.heap.transfer import keep_batch, take_batch
from heapsmith.model.memory import layout
from heapsmith.model.memory.branches import ALLOC_SERVED, FREE_BY_ROW, FREE_SERVED
from heapsmith.model.memory.layout import class_at, count_at, heap_at
from heapsmith.model.memory.paths import DRAIN, FLUSH, REFILL, REMOTE_FREE
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import branch, takes, touch, touch_bytes
from heapsmith.model.policy.classifier import class_lines
from heapsmith.model.policy.classifier.common import header_lines
from heapsmith.model.policy.front import (
    front_drain,
    front_drain_lines,
    front_fill,
    front_fill_lines,
    front_look_lines,
    front_pop,
    front_promote,
    front_promote_lines,
    front_push,
)
from heapsmith.model.policy.front.common import NO_BLOCK, capacity_of, open_lines, stack_push_lines
from heapsmith.model.policy.hardening.lines import quarantine_lines
from heapsmith.model.policy.lookup import size_lines
from heapsmith.model.policy.remote import (
    goes_by_class,
    hands_over,
    join_lines,
    joins,
    lacks,
    leave_lines,
    look_lines,
    opens,
    stays,
)

NO_HEAP = -1


@kernel
def rows_lines(state: State, heap: int) -> None:
    """Touch what the creation of a heap touches: its rows, and the tables that fill them."""
    at = heap_at(state, heap)
    limit = state.direct_limit
    touch(state.listener, layout.TOTAL_HEAPS, 1)
    touch_bytes(state.listener, at, state.heap_row_of + limit + 1, 1)
    touch(state.listener, at + state.heap_remote + 2 * layout.WORD, 1)
    heaps_shard_lines(state, heap, 1)
    if state.remote_locks > 0:
        touch(state.listener, at + state.heap_remote - layout.WORD, 1)
    touch(state.listener, at + state.heap_slot, 1)
    for cls in range(state.class_count):
        if state.processor_batch > 0:
            touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
        if state.learn_window > 0 or state.processor_batch > 0:
            touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
        if state.learn_window > 0:
            touch(state.listener, at + state.heap_front + layout.FRONT_BYTES * cls + layout.FRONT_CAPACITY, 1)
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
    heap = state.abandoned
    if heap >= 0:
        state.abandoned = state.heaps[heap]["next"]
        touch(state.listener, layout.TOTAL_ADOPTIONS, 1)
        touch(state.listener, heap_at(state, heap) + state.heap_remote + layout.WORD, 0)
        state.adoptions += 1
        if state.drain_most > 0:
            drain_remote(state, heap, -1)
    else:
        heap = state.heaps_made
        state.heaps_made = heap + 1
        rows_lines(state, heap)
        if heap + 1 > state.heap_room:
            state.full = 1
    state.threads[thread] = heap
    return heap


@hit_path
def allocate_small(state: State, heap: int, cls: int, size: int) -> int:
    """Allocate `size` bytes of class `cls`; NO_BLOCK: the span is full."""
    front = heap * state.class_count + cls
    alloc_lines(state, heap, front, cls, size, False)
    block = front_pop(state, front, cls)
    if state.classes[cls]["by_row"] == 0:
        branch(state.listener, ALLOC_SERVED, int(block >= 0))
    if block < 0:
        return allocate_on_miss(state, heap, front, cls)
    state.classes[cls]["hit0"] += 1
    if state.counts_everything == 1:
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT0, 1)
    if state.header_bytes > 0:
        header_lines(state, block, 1)
    return block


@kernel
def allocate_first(state: State, heap: int, cls: int, size: int) -> int:
    """Allocate as allocate_small in a heap that the thread got just now: no block is on its hit path."""
    front = heap * state.class_count + cls
    alloc_lines(state, heap, front, cls, size, True)
    if state.classes[cls]["by_row"] == 0:
        branch(state.listener, ALLOC_SERVED, 0)
    return allocate_on_miss(state, heap, front, cls)


@kernel
def allocate_on_miss(state: State, heap: int, front: int, cls: int) -> int:
    """Allocate with an empty level 0: drain, promote, or refill; NO_BLOCK: the span is full."""
    block = NO_BLOCK
    takes(state.listener, REFILL)
    if state.release_looks > 0:
        look(state, heap)
    came = False
    if state.owned == 1:
        look_lines(state, heap, cls)
        came = drain_remote(state, heap, cls)
    if came or state.prewarm_end > 0 or state.drain_most > 0:
        front_look_lines(state, front, cls)
        block = front_pop(state, front, cls)
        if block >= 0:
            state.classes[cls]["hit0"] += 1
            if state.counts_everything == 1:
                touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT0, 1)
            return block
    front_promote_lines(state, heap, front, cls)
    block = front_promote(state, front, cls)
    if block >= 0:
        return block
    taken = take_batch(state, heap, cls)
    borrowed = 0
    if taken == 0 and state.classes[cls]["lend_end"] > 0:
        any_class(state)
        borrowed = lent(state, heap, cls)
        taken = borrowed
    if taken == 0:
        if lacks(state, heap, cls):
            drain_remote(state, heap, -2 - cls)
        taken = take(state, heap, cls)
    if taken == 0:
        any_class(state)
        state.failed_refills += 1
        return NO_BLOCK
    if borrowed == 0:
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_REFILL, 1)
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_REFILL + layout.WORD, 1)
    front_fill_lines(state, front, cls, taken)
    front_fill(state, front, cls, 1, taken)
    block = int(state.moved[0])
    if state.learn_window > 0:
        learn(state, heap, cls, MISSES)
    if state.background_every > 0:
        missed(state, cls)
    return block


@hit_path
def free_small(state: State, heap: int, block: int) -> None:
    """Free a block by a thread of `heap` (NO_HEAP: none); a full quarantine lets its oldest out."""
    if state.quarantine > 0 and heap >= 0:
        block = hold_back(state, heap, block)
        if block < 0:
            return
    free_own(state, heap, block)


@hit_path
def free_own(state: State, heap: int, block: int) -> None:
    """Send a freed block on, no drained one: its flush may make a drain due."""
    flushed = put_back(state, heap, block)
    if flushed > 0 and state.drain_interval > 0:
        count_flush(state, heap)


@kernel
def quarantine_base(state: State, heap: int) -> int:
    """Return where the heap's quarantine begins in `slots`: behind its fronts."""
    return state.transfer_slots + heap * state.heap_slots + state.slots_per_heap


@kernel
def hold_back(state: State, heap: int, block: int) -> int:
    """Put a block in the heap's quarantine, a FIFO ring; return the oldest if the ring is full."""
    any_class(state)
    limit = state.quarantine
    base = quarantine_base(state, heap)
    held = int(state.heaps[heap]["quarantined"])
    head = int(state.heaps[heap]["quarantine_head"])
    quarantine_lines(state, heap, (head + held) % limit)
    if held < limit:
        state.slots[base + (head + held) % limit] = block
        state.heaps[heap]["quarantined"] = held + 1
        return NO_BLOCK
    oldest = int(state.slots[base + head])
    state.slots[base + head] = block
    state.heaps[heap]["quarantine_head"] = (head + 1) % limit
    return oldest


@kernel
def empty_quarantine(state: State, heap: int) -> None:
    """Free all blocks of the heap's quarantine, the oldest first."""
    base = quarantine_base(state, heap)
    head = int(state.heaps[heap]["quarantine_head"])
    held = int(state.heaps[heap]["quarantined"])
    state.heaps[heap]["quarantined"] = 0
    for index in range(held):
        place = (head + index) % state.quarantine
        quarantine_lines(state, heap, place)
        block = int(state.slots[base + place])
        free_own(state, heap, block)


@hit_path
def put_back(state: State, heap: int, block: int) -> int:
    """Send a freed block to a front or to its owner (sections 4 and 7); return how many a flush gave."""
    class_lines(state, block)
    if state.owned == 1:
        owner_lines(state, block >> layout.SLAB_SHIFT, 0)
    if stays(state, heap, block >> layout.SLAB_SHIFT):
        return free_to_front(state, heap, block)
    state.classes[block & layout.CLASS_MASK]["remote"] += 1
    owner = int(state.slabs[block >> layout.SLAB_SHIFT]["owner"])
    takes(state.listener, REMOTE_FREE)
    join_lines(state, heap, owner, block)
    push_remote(state, heap, owner, block)
    return 0


@hit_path
def free_to_front(state: State, heap: int, block: int) -> int:
    """Free a block into the heap's front; return how many a flush gave to transfer cache or store."""
    cls = block & layout.CLASS_MASK
    front = heap * state.class_count + cls
    free_lines(state, heap, front, cls, block)
    flushed = front_push(state, front, cls, block)
    if state.classes[cls]["by_row"] == 0:
        branch(state.listener, FREE_SERVED, int(flushed == 0))
    if state.counts_everything == 1 and (flushed == 0 or state.classes[cls]["capacity"] > 0):
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_PUSH, 1)
    if flushed == 0:
        return 0
    takes(state.listener, FLUSH)
    if state.owned == 0 and state.shards == 0:
        touch(state.listener, layout.POOL_LOCK, 1)
    if state.classes[cls]["capacity"] == 0:
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_DIRECT, 1)
    if not keep_batch(state, heap, cls, flushed):
        give_batch(state, heap, state.moved, 0, flushed)
    if state.learn_window > 0:
        learn(state, heap, cls, FLUSHES)
    return flushed


@kernel
def count_flush(state: State, heap: int) -> None:
    """Count a flush of the heap's thread; drain after every `drain_interval` flushes."""
    state.heaps[heap]["flushes"] += 1
    touch(state.listener, heap_at(state, heap) + flushes_at(state), 1)
    if state.heaps[heap]["flushes"] >= state.drain_interval:
        state.heaps[heap]["flushes"] = 0
        if state.drain_most > 0:
            drain_remote(state, heap, -2 - state.class_count)
        else:
            look_lines(state, heap, -1)
            drain_remote(state, heap, -1)


@kernel
def flushes_at(state: State) -> int:
    """Return where the count of flushes lies in a heap: before the words of the remote list."""
    return state.heap_remote - layout.WORD * (1 + state.remote_words)


@kernel
def push_remote(state: State, heap: int, owner: int, block: int) -> None:
    """Send a block that a thread of `heap` freed to its owner."""
    node = state.free_node
    if node >= 0:
        state.free_node = state.nodes[node]["next"]
    else:
        node = state.nodes_made
        state.nodes_made = node + 1
        if node + 1 > state.node_room:
            state.full = 1
    state.nodes[node]["block"] = block
    joins(state, heap, owner, node)


@kernel
def drain_remote(state: State, heap: int, which: int) -> bool:
    """Free remote blocks into the heap's own fronts, which: as in `opens`; return whether some came."""
    node = opens(state, heap, which)
    if node < 0:
        return False
    any_class(state)
    takes(state.listener, DRAIN)
    while node >= 0:
        block = int(state.nodes[node]["block"])
        after = int(state.nodes[node]["next"])
        leave_lines(state, heap, node, after >= 0)
        state.nodes[node]["next"] = state.free_node
        state.free_node = node
        state.classes[block & layout.CLASS_MASK]["drained"] += 1
        cls, by_class = block & layout.CLASS_MASK, goes_by_class(state)
        if by_class:
            touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
            if state.classes[cls]["stack"] > 0:
                open_lines(state, heap * state.class_count + cls, cls)
        if by_class and has_room(state, heap, cls):
            free_to_stack(state, heap, block)
        else:
            put_back(state, heap, block)
        node = after
        if node < 0 and which < 0 and goes_by_class(state):
            node = opens(state, heap, which)
    if state.drain_interval > 0:
        state.heaps[heap]["flushes"] = 0
        touch(state.listener, heap_at(state, heap) + flushes_at(state), 1)
    return True


@kernel
def free_to_stack(state: State, heap: int, block: int) -> None:
    """Free a block into the heap's front, an array stack with room for it that is open."""
    cls = block & layout.CLASS_MASK
    front = heap * state.class_count + cls
    stack_push_lines(state, front, int(state.fronts[front]["held"]), capacity_of(state, front, cls))
    branch(state.listener, FREE_BY_ROW, 1)
    front_push(state, front, cls, block)
    if state.counts_everything == 1:
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_PUSH, 1)


@kernel
def has_room(state: State, heap: int, cls: int) -> bool:
    """Return whether the front of a class is an array stack with room for a block."""
    front = heap * state.class_count + cls
    return bool(state.classes[cls]["stack"] > 0 and state.fronts[front]["held"] < capacity_of(state, front, cls))


@kernel
def exit_thread(state: State, thread: int) -> None:
    """Empty and abandon the thread's heap, if any: quarantine, remote list, fronts, cached runs."""
    heap = int(state.threads[thread])
    if heap < 0:
        return
    any_class(state)
    empty_quarantine(state, heap)
    if state.owned == 1:
        hands_over(state, heap)
        look_lines(state, heap, -1)
    elif state.shards == 0:
        touch(state.listener, layout.POOL_LOCK, 1)
    drain_remote(state, heap, -1)
    for cls in range(state.class_count):
        front = heap * state.class_count + cls
        touch(state.listener, class_at(cls) + layout.CLASS_DRAIN, 0)
        front_drain_lines(state, front, cls)
        drained = front_drain(state, front, cls)
        give_batch(state, heap, state.moved, 0, drained)
    empty_cache(state, heap)
    touch(state.listener, heap_at(state, heap) + state.heap_runs, 0)
    touch(state.listener, heap_at(state, heap) + state.heap_remote + layout.WORD, 1)
    touch(state.listener, layout.POOL_LOCK, 1)
    state.exits += 1
    state.heaps[heap]["next"] = state.abandoned
    state.abandoned = heap
    state.threads[thread] = NO_HEAP
