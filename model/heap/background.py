"""Background: a helper tops up the transfer cache; docs/machine.md section 5."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import TRANSFER_IDLE
from heapsmith.model.heap.charge import any_class
from heapsmith.model.heap.shards import NUMBER_BYTES
from heapsmith.model.heap.store import give_batch, take_blocks
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes

HELPER = -1
"""The heap that counts what the helper does: that of threads that have none."""


@kernel
def missed(state: State, cls: int) -> None:
    """Tell the helper of a miss if the class has too few batches left."""
    if state.classes[cls]["transfer"] == 0:
        return
    touch(state.listener, layout.BACKGROUND_LOW + cls * NUMBER_BYTES, 0)
    touch(state.listener, layout.KEPT_BATCHES + cls * NUMBER_BYTES, 0)
    if state.stores[cls]["batches"] >= state.classes[cls]["background_low"]:
        return
    touch(state.listener, layout.WANTED + cls * NUMBER_BYTES, int(state.classes[cls]["wanted"] == 0))
    state.classes[cls]["wanted"] = 1


@kernel
def step(state: State) -> None:
    """Do a step of the helper: top up each class that is wanted."""
    any_class(state)
    found = 0
    for cls in range(state.class_count):
        touch(state.listener, layout.WANTED + cls * NUMBER_BYTES, int(state.classes[cls]["wanted"]))
        if state.classes[cls]["wanted"] == 1:
            state.classes[cls]["wanted"] = 0
            found = 1
            top_up(state, cls)
    if found == 1:
        touch(state.listener, layout.TOTAL_STEPS, 1)
        state.background_steps += 1


@kernel
def top_up(state: State, cls: int) -> None:
    """Add batches to the transfer cache of a class until it has enough."""
    touch(state.listener, layout.POOL_LOCK, 1)
    touch(state.listener, layout.BACKGROUND_FULL + cls * NUMBER_BYTES, 0)
    touch(state.listener, layout.KEPT_BATCHES + cls * NUMBER_BYTES, 0)
    if state.stores[cls]["batches"] >= state.classes[cls]["background_full"]:
        return
    touch(state.listener, layout.IDLE + cls * NUMBER_BYTES, 0)
    if state.stores[cls]["idle"] > TRANSFER_IDLE:
        return
    while state.stores[cls]["batches"] < state.classes[cls]["background_full"]:
        if not add_batch(state, cls):
            return


@kernel
def add_batch(state: State, cls: int) -> bool:
    """Take a batch from the store, which comes out in the order of the take; False: the span is full."""
    count = int(state.classes[cls]["flush_batch"])
    taken = take_blocks(state, HELPER, cls, count)
    touch(state.listener, layout.TOTAL_TOPPED, 1)
    state.background_blocks += taken
    state.classes[cls]["topped"] += taken
    base = int(state.classes[cls]["transfer_base"]) + int(state.stores[cls]["batches"]) * count
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, taken * layout.WORD, 1)
    if taken < count:
        give_batch(state, HELPER, state.moved, 0, taken)
        return False
    for index in range(count):
        state.slots[base + index] = state.moved[count - 1 - index]
    touch(state.listener, layout.KEPT_BATCHES + cls * NUMBER_BYTES, 1)
    touch(state.listener, count_at(state, HELPER, cls) + layout.COUNT_IN, 1)
    state.stores[cls]["batches"] += 1
    state.classes[cls]["transfer_in"] += count
    return True
