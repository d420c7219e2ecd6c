"""The loop: a chunk of a trace's events, one after the other, each accounted for; the entry of the compiled model."""

import numpy as np

from heapsmith.model.compile.kernel import Bytes, Ints, Numbers, Records, hit_path, kernel
from heapsmith.model.heap.events import (
    ALIGNED,
    ALREADY_LIVE,
    CALLOC,
    DEAD,
    FREE,
    FREE_SIZED,
    NEGATIVE_SIZE,
    NO_SUCH_OPERATION,
    NOT_LIVE,
    REALLOC,
    SMALL_END,
    THREAD_EXIT,
    THREAD_START,
    TOO_LARGE,
    address_of,
    allocate,
    block_bytes,
    fits_in_place,
    free,
    note,
    place_of,
    usable_of,
)
from heapsmith.model.heap.heap import exit_thread
from heapsmith.model.heap.large import HUGE_SLOT_BYTES
from heapsmith.model.memory.application import birth_lines, death_lines, event_lines
from heapsmith.model.memory.layout import COUNTS, TOTAL_IN_PLACE, TOTAL_MOVED
from heapsmith.model.memory.touches import NONE, SINK, acts, room_for, tick, touch, touch_bytes
from heapsmith.model.policy.front.common import NO_BLOCK

SLACK_BYTES = 1 << 21
"""What an event may touch for the first time besides its block: the library's own records, a superslab."""


LINE = 64
"""Bytes of a cache line."""


@hit_path
def fault_of(blocks: Records, kind: int, name: int, size: int) -> int:
    """Why the event cannot be, 0 if it can."""
    if kind > THREAD_EXIT:
        return NO_SUCH_OPERATION
    if kind >= THREAD_START:
        return 0
    if size < 0:
        return NEGATIVE_SIZE
    born = kind < REALLOC or kind == ALIGNED
    if (blocks[name]["handle"] == DEAD) != born:
        return ALREADY_LIVE if born else NOT_LIVE
    return 0


@hit_path
def account(
    machine: Records, classes: Records, pages: Records, blocks: Records, name: int, handle: int, asked: int
) -> None:
    """Block `name` is born with this handle and size."""
    blocks[name]["handle"] = handle
    blocks[name]["asked"] = asked
    if handle >= 0:
        machine[0]["live_blocks"] += 1
        machine[0]["live_bytes"] += asked
        machine[0]["live_block_bytes"] += block_bytes(machine, classes, pages, handle, asked)


@hit_path
def discount(machine: Records, classes: Records, pages: Records, blocks: Records, name: int) -> None:
    """Block `name` dies: to be called before its pages merge with others."""
    handle = int(blocks[name]["handle"])
    asked = int(blocks[name]["asked"])
    blocks[name]["handle"] = DEAD
    if handle >= 0:
        machine[0]["live_blocks"] -= 1
        machine[0]["live_bytes"] -= asked
        machine[0]["live_block_bytes"] -= block_bytes(machine, classes, pages, handle, asked)


@hit_path
def birth(
    touched: Ints, machine: Records, classes: Records, lookup: Ints, threads: Ints, heaps: Records, fronts: Records,
    slots: Ints, stores: Records, slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints,
    blocks: Records, moved: Ints, thread: int, name: int, size: int, align: int, kind: int,
) -> int:  # fmt: skip
    """malloc, calloc, aligned: block `name` is born; its handle, NO_BLOCK if there is no room."""
    handle = allocate(
        touched, machine, classes, lookup, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages, bins,
        moved, thread, size, align
    )  # fmt: skip
    account(machine, classes, pages, blocks, name, handle, size)
    if handle >= 0:
        at = place_of(machine, classes, slabs, handle)
        if kind == CALLOC and (handle < SMALL_END or machine[0]["clean"] == 0):
            machine[0]["cleared_bytes"] += size
            touch_bytes(touched, at, size, 1)
        birth_lines(touched, machine, at, 0, size)
    return handle


@hit_path
def death(
    touched: Ints, machine: Records, classes: Records, threads: Ints, heaps: Records, fronts: Records, slots: Ints,
    stores: Records, slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints, blocks: Records,
    moved: Ints, thread: int, name: int,
) -> None:  # fmt: skip
    """free, free_sized: block `name` dies."""
    handle = int(blocks[name]["handle"])
    asked = int(blocks[name]["asked"])
    if handle >= 0:
        death_lines(touched, machine, place_of(machine, classes, slabs, handle), asked)
    discount(machine, classes, pages, blocks, name)
    free(
        touched, machine, classes, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages, bins, moved,
        thread, handle, asked
    )  # fmt: skip


