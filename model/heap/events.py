"""Events: what an allocation, a free and the end of an event do to the machine; docs/machine.md sections 2 and 9."""

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.heap.heap import allocate_small, free_small, heap_for
from heapsmith.model.heap.large import (
    HUGE_CODE,
    RUN_CODE,
    allocate_large,
    free_large,
    huge_at,
    large_bytes,
    resize_large,
)
from heapsmith.model.memory.branches import CLASS_OF_ALLOC
from heapsmith.model.memory.layout import CLASS_BYTES, CLASS_MASK, CLASSES, FREE_OF, RUNS, WORD, block_at
from heapsmith.model.memory.touches import NONE, SINK, branch, resident_bytes, touch
from heapsmith.model.policy.dispatch import needs_heap
from heapsmith.model.policy.hardening.lines import born_lines, dies_lines, live_lines
from heapsmith.model.policy.lines import aligned_lines, class_lines, size_lines
from heapsmith.model.trace.events import Op

CALLOC, REALLOC, ALIGNED = int(Op.CALLOC), int(Op.REALLOC), int(Op.ALIGNED)
FREE, FREE_SIZED = int(Op.FREE), int(Op.FREE_SIZED)
THREAD_START, THREAD_EXIT = int(Op.THREAD_START), int(Op.THREAD_EXIT)
"""The operations that the loop tells apart; those below REALLOC are malloc and calloc."""

DEAD = -2
"""The handle of a block that is not born; NO_BLOCK is that of a block whose allocation failed (a null pointer)."""

SMALL_END = 1 << 60
"""Handles below this name small blocks."""

ALREADY_LIVE = 1
NOT_LIVE = 2
NO_SUCH_OPERATION = 3
NEGATIVE_SIZE = 4
TOO_LARGE = 5
"""Faults: why an event cannot be."""


@hit_path
def class_for(machine: Records, classes: Records, lookup: Ints, size: int, align: int) -> int:
    """The class that serves `size` bytes aligned to `align`; -1: the request is large."""
    if size > machine[0]["small_limit"]:
        return -1
    cls = int(lookup[(size + int(machine[0]["bias"]) + int(machine[0]["grain"]) - 1) >> int(machine[0]["grain_shift"])])
    if align > machine[0]["grain"]:
        if align > PAGE:
            return -1
        bias = int(machine[0]["bias"])
        least = ((size + bias + align - 1) & -align) - bias
        while cls < machine[0]["class_count"]:
            machine[0]["aligned_steps"] += classes[cls]["usable"] >= least
            if (int(classes[cls]["stride"]) | int(classes[cls]["first"])) & (align - 1) == 0:
                return cls
            cls += 1
        return -1
    return cls


@hit_path
def allocate(
    touched: Ints, machine: Records, classes: Records, lookup: Ints, threads: Ints, heaps: Records, fronts: Records,
    slots: Ints, stores: Records, slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints, moved: Ints,
    thread: int, size: int, align: int,
) -> int:  # fmt: skip
    """The handle of a new block, a run where no slab is to be had; NO_BLOCK if there is no room."""
    cls = class_for(machine, classes, lookup, size, align)
    if align > machine[0]["grain"]:
        aligned_lines(touched, machine, classes, cls, size, align)
    if cls < 0:
        return allocate_large(touched, machine, heaps, pages, bins, int(threads[thread]), size, align)
    if SINK != NONE:
        machine[0]["above"] += size > machine[0]["direct_limit"]
    if machine[0]["by_row"] == 0:
        branch(touched, CLASS_OF_ALLOC, cls)
    is_new = threads[thread] < 0
    heap = heap_for(touched, machine, threads, heaps, thread)
    if align > machine[0]["grain"]:
        size = int(classes[cls]["usable"])
    block = allocate_small(
        touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, cls, size, is_new
    )
    if block < 0:
        return allocate_large(touched, machine, heaps, pages, bins, heap, int(classes[cls]["usable"]), 1)
    born_lines(touched, machine, classes, slabs, block)
    return block


@hit_path
def free(
    touched: Ints, machine: Records, classes: Records, threads: Ints, heaps: Records, fronts: Records, slots: Ints,
    stores: Records, slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints, moved: Ints, thread: int,
    block: int, asked: int,
) -> None:  # fmt: skip
    """The block of this handle, of `asked` bytes, dies; a null pointer is no block."""
    heap = int(threads[thread])
    if block >= SMALL_END:
        free_large(touched, machine, heaps, pages, bins, heap, block, asked)
    elif block >= 0:
        by_row = int(machine[0]["by_row"])
        dies_lines(touched, machine, classes, slabs, block)
        if heap < 0 and needs_heap(int(machine[0]["remote_code"])):
            if machine[0]["tail_bytes"] == 0:  # else the quarantine needs the heap, before the block's class is asked
                touch(touched, FREE_OF + WORD * (1 + (block & CLASS_MASK)), 0)
                by_row = 0
            heap = heap_for(touched, machine, threads, heaps, thread)
        free_small(
            touched, machine, classes, heaps, fronts, slots, stores, slabs, marks, nodes, moved, heap, block, by_row
        )


