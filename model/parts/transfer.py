"""The transfer cache: flushed batches wait for another heap's refill; docs/machine.md section 5."""

import numpy as np

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.constants import TRANSFER_IDLE
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.slab_questions import (
    batch_store,
    first_slot,
    heaps_shard_lines,
    lock_transfer,
    number_at,
    store_of,
)
from heapsmith.model.parts.store import give_batch


@kernel
def keep_batch(state: State, heap: int, cls: int, count: int) -> bool:
    """Keep the flush in `moved` as a batch if there is room; return whether it was kept.

    A cache that no refill has looked at for long is emptied instead.
    """
    if state.classes[cls]["transfer"] == 0:
        return False
    store = batch_store(state, heap, cls, count)
    if store < 0:
        return False
    lock_transfer(state, store)
    touch(state.listener, layout.IDLE + number_at(state, store), 1)
    touch(state.listener, layout.KEPT_BATCHES + number_at(state, store), 1)
    state.stores[store]["idle"] += 1
    if state.stores[store]["idle"] > TRANSFER_IDLE:
        empty_batches(state, heap, store, cls)
        return False
    held = int(state.stores[store]["batches"])
    if held == state.classes[cls]["transfer"]:
        return False
    base = first_slot(state, store) + held * count
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 1)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_IN, 1)
    for index in range(count):
        state.slots[base + index] = state.moved[index]
    state.stores[store]["batches"] = held + 1
    state.classes[cls]["transfer_in"] += count
    return True


@kernel
def empty_batches(state: State, heap: int, store: int, cls: int) -> None:
    """Give all batches to the store, the newest first, each in the order of its flush."""
    count = int(state.classes[cls]["flush_batch"])
    while state.stores[store]["batches"] > 0:
        state.stores[store]["batches"] -= 1
        state.classes[cls]["transfer_back"] += count
        base = first_slot(state, store) + int(state.stores[store]["batches"]) * count
        touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 0)
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_BACK, 1)
        give_batch(state, heap, state.slots, base, count)


@kernel
def take_batch(state: State, heap: int, cls: int) -> int:
    """Take the newest batch into `moved`, the block flushed last first; return its length or 0."""
    if state.classes[cls]["transfer"] == 0:
        return 0
    store = store_of(state, heap, cls)
    heaps_shard_lines(state, heap, 0)
    touch(state.listener, layout.IDLE + number_at(state, store), int(state.stores[store]["idle"] > 0))
    touch(state.listener, layout.KEPT_BATCHES + number_at(state, store), 0)
    state.stores[store]["idle"] = 0
    held = int(state.stores[store]["batches"])
    if held == 0:
        return 0
    count = int(state.classes[cls]["flush_batch"])
    base = first_slot(state, store) + (held - 1) * count
    lock_transfer(state, store)
    touch(state.listener, layout.KEPT_BATCHES + number_at(state, store), 1)
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 0)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_OUT, 1)
    for index in range(count):
        state.moved[count - 1 - index] = state.slots[base + index]
    state.stores[store]["batches"] = held - 1
    state.classes[cls]["transfer_out"] += count
    state.classes[cls]["refill"] += 1
    state.classes[cls]["refilled"] += count
    return count


def waiting(state: State) -> Ints:
    """Return by class how many blocks wait in batches."""
    batches = state.stores["batches"].reshape(-1, len(state.classes)).sum(axis=0)
    return np.asarray(batches * state.classes["flush_batch"])
