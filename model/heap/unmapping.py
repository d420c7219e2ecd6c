"""Superslabs that are unmapped, and mapped again; docs/machine.md section 6."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.heap.committed import uncommit
from heapsmith.model.heap.pools import pool_remove
from heapsmith.model.heap.slab_ages import leave_age_queue
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import record_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch
from heapsmith.model.policy.hardening.lines import map_is_released


@kernel
def block_slabs(state: State) -> int:
    """Return the slabs of a superslab that are for blocks."""
    return int(state.slabs_per_superslab - state.guard_slabs - state.head_slabs)


@kernel
def superslab_lines(state: State, place: int, at: int, write: int) -> None:
    """Touch a field of a superslab's first record; `place` is that of any of its slabs."""
    first = place - place % state.slabs_per_superslab
    touch(state.listener, record_at(state, first) + state.record_class_bytes + at, write)


@kernel
def slab_is_new(state: State, pool: int, slab: int) -> None:
    """Note to which superslab a slab belongs that was never handed out before."""
    place = int(state.slabs[slab]["place"])
    state.slabs[slab]["beside"] = -1
    if place % state.slabs_per_superslab == state.head_slabs:
        state.slabs[slab]["first"] = slab
        state.slabs[slab]["unpooled"] = block_slabs(state)
        state.slabs[slab]["on_huge"] = state.stores[pool]["next_huge"]
    else:
        before = int(state.stores[pool]["last_new"])
        state.slabs[before]["beside"] = slab
        state.slabs[slab]["first"] = state.slabs[before]["first"]
    state.stores[pool]["last_new"] = slab


@kernel
def mapped_again(state: State, pool: int, region: int) -> int:
    """Map the superslab of a region that was unmapped last; return its place in slabs, or -1: there is none."""
    first = int(state.classes[region]["unmapped"]) - 1
    if first < 0:
        return -1
    place = int(state.slabs[first]["place"]) - state.head_slabs
    superslab_lines(state, place, layout.SLAB_NEXT, 0)
    touch(state.listener, slab_at(state, first) + layout.SLAB_CLASS_NUMBER, 0)
    touch(state.listener, layout.TOTAL_REUSED, 1)
    state.classes[region]["unmapped"] = state.slabs[first]["next"]
    state.superslabs_reused += 1
    state.memory_calls += 1
    state.slabs[first]["unpooled"] = block_slabs(state)
    state.stores[pool]["next_known"] = first
    state.stores[pool]["next_huge"] = state.slabs[first]["on_huge"]
    return place


@kernel
def slab_leaves_pool(state: State, slab: int) -> None:
    """Count a slab that serves again for its superslab."""
    first = int(state.slabs[slab]["first"])
    superslab_lines(state, int(state.slabs[slab]["place"]), layout.SLAB_CLASS_NUMBER, 1)
    state.empty_superslabs -= int(state.slabs[first]["unpooled"] == 0)
    state.slabs[first]["unpooled"] += 1


@kernel
def slab_joins_pool(state: State, heap: int, pool: int, slab: int) -> None:
    """Count a slab that was retired for its superslab; unmap that if it is empty and enough others are."""
    first = int(state.slabs[slab]["first"])
    superslab_lines(state, int(state.slabs[slab]["place"]), layout.SLAB_CLASS_NUMBER, 1)
    state.slabs[first]["unpooled"] -= 1
    if state.slabs[first]["unpooled"] > 0:
        return
    state.empty_superslabs += 1
    if state.empty_superslabs >= state.unmap_from:
        unmap(state, heap, pool, first)


@kernel
def unmap(state: State, heap: int, pool: int, first: int) -> None:
    """Unmap an empty superslab, whose first slab is `first`: its slabs leave the pool and the age queue."""
    place = int(state.slabs[first]["place"])
    slab = first
    while slab >= 0:
        pool_remove(state, heap, pool, slab)
        touch(state.listener, slab_at(state, slab), 0)
        touch(state.listener, slab_at(state, slab) + layout.SLAB_CLASS_NUMBER, 1)
        if state.slabs[slab]["committed"] > 0:
            leave_age_queue(state, slab)
            touch(state.listener, layout.TOTAL_COMMITTED, 1)
            touch(state.listener, slab_at(state, slab), 1)
            map_is_released(state, int(state.slabs[slab]["place"]))
            uncommit(state, int(state.slabs[slab]["committed"]))
            state.slabs[slab]["committed"] = 0
        slab = int(state.slabs[slab]["beside"])
    gone(state.listener, layout.SPAN + place * state.slab_bytes, block_slabs(state) * state.slab_bytes)
    superslab_lines(state, place, layout.SLAB_NEXT, 1)
    touch(state.listener, layout.TOTAL_UNMAPPED, 1)
    region = place // state.region_slabs
    state.slabs[first]["next"] = state.classes[region]["unmapped"]
    state.classes[region]["unmapped"] = 1 + first
    state.empty_superslabs -= 1
    state.superslabs_unmapped += 1
    state.memory_calls += 1
