"""Shards: which part of the store serves a heap's class, and the lines of their locks; docs/machine.md section 5."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import heap_at, numbers_row
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch

NUMBER_BYTES = 4
"""Bytes of a class's number of batches, and of its number of idle flushes."""


@hit_path
def heaps_shard(state: State, heap: int) -> int:
    """Return the shard from which a heap takes, where records of slabs name shards."""
    if state.shard_nodes > 0:
        return int(state.home)
    return int(heap % state.shards)


@hit_path
def store_of(state: State, heap: int, cls: int) -> int:
    """Return the place in `stores` of what serves a heap's takes of a class."""
    if state.shard_records > 0:
        return int(heaps_shard(state, heap) * state.class_count + cls)
    return int(heap * state.store_step + cls)


@hit_path
def store_to(state: State, slab: int, cls: int) -> int:
    """Return the place in `stores` of what a block of the slab returns to."""
    if state.shard_records > 0:
        return int(state.slabs[slab]["shard"] * state.class_count + cls)
    return int(state.slabs[slab]["owner"] * state.store_step + cls)


@kernel
def shard_of(state: State, store: int) -> int:
    """Return the shard that a store is part of; the design has shards."""
    if state.shard_records > 0:
        return store // int(state.class_count)
    return store % int(state.shards)


@kernel
def heaps_shard_lines(state: State, heap: int, write: int) -> None:
    """Touch the number of the heap's shard, if it has one."""
    if state.shard_records > 0:
        touch(state.listener, heap_at(state, heap) + state.heap_remote - layout.WORD, write)


@kernel
def lock_store(state: State, store: int) -> None:
    """Touch the lock of a store that all heaps share."""
    if state.shards > 0:
        shard = shard_of(state, store)
        touch(state.listener, layout.POOL_LOCK + layout.LOCK_LINE * (1 + state.shards + shard), 1)
        state.stores_locked |= 1 << shard
    elif state.owned == 0:
        touch(state.listener, layout.POOL_LOCK, 1)


@kernel
def lock_transfer(state: State, store: int) -> None:
    """Touch the lock of the transfer cache."""
    if state.shards > 0:
        shard = shard_of(state, store)
        touch(state.listener, layout.POOL_LOCK + layout.LOCK_LINE * (1 + shard), 1)
        state.caches_locked |= 1 << shard
    else:
        touch(state.listener, layout.POOL_LOCK, 1)


@kernel
def number_at(state: State, store: int) -> int:
    """Return where the number of a store's class lies in a table of the transfer cache."""
    if state.shards > 0:
        cls = store % int(state.class_count)
        return (shard_of(state, store) * numbers_row(int(state.class_count)) + cls) * NUMBER_BYTES
    return store * NUMBER_BYTES


@kernel
def first_slot(state: State, store: int) -> int:
    """Return where the batches of a store begin, in `slots` and in the library's transfer cache."""
    if state.shard_records > 0:
        shard, cls = store // int(state.class_count), store % int(state.class_count)
        return int(shard * (state.transfer_slots // state.shards) + state.classes[cls]["transfer_base"])
    return int(state.classes[store]["transfer_base"])
