"""Pools of empty slabs: which serves whom, and their links; docs/machine-rooms.md, 'empties'."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory.layout import slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.front_questions import pool_of
from heapsmith.model.parts.moments import slab_covered
from heapsmith.model.parts.slab_questions import heaps_pools, pool_link, pools_for, pools_to, vacancy_lines


@hit_path
def pool_for(state: State, heap: int, cls: int) -> int:
    """Return the place in `stores` of the pool and superslab that serve a class of the heap."""
    return int(pool_of(state, cls) + heaps_pools(state, heap) + pools_for(state, heap))


@hit_path
def pool_to(state: State, heap: int, slab: int, cls: int) -> int:
    """Return the place in `stores` of the pool to which an empty slab of the class goes."""
    return int(pool_of(state, cls) + heaps_pools(state, heap) + pools_to(state, slab))


@hit_path
def pool_link_at(state: State, slab: int) -> int:
    """Return the address of the link that holds a slab in its pool."""
    return slab_at(state, slab) + pool_link(state)


@kernel
def pool_push(state: State, heap: int, pool: int, slab: int) -> None:
    """Put an empty slab on top of a pool."""
    top = int(state.stores[pool]["retired"])
    touch(state.listener, pool_link_at(state, slab), 1)
    vacancy_lines(state, heap, pool, 0, 1)
    slab_covered(state, top, slab)
    slab_covered(state, slab, -1)
    state.slabs[slab]["next"] = top
    state.stores[pool]["retired"] = slab


@kernel
def pool_pop(state: State, pool: int, slab: int) -> None:
    """Take the top slab of a pool."""
    below = int(state.slabs[slab]["next"])
    touch(state.listener, pool_link_at(state, slab), 0)
    slab_covered(state, below, -1)
    state.stores[pool]["retired"] = below
