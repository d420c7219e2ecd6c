"""Slabs: from superslabs or pools to a class, and back when empty; docs/machine.md, 'slabs and superslabs'."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.cold_paths import SLAB
from heapsmith.model.memory.layout import count_at, record_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import on_huge, takes, touch, touch_bytes
from heapsmith.model.parts.committed import commit, commit_calls
from heapsmith.model.parts.front_questions import freed_begin, freed_end_lines, retired_of, slab_lines, superslab_place
from heapsmith.model.parts.locks import CLAIM, NONE, OTHER, SAME, SUPERSLAB, count_acquire, uncounted
from heapsmith.model.parts.moments import (
    memory_freed,
    slab_acquired,
    slab_made,
    slab_pooled,
    slab_retired,
    slab_reused,
    superslab_late,
    superslab_ready,
)
from heapsmith.model.parts.pools import pool_for, pool_pop, pool_push, pool_to
from heapsmith.model.parts.slab_ages import join_age_queue, leave_age_queue, release_slabs
from heapsmith.model.parts.slab_questions import (
    commit_map,
    commit_owners,
    commit_records,
    disowned,
    end_is_read,
    huge_superslab,
    keeps_small,
    known_slab,
    lock_mapping,
    lock_new_slab,
    lock_pools,
    locks_slab,
    mapped_again,
    owner_changes_lines,
    populate,
    release_grown,
    superslabs_at_once,
    vacancy_lines,
)


@kernel
def superslab_is_usable(state: State, place: int) -> None:
    """Count the system calls that make a superslab usable, with others behind it if they grow together."""
    region = place // state.region_slabs
    number = (place - region * state.region_slabs) // state.slabs_per_superslab
    if number < state.classes[region]["usable_superslabs"]:
        return
    superslabs = superslabs_at_once(state, region, number)
    state.classes[region]["usable_superslabs"] = number + superslabs
    superslabs_are_committed(state, place, superslabs * state.slabs_per_superslab)


@kernel
def superslabs_are_committed(state: State, place: int, slabs: int) -> None:
    """Count the system calls that commit superslabs and the records of their slabs."""
    state.memory_calls += 1
    commit_records(state, place, slabs)
    state.memory_calls += commit_calls(place, slabs, state.bitmap_words * layout.WORD)
    commit_map(state, place, slabs)
    if state.live_map == 1:
        state.memory_calls += commit_calls(place, slabs, state.slab_bytes >> state.grain_shift)
    commit_owners(state, place, slabs)


@kernel
def acquire(state: State, heap: int, cls: int) -> int:
    """Return an empty slab for the class: the last retired, or a new slab; -1: the span is full."""
    pool = pool_for(state, heap, cls)
    takes(state.listener, SLAB)
    slab = retired_of(state, pool)
    vacancy_lines(state, heap, pool, 0, int(slab >= 0))
    if slab >= 0:
        state.stage = SAME if state.slabs[slab]["class"] == cls else OTHER
        pool_pop(state, pool, slab)
        slab_reused(state, slab)
        if state.slabs[slab]["committed"] > 0:
            leave_age_queue(state, slab)
        else:
            state.slab_budget_bytes = release_grown(state, state.slab_budget_bytes, state.slab_bytes)
    else:
        before = state.superslabs
        slab = new_slab(state, heap, pool, cls)
        if state.superslabs > before:
            superslab_late(state)
        if slab < 0:
            lock_slabs(state)
            state.stage = NONE
            count_acquire(state)
            return -1
    freed_begin(state, slab)
    touch(state.listener, slab_at(state, slab), 1)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_ACQUIRE, 1)
    class_of_slab_lines(state, slab)
    count_acquire(state)
    slab_acquired(state, heap, cls, slab)
    state.slabs[slab]["class"] = cls
    state.slabs[slab]["owner"] = heap
    state.slabs[slab]["carved"] = 0
    state.slabs[slab]["freed"] = 0
    state.slabs[slab]["out"] = 0
    state.classes[cls]["acquire"] += 1
    return slab


@kernel
def new_slab(state: State, heap: int, pool: int, cls: int) -> int:
    """Return the next slab of the pool's superslab, or of one that is mapped; -1: the span is full."""
    lock_new_slab(state)
    vacancy_lines(state, heap, pool, layout.VACANCY_NEXT, 1)
    if end_is_read(state) or state.stores[pool]["left"] == 0:
        vacancy_lines(state, heap, pool, layout.VACANCY_END, int(state.stores[pool]["left"] == 0))
    state.stage = CLAIM
    if state.stores[pool]["left"] == 0:
        state.stage = SUPERSLAB
        if not map_superslab(state, pool, cls):
            return -1
    slab = known_slab(state, pool)
    if slab < 0:
        slab = state.slabs_made
        state.slabs[slab]["place"] = state.stores[pool]["next_place"]
        touch(state.listener, slab_at(state, slab) + layout.SLAB_EARLIER, 1)
        touch(state.listener, layout.TOTAL_SLABS, 1)
        slab_made(state, pool, slab)
        state.slabs_made = slab + 1
        if slab + 1 > state.slab_room:
            state.full = 1
    if state.stores[pool]["next_huge"] == 1:
        state.slabs[slab]["committed"] = state.slab_bytes
    state.stores[pool]["next_place"] += 1
    state.stores[pool]["left"] -= 1
    return slab