@kernel
def reallocate(
    touched: Ints, machine: Records, classes: Records, lookup: Ints, threads: Ints, heaps: Records, fronts: Records,
    slots: Ints, stores: Records, slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints,
    blocks: Records, moved: Ints, thread: int, name: int, size: int, align: int,
) -> int:  # fmt: skip
    """realloc (section 9; align: 1) of a block or a null pointer, size > 0; the handle, NO_BLOCK if none."""
    old = int(blocks[name]["handle"])
    asked = int(blocks[name]["asked"])
    discount(machine, classes, pages, blocks, name)
    machine[0]["asked_lines"] += (max(0, size - asked) + LINE - 1) // LINE
    if old >= 0 and fits_in_place(touched, machine, classes, lookup, slabs, pages, bins, old, asked, size, align):
        machine[0]["realloc_in_place"] += 1
        account(machine, classes, pages, blocks, name, old, size)
        touch(touched, COUNTS + TOTAL_IN_PLACE, 1)
        birth_lines(touched, machine, place_of(machine, classes, slabs, old), asked, size)
        return old
    handle = allocate(
        touched, machine, classes, lookup, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages, bins,
        moved, thread, size, align
    )  # fmt: skip
    if handle < 0:
        account(machine, classes, pages, blocks, name, old, asked)
        return NO_BLOCK
    at = place_of(machine, classes, slabs, handle)
    if old >= 0:
        copied = min(size, usable_of(machine, classes, pages, old, asked))
        touch_bytes(touched, place_of(machine, classes, slabs, old), copied, 0)
        touch_bytes(touched, at, copied, 1)
        machine[0]["copied_bytes"] += copied
        touch(touched, COUNTS + TOTAL_MOVED, 1)
        free(
            touched, machine, classes, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages, bins, moved,
            thread, old, asked
        )  # fmt: skip
        machine[0]["realloc_moved"] += 1
    account(machine, classes, pages, blocks, name, handle, size)
    birth_lines(touched, machine, at, asked if old >= 0 else 0, size)
    return handle


@hit_path
def tally(machine: Records, kind: int) -> None:
    """One call of the operation."""
    if SINK != NONE:
        machine[0]["callocs"] += kind == CALLOC
        machine[0]["reallocs"] += kind == REALLOC
        machine[0]["aligned"] += kind == ALIGNED
        machine[0]["sized_frees"] += kind == FREE_SIZED


@kernel
def run(
    touched: Ints, machine: Records, classes: Records, lookup: Ints, threads: Ints, heaps: Records, fronts: Records,
    slots: Ints, stores: Records, slabs: Records, marks: Ints, nodes: Records, pages: Records, bins: Ints,
    blocks: Records, moved: Ints, op: Bytes, thread: Numbers, block: Numbers, size: Ints, align_log2: Bytes, start: int,
    timeline: Records, addresses: Ints,
) -> int:  # fmt: skip
    """Events from `start` on, until the chunk ends or the arrays might not do for another; the index of the next one.

    addresses: empty, or an entry per event for the address code of the block that it allocated or resized, else -1.
    """
    tell = len(addresses) > 0
    for event in range(start, len(op)):
        kind = int(np.int64(op[event]))
        who = int(np.int64(thread[event]))
        name = int(np.int64(block[event]))
        bytes_asked = int(size[event])
        align = 1 << int(np.int64(align_log2[event])) if kind == ALIGNED else 1
        handle = NO_BLOCK
        if SINK != NONE and bytes_asked > HUGE_SLOT_BYTES:
            machine[0]["fault"] = TOO_LARGE
            return event
        if not room_for(touched, bytes_asked + SLACK_BYTES):
            machine[0]["wanted_bytes"] = bytes_asked + SLACK_BYTES
            machine[0]["full"] = 1
            return event
        fault = fault_of(blocks, kind, name, bytes_asked)
        if fault > 0:
            machine[0]["fault"] = fault
            return event
        tally(machine, kind)
        acts(touched, who)
        if kind <= FREE_SIZED:
            event_lines(touched, machine, name)
        is_death = kind in (FREE, FREE_SIZED) or (kind == REALLOC and bytes_asked == 0)
        if is_death:
            death(
                touched, machine, classes, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages, bins,
                blocks, moved, who, name
            )  # fmt: skip
        elif kind < REALLOC or kind == ALIGNED:
            handle = birth(
                touched, machine, classes, lookup, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages,
                bins, blocks, moved, who, name, bytes_asked, align, kind
            )  # fmt: skip
            if SINK != NONE:
                machine[0]["asked_lines"] += (bytes_asked + LINE - 1) // LINE
        elif kind == REALLOC:
            handle = reallocate(
                touched, machine, classes, lookup, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages,
                bins, blocks, moved, who, name, bytes_asked, align
            )  # fmt: skip
        elif kind == THREAD_EXIT:
            exit_thread(
                touched, machine, classes, threads, heaps, fronts, slots, stores, slabs, marks, nodes, pages, bins,
                moved, who
            )  # fmt: skip
        if tell:
            addresses[event] = address_of(machine, classes, slabs, handle)
        tick(touched)
        note(touched, machine, timeline, is_death)
        if machine[0]["full"] == 1:
            return event + 1
    return len(op)
