"""Heaps: what one thread owns; small blocks through fronts, remote lists and the store; docs/machine.md sections 3, 4 and 7."""

from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.dispatch import front_drain, front_fill, front_pop, front_promote, front_push, where
from heapsmith.model.policy.remote import TO_FRONT, TO_STORE
from heapsmith.model.store import CLASS_MASK, SLAB_SHIFT, give, take

NO_HEAP = -1
NO_BLOCK = -1


@kernel
def heap_for(totals: Records, state: Records, threads: Ints, heaps: Records, thread: int) -> int:
    """The heap of a thread that allocates: its own, else the last abandoned (adopt), else a new one (create)."""
    heap = int(threads[thread])
    if heap >= 0:
        return heap
    heap = int(state[0]["abandoned"])
    if heap >= 0:
        state[0]["abandoned"] = heaps[heap]["next"]
        totals[0]["adoptions"] += 1
    else:
        heap = int(totals[0]["heaps"])
        totals[0]["heaps"] = heap + 1
        if heap + 1 > state[0]["heap_room"]:
            state[0]["full"] = 1
    threads[thread] = heap
    return heap


@kernel
def allocate_small(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    state: Records,
    heaps: Records,
    fronts: Records,
    slots: Ints,
    stores: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    nodes: Records,
    moved: Ints,
    heap: int,
    cls: int,
) -> int:
    """A block of the class for this heap; NO_BLOCK if the span is full."""
    front = heap * int(plan[0]["class_count"]) + cls
    block = front_pop(classes, fronts, slots, front, cls)
    if block < 0 and heaps[heap]["remote"] >= 0:
        drain_remote(
            plan, classes, counts, totals, state, heaps, fronts, slots, stores, slabs, marks, pools, nodes, moved, heap
        )
        block = front_pop(classes, fronts, slots, front, cls)
    if block >= 0:
        counts[cls]["hit0"] += 1
        return block
    block = front_promote(classes, counts, fronts, slots, front, cls, moved)
    if block >= 0:
        return block
    taken = take(plan, classes, counts, totals, state, stores, slabs, marks, pools, heap, cls, moved)
    if taken == 0:
        return NO_BLOCK
    front_fill(classes, fronts, slots, front, cls, moved, taken)
    return int(moved[0])


@kernel
def free_small(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    state: Records,
    heaps: Records,
    fronts: Records,
    slots: Ints,
    stores: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    nodes: Records,
    moved: Ints,
    heap: int,
    block: int,
) -> None:
    """A block is freed by a thread of this heap (NO_HEAP if it has none)."""
    place = where(int(plan[0]["remote_code"]), slabs, heap, block >> SLAB_SHIFT)
    if place == TO_FRONT:
        free_to_front(plan, classes, counts, totals, state, fronts, slots, stores, slabs, marks, pools, moved, heap, block)
    elif place == TO_STORE:
        counts[block & CLASS_MASK]["direct"] += 1
        give(plan, classes, counts, totals, state, stores, slabs, marks, pools, block)
    else:
        counts[block & CLASS_MASK]["remote"] += 1
        push_remote(state, heaps, nodes, int(slabs[block >> SLAB_SHIFT]["owner"]), block)


@kernel
def free_to_front(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    state: Records,
    fronts: Records,
    slots: Ints,
    stores: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    moved: Ints,
    heap: int,
    block: int,
) -> None:
    """The heap's front takes the block in; what it flushes goes to the store."""
    cls = block & CLASS_MASK
    front = heap * int(plan[0]["class_count"]) + cls
    flushed = front_push(classes, counts, fronts, slots, front, cls, block, moved)
    for index in range(flushed):
        give(plan, classes, counts, totals, state, stores, slabs, marks, pools, int(moved[index]))


@kernel
def push_remote(state: Records, heaps: Records, nodes: Records, owner: int, block: int) -> None:
    """The owner's remote list (LIFO; any thread pushes, its own thread takes all) gets the block."""
    node = int(state[0]["free_node"])
    if node >= 0:
        state[0]["free_node"] = nodes[node]["next"]
    else:
        node = int(state[0]["nodes"])
        state[0]["nodes"] = node + 1
        if node + 1 > state[0]["node_room"]:
            state[0]["full"] = 1
    nodes[node]["block"] = block
    nodes[node]["next"] = heaps[owner]["remote"]
    heaps[owner]["remote"] = node


@kernel
def drain_remote(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    state: Records,
    heaps: Records,
    fronts: Records,
    slots: Ints,
    stores: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    nodes: Records,
    moved: Ints,
    heap: int,
) -> None:
    """The whole remote list is freed into the heap's own fronts, the most recently pushed block first."""
    node = int(heaps[heap]["remote"])
    heaps[heap]["remote"] = -1
    while node >= 0:
        block = int(nodes[node]["block"])
        after = int(nodes[node]["next"])
        nodes[node]["next"] = state[0]["free_node"]
        state[0]["free_node"] = node
        counts[block & CLASS_MASK]["drained"] += 1
        free_to_front(plan, classes, counts, totals, state, fronts, slots, stores, slabs, marks, pools, moved, heap, block)
        node = after


@kernel
def exit_thread(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    state: Records,
    threads: Ints,
    heaps: Records,
    fronts: Records,
    slots: Ints,
    stores: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    nodes: Records,
    moved: Ints,
    thread: int,
) -> None:
    """The thread's heap, if it has one, drains its remote list, gives its fronts to the store and is abandoned (LIFO)."""
    heap = int(threads[thread])
    if heap < 0:
        return
    drain_remote(
        plan, classes, counts, totals, state, heaps, fronts, slots, stores, slabs, marks, pools, nodes, moved, heap
    )
    for cls in range(int(plan[0]["class_count"])):
        drained = front_drain(classes, fronts, slots, heap * int(plan[0]["class_count"]) + cls, cls, moved)
        for index in range(drained):
            give(plan, classes, counts, totals, state, stores, slabs, marks, pools, int(moved[index]))
    heaps[heap]["next"] = state[0]["abandoned"]
    state[0]["abandoned"] = heap
    threads[thread] = NO_HEAP