@kernel
def fits_in_place(
    touched: Ints, machine: Records, classes: Records, lookup: Ints, slabs: Records, pages: Records, bins: Ints,
    block: int, asked: int, size: int, align: int,
) -> bool:  # fmt: skip
    """Whether a block of `asked` bytes serves as one of `size` bytes where it stands, large ones resized (align: 1)."""
    if block >= SMALL_END:
        return resize_large(touched, machine, pages, bins, block, asked, size)
    cls = block & CLASS_MASK
    usable = int(classes[cls]["usable"])
    live_lines(touched, machine, classes, slabs, block, 0)
    class_lines(touched, machine, classes, slabs, block)
    touch(touched, CLASSES + cls * CLASS_BYTES, 0)
    if size <= machine[0]["small_limit"]:
        size_lines(touched, machine, size)
    return class_for(machine, classes, lookup, size, align) == cls or (size <= usable and 2 * size >= usable)


@hit_path
def block_bytes(machine: Records, classes: Records, pages: Records, block: int, asked: int) -> int:
    """The bytes that a live block occupies: its class's stride, or whole pages."""
    if block >= SMALL_END:
        return large_bytes(machine, pages, block, asked)
    return int(classes[block & CLASS_MASK]["stride"])


@hit_path
def usable_of(machine: Records, classes: Records, pages: Records, block: int, asked: int) -> int:
    """The bytes that a live block has for the program."""
    if block >= SMALL_END:
        return large_bytes(machine, pages, block, asked) - int(machine[0]["tail_bytes"])
    return int(classes[block & CLASS_MASK]["usable"])


@hit_path
def place_of(machine: Records, classes: Records, slabs: Records, block: int) -> int:
    """The model address of a live block (model/memory/layout.py)."""
    if block >= HUGE_CODE:
        return huge_at(block)
    if block >= SMALL_END:
        return RUNS + (block - RUN_CODE) * PAGE
    return block_at(machine, classes, slabs, block)


@kernel
def address_of(machine: Records, classes: Records, slabs: Records, block: int) -> int:
    """The address code of a handle (section 1); -1 for a null pointer."""
    if block < 0 or block >= SMALL_END:
        return block
    return block_at(machine, classes, slabs, block)


@hit_path
def note(touched: Ints, machine: Records, timeline: Records, is_death: bool) -> None:
    """After an event: keep what was live and committed at the highest of each, and a point of the time line if due.

    The death of a block raises neither.
    """
    event = int(machine[0]["events"])
    machine[0]["events"] = event + 1
    if not is_death:
        if machine[0]["live_bytes"] > machine[0]["peak_live_bytes"]:
            machine[0]["peak_live_bytes"] = machine[0]["live_bytes"]
            machine[0]["peak_live_event"] = event
            machine[0]["peak_live_block_bytes"] = machine[0]["live_block_bytes"]
            machine[0]["peak_live_committed"] = machine[0]["committed"]
        if machine[0]["committed"] > machine[0]["peak_committed"]:
            machine[0]["peak_committed"] = machine[0]["committed"]
            machine[0]["peak_committed_event"] = event
            machine[0]["peak_committed_live_bytes"] = machine[0]["live_bytes"]
            machine[0]["peak_committed_block_bytes"] = machine[0]["live_block_bytes"]
    if event == machine[0]["next_sample"]:
        sample(touched, machine, timeline, event)


@kernel
def sample(touched: Ints, machine: Records, timeline: Records, event: int) -> None:
    """One more point of the time line; when that is full, every other point goes and the stride doubles."""
    kept = int(machine[0]["samples"])
    if kept == len(timeline):
        kept = (kept + 1) // 2
        for index in range(kept):
            timeline[index]["event"] = timeline[2 * index]["event"]
            timeline[index]["live_bytes"] = timeline[2 * index]["live_bytes"]
            timeline[index]["committed"] = timeline[2 * index]["committed"]
            timeline[index]["resident"] = timeline[2 * index]["resident"]
        machine[0]["stride"] *= 2
    if event % int(machine[0]["stride"]) == 0:
        timeline[kept]["event"] = event
        timeline[kept]["live_bytes"] = machine[0]["live_bytes"]
        timeline[kept]["committed"] = machine[0]["committed"]
        timeline[kept]["resident"] = resident_bytes(touched)
        kept += 1
    machine[0]["samples"] = kept
    machine[0]["next_sample"] = (event // int(machine[0]["stride"]) + 1) * int(machine[0]["stride"])
