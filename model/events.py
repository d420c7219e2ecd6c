"""Events: what one event of a trace does to the machine, and the loop over a chunk of them; docs/machine.md sections 2 and 9."""

from heapsmith.model.heap import NO_BLOCK, allocate_small, exit_thread, free_small, heap_for
from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.large import allocate_large, free_large, large_bytes, resize_large
from heapsmith.model.store import CLASS_MASK, INDEX_MASK, INDEX_SHIFT, SLAB_SHIFT

REALLOC = 2
ALIGNED = 3
FREE = 4
FREE_SIZED = 5
THREAD_START = 6
THREAD_EXIT = 7
"""The operations of a trace (docs/trace.md) that the loop tells apart; what is below REALLOC is malloc and calloc."""

DEAD = -2
"""The handle of a block that is not born; NO_BLOCK is that of a block whose allocation failed (a null pointer)."""

SMALL_END = 1 << 60
"""Handles below this name small blocks."""

ALREADY_LIVE = 1
NOT_LIVE = 2
NO_SUCH_OPERATION = 3
NEGATIVE_SIZE = 4
"""Faults: why an event cannot be."""


@kernel
def class_for(plan: Records, classes: Records, size_class: Ints, size: int, align: int) -> int:
    """The class that serves `size` bytes aligned to `align`; -1: the request is large."""
    if size > plan[0]["small_limit"]:
        return -1
    cls = int(size_class[(size + int(plan[0]["bias"]) + int(plan[0]["grain"]) - 1) >> int(plan[0]["grain_shift"])])
    if align > plan[0]["grain"]:
        while cls < plan[0]["class_count"]:
            if (int(classes[cls]["stride"]) | int(classes[cls]["first"])) & (align - 1) == 0:
                return cls
            cls += 1
        return -1
    return cls


@kernel
def allocate(
    plan: Records,
    classes: Records,
    size_class: Ints,
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
    pages: Records,
    bins: Ints,
    moved: Ints,
    thread: int,
    size: int,
    align: int,
) -> int:
    """The handle of a new block; NO_BLOCK if there is no room."""
    cls = class_for(plan, classes, size_class, size, align)
    if cls < 0:
        return allocate_large(plan, totals, state, pages, bins, size, align)
    heap = heap_for(totals, state, threads, heaps, thread)
    return allocate_small(
        plan, classes, counts, totals, state, heaps, fronts, slots, stores, slabs, marks, pools, nodes, moved, heap, cls
    )


@kernel
def free(
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
    pages: Records,
    bins: Ints,
    moved: Ints,
    thread: int,
    block: int,
    asked: int,
) -> None:
    """The block of this handle, of `asked` bytes, dies; a null pointer is no block."""
    if block >= SMALL_END:
        free_large(plan, totals, state, pages, bins, block, asked)
    elif block >= 0:
        heap = int(threads[thread])
        free_small(
            plan,
            classes,
            counts,
            totals,
            state,
            heaps,
            fronts,
            slots,
            stores,
            slabs,
            marks,
            pools,
            nodes,
            moved,
            heap,
            block,
        )


@kernel
def fits_in_place(
    plan: Records,
    classes: Records,
    size_class: Ints,
    totals: Records,
    state: Records,
    pages: Records,
    bins: Ints,
    block: int,
    asked: int,
    size: int,
) -> bool:
    """Whether a block of `asked` bytes serves as one of `size` bytes where it stands, resized if it is large."""
    if block >= SMALL_END:
        return resize_large(plan, totals, state, pages, bins, block, asked, size)
    cls = block & CLASS_MASK
    usable = int(classes[cls]["usable"])
    return class_for(plan, classes, size_class, size, 1) == cls or (size <= usable and 2 * size >= usable)


@kernel
def block_bytes(classes: Records, pages: Records, block: int, asked: int) -> int:
    """The bytes that a live block occupies: its class's stride, or whole pages."""
    if block >= SMALL_END:
        return large_bytes(pages, block, asked)
    return int(classes[block & CLASS_MASK]["stride"])


@kernel
def address_of(plan: Records, classes: Records, slabs: Records, block: int) -> int:
    """The address code of a handle (section 1); -1 for a null pointer."""
    if block < 0 or block >= SMALL_END:
        return block
    cls = block & CLASS_MASK
    start = int(slabs[block >> SLAB_SHIFT]["place"]) * int(plan[0]["slab_bytes"]) + int(classes[cls]["first"])
    return start + ((block >> INDEX_SHIFT) & INDEX_MASK) * int(classes[cls]["stride"])


@kernel
def note_peaks(totals: Records, stats: Records, event: int) -> None:
    """Keep what was live and committed at the highest live bytes and at the highest committed bytes after an event."""
    if stats[0]["live_bytes"] > stats[0]["peak_live_bytes"]:
        stats[0]["peak_live_bytes"] = stats[0]["live_bytes"]
        stats[0]["peak_live_event"] = event
        stats[0]["peak_live_block_bytes"] = stats[0]["live_block_bytes"]
        stats[0]["peak_live_committed"] = totals[0]["committed"]
    if totals[0]["committed"] > stats[0]["peak_committed"]:
        stats[0]["peak_committed"] = totals[0]["committed"]
        stats[0]["peak_committed_event"] = event
        stats[0]["peak_committed_live_bytes"] = stats[0]["live_bytes"]
        stats[0]["peak_committed_block_bytes"] = stats[0]["live_block_bytes"]


@kernel
def sample(totals: Records, stats: Records, timeline: Records, event: int) -> None:
    """One more point of the time line; when that is full, every other point goes and the stride doubles."""
    kept = int(stats[0]["samples"])
    if kept == len(timeline):
        kept = (kept + 1) // 2
        for index in range(kept):
            timeline[index]["event"] = timeline[2 * index]["event"]
            timeline[index]["live_bytes"] = timeline[2 * index]["live_bytes"]
            timeline[index]["committed"] = timeline[2 * index]["committed"]
        stats[0]["stride"] *= 2
    if event % int(stats[0]["stride"]) == 0:
        timeline[kept]["event"] = event
        timeline[kept]["live_bytes"] = stats[0]["live_bytes"]
        timeline[kept]["committed"] = totals[0]["committed"]
        kept += 1
    stats[0]["samples"] = kept
    stats[0]["next_sample"] = (event // int(stats[0]["stride"]) + 1) * int(stats[0]["stride"])
