"""The transfer cache: batches that one heap flushed wait for another's refill; docs/machine.md section 5."""

from heapsmith.model.compile.kernel import Ints, Records, kernel
from heapsmith.model.constants import TRANSFER_IDLE
from heapsmith.model.heap.store import give_batch
from heapsmith.model.memory.layout import (
    BATCHES,
    COUNT_BACK,
    COUNT_IN,
    COUNT_OUT,
    IDLE,
    POOL_LOCK,
    TRANSFERRED,
    WORD,
    count_at,
)
from heapsmith.model.memory.touches import touch, touch_bytes

NUMBER_BYTES = 4
"""Of a class's batches and idle flushes."""


@kernel
def keep_batch(
    touched: Ints, machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, slots: Ints,
    heap: int, cls: int, moved: Ints, count: int,
) -> bool:  # fmt: skip
    """Whether the class's transfer cache takes a flush's blocks, moved[0] to moved[count - 1]: it has room and is in
    use. One that no refill has looked at for long is emptied."""
    if classes[cls]["transfer"] == 0:
        return False
    touch(touched, IDLE + cls * NUMBER_BYTES, 1)
    touch(touched, BATCHES + cls * NUMBER_BYTES, 1)
    classes[cls]["idle"] += 1
    if classes[cls]["idle"] > TRANSFER_IDLE:
        empty_batches(touched, machine, classes, stores, slabs, marks, slots, heap, cls)
        return False
    held = int(classes[cls]["batches"])
    if held == classes[cls]["transfer"]:
        return False
    base = int(classes[cls]["transfer_base"]) + held * count
    touch_bytes(touched, TRANSFERRED + base * WORD, count * WORD, 1)
    touch(touched, count_at(machine, heap, cls) + COUNT_IN, 1)
    for index in range(count):
        slots[base + index] = moved[index]
    classes[cls]["batches"] = held + 1
    classes[cls]["transfer_in"] += count
    return True


@kernel
def empty_batches(
    touched: Ints, machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, slots: Ints,
    heap: int, cls: int,
) -> None:  # fmt: skip
    """All batches go to the store, the newest first, each in the order of its flush."""
    count = int(classes[cls]["flush_batch"])
    while classes[cls]["batches"] > 0:
        classes[cls]["batches"] -= 1
        classes[cls]["transfer_back"] += count
        base = int(classes[cls]["transfer_base"]) + int(classes[cls]["batches"]) * count
        touch_bytes(touched, TRANSFERRED + base * WORD, count * WORD, 0)
        touch(touched, count_at(machine, heap, cls) + COUNT_BACK, 1)
        give_batch(touched, machine, classes, stores, slabs, marks, heap, slots, base, count)


@kernel
def take_batch(touched: Ints, machine: Records, classes: Records, slots: Ints, heap: int, cls: int, moved: Ints) -> int:
    """The newest batch leaves for `moved`, the block flushed last first; the number of its blocks, 0 without any."""
    if classes[cls]["transfer"] > 0:
        touch(touched, IDLE + cls * NUMBER_BYTES, int(classes[cls]["idle"] > 0))
        touch(touched, BATCHES + cls * NUMBER_BYTES, 0)
    classes[cls]["idle"] = 0
    held = int(classes[cls]["batches"])
    if held == 0:
        return 0
    count = int(classes[cls]["flush_batch"])
    base = int(classes[cls]["transfer_base"]) + (held - 1) * count
    touch(touched, POOL_LOCK, 1)
    touch(touched, BATCHES + cls * NUMBER_BYTES, 1)
    touch_bytes(touched, TRANSFERRED + base * WORD, count * WORD, 0)
    touch(touched, count_at(machine, heap, cls) + COUNT_OUT, 1)
    for index in range(count):
        moved[count - 1 - index] = slots[base + index]
    classes[cls]["batches"] = held - 1
    classes[cls]["transfer_out"] += count
    classes[cls]["refill"] += 1
    classes[cls]["refilled"] += count
    return count
