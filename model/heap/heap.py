"""Heaps: small blocks through what a thread owns, fronts and remote list; docs/machine.md sections 3, 4, 7 and 11."""

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.heap.run_cache import empty_cache
from heapsmith.model.heap.store import give_batch, take
from heapsmith.model.heap.transfer import keep_batch, take_batch
from heapsmith.model.memory.branches import ALLOC_SERVED, CLASS_OF_FREE, FREE_SERVED
from heapsmith.model.memory.layout import (
    CLASS_BYTES,
    CLASS_MASK,
    CLASS_SLOT,
    CLASSES,
    COUNT_DIRECT,
    COUNT_DRAINED,
    COUNT_REFILL,
    COUNT_REMOTE,
    COUNTS,
    POOL_LOCK,
    SLAB_CLASS_NUMBER,
    SLAB_SHIFT,
    TOTAL_ADOPTIONS,
    TOTAL_HEAPS,
    WORD,
    block_at,
    count_at,
    heap_at,
    slab_at,
)
from heapsmith.model.memory.touches import branch, touch, touch_bytes
from heapsmith.model.policy.dispatch import (
    HEADER,
    LOCAL_CACHE,
    NONE,
    front_drain,
    front_fill,
    front_pop,
    front_promote,
    front_push,
    where,
)
from heapsmith.model.policy.front.common import NO_BLOCK
from heapsmith.model.policy.hardening.lines import quarantine_lines
from heapsmith.model.policy.lines import (
    alloc_lines,
    class_lines,
    drain_lines,
    drained_lines,
    fill_lines,
    free_lines,
    header_lines,
    owner_lines,
    promote_lines,
    size_lines,
)
from heapsmith.model.policy.remote.common import TO_FRONT

NO_HEAP = -1


@kernel
def rows_lines(touched: Ints, machine: Records, heap: int) -> None:
    """Of a heap that is created: its rows, out of the classes' table and that of the sizes, and its place among all."""
    at = heap_at(machine, heap)
    limit = int(machine[0]["direct_limit"])
    touch(touched, COUNTS + TOTAL_HEAPS, 1)
    touch_bytes(touched, at, int(machine[0]["heap_row_of"]) + limit + 1, 1)
    touch(touched, at + int(machine[0]["heap_remote"]) + 2 * WORD, 1)
    for cls in range(int(machine[0]["class_count"])):
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)
    if machine[0]["by_row"] == 1:
        for size in range(0, limit + 1, int(machine[0]["grain"])):
            size_lines(touched, machine, size)


@hit_path
def heap_for(touched: Ints, machine: Records, threads: Ints, heaps: Records, thread: int) -> int:
    """The heap of a thread that needs one: its own, else the last abandoned (adopt), else a new one (create)."""
    heap = int(threads[thread])
    if heap >= 0:
        return heap
    touch(touched, POOL_LOCK, 1)
    heap = int(machine[0]["abandoned"])
    if heap >= 0:
        machine[0]["abandoned"] = heaps[heap]["next"]
        touch(touched, COUNTS + TOTAL_ADOPTIONS, 1)
        touch(touched, heap_at(machine, heap) + int(machine[0]["heap_remote"]) + WORD, 0)
        machine[0]["adoptions"] += 1
    else:
        heap = int(machine[0]["heaps"])
        machine[0]["heaps"] = heap + 1
        rows_lines(touched, machine, heap)
        if heap + 1 > machine[0]["heap_room"]:
            machine[0]["full"] = 1
    threads[thread] = heap
    return heap


@hit_path
def allocate_small(
    touched: Ints, machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records,
    slabs: Records, marks: Ints, nodes: Records, moved: Ints, heap: int, cls: int, size: int, is_new: bool,
) -> int:  # fmt: skip
    """A block of the class, for a request of `size` bytes of this heap; NO_BLOCK if the span is full. is_new: the
    thread gets the heap with it."""
    front = heap * int(machine[0]["class_count"]) + cls
    alloc_lines(touched, machine, classes, fronts, slots, slabs, heap, front, cls, size, is_new)
    block = front_pop(classes, fronts, slots, front, cls)
    branch(touched, ALLOC_SERVED, int(block >= 0))
    if block < 0:
        return allocate_on_miss(
            touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, front, cls
        )
    classes[cls]["hit0"] += 1
    if machine[0]["classifier_code"] == HEADER:
        header_lines(touched, machine, classes, slabs, block, 1)
    return block


