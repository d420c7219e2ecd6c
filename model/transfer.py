"""The transfer cache: batches that one heap flushed wait for another's refill; docs/machine.md section 5."""

from heapsmith.model.kernel import Ints, Records, kernel


@kernel
def keep_batch(classes: Records, slots: Ints, cls: int, moved: Ints, count: int) -> bool:
    """Whether the class's transfer cache has room and takes a flush's blocks, moved[0] to moved[count - 1]."""
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
def take_batch(classes: Records, slots: Ints, cls: int, moved: Ints) -> int:
    """The newest batch leaves for `moved`, the block flushed last first; the number of its blocks, 0 without any."""
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
