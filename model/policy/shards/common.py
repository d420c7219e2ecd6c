"""What all shards have in common: which of them serves a heap, their stores, their locks and their charges."""

from collections.abc import Iterator
from typing import Any

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NUMBER_BYTES, heap_at, numbers_row
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.locks import lock_pool, uncounted
from heapsmith.model.parts.slab_questions import owner_lines

STATE = {"scalars": {"home": 0, "binds": 0, "stores_locked": 0, "caches_locked": 0, "shard_held": -1}}
"""home: the shard of the node of the event under way; binds: 1, there are nodes to which superslabs are bound; shards
whose locks the event took, a bit each; shard_held: whose lock a give holds, -1: it is yet to take one.
"""


@hit_path
def heaps_shard(state: State, heap: int) -> int:
    """Return the shard from which a heap takes, where records of slabs name shards."""
    if state.shard_nodes > 0:
        return int(state.home)
    return int(heap % state.shards)


@hit_path
def store_of(state: State, heap: int, cls: int) -> int:
    """Return the class's store in the heap's shard, where slabs have shards; else the class has one store."""
    return heaps_shard(state, heap) * int(state.class_count) + cls if state.shard_records > 0 else cls


@hit_path
def store_to(state: State, slab: int, cls: int) -> int:
    """Return the class's store in the slab's shard, where slabs have shards; else the class has one store."""
    return int(state.slabs[slab]["shard"] * state.class_count + cls) if state.shard_records > 0 else cls


@kernel
def shard_of(state: State, store: int) -> int:
    """Return the shard that a store is part of."""
    if state.shard_records > 0:
        return store // int(state.class_count)
    return store % int(state.shards)


@hit_path
def heaps_shard_lines(state: State, heap: int, write: int) -> None:
    """Touch the number of the heap's shard, if it has one."""
    if state.shard_records > 0:
        touch(state.listener, heap_at(state, heap) + state.shards_at, write)


@kernel
def heap_made(state: State, heap: int) -> None:
    """Write the number of the heap's shard."""
    heaps_shard_lines(state, heap, 1)


@kernel
def lock_store(state: State, store: int) -> None:
    """Take the lock of the store's shard."""
    shard = shard_of(state, store)
    touch(state.listener, layout.POOL_LOCK + layout.LOCK_LINE * (1 + state.shards + shard), 1)
    state.stores_locked |= 1 << shard
    state.new_locks += 1


@hit_path
def lock_to(state: State, store: int, slab: int) -> None:
    """Take the lock of a slab's shard: each block may have another than the one before."""
    if state.shard_records > 0:
        owner_lines(state, slab, 0)
        lock_other(state, store)


@kernel
def lock_other(state: State, store: int) -> None:
    """Take the lock of the store's shard in place of another's."""
    if state.shard_held != shard_of(state, store):
        state.shard_held = shard_of(state, store)
        lock_store(state, store)
        state.locks_give += uncounted(state)


@kernel
def lock_batch(state: State, cls: int) -> None:
    """Take the lock of a class's shard, if its blocks all have one."""
    state.shard_held = -1
    if state.shard_records == 0:
        lock_store(state, cls)
        state.locks_give += uncounted(state)


@kernel
def lock_whole(state: State) -> None:
    """Take no lock: no store is that of all heaps and classes."""


@kernel
def lock_transfer(state: State, store: int) -> None:
    """Take the lock of the shard's transfer cache."""
    shard = shard_of(state, store)
    touch(state.listener, layout.POOL_LOCK + layout.LOCK_LINE * (1 + shard), 1)
    state.caches_locked |= 1 << shard
    state.new_locks += 1


@kernel
def batch_store(state: State, heap: int, cls: int, count: int) -> int:
    """Return the store that serves the heap."""
    heaps_shard_lines(state, heap, 0)
    return store_of(state, heap, cls)


@kernel
def number_at(state: State, store: int) -> int:
    """Return where the number lies: each shard's are on lines of their own."""
    shards = 1 if state.shard_records > 0 else int(state.shards)
    place = store % int(state.class_count) // shards
    return (shard_of(state, store) * numbers_row(-(-int(state.class_count) // shards)) + place) * NUMBER_BYTES


@kernel
def copy_of(state: State, store: int) -> int:
    """Return which transfer cache is the store's: that of its shard, where slabs have shards."""
    return store // int(state.class_count) if state.shard_records > 0 else 0


@kernel
def locks_slab(state: State) -> None:
    """Take the pool lock."""
    lock_pool(state)


@kernel
def slab_acquired(state: State, heap: int, cls: int, slab: int) -> None:
    """Note the slab's shard, if slabs have shards."""
    if state.shard_records > 0:
        heaps_shard_lines(state, heap, 0)
        owner_lines(state, slab, 1)
        state.slabs[slab]["shard"] = heaps_shard(state, heap)


@kernel
def event_charged(state: State, event: int) -> None:
    """Write how much of an event's price falls due under locks of shards, with the library's misses."""
    store = int(state.charged_store) if state.stores_locked != 0 else 0
    cache = int(state.charged_cache) if state.caches_locked != 0 else 0
    if store > 0:
        store += int(state.charged_missed)
        state.charged_missed = 0
    elif cache > 0:
        cache += int(state.charged_missed)
        state.charged_missed = 0
    rest = max(0, int(state.charged) - max(0, int(state.charged_pool)))
    store = max(0, min(store, rest))
    state.charges[event]["store"] = store
    state.charges[event]["cache"] = max(0, min(cache, rest - store))
    state.charges[event]["stores"] = state.stores_locked
    state.charges[event]["caches"] = state.caches_locked
    state.charged_store = state.charged_cache = state.stores_locked = state.caches_locked = 0


def copies(plan: Any) -> int:
    """Return how many stores each class has: one of each shard where slabs have shards."""
    return int(plan.numbers["shards"]) if "shard_records" in plan.numbers else 1


def store_place(plan: Any, copy: Ints, cls: Ints) -> Ints:
    """Return where stores lie, in stores from the first shard's: each shard's are on lines of their own."""
    shards = int(plan.numbers["shards"])
    divided = 1 if copies(plan) > 1 else shards
    of_line = layout.LOCK_LINE // layout.STORE_BYTES
    row = -(-len(plan.classes) // divided // of_line) * of_line
    return (copy if copies(plan) > 1 else cls % shards) * row + cls // divided


def work(plan: Any, simulation: Any, misses: int, unkept: int) -> Iterator[tuple[str, int]]:
    """Yield what shards cost: misses, which look for the shard, and batches and slabs that take its lock."""
    of = simulation.counters.classes
    yield "refill.shard", misses
    yield "shard.lock", unkept + sum(of["acquire"]) + sum(of["retire"])


def count(plan: Any) -> int:
    """Return how many shards there are, each with locks of its own."""
    return int(plan.numbers["shards"])