@kernel
def allocate_on_miss(
    touched: Ints, machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records,
    slabs: Records, marks: Ints, nodes: Records, moved: Ints, heap: int, front: int, cls: int,
) -> int:  # fmt: skip
    """Level 0 is empty: drain and look again, else promote, else refill; NO_BLOCK if the span is full."""
    block = NO_BLOCK
    if machine[0]["remote_code"] != LOCAL_CACHE:
        touch(touched, heap_at(machine, heap) + int(machine[0]["heap_remote"]), 0)
    if heaps[heap]["remote"] >= 0:
        drain_remote(touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap)
        drained_lines(touched, machine, classes, fronts, slots, slabs, front, cls)
        block = front_pop(classes, fronts, slots, front, cls)
        if block >= 0:
            classes[cls]["hit0"] += 1
            return block
    promote_lines(touched, machine, classes, fronts, slots, slabs, heap, front, cls)
    block = front_promote(classes, fronts, slots, front, cls, moved)
    if block >= 0:
        return block
    taken = take_batch(touched, machine, classes, slots, heap, cls, moved)
    if taken == 0:
        taken = take(touched, machine, classes, stores, slabs, marks, heap, cls, moved)
    if taken == 0:
        machine[0]["failed_refills"] += 1
        return NO_BLOCK
    touch(touched, count_at(machine, heap, cls) + COUNT_REFILL, 1)
    touch(touched, count_at(machine, heap, cls) + COUNT_REFILL + WORD, 1)
    fill_lines(touched, machine, classes, fronts, slabs, front, cls, moved, taken)
    front_fill(classes, fronts, slots, front, cls, moved, taken)
    return int(moved[0])


@hit_path
def free_small(
    touched: Ints, machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records,
    slabs: Records, marks: Ints, nodes: Records, moved: Ints, heap: int, block: int, by_row: int,
) -> None:  # fmt: skip
    """A block is freed by a thread of this heap (NO_HEAP if it has none): it, or the one that it drives out of the
    quarantine, goes where it belongs. by_row: as for free_to_front."""
    if machine[0]["quarantine"] > 0 and heap >= 0:
        block = hold_back(touched, machine, heaps, slots, heap, block)
        if block < 0:
            return
    let_go(touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, block, by_row)


@kernel
def quarantine_base(machine: Records, heap: int) -> int:
    """Where the heap's quarantine begins in `slots`: behind its fronts."""
    heap_base = int(machine[0]["transfer_slots"]) + heap * int(machine[0]["heap_slots"])
    return heap_base + int(machine[0]["slots_per_heap"])


@kernel
def hold_back(touched: Ints, machine: Records, heaps: Records, slots: Ints, heap: int, block: int) -> int:
    """The heap's quarantine (a FIFO ring behind the heap's fronts) takes the block in; the oldest, which leaves it if
    it is full, else NO_BLOCK."""
    limit = int(machine[0]["quarantine"])
    base = quarantine_base(machine, heap)
    held = int(heaps[heap]["quarantined"])
    head = int(heaps[heap]["quarantine_head"])
    quarantine_lines(touched, machine, heap, (head + held) % limit)
    if held < limit:
        slots[base + (head + held) % limit] = block
        heaps[heap]["quarantined"] = held + 1
        return NO_BLOCK
    oldest = int(slots[base + head])
    slots[base + head] = block
    heaps[heap]["quarantine_head"] = (head + 1) % limit
    return oldest


@kernel
def empty_quarantine(
    touched: Ints, machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records,
    slabs: Records, marks: Ints, nodes: Records, moved: Ints, heap: int,
) -> None:  # fmt: skip
    """All blocks of the heap's quarantine go where they belong, the oldest first."""
    base = quarantine_base(machine, heap)
    head = int(heaps[heap]["quarantine_head"])
    held = int(heaps[heap]["quarantined"])
    heaps[heap]["quarantined"] = 0
    for index in range(held):
        place = (head + index) % int(machine[0]["quarantine"])
        quarantine_lines(touched, machine, heap, place)
        block = int(slots[base + place])
        let_go(touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, block, 0)


@hit_path
def let_go(
    touched: Ints, machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records,
    slabs: Records, marks: Ints, nodes: Records, moved: Ints, heap: int, block: int, by_row: int,
) -> None:  # fmt: skip
    """A freed block goes to a front or to its owner (sections 4 and 7)."""
    class_lines(touched, machine, classes, slabs, block)
    owner_lines(touched, machine, slabs, block)
    place = where(int(machine[0]["remote_code"]), slabs, heap, block >> SLAB_SHIFT)
    if place == TO_FRONT:
        if machine[0]["by_row"] == 0:
            branch(touched, CLASS_OF_FREE, block & CLASS_MASK)
        free_to_front(touched, machine, classes, fronts, slots, stores, slabs, marks, moved, heap, block, by_row)
    else:
        classes[block & CLASS_MASK]["remote"] += 1
        owner = int(slabs[block >> SLAB_SHIFT]["owner"])
        touch(touched, heap_at(machine, owner) + int(machine[0]["heap_remote"]), 1)
        touch(touched, count_at(machine, owner, block & CLASS_MASK) + COUNT_REMOTE, 1)
        touch(touched, block_at(machine, classes, slabs, block), 1)
        push_remote(touched, machine, heaps, nodes, owner, block)


