"""A level 0 that is a ring of pointers: what several fronts do with it. The oldest block comes out first."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import FULL, SELF, FrontCode, Function, Hit, total
from heapsmith.model.policy.front.common import slots_lines


def ring_code(refill: str, full: str, drain: str, lend: str) -> FrontCode:
    """Return the code of a front whose level 0 is a ring: the names of its slow paths."""
    calls = frozenset({"count_checked", "word_set"})
    return FrontCode(
        # Reads held, head and the slot; writes held and head.
        Function(refill, FULL, calls, total(SELF, Hit(3, 2, 1))),
        # Reads held and head; writes slot and held. A ring of capacity 1 has its head at 0.
        Function(full, FULL, calls, total(SELF, Hit(2, 2, 1)), total(SELF, Hit(1, 2, 1))),
        drain,
        has_slots=True,
        lend=lend,
    )


def ring_capacity(blocks: int) -> int:
    """Return the largest power of two up to `blocks`: an index mask."""
    return 1 << (blocks.bit_length() - 1)


@kernel
def pop(state: State, front: int, cls: int) -> int:
    """Take the oldest block, or NO_BLOCK."""
    held = int(state.fronts[front]["held"])
    if held == 0:
        return NO_BLOCK
    head = int(state.fronts[front]["head"])
    state.fronts[front]["held"] = held - 1
    state.fronts[front]["head"] = (head + 1) & (int(state.classes[cls]["capacity"]) - 1)
    return int(state.slots[int(state.fronts[front]["base"]) + head])


@kernel
def append(state: State, front: int, cls: int, block: int) -> None:
    """Put `block` at the end of a ring that has room."""
    held = int(state.fronts[front]["held"])
    tail = (int(state.fronts[front]["head"]) + held) & (int(state.classes[cls]["capacity"]) - 1)
    state.slots[int(state.fronts[front]["base"]) + tail] = block
    state.fronts[front]["held"] = held + 1


@kernel
def fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1] into an empty ring, each at the place of its index."""
    state.fronts[front]["head"] = first & (int(state.classes[cls]["capacity"]) - 1)
    for index in range(first, count):
        append(state, front, cls, int(state.moved[index]))


@kernel
def pop_oldest(state: State, front: int, cls: int, count: int, at: int) -> int:
    """Move the oldest `count` blocks to moved[at] on, oldest first; return the end of `moved`."""
    for index in range(count):
        state.moved[at + index] = pop(state, front, cls)
    return at + count


@kernel
def pop_lines(state: State, front: int, cls: int) -> None:
    """Touch what an allocation touches: the front's record, and the slot of the oldest block."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    if state.fronts[front]["held"] > 0:
        touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * int(state.fronts[front]["head"]), 0)


@kernel
def look_lines(state: State, front: int, cls: int) -> None:
    """Touch what another look touches: its code reads mask and slots from the class's row."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_HELD, 0)
    if state.fronts[front]["held"] > 0:
        pop_lines(state, front, cls)
        touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)


@kernel
def put_lines(state: State, front: int, cls: int) -> None:
    """Touch what a free into a ring touches: the record and a slot."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    last = int(state.classes[cls]["capacity"]) - 1
    behind = int(state.fronts[front]["head"]) + int(state.fronts[front]["held"])
    touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * (behind & last), 1)


@kernel
def oldest_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch the slots of the oldest `count` blocks."""
    last = int(state.classes[cls]["capacity"]) - 1
    for index in range(count):
        place = (int(state.fronts[front]["head"]) + index) & last
        touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * place, 0)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill touches."""
    touch(state.listener, int(state.fronts[front]["front_at"]), 1)
    slots_lines(state, front, cls, count, layout.CLASS_REFILL)
