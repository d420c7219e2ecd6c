"""Heaps: small blocks through what a thread owns, fronts and remote list; docs/machine.md sections 3, 4, 7 and 11."""

from heapsmith.model.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.policy.dispatch import front_drain, front_fill, front_pop, front_promote, front_push, where
from heapsmith.model.policy.front import NO_BLOCK
from heapsmith.model.policy.remote import TO_FRONT
from heapsmith.model.run_cache import empty_cache
from heapsmith.model.store import CLASS_MASK, SLAB_SHIFT, give_batch, take
from heapsmith.model.transfer import keep_batch, take_batch

NO_HEAP = -1


@hit_path
def heap_for(machine: Records, threads: Ints, heaps: Records, thread: int) -> int:
    """The heap of a thread that needs one: its own, else the last abandoned (adopt), else a new one (create)."""
    heap = int(threads[thread])
    if heap >= 0:
        return heap
    heap = int(machine[0]["abandoned"])
    if heap >= 0:
        machine[0]["abandoned"] = heaps[heap]["next"]
        machine[0]["adoptions"] += 1
    else:
        heap = int(machine[0]["heaps"])
        machine[0]["heaps"] = heap + 1
        if heap + 1 > machine[0]["heap_room"]:
            machine[0]["full"] = 1
    threads[thread] = heap
    return heap


@hit_path
def allocate_small(
    machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records,
    marks: Ints, nodes: Records, moved: Ints, heap: int, cls: int,
) -> int:  # fmt: skip
    """A block of the class for this heap; NO_BLOCK if the span is full."""
    front = heap * int(machine[0]["class_count"]) + cls
    block = front_pop(classes, fronts, slots, front, cls)
    if block < 0:
        return allocate_on_miss(
            machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, front, cls
        )
    classes[cls]["hit0"] += 1
    return block


@kernel
def allocate_on_miss(
    machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records,
    marks: Ints, nodes: Records, moved: Ints, heap: int, front: int, cls: int,
) -> int:  # fmt: skip
    """Level 0 is empty: drain and look again, else promote, else refill; NO_BLOCK if the span is full."""
    block = NO_BLOCK
    if heaps[heap]["remote"] >= 0:
        drain_remote(machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap)
        block = front_pop(classes, fronts, slots, front, cls)
        if block >= 0:
            classes[cls]["hit0"] += 1
            return block
    block = front_promote(classes, fronts, slots, front, cls, moved)
    if block >= 0:
        return block
    taken = take_batch(classes, slots, cls, moved)
    if taken == 0:
        taken = take(machine, classes, stores, slabs, marks, heap, cls, moved)
    if taken == 0:
        machine[0]["failed_refills"] += 1
        return NO_BLOCK
    front_fill(classes, fronts, slots, front, cls, moved, taken)
    return int(moved[0])


@hit_path
def free_small(
    machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records,
    marks: Ints, nodes: Records, moved: Ints, heap: int, block: int,
) -> None:  # fmt: skip
    """A block is freed by a thread of this heap (NO_HEAP if it has none): it, or the one that it drives out of the
    quarantine, goes where it belongs."""
    if machine[0]["quarantine"] > 0 and heap >= 0:
        block = hold_back(machine, heaps, slots, heap, block)
        if block < 0:
            return
    let_go(machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, block)


@kernel
def quarantine_base(machine: Records, heap: int) -> int:
    """Where the heap's quarantine begins in `slots`: behind its fronts."""
    heap_base = int(machine[0]["transfer_slots"]) + heap * int(machine[0]["heap_slots"])
    return heap_base + int(machine[0]["slots_per_heap"])


@kernel
def hold_back(machine: Records, heaps: Records, slots: Ints, heap: int, block: int) -> int:
    """The heap's quarantine (a FIFO ring behind the heap's fronts) takes the block in; the oldest, which leaves it if
    it is full, else NO_BLOCK."""
    limit = int(machine[0]["quarantine"])
    base = quarantine_base(machine, heap)
    held = int(heaps[heap]["quarantined"])
    head = int(heaps[heap]["quarantine_head"])
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
    machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records,
    marks: Ints, nodes: Records, moved: Ints, heap: int
) -> None:  # fmt: skip
    """All blocks of the heap's quarantine go where they belong, the oldest first."""
    base = quarantine_base(machine, heap)
    head = int(heaps[heap]["quarantine_head"])
    held = int(heaps[heap]["quarantined"])
    heaps[heap]["quarantined"] = 0
    for index in range(held):
        block = int(slots[base + (head + index) % int(machine[0]["quarantine"])])
        let_go(machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, block)


@hit_path
def let_go(
    machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records,
    marks: Ints, nodes: Records, moved: Ints, heap: int, block: int,
) -> None:  # fmt: skip
    """A freed block goes to a front or to its owner (sections 4 and 7)."""
    place = where(int(machine[0]["remote_code"]), slabs, heap, block >> SLAB_SHIFT)
    if place == TO_FRONT:
        free_to_front(machine, classes, fronts, slots, stores, slabs, marks, moved, heap, block)
    else:
        classes[block & CLASS_MASK]["remote"] += 1
        push_remote(machine, heaps, nodes, int(slabs[block >> SLAB_SHIFT]["owner"]), block)


@hit_path
def free_to_front(
    machine: Records, classes: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records, marks: Ints,
    moved: Ints, heap: int, block: int,
) -> None:  # fmt: skip
    """The heap's front takes the block in; what it flushes goes to the transfer cache or the store."""
    cls = block & CLASS_MASK
    front = heap * int(machine[0]["class_count"]) + cls
    flushed = front_push(classes, fronts, slots, front, cls, block, moved)
    if flushed > 0 and not keep_batch(machine, classes, stores, slabs, marks, slots, cls, moved, flushed):
        give_batch(machine, classes, stores, slabs, marks, moved, flushed)


@kernel
def push_remote(machine: Records, heaps: Records, nodes: Records, owner: int, block: int) -> None:
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
    machine: Records, classes: Records, heaps: Records, fronts: Records, slots: Ints, stores: Records, slabs: Records,
    marks: Ints, nodes: Records, moved: Ints, heap: int
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
        free_to_front(machine, classes, fronts, slots, stores, slabs, marks, moved, heap, block)
        node = after


@kernel
def exit_thread(
    machine: Records, classes: Records, threads: Ints, heaps: Records, fronts: Records, slots: Ints, stores: Records,
    slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints, moved: Ints, thread: int
) -> None:  # fmt: skip
    """The thread's heap, if any, empties its quarantine, drains its remote list, gives its fronts to the store, frees
    the runs of its cache and is abandoned (LIFO)."""
    heap = int(threads[thread])
    if heap < 0:
        return
    empty_quarantine(machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap)
    drain_remote(machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap)
    for cls in range(int(machine[0]["class_count"])):
        drained = front_drain(classes, fronts, slots, heap * int(machine[0]["class_count"]) + cls, cls, moved)
        give_batch(machine, classes, stores, slabs, marks, moved, drained)
    empty_cache(machine, heaps, pages, bins, heap)
    machine[0]["exits"] += 1
    heaps[heap]["next"] = machine[0]["abandoned"]
    machine[0]["abandoned"] = heap
    threads[thread] = NO_HEAP