@hit_path
def free_to_front(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records,
    marks: Ints, moved: Ints, heap: int, block: int, by_row: int,
) -> None:  # fmt: skip
    """The heap's front takes the block in; what it flushes goes to the transfer cache or the store. by_row: it comes by
    way of the row of its class (model/policy/lines.py)."""
    cls = block & CLASS_MASK
    front = heap * int(machine[0]["class_count"]) + cls
    free_lines(touched, machine, classes, fronts, slots, slabs, heap, front, cls, block, by_row)
    flushed = front_push(classes, fronts, slots, front, cls, block, moved)
    branch(touched, FREE_SERVED, int(flushed == 0))
    if flushed == 0:
        return
    if machine[0]["remote_code"] == LOCAL_CACHE:
        touch(touched, POOL_LOCK, 1)
    if classes[cls]["front"] == NONE:
        touch(touched, count_at(machine, heap, cls) + COUNT_DIRECT, 1)
    if not keep_batch(touched, machine, classes, stores, slabs, marks, slots, heap, cls, moved, flushed):
        give_batch(touched, machine, classes, stores, slabs, marks, heap, moved, 0, flushed)


@kernel
def push_remote(touched: Ints, machine: Records, heaps: Records, nodes: Records, owner: int, block: int) -> None:
    """The owner's remote list (LIFO; any thread pushes, its own thread takes all) gets the block."""
    node = int(machine[0]["free_node"])
    if node >= 0:
        machine[0]["free_node"] = nodes[node]["next"]
    else:
        node = int(machine[0]["nodes"])
        machine[0]["nodes"] = node + 1
        if node + 1 > machine[0]["node_room"]:
            machine[0]["full"] = 1
    nodes[node]["block"] = block
    nodes[node]["next"] = heaps[owner]["remote"]
    heaps[owner]["remote"] = node


@kernel
def drain_remote(
    touched: Ints, machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records,
    slabs: Records, marks: Ints, nodes: Records, moved: Ints, heap: int,
) -> None:  # fmt: skip
    """The whole remote list is freed into the heap's own fronts, the most recently pushed block first."""
    node = int(heaps[heap]["remote"])
    heaps[heap]["remote"] = -1
    while node >= 0:
        block = int(nodes[node]["block"])
        after = int(nodes[node]["next"])
        nodes[node]["next"] = machine[0]["free_node"]
        machine[0]["free_node"] = node
        classes[block & CLASS_MASK]["drained"] += 1
        touch(touched, block_at(machine, classes, slabs, block), 0)
        touch(touched, slab_at(slabs, block >> SLAB_SHIFT) + SLAB_CLASS_NUMBER, 0)
        touch(touched, count_at(machine, heap, block & CLASS_MASK) + COUNT_DRAINED, 1)
        free_to_front(touched, machine, classes, fronts, slots, stores, slabs, marks, moved, heap, block, 0)
        node = after


@kernel
def exit_thread(
    touched: Ints, machine: Records, classes: Records, threads: Ints, heaps: Records, fronts: Records, slots: Ints,
    stores: Records, slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints, moved: Ints, thread: int,
) -> None:  # fmt: skip
    """The thread's heap, if any, empties its quarantine, drains its remote list, gives its fronts to the store, frees
    the runs of its cache and is abandoned (LIFO)."""
    heap = int(threads[thread])
    if heap < 0:
        return
    empty_quarantine(touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap)
    if machine[0]["remote_code"] == LOCAL_CACHE:
        touch(touched, POOL_LOCK, 1)
    else:
        touch(touched, heap_at(machine, heap) + int(machine[0]["heap_remote"]), 0)
    drain_remote(touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap)
    for cls in range(int(machine[0]["class_count"])):
        front = heap * int(machine[0]["class_count"]) + cls
        drain_lines(touched, machine, classes, fronts, slots, slabs, front, cls)
        drained = front_drain(classes, fronts, slots, front, cls, moved)
        give_batch(touched, machine, classes, stores, slabs, marks, heap, moved, 0, drained)
    empty_cache(touched, machine, heaps, pages, bins, heap)
    touch(touched, heap_at(machine, heap) + int(machine[0]["heap_runs"]), 0)
    touch(touched, heap_at(machine, heap) + int(machine[0]["heap_remote"]) + WORD, 1)
    touch(touched, POOL_LOCK, 1)
    machine[0]["exits"] += 1
    heaps[heap]["next"] = machine[0]["abandoned"]
    machine[0]["abandoned"] = heap
    threads[thread] = NO_HEAP
