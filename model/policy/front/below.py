"""The levels of a front below level 0: array stacks, rings and lists; blocks go down where one is full, up on a miss.

The numbers of a level are in `levels`, its blocks in `slots`. The front's record counts the blocks of all of them
(`listed`). That is all where the only one is a list; else each has two slots before its first block: how many it
holds, and the place of a ring's oldest or the next block of a bump's stretch, which has no other slots.
Kernels that move blocks between more levels than one touch their lines themselves, since what a move touches depends
on the move before it: those of designs with a table of levels (`levels_table`).
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import block_at, class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.levels import APART, AT, BUMP, CAPACITY, DEEPEST, KIND, LEVEL_NUMBERS, OUT, RING, STACK, UP
from heapsmith.model.policy.front.common import links_lines, list_lines, overflow_lines


@kernel
def number(state: State, cls: int, depth: int, which: int) -> int:
    """Return a number of level `depth` of a class."""
    return int(state.levels[(cls * DEEPEST + depth - 1) * LEVEL_NUMBERS + which])


@kernel
def first_place(state: State, front: int, cls: int, depth: int) -> int:
    """Return where a level's first block lies in `slots`."""
    return int(state.fronts[front]["base"]) + number(state, cls, depth, AT)


@kernel
def held_below(state: State, front: int, cls: int, depth: int) -> int:
    """Return how many blocks a level holds."""
    if number(state, cls, depth, APART) == 0:
        return int(state.fronts[front]["listed"])
    return int(state.slots[first_place(state, front, cls, depth) - 2])


@kernel
def hold_below(state: State, front: int, cls: int, depth: int, held: int) -> None:
    """Set the number of blocks that a level holds."""
    state.fronts[front]["listed"] += held - held_below(state, front, cls, depth)
    if number(state, cls, depth, APART) > 0:
        state.slots[first_place(state, front, cls, depth) - 2] = held


@kernel
def pop_below(state: State, front: int, cls: int, depth: int) -> int:
    """Take the block that comes up next from a level that is not empty: a ring's oldest, else the newest."""
    place, held = first_place(state, front, cls, depth), held_below(state, front, cls, depth) - 1
    at = held
    if number(state, cls, depth, KIND) == RING:
        at = int(state.slots[place - 1])
        state.slots[place - 1] = (at + 1) & (number(state, cls, depth, CAPACITY) - 1)
    hold_below(state, front, cls, depth, held)
    if number(state, cls, depth, KIND) == BUMP:
        block = int(state.slots[place - 1])
        state.slots[place - 1] = block + (1 << layout.INDEX_SHIFT)
        place_lines(state, front, cls, depth, at, block)
        return block
    block = int(state.slots[place + at])
    place_lines(state, front, cls, depth, at, block)
    return block


@kernel
def push_below(state: State, front: int, cls: int, depth: int, block: int) -> None:
    """Let `block` become the newest of a level that has room."""
    place, held = first_place(state, front, cls, depth), held_below(state, front, cls, depth)
    at = held
    if number(state, cls, depth, KIND) == RING:
        at = (int(state.slots[place - 1]) + held) & (number(state, cls, depth, CAPACITY) - 1)
    state.slots[place + at] = block
    hold_below(state, front, cls, depth, held + 1)
    place_lines(state, front, cls, depth, at, block)


@kernel
def leave_below(state: State, front: int, cls: int, depth: int, count: int, at: int) -> None:
    """Move the `count` blocks that make room in a level to moved[at] on: a list's newest, else the oldest."""
    if number(state, cls, depth, KIND) == STACK:
        place, held = first_place(state, front, cls, depth), held_below(state, front, cls, depth)
        for index in range(count):
            state.moved[at + index] = state.slots[place + index]
            place_lines(state, front, cls, depth, index, 0)
        for index in range(count, held):
            state.slots[place + index - count] = state.slots[place + index]
            place_lines(state, front, cls, depth, index, 0)
        hold_below(state, front, cls, depth, held - count)
    else:
        for index in range(count):
            state.moved[at + index] = pop_below(state, front, cls, depth)


