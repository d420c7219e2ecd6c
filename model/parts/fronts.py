"""Fronts of small blocks: allocation, free, flush, frees by other threads; docs/machine-rooms.md, 'front', 'remote'."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.branches import ALLOC_SERVED, FREE_BY_ROW, FREE_SERVED
from heapsmith.model.memory.cold_paths import DRAIN, FLUSH, REFILL, REMOTE_FREE
from heapsmith.model.memory.layout import NO_BLOCK, class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import branch, takes, touch
from heapsmith.model.parts.block_questions import holds_back
from heapsmith.model.parts.charge import any_class
from heapsmith.model.parts.front_questions import (
    BATCH,
    class_lines,
    counted_push_lines,
    front_fill,
    front_fill_lines,
    front_look_lines,
    front_pop,
    front_promote,
    front_promote_lines,
    front_push,
    goes_by_class,
    header_lines,
    hit_lines,
    join_lines,
    joins,
    lacks,
    leave_lines,
    lends,
    look_lines,
    make_room,
    opens,
    refill_of,
    room_of,
    stays,
    stays_closed,
)
from heapsmith.model.parts.lines import CLOSED, alloc_lines, free_lines
from heapsmith.model.parts.moments import (
    flush_ended,
    free_ended,
    front_flushed,
    front_missed,
    remote_drained,
    slow_path,
)
from heapsmith.model.parts.slab_questions import keep_batch, lock_whole, owner_lines, take_batch
from heapsmith.model.parts.stacks import open_lines, stack_push_lines
from heapsmith.model.parts.store import give_batch, take


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
    hit_lines(state, heap, cls)
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
    slow_path(state, heap)
    look_lines(state, heap, cls)
    if drain_remote(state, heap, cls) or state.looks_again > 0:
        front_look_lines(state, front, cls)
        block = front_pop(state, front, cls)
        if block >= 0:
            state.classes[cls]["hit0"] += 1
            hit_lines(state, heap, cls)
            return block
    front_promote_lines(state, heap, front, cls)
    block = front_promote(state, front, cls)
    if block >= 0:
        return block
    if stays_closed(state, front, cls):
        if taken_or_lent(state, heap, cls, 1) == 0:
            return NO_BLOCK
    else:
        taken = take_batch(state, heap, cls)
        want = BATCH if taken > 0 else refill_of(state, front, cls)
        if taken > 0:
            refill_count_lines(state, heap, cls)
        else:
            taken = taken_or_lent(state, heap, cls, want)
        if taken == 0:
            return NO_BLOCK
        make_room(state, front, cls, want)
        front_fill_lines(state, front, cls, taken)
        front_fill(state, front, cls, 1, taken)
    block = int(state.moved[0])
    front_missed(state, heap, cls)
    return block


@kernel
def taken_or_lent(state: State, heap: int, cls: int, want: int) -> int:
    """Bring a block that another front lends, or `want` of the store, to `moved`; return their number (0: no room)."""
    taken = lends(state, heap, cls)
    if taken > 0:
        return taken
    if lacks(state, heap, cls):
        drain_remote(state, heap, -2 - cls)
    taken = take(state, heap, cls, want)
    if taken > 0:
        refill_count_lines(state, heap, cls)
    else:
        any_class(state)
        state.failed_refills += 1
    return taken


@kernel
def refill_count_lines(state: State, heap: int, cls: int) -> None:
    """Touch the two counts of a refill."""
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_REFILL, 1)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_REFILL + layout.WORD, 1)


@kernel
def give_alone(state: State, heap: int, cls: int, block: int) -> int:
    """Give a block to the store for a front that keeps none; return 1."""
    takes(state.listener, FLUSH)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_DIRECT, 1)
    state.classes[cls]["direct"] += 1
    state.moved[0] = block
    lock_whole(state)
    give_batch(state, heap, state.moved, 0, 1)
    return 1


@hit_path
def free_small(state: State, heap: int, block: int) -> None:
    """Free a block by a thread of `heap` (NO_HEAP: none); a full quarantine lets its oldest out."""
    if heap >= 0:
        block = holds_back(state, heap, block)
        if block < 0:
            return
    free_own(state, heap, block)


@hit_path
def free_own(state: State, heap: int, block: int) -> None:
    """Send a freed block on, no drained one: its flush, or the free itself, may make a drain due."""
    if put_back(state, heap, block) > 0:
        flush_ended(state, heap)
    if heap >= 0:
        free_ended(state, heap)


@kernel
def quarantine_base(state: State, heap: int) -> int:
    """Return where the heap's quarantine begins in `slots`: behind its fronts."""
    return state.shared_slots + heap * state.heap_slots + state.slots_per_heap


@hit_path
def put_back(state: State, heap: int, block: int) -> int:
    """Send a freed block to a front or to its owner; return the number of blocks that a flush gave."""
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
    """Free a block into the heap's front; return the number of blocks that a flush gave away."""
    cls = block & layout.CLASS_MASK
    front = heap * state.class_count + cls
    left = free_lines(state, heap, front, cls, block)
    if left == CLOSED:
        if state.classes[cls]["by_row"] == 0:
            branch(state.listener, FREE_SERVED, 0)
        return give_alone(state, heap, cls, block)
    flushed = front_push(state, front, cls, block)
    if state.classes[cls]["by_row"] == 0:
        branch(state.listener, FREE_SERVED, int(flushed == 0 and left == 0))
    if flushed == 0 or state.classes[cls]["flush_batch"] > 0:
        counted_push_lines(state, heap, cls)
    if flushed == 0:
        return left
    takes(state.listener, FLUSH)
    if state.classes[cls]["flush_batch"] == 0:
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_DIRECT, 1)
    looks = state.locks_batch_keep
    if not keep_batch(state, heap, cls, flushed):
        if state.locks_batch_keep == looks:  # else where there are no shards the lock is held
            lock_whole(state)
        give_batch(state, heap, state.moved, 0, flushed)
    front_flushed(state, heap, cls)
    return flushed


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
            touch(state.listener, int(state.fronts[heap * state.class_count + cls]["top_at"]), 0)
            touch(state.listener, int(state.fronts[heap * state.class_count + cls]["end_at"]), 0)
            if state.classes[cls]["stack"] > 0:
                open_lines(state, heap * state.class_count + cls, cls)
        if by_class and has_room(state, heap, cls):
            free_to_stack(state, heap, block)
        else:
            put_back(state, heap, block)
        node = after
        if node < 0 and which < 0 and goes_by_class(state):
            node = opens(state, heap, which)
    remote_drained(state, heap)
    return True


@kernel
def has_room(state: State, heap: int, cls: int) -> bool:
    """Return whether the front of a class is an array stack with room for a block."""
    front = heap * state.class_count + cls
    return bool(state.classes[cls]["stack"] > 0 and state.fronts[front]["held"] < room_of(state, front, cls))


@kernel
def free_to_stack(state: State, heap: int, block: int) -> None:
    """Free a block into the heap's front, an array stack with room for it that is open."""
    cls = block & layout.CLASS_MASK
    front = heap * state.class_count + cls
    stack_push_lines(state, front, int(state.fronts[front]["held"]), room_of(state, front, cls))
    branch(state.listener, FREE_BY_ROW, 1)
    front_push(state, front, cls, block)
    counted_push_lines(state, heap, cls)
