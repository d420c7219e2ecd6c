"""The transfer cache: batches that one heap flushed wait for another's refill; docs/machine.md section 5."""

from heapsmith.model.design import TRANSFER_IDLE
from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.store import give, tally_given


@kernel
def keep_batch(
    machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, slots: Ints, cls: int,
    moved: Ints, count: int,
) -> bool:  # fmt: skip
    """Whether the class's transfer cache takes a flush's blocks, moved[0] to moved[count - 1]: it has room and is in
    use. One that no refill has looked at for long is emptied."""
    if classes[cls]["transfer"] == 0:
        return False
    classes[cls]["idle"] += 1
    if classes[cls]["idle"] > TRANSFER_IDLE:
        empty_batches(machine, classes, stores, slabs, marks, slots, cls)
        return False
    held = int(classes[cls]["batches"])
    if held == classes[cls]["transfer"]:
        return False
    base = int(classes[cls]["transfer_base"]) + held * count
    for index in range(count):
        slots[base + index] = moved[index]
    classes[cls]["batches"] = held + 1
    classes[cls]["transfer_in"] += count
    return True


@kernel
def empty_batches(
    machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, slots: Ints, cls: int
) -> None:
    """All batches go to the store, the newest first, each in the order of its flush."""
    count = int(classes[cls]["flush_batch"])
    while classes[cls]["batches"] > 0:
        classes[cls]["batches"] -= 1
        classes[cls]["transfer_back"] += count
        base = int(classes[cls]["transfer_base"]) + int(classes[cls]["batches"]) * count
        tally_given(machine, classes, slots, base, count)
        for index in range(count):
            give(machine, classes, stores, slabs, marks, int(slots[base + index]))


@kernel
def take_batch(classes: Records, slots: Ints, cls: int, moved: Ints) -> int:
    """The newest batch leaves for `moved`, the block flushed last first; the number of its blocks, 0 without any."""
    classes[cls]["idle"] = 0
    held = int(classes[cls]["batches"])
    if held == 0:
        return 0
    count = int(classes[cls]["flush_batch"])
    base = int(classes[cls]["transfer_base"]) + (held - 1) * count
    for index in range(count):
        moved[count - 1 - index] = slots[base + index]
    classes[cls]["batches"] = held - 1
    classes[cls]["transfer_out"] += count
    classes[cls]["refill"] += 1
    classes[cls]["refilled"] += count
    return count