@kernel
def map_superslab(state: State, pool: int, cls: int) -> bool:
    """Map a superslab for a pool: one that was unmapped, else a new one; False: the span is full."""
    lock_mapping(state)
    place = mapped_again(state, pool, cls if state.regions > 1 else 0)
    if place < 0:
        place = superslab_place(state, cls, int(state.classes[cls]["mapped"]))
        if place < 0:
            return False
        state.stores[pool]["next_huge"] = huge_superslab(state, cls)
        state.superslabs += 1
        state.classes[place // state.region_slabs]["mapped"] += 1
        touch(state.listener, layout.TOTAL_SUPERSLABS, 1)
        superslab_is_usable(state, place)
    state.stores[pool]["next_place"] = place + state.head_slabs
    state.stores[pool]["left"] = state.slabs_per_superslab - state.guard_slabs - state.head_slabs
    superslab_ready(state, place)
    is_huge = state.stores[pool]["next_huge"] == 1
    state.memory_calls += int(is_huge or keeps_small(state))
    if is_huge:
        head_bytes = state.head_slabs * state.slab_bytes
        slabs = state.slabs_per_superslab - state.head_slabs - state.guard_slabs
        on_huge(state.listener, layout.SPAN + place * state.slab_bytes, head_bytes + slabs * state.slab_bytes)
        records = slabs * state.record_bytes
        touch_bytes(state.listener, record_at(state, place + state.head_slabs), records, 1)
        populate(state, layout.SPAN + place * state.slab_bytes + head_bytes, slabs * state.slab_bytes)
        commit(state, slabs * state.slab_bytes)
    return True


@kernel
def retire(state: State, heap: int, slab: int, cls: int) -> None:
    """Move an empty slab to its pool and the age queue; release the oldest that are due."""
    pool = pool_to(state, heap, slab, cls)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_RETIRE, 1)
    takes(state.listener, SLAB)
    freed_end_lines(state, slab)
    class_of_slab_lines(state, slab)
    state.locks_retire += uncounted(state)
    slab_retired(state, heap, cls, slab)
    disowned(state, slab)
    state.classes[cls]["retire"] += 1
    memory_freed(state, int(state.slabs[slab]["committed"]))
    join_age_queue(state, slab)
    pool_push(state, heap, pool, slab)
    slab_pooled(state, heap, pool, slab)
    release_slabs(state)


@kernel
def class_of_slab_lines(state: State, slab: int) -> None:
    """Touch what a change of a slab's class touches: class, owner, and the classifier's byte."""
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CLASS_NUMBER, 1)
    lock_slabs(state)
    if state.owned == 1:
        owner_changes_lines(state, slab)
    slab_lines(state, slab)


@kernel
def lock_slabs(state: State) -> None:
    """Take the lock under which a slab changes hands, where the design has one that the thread does not hold."""
    if state.owned == 1:
        lock_pools(state)
    locks_slab(state)
