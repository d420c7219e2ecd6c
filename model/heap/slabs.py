"""Slabs: from superslabs or pools to a class, back when empty, pages to the OS; section 6."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.heap.age import tick
from heapsmith.model.heap.committed import commit
from heapsmith.model.heap.pools import pool_for, pool_pop, pool_push, pool_to, vacancy_lines
from heapsmith.model.heap.shards import heaps_shard, heaps_shard_lines
from heapsmith.model.heap.slab_ages import join_age_queue, leave_age_queue, release_slabs
from heapsmith.model.heap.unmapping import mapped_again, slab_is_new, slab_joins_pool, slab_leaves_pool, superslab_lines
from heapsmith.model.memory import layout
from heapsmith.model.memory.cold_paths import SLAB
from heapsmith.model.memory.layout import class_at, count_at, record_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import on_huge, populated, takes, touch, touch_bytes
from heapsmith.model.policy.classifier import slab_lines, superslab_place
from heapsmith.model.policy.empties import retired_of
from heapsmith.model.policy.freed_blocks import freed_begin, freed_end_lines
from heapsmith.model.policy.release import release_grown


@hit_path
def populate(state: State, address: int, size: int) -> None:
    """Make memory resident that is being committed, with one call, if the design does so."""
    if state.populate_pages > 0 and size > 0:
        state.memory_calls += 1
        populated(state.listener, address, size)


@hit_path
def slabs_held_at(cls: int) -> int:
    """Return the address of the number of slabs that a class has."""
    return layout.SLABS_HELD + cls * 4


@kernel
def populate_step(state: State, cls: int) -> int:
    """Return the bytes by which the committed bytes of a slab of the class rise now."""
    if state.populate_share == 0:
        return int(state.commit_step)
    if state.classes[cls]["stride"] > PAGE or state.populate_most == 1:
        return PAGE
    touch(state.listener, slabs_held_at(cls), 0)
    held = int(state.classes[cls]["acquire"]) - int(state.classes[cls]["retire"])
    pages = held * (state.slab_bytes // PAGE) // state.populate_share
    batch = 1
    while 2 * batch <= pages and 2 * batch <= state.populate_most:
        batch *= 2
    return batch * PAGE


@kernel
def populate_carved(state: State, slab: int, size: int, step: int) -> None:
    """Make the next `size` bytes of a slab resident, committed by this step, if the design does so."""
    address = layout.SPAN + int(state.slabs[slab]["place"]) * state.slab_bytes + int(state.slabs[slab]["committed"])
    if state.populate_share > 0 and step > PAGE:
        state.memory_calls += 1
        populated(state.listener, address, size)
    populate(state, address, size)


@kernel
def commit_calls(first: int, count: int, record_bytes: int) -> int:
    """Return the system calls that commit `count` records: 1 if a page begins in them, or 0."""
    return int(-(-first * record_bytes // PAGE) != -(-(first + count) * record_bytes // PAGE))


@kernel
def superslab_is_usable(state: State, place: int) -> None:
    """Count the system calls that make a superslab usable, with others behind it if they grow together."""
    region = place // state.region_slabs
    number = (place - region * state.region_slabs) // state.slabs_per_superslab
    if number < state.classes[region]["usable_superslabs"]:
        return
    superslabs = 1
    if state.growth_first > 0:
        step = max(state.growth_first, int(state.classes[region]["growth_step"]))
        superslabs = step if step <= state.region_superslabs - number else 1
        state.classes[region]["growth_step"] = min(2 * step, state.growth_most)
    state.classes[region]["usable_superslabs"] = number + superslabs
    superslabs_are_committed(state, place, superslabs * state.slabs_per_superslab)


@kernel
def superslabs_are_committed(state: State, place: int, slabs: int) -> None:
    """Count the system calls that commit superslabs and the records of their slabs."""
    state.memory_calls += 1
    if state.head_slabs == 0:
        state.memory_calls += commit_calls(place, slabs, layout.SLAB_BYTES + state.record_extra)
    state.memory_calls += commit_calls(place, slabs, state.bitmap_words * layout.WORD)
    if state.slab_classes_bytes > 0:
        state.memory_calls += commit_calls(place, slabs, max(1, state.map_pages))
    if state.live_map == 1:
        state.memory_calls += commit_calls(place, slabs, state.slab_bytes >> state.grain_shift)
    if state.own_superslabs > 0:
        step = state.slabs_per_superslab
        state.memory_calls += commit_calls(place // step, slabs // step, layout.WORD)


@hit_path
def owner_lines(state: State, slab: int, write: int) -> None:
    """Touch what names the owner of a slab in use: its record, or the word of its superslab."""
    if state.own_superslabs > 0:
        superslab = int(state.slabs[slab]["place"]) // state.slabs_per_superslab
        touch(state.listener, layout.OWNERS + layout.WORD * superslab, write)
    else:
        touch(state.listener, slab_at(state, slab) + layout.SLAB_OWNER, write)


@kernel
def acquire(state: State, heap: int, cls: int) -> int:
    """Return an empty slab for the class: the last retired, or a new slab; -1: the span is full."""
    pool = pool_for(state, heap, cls)
    takes(state.listener, SLAB)
    slab = retired_of(state, pool)
    vacancy_lines(state, heap, pool, 0, int(slab >= 0))
    if slab >= 0:
        pool_pop(state, pool, slab)
        if state.unmap_from > 0:
            slab_leaves_pool(state, slab)
        if state.slabs[slab]["committed"] > 0:
            leave_age_queue(state, slab)
        else:
            state.slab_budget_bytes = release_grown(state, state.slab_budget_bytes, state.slab_bytes)
    else:
        before = state.superslabs
        slab = new_slab(state, heap, pool, cls)
        if state.prewarm_superslabs > 0 and state.superslabs > before:
            touch(state.listener, layout.TOTAL_LATE, 1)
            state.superslabs_late += 1
        if slab < 0:
            return -1
    freed_begin(state, slab)
    touch(state.listener, slab_at(state, slab), 1)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_ACQUIRE, 1)
    class_of_slab_lines(state, slab)
    if state.shard_records > 0:
        heaps_shard_lines(state, heap, 0)
        owner_lines(state, slab, 1)
        state.slabs[slab]["shard"] = heaps_shard(state, heap)
    if state.populate_share > 0:
        touch(state.listener, slabs_held_at(cls), 1)
    if state.record_class_bytes > 0:
        touch(state.listener, slab_at(state, slab) - layout.SLAB_CLASS_BYTES, 1)
        touch(state.listener, class_at(cls) + layout.CLASS_STRIDE, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_FIRST, 0)
        touch(state.listener, class_at(cls) + state.block_index_at, 0)
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
    if state.pool_swaps > state.pool_claims:
        touch(state.listener, layout.POOL_LOCK, 1)
    vacancy_lines(state, heap, pool, layout.VACANCY_NEXT, 1)
    if state.pool_claims == 0 or state.stores[pool]["left"] == 0:
        vacancy_lines(state, heap, pool, layout.VACANCY_END, int(state.stores[pool]["left"] == 0))
    if state.stores[pool]["left"] == 0 and not map_superslab(state, pool, cls):
        return -1
    slab = int(state.stores[pool]["next_known"]) if state.unmap_from > 0 else -1
    if slab >= 0:
        state.stores[pool]["next_known"] = state.slabs[slab]["beside"]
    else:
        slab = state.slabs_made
        state.slabs[slab]["place"] = state.stores[pool]["next_place"]
        touch(state.listener, slab_at(state, slab) + layout.SLAB_EARLIER, 1)
        touch(state.listener, layout.TOTAL_SLABS, 1)
        if state.unmap_from > 0:
            slab_is_new(state, pool, slab)
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
    if state.pool_claims > 0:
        touch(state.listener, layout.POOL_LOCK, 1)
    superslab_bytes = state.slabs_per_superslab * state.slab_bytes
    place = mapped_again(state, pool, cls if state.regions > 1 else 0) if state.unmap_from > 0 else -1
    if place < 0:
        place = superslab_place(state, cls, int(state.classes[cls]["mapped"]))
        if place < 0:
            return False
        is_huge = state.thp_asked == 1 and state.superslabs * superslab_bytes >= state.thp_slabs_from_bytes
        is_huge = is_huge and int(state.classes[cls]["stride"]) <= state.thp_block_bytes
        state.stores[pool]["next_huge"] = is_huge
        state.superslabs += 1
        state.classes[place // state.region_slabs]["mapped"] += 1
        touch(state.listener, layout.TOTAL_SUPERSLABS, 1)
        superslab_is_usable(state, place)
    state.stores[pool]["next_place"] = place + state.head_slabs
    state.stores[pool]["left"] = state.slabs_per_superslab - state.guard_slabs - state.head_slabs
    if state.unmap_from > 0:
        superslab_lines(state, place, layout.SLAB_CLASS_NUMBER, 1)
    if state.own_superslabs > 0:
        touch(state.listener, layout.OWNERS + layout.WORD * (place // state.slabs_per_superslab), 1)
    is_huge = state.stores[pool]["next_huge"] == 1
    state.memory_calls += int(is_huge or state.thp_never == 1) + state.binds
    if is_huge:
        head_bytes = state.head_slabs * state.slab_bytes
        slabs = state.slabs_per_superslab - state.head_slabs - state.guard_slabs
        on_huge(state.listener, layout.SPAN + place * state.slab_bytes, head_bytes + slabs * state.slab_bytes)
        records = slabs * (layout.SLAB_BYTES + state.record_extra)
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
    if state.populate_share > 0:
        touch(state.listener, slabs_held_at(cls), 1)
    if state.own_superslabs == 0:
        state.slabs[slab]["owner"] = -1
    state.classes[cls]["retire"] += 1
    tick(state, int(state.slabs[slab]["committed"]))
    join_age_queue(state, slab)
    pool_push(state, heap, pool, slab)
    if state.unmap_from > 0:
        slab_joins_pool(state, heap, pool, slab)
    release_slabs(state)


@kernel
def class_of_slab_lines(state: State, slab: int) -> None:
    """Touch what a change of a slab's class touches: class, owner, and the classifier's byte."""
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CLASS_NUMBER, 1)
    if state.owned == 1:
        if state.pool_swaps == 0:
            touch(state.listener, layout.POOL_LOCK, 1)
        if state.own_superslabs == 0:
            owner_lines(state, slab, 1)
    if state.shards > 0:
        touch(state.listener, layout.POOL_LOCK, 1)
    slab_lines(state, slab)