@kernel
def fill_below(state: State, front: int, cls: int, depth: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1] into an empty level; they come up in this order."""
    if number(state, cls, depth, KIND) == RING:
        state.slots[first_place(state, front, cls, depth) - 1] = 0
        for index in range(first, count):
            push_below(state, front, cls, depth, int(state.moved[index]))
    else:
        for index in range(count - 1, first - 1, -1):
            push_below(state, front, cls, depth, int(state.moved[index]))


@kernel
def supply(state: State, heap_counts: int, front: int, cls: int) -> int:
    """Let the first level with blocks hand some up, as far as level 1; return the number of blocks there, and count it.

    heap_counts: where the heap counts what happens to the class.
    """
    last, depth = int(state.classes[cls]["below"]), 1
    look_below_lines(state, front, cls, 1)
    while depth < last and held_below(state, front, cls, depth) == 0:
        depth += 1
        look_below_lines(state, front, cls, depth)
    if held_below(state, front, cls, depth) == 0:
        return 0
    state.classes[cls]["hit1"] += 1
    if state.levels_table > 0:
        touch(state.listener, heap_counts + layout.COUNT_HIT1, 1)
    if depth == 2:
        state.hit2 += 1
        touch(state.listener, layout.TOTAL_HIT2, 1)
    if depth == 3:
        state.hit3 += 1
        touch(state.listener, layout.TOTAL_HIT3, 1)
    return hand_up(state, front, cls, depth)


@kernel
def hand_up(state: State, front: int, cls: int, depth: int) -> int:
    """Let a level hand some of its blocks up, as far as level 1; return the number of blocks there."""
    while depth > 1:
        count = min(number(state, cls, depth, UP), held_below(state, front, cls, depth))
        for index in range(count):
            state.moved[index] = pop_below(state, front, cls, depth)
        depth -= 1
        fill_below(state, front, cls, depth, 0, count)
    return held_below(state, front, cls, 1)


@kernel
def promoted(state: State, front: int, cls: int) -> int:
    """Move the batch of a promotion from level 1 to `moved`, in the order in which it comes up; return its length."""
    heap = front // state.class_count
    return to_level_0(state, front, cls, supply(state, count_at(state, heap, cls), front, cls))


@kernel
def to_level_0(state: State, front: int, cls: int, held: int) -> int:
    """Move the batch of a promotion from level 1, which has `held` blocks, to `moved`; return its length."""
    batch = min(held, int(state.classes[cls]["promote_batch"]))
    for index in range(batch):
        state.moved[index] = pop_below(state, front, cls, 1)
    return batch


@kernel
def stretch_promoted(state: State, front: int, cls: int, count: int) -> int:
    """Let the last level have the stretch in `moved`, and promote from there, to `moved`; return their number."""
    last = int(state.classes[cls]["below"])
    state.stretched = 0
    look_below_lines(state, front, cls, last)
    state.slots[first_place(state, front, cls, last) - 1] = state.moved[0]
    hold_below(state, front, cls, last, count)
    return to_level_0(state, front, cls, hand_up(state, front, cls, last))


@kernel
def takers(state: State, cls: int) -> int:
    """Return how many levels below level 0 take freed blocks: all but a bump, which is the last."""
    return int(state.classes[cls]["below"]) - int(state.classes[cls]["stretch_depth"] > 0)


@kernel
def make_room(state: State, front: int, cls: int) -> int:
    """Let blocks leave level 1, and levels below it, where a spill would not fit; return how many are flushed.

    The last level's go to `moved`.
    """
    counts = count_at(state, front // state.class_count, cls)
    last, depth, more, flushed = takers(state, cls), 1, int(state.classes[cls]["spill_batch"]), 0
    if last == 0:
        return 0
    look_below_lines(state, front, cls, 1)
    while depth <= last and held_below(state, front, cls, depth) + more > number(state, cls, depth, CAPACITY):
        more = min(number(state, cls, depth, OUT), held_below(state, front, cls, depth))
        depth += 1
        if depth <= last:
            look_below_lines(state, front, cls, depth)
    if depth > last:
        depth, flushed = last, more
        leave_below(state, front, cls, last, flushed, 0)
        state.classes[cls]["flush"] += 1
        state.classes[cls]["flushed"] += flushed
        if state.levels_table > 0:
            touch(state.listener, counts + layout.COUNT_FLUSH, 1)
            touch(state.listener, counts + layout.COUNT_FLUSH + layout.WORD, 1)
    while depth > 1:
        depth -= 1
        count = min(number(state, cls, depth, OUT), held_below(state, front, cls, depth))
        leave_below(state, front, cls, depth, count, flushed)
        for index in range(count):
            push_below(state, front, cls, depth + 1, int(state.moved[flushed + index]))
        state.classes[cls]["spill"] += 1
        touch(state.listener, counts + layout.COUNT_SPILL, 1)
    return flushed


@kernel
def spill_below(state: State, front: int, cls: int, first: int, end: int) -> int:
    """Push moved[first] to moved[end - 1] on level 1, which has room, and count a spill; return how many are flushed.

    Where no level below takes them they are flushed themselves.
    """
    if takers(state, cls) == 0:
        state.classes[cls]["flush"] += 1
        state.classes[cls]["flushed"] += end
        return end
    for index in range(first, end):
        push_below(state, front, cls, 1, int(state.moved[index]))
    state.classes[cls]["spill"] += 1
    return first


@kernel
def drain_below(state: State, front: int, cls: int, at: int) -> int:
    """Move all blocks below level 0 to moved[at] on, in drain order; return the end of `moved`."""
    end = at
    for depth in range(1, int(state.classes[cls]["below"]) + 1):
        look_below_lines(state, front, cls, depth)
        count = held_below(state, front, cls, depth)
        leave_below(state, front, cls, depth, count, end)
        end += count
    return end


# What designs with a table of levels touch.


@kernel
def look_below_lines(state: State, front: int, cls: int, depth: int) -> None:
    """Touch the numbers of a class's levels, and the count of one."""
    if state.levels_table > 0:
        touch(state.listener, layout.BELOW + cls * layout.BELOW_BYTES, 0)
        if number(state, cls, depth, APART) == 0:
            touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 1)
        else:
            touch(state.listener, slot_at(state, front, cls, depth, -2), 1)


