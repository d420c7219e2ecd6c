"""Pools of empty slabs: which serves whom, and their links; docs/machine.md section 6."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.heap.shards import heaps_shard
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import heap_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.empties import pool_of


@hit_path
def pool_for(state: State, heap: int, cls: int) -> int:
    """Return the place in `stores` of the pool and superslab that serve a class of the heap."""
    pool = pool_of(state, cls)
    if state.own_superslabs > 0:
        pool += heap * state.class_count
    if state.shard_nodes > 0:
        pool += heaps_shard(state, heap) * state.class_count
    return int(pool)


@hit_path
def pool_to(state: State, heap: int, slab: int, cls: int) -> int:
    """Return the place in `stores` of the pool to which an empty slab of the class goes."""
    if state.shard_nodes > 0:
        return int(pool_of(state, cls) + state.slabs[slab]["shard"] * state.class_count)
    return pool_for(state, heap, cls)


@kernel
def vacancy_lines(state: State, heap: int, pool: int, at: int, write: int) -> None:
    """Touch the pool or the superslab of a heap that has its own; one for all heaps is a variable."""
    if state.own_superslabs > 0:
        first = heap_at(state, heap) + state.heap_front + layout.FRONT_BYTES * state.class_count
        place = pool - heap * state.class_count
        touch(state.listener, first + layout.VACANCY_BYTES * place + at, write)


@hit_path
def pool_link_at(state: State, slab: int) -> int:
    """Return the address of the link that holds a slab in its pool."""
    return slab_at(state, slab) + (layout.SLAB_OLDER if state.pool_swaps > 0 else layout.SLAB_NEXT)


@kernel
def pool_push(state: State, heap: int, pool: int, slab: int) -> None:
    """Put an empty slab on top of a pool."""
    top = int(state.stores[pool]["retired"])
    touch(state.listener, pool_link_at(state, slab), 1)
    vacancy_lines(state, heap, pool, 0, 1)
    if state.unmap_from > 0:
        pool_covers(state, top, slab)
        pool_covers(state, slab, -1)
    state.slabs[slab]["next"] = top
    state.stores[pool]["retired"] = slab


@kernel
def pool_pop(state: State, pool: int, slab: int) -> None:
    """Take the top slab of a pool."""
    below = int(state.slabs[slab]["next"])
    touch(state.listener, pool_link_at(state, slab), 0)
    if state.unmap_from > 0:
        pool_covers(state, below, -1)
    state.stores[pool]["retired"] = below


@kernel
def pool_covers(state: State, slab: int, above: int) -> None:
    """Write what lies above a slab of a pool; `slab` may be -1. In the library this is slab choice's field."""
    if slab >= 0:
        touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 1)
        state.slabs[slab]["previous"] = above


@kernel
def pool_remove(state: State, heap: int, pool: int, slab: int) -> None:
    """Take a slab out of its pool, wherever it lies there."""
    above, below = int(state.slabs[slab]["previous"]), int(state.slabs[slab]["next"])
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 0)
    touch(state.listener, slab_at(state, slab) + layout.SLAB_NEXT, 0)
    if above >= 0:
        touch(state.listener, slab_at(state, above) + layout.SLAB_NEXT, 1)
        state.slabs[above]["next"] = below
    else:
        vacancy_lines(state, heap, pool, 0, 1)
        state.stores[pool]["retired"] = below
    pool_covers(state, below, above)
