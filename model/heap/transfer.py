"""The transfer cache: flushed batches wait for another heap's refill; docs/machine.md section 5."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import TRANSFER_IDLE
from heapsmith.model.heap.store import give_batch
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes

NUMBER_BYTES = 4
"""Bytes of a class's number of batches, and of its number of idle flushes."""


@kernel
def keep_batch(state: State, heap: int, cls: int, count: int) -> bool:
    """Keep the flush in `moved` as a batch if there is room; return whether it was kept.

    A cache that no refill has looked at for long is emptied instead.
    """
    if state.classes[cls]["transfer"] == 0:
        return False
    touch(state.listener, layout.IDLE + cls * NUMBER_BYTES, 1)
    touch(state.listener, layout.KEPT_BATCHES + cls * NUMBER_BYTES, 1)
    state.classes[cls]["idle"] += 1
    if state.classes[cls]["idle"] > TRANSFER_IDLE:
        empty_batches(state, heap, cls)
        return False
    held = int(state.classes[cls]["batches"])
    if held == state.classes[cls]["transfer"]:
        return False
    base = int(state.classes[cls]["transfer_base"]) + held * count
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 1)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_IN, 1)
    for index in range(count):
        state.slots[base + index] = state.moved[index]
    state.classes[cls]["batches"] = held + 1
    state.classes[cls]["transfer_in"] += count
    return True


@kernel
def empty_batches(state: State, heap: int, cls: int) -> None:
    """Give all batches to the store, the newest first, each in the order of its flush."""
    count = int(state.classes[cls]["flush_batch"])
    while state.classes[cls]["batches"] > 0:
        state.classes[cls]["batches"] -= 1
        state.classes[cls]["transfer_back"] += count
        base = int(state.classes[cls]["transfer_base"]) + int(state.classes[cls]["batches"]) * count
        touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 0)
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_BACK, 1)
        give_batch(state, heap, state.slots, base, count)


@kernel
def take_batch(state: State, heap: int, cls: int) -> int:
    """Take the newest batch into `moved`, the block flushed last first; return its length or 0."""
    if state.classes[cls]["transfer"] > 0:
        touch(state.listener, layout.IDLE + cls * NUMBER_BYTES, int(state.classes[cls]["idle"] > 0))
        touch(state.listener, layout.KEPT_BATCHES + cls * NUMBER_BYTES, 0)
    state.classes[cls]["idle"] = 0
    held = int(state.classes[cls]["batches"])
    if held == 0:
        return 0
    count = int(state.classes[cls]["flush_batch"])
    base = int(state.classes[cls]["transfer_base"]) + (held - 1) * count
    touch(state.listener, layout.POOL_LOCK, 1)
    touch(state.listener, layout.KEPT_BATCHES + cls * NUMBER_BYTES, 1)
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 0)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_OUT, 1)
    for index in range(count):
        state.moved[count - 1 - index] = state.slots[base + index]
    state.classes[cls]["batches"] = held - 1
    state.classes[cls]["transfer_out"] += count
    state.classes[cls]["refill"] += 1
    state.classes[cls]["refilled"] += count
    return count