@kernel
def place_lines(state: State, front: int, cls: int, depth: int, at: int, block: int) -> None:
    """Touch what a block touches that comes to a level or leaves it: the head and the block of a list, else a slot."""
    if state.levels_table > 0:
        touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 1)
        if number(state, cls, depth, KIND) == STACK or number(state, cls, depth, KIND) == RING:
            touch(state.listener, slot_at(state, front, cls, depth, -2), 1)
            touch(state.listener, slot_at(state, front, cls, depth, at), 1)
        else:
            if number(state, cls, depth, APART) == 0:
                list_lines(state, front, layout.FRONT_LISTED)
            else:
                touch_bytes(state.listener, slot_at(state, front, cls, depth, -2), 2 * layout.WORD, 1)
            if number(state, cls, depth, KIND) == BUMP:
                touch(state.listener, class_at(cls) + layout.CLASS_STRIDE, 0)
            else:
                touch(state.listener, block_at(state, block), 1)


@kernel
def slot_at(state: State, front: int, cls: int, depth: int, index: int) -> int:
    """Return the address of a slot, counted from a level's first."""
    return int(state.fronts[front]["slots_at"]) + layout.WORD * (number(state, cls, depth, AT) + index)


# What designs without it touch: level 1 is the list of the front's record. From the state before the operation.


@kernel
def newest_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch the links of the newest `count` blocks of level 1."""
    newest = first_place(state, front, cls, 1) + int(state.fronts[front]["listed"]) - count
    links_lines(state, state.slots, newest, count, 0)


@kernel
def promoted_lines(state: State, heap: int, front: int, cls: int) -> int:
    """Touch what a promotion touches of level 1, and its counter; return how many blocks move."""
    if state.levels_table > 0:
        return 0
    listed = int(state.fronts[front]["listed"])
    batch = min(int(state.classes[cls]["promote_batch"]), listed)
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 0)
    if batch > 0:
        list_lines(state, front, layout.FRONT_LISTED)
        newest_lines(state, front, cls, batch)
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT1, 1)
    return batch


@kernel
def drain_below_lines(state: State, front: int, cls: int) -> None:
    """Touch what the drain of level 1 touches."""
    if state.levels_table == 0:
        listed = int(state.fronts[front]["listed"])
        touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_LISTED, 1)
        if listed > 0:
            list_lines(state, front, layout.FRONT_LISTED)
        newest_lines(state, front, cls, listed)


@kernel
def spill_overflow_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch the counters of a spill, and of a flush if level 1 has no room for the spill."""
    if takers(state, cls) == 0:
        overflow_lines(state, heap, front, cls)
        return
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_SPILL, 1)
    if state.levels_table == 0:
        spill = int(state.classes[cls]["spill_batch"])
        if state.fronts[front]["listed"] + spill > state.classes[cls]["list_capacity"]:
            overflow_lines(state, heap, front, cls)


@kernel
def room_lines(state: State, front: int, cls: int) -> None:
    """Touch what a spill touches of level 1: its record, and the links that a flush reads."""
    if state.levels_table == 0:
        listed = int(state.fronts[front]["listed"])
        touch(state.listener, class_at(cls) + layout.CLASS_LIST_CAPACITY, 0)
        list_lines(state, front, layout.FRONT_LISTED)
        if listed + int(state.classes[cls]["spill_batch"]) > state.classes[cls]["list_capacity"]:
            touch(state.listener, class_at(cls) + layout.CLASS_FLUSH, 0)
            newest_lines(state, front, cls, min(int(state.classes[cls]["flush_batch"]), listed))


@kernel
def fill_slots_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill of a level 1 that is an array touches: its slots, and numbers of the class."""
    touch(state.listener, class_at(cls) + layout.CLASS_REFILL, 0)
    touch_bytes(state.listener, slot_at(state, front, cls, 1, 0), layout.WORD * count, 1)
