"""Events: an allocation, a free, and the end of an event; docs/machine.md sections 2 and 9."""

from heapsmith.model.compile.kernel import hit_path, kernel
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
from heapsmith.model.heap.lines import aligned_lines, size_lines
from heapsmith.model.heap.records import COMMITTED, LIVE
from heapsmith.model.memory import layout
from heapsmith.model.memory.branches import CLASS_OF_ALLOC
from heapsmith.model.memory.layout import block_at, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import NONE, SINK, branch, resident_bytes, touch
from heapsmith.model.policy.classifier import class_lines
from heapsmith.model.policy.hardening.lines import born_lines, dies_lines, live_lines
from heapsmith.model.policy.remote import needs_heap
from heapsmith.model.trace.events import Op

CALLOC, REALLOC, ALIGNED = int(Op.CALLOC), int(Op.REALLOC), int(Op.ALIGNED)
FREE, FREE_SIZED = int(Op.FREE), int(Op.FREE_SIZED)
THREAD_START, THREAD_EXIT = int(Op.THREAD_START), int(Op.THREAD_EXIT)
"""The operations that the loop tells apart; codes below REALLOC are malloc and calloc."""

DEAD = -2
"""The handle of an unborn block; NO_BLOCK is the handle of a failed allocation (a null pointer)."""

ALREADY_LIVE = 1
NOT_LIVE = 2
NO_SUCH_OPERATION = 3
NEGATIVE_SIZE = 4
TOO_LARGE = 5
"""Faults: why an event is invalid."""


@hit_path
def class_for(state: State, size: int, align: int) -> int:
    """Return the class that serves `size` bytes aligned to `align`; -1: the request is large."""
    if size > state.small_limit:
        return -1
    cls = int(state.lookup[(size + state.bias + state.grain - 1) >> state.grain_shift])
    if align > state.grain:
        if align > PAGE:
            return -1
        bias = state.bias
        least = ((size + bias + align - 1) & -align) - bias
        while cls < state.class_count:
            state.aligned_steps += state.classes[cls]["usable"] >= least
            if (int(state.classes[cls]["stride"]) | int(state.classes[cls]["first"])) & (align - 1) == 0:
                return cls
            cls += 1
        return -1
    return cls


@hit_path
def allocate(state: State, thread: int, size: int, align: int) -> int:
    """Return the handle of a new block, a run if no slab is available; NO_BLOCK without room."""
    cls = class_for(state, size, align)
    if align > state.grain:
        aligned_lines(state, cls, size, align)
    if cls < 0:
        return allocate_large(state, int(state.threads[thread]), size, align)
    if SINK != NONE:
        state.above += size > state.direct_limit
    if state.by_row == 0:
        branch(state.listener, CLASS_OF_ALLOC, cls)
    is_new = state.threads[thread] < 0
    heap = heap_for(state, thread)
    if align > state.grain:
        size = int(state.classes[cls]["usable"])
    block = allocate_small(state, heap, cls, size, is_new)
    if block < 0:
        return allocate_large(state, heap, int(state.classes[cls]["usable"]), 1)
    born_lines(state, block)
    return block


@hit_path
def free(state: State, thread: int, block: int, asked: int) -> None:
    """Free the block of this handle and of `asked` bytes; a null pointer is ignored."""
    heap = int(state.threads[thread])
    if block >= RUN_CODE:
        free_large(state, heap, block, asked)
    elif block >= 0:
        dies_lines(state, block)
        if heap < 0 and needs_heap(state):
            if state.quarantine == 0:  # a quarantine needs the heap earlier, without the class
                touch(state.listener, layout.FREE_OF + layout.WORD * (1 + (block & layout.CLASS_MASK)), 0)
            heap = heap_for(state, thread)
        free_small(state, heap, block)


@kernel
def fits_in_place(state: State, block: int, asked: int, size: int, align: int) -> bool:
    """Return whether a block can serve `size` bytes in place; resize a large block (align: 1)."""
    if block >= RUN_CODE:
        return resize_large(state, block, asked, size)
    cls = block & layout.CLASS_MASK
    usable = int(state.classes[cls]["usable"])
    live_lines(state, block, 0)
    class_lines(state, block)
    touch(state.listener, class_at(cls), 0)
    if size <= state.small_limit:
        size_lines(state, size)
    return class_for(state, size, align) == cls or (size <= usable and 2 * size >= usable)


@hit_path
def block_bytes(state: State, block: int, asked: int) -> int:
    """Return the bytes that a live block occupies: its class's stride, or whole pages."""
    if block >= RUN_CODE:
        return large_bytes(state, block, asked)
    return int(state.classes[block & layout.CLASS_MASK]["stride"])


@hit_path
def usable_of(state: State, block: int, asked: int) -> int:
    """Return the bytes that the program may use of a live block."""
    if block >= RUN_CODE:
        return large_bytes(state, block, asked) - state.tail_bytes
    return int(state.classes[block & layout.CLASS_MASK]["usable"])


@hit_path
def place_of(state: State, block: int) -> int:
    """Return the model address of a live block (model/memory/layout.py)."""
    if block >= HUGE_CODE:
        return huge_at(block)
    if block >= RUN_CODE:
        return layout.RUNS + (block - RUN_CODE) * PAGE
    return block_at(state, block)


@kernel
def address_of(state: State, block: int) -> int:
    """Return the address code of a handle (section 1), or -1 for a null pointer."""
    if block < 0 or block >= RUN_CODE:
        return block
    return block_at(state, block)


@hit_path
def note(state: State, is_death: bool) -> None:
    """Update the peaks after an event and sample the time line when due; a death raises no peak."""
    event = state.events
    if not is_death:
        if state.live_bytes > state.peaks[LIVE]["live_bytes"]:
            note_peak(state, LIVE)
        if state.committed > state.peaks[COMMITTED]["committed"]:
            note_peak(state, COMMITTED)
    if event == state.next_sample:
        sample(state, event)
    state.events = event + 1


@hit_path
def note_peak(state: State, peak: int) -> None:
    """Make the state after the event a peak."""
    state.peaks[peak]["event"] = state.events
    state.peaks[peak]["live_bytes"] = state.live_bytes
    state.peaks[peak]["block_bytes"] = state.live_block_bytes
    state.peaks[peak]["committed"] = state.committed


@kernel
def sample(state: State, event: int) -> None:
    """Add a point to the time line; a full line loses every other point and doubles its stride."""
    kept = state.samples
    if kept == len(state.timeline):
        kept = (kept + 1) // 2
        for index in range(kept):
            state.timeline[index]["event"] = state.timeline[2 * index]["event"]
            state.timeline[index]["live_bytes"] = state.timeline[2 * index]["live_bytes"]
            state.timeline[index]["committed"] = state.timeline[2 * index]["committed"]
            state.timeline[index]["resident"] = state.timeline[2 * index]["resident"]
        state.stride *= 2
    if event % state.stride == 0:
        state.timeline[kept]["event"] = event
        state.timeline[kept]["live_bytes"] = state.live_bytes
        state.timeline[kept]["committed"] = state.committed
        state.timeline[kept]["resident"] = resident_bytes(state.listener)
        kept += 1
    state.samples = kept
    state.next_sample = (event // state.stride + 1) * state.stride
