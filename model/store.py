"""The store: slabs with free blocks, empty slabs, superslabs; docs/machine.md sections 5 and 6.

A block is named by one integer, its handle: slab << 26 | index << 8 | class; slabs are numbered in order of creation.
Bitmaps keep 32 marks in each int64, so that plain Python and compiled code agree without unsigned arithmetic.
"""

import numpy as np

from heapsmith.model.age import join, leave
from heapsmith.model.design import PAGE
from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.dispatch import (
    ARRAY_STACK,
    choice_add,
    choice_attach,
    choice_gives,
    choice_lets_go,
    choice_remove,
    pool_of,
    release_goes,
    release_grown,
    superslab_place,
)

CLASS_MASK = 255
INDEX_SHIFT = 8
INDEX_MASK = (1 << 18) - 1
SLAB_SHIFT = 26
WORD_SHIFT = 5
WORD_MASK = 31
DE_BRUIJN = 0x077CB531
"""A de Bruijn sequence: Leiserson, Prokop, Randall: "Using de Bruijn sequences to index a 1 in a word", 1998."""

LOWEST_BIT = np.zeros(32, np.int64)
for _bit in range(32):
    LOWEST_BIT[((1 << _bit) * DE_BRUIJN & 0xFFFFFFFF) >> 27] = _bit


@kernel
def take(
    machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, heap: int, cls: int, moved: Ints
) -> int:
    """take(refill) of the heap's store into `moved`; the number of blocks taken, fewer if the span is full."""
    store = heap * int(machine[0]["store_step"]) + cls
    choice = int(machine[0]["choice_code"])
    want = int(classes[cls]["refill_batch"])
    left = want
    while left > 0:
        slab = choice_gives(choice, stores, slabs, store)
        if slab < 0:
            slab = acquire(machine, classes, slabs, marks, heap, cls)
            if slab < 0:
                break
            choice_attach(choice, stores, slabs, store, slab)
        machine[0]["visits"] += 1
        left -= take_freed(machine, classes, slabs, marks, slab, cls, moved, want - left, left)
        left -= take_fresh(machine, classes, slabs, slab, cls, moved, want - left, left)
        if slabs[slab]["freed"] == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
            choice_remove(choice, stores, slabs, store, slab)
            machine[0]["slab_removes"] += 1
    classes[cls]["refill"] += 1
    classes[cls]["refilled"] += want - left
    return want - left


@kernel
def take_freed(
    machine: Records,
    classes: Records,
    slabs: Records,
    marks: Ints,
    slab: int,
    cls: int,
    moved: Ints,
    at: int,
    want: int,
) -> int:
    """Up to `want` freed blocks of the slab, lowest index first, from moved[at] on; their number."""
    count = min(want, int(slabs[slab]["freed"]))
    if count == 0:
        return 0
    base = slab * int(machine[0]["slab_words"])
    word = int(slabs[slab]["low"])
    for number in range(count):
        while marks[base + word] == 0:
            word += 1
        bits = int(marks[base + word])
        lowest = bits & -bits
        marks[base + word] = bits - lowest
        index = (word << WORD_SHIFT) + int(LOWEST_BIT[(lowest * DE_BRUIJN & 0xFFFFFFFF) >> 27])
        moved[at + number] = (slab << SLAB_SHIFT) | (index << INDEX_SHIFT) | cls
    machine[0]["words"] += (word >> 1) + 1
    slabs[slab]["low"] = word
    slabs[slab]["freed"] -= count
    slabs[slab]["out"] += count
    classes[cls]["reuse"] += count
    return count


@kernel
def take_fresh(
    machine: Records, classes: Records, slabs: Records, slab: int, cls: int, moved: Ints, at: int, want: int
) -> int:
    """Up to `want` blocks of the slab that were never out, in order, from moved[at] on; their number."""
    carved = int(slabs[slab]["carved"])
    count = min(want, int(classes[cls]["blocks"]) - carved)
    if count == 0:
        return 0
    for number in range(count):
        moved[at + number] = (slab << SLAB_SHIFT) | ((carved + number) << INDEX_SHIFT) | cls
    carved += count
    slabs[slab]["carved"] = carved
    slabs[slab]["out"] += count
    classes[cls]["carve"] += count
    touched = int(classes[cls]["first"]) + carved * int(classes[cls]["stride"])
    touched = min((touched + PAGE - 1) & -PAGE, int(machine[0]["slab_bytes"]))
    if touched > slabs[slab]["committed"]:
        commit(machine, touched - int(slabs[slab]["committed"]))
        slabs[slab]["committed"] = touched
    return count


@kernel
def commit(machine: Records, size: int) -> None:
    """`size` more bytes are committed."""
    committed = int(machine[0]["committed"]) + size
    machine[0]["committed"] = committed
    if committed > machine[0]["committed_peak"]:
        machine[0]["committed_peak"] = committed


@kernel
def give(machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, block: int) -> None:
    """give(block): it is freed in its slab, which is retired if it is empty then and slab choice lets it go."""
    choice = int(machine[0]["choice_code"])
    cls = block & CLASS_MASK
    slab = block >> SLAB_SHIFT
    index = (block >> INDEX_SHIFT) & INDEX_MASK
    store = int(slabs[slab]["owner"]) * int(machine[0]["store_step"]) + cls
    word = index >> WORD_SHIFT
    marks[slab * int(machine[0]["slab_words"]) + word] |= 1 << (index & WORD_MASK)
    freed = int(slabs[slab]["freed"])
    slabs[slab]["freed"] = freed + 1
    if freed == 0 or word < slabs[slab]["low"]:
        slabs[slab]["low"] = word
    slabs[slab]["out"] -= 1
    if freed == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
        choice_add(choice, stores, slabs, store, slab)
        machine[0]["slab_adds"] += 1
    if slabs[slab]["out"] == 0 and choice_lets_go(choice, stores, slabs, store, slab):
        choice_remove(choice, stores, slabs, store, slab)
        machine[0]["slab_removes"] += 1
        retire(machine, classes, slabs, slab, cls)


@kernel
def tally_given(machine: Records, classes: Records, blocks: Ints, first: int, count: int) -> None:
    """blocks[first] .. blocks[first + count - 1] are given: one by one, or neighbours of one slab at once."""
    machine[0]["given"] += count
    alone = count > 0 and classes[int(blocks[first]) & CLASS_MASK]["front"] != ARRAY_STACK
    for index in range(first, first + count):
        if alone or index == first or blocks[index] >> SLAB_SHIFT != blocks[index - 1] >> SLAB_SHIFT:
            machine[0]["gives"] += 1


@kernel
def give_batch(
    machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, moved: Ints, count: int
) -> None:
    """give(moved[0]) .. give(moved[count - 1])."""
    tally_given(machine, classes, moved, 0, count)
    for index in range(count):
        give(machine, classes, stores, slabs, marks, int(moved[index]))


@kernel
def retire(machine: Records, classes: Records, slabs: Records, slab: int, cls: int) -> None:
    """An empty slab goes to the pool of its class (LIFO) and the age queue; then the oldest beyond the budget are
    released."""
    pool = pool_of(int(machine[0]["empties_code"]), cls)
    slabs[slab]["owner"] = -1
    slabs[slab]["next"] = classes[pool]["retired"]
    classes[pool]["retired"] = slab
    classes[cls]["retire"] += 1
    join_age_queue(machine, slabs, slab)
    release = int(machine[0]["release_code"])
    while release_goes(release, int(machine[0]["aged_slab_bytes"]), int(machine[0]["slab_budget_bytes"])):
        release_slab(machine, slabs, int(machine[0]["oldest_slab"]))


@kernel
def join_age_queue(machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab with committed bytes becomes the newest of the age queue (FIFO)."""
    join(slabs, int(machine[0]["newest_slab"]), slab)
    machine[0]["newest_slab"] = slab
    if machine[0]["oldest_slab"] < 0:
        machine[0]["oldest_slab"] = slab
    machine[0]["aged_slab_bytes"] += slabs[slab]["committed"]


@kernel
def leave_age_queue(machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab with committed bytes leaves the age queue."""
    leave(slabs, slab)
    if machine[0]["oldest_slab"] == slab:
        machine[0]["oldest_slab"] = slabs[slab]["newer"]
    if machine[0]["newest_slab"] == slab:
        machine[0]["newest_slab"] = slabs[slab]["older"]
    machine[0]["aged_slab_bytes"] -= slabs[slab]["committed"]


@kernel
def release_slab(machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab leaves the age queue and its pages go back to the OS; it stays in its pool."""
    leave_age_queue(machine, slabs, slab)
    machine[0]["releases"] += 1
    machine[0]["released_bytes"] += slabs[slab]["committed"]
    machine[0]["committed"] -= slabs[slab]["committed"]
    slabs[slab]["committed"] = 0


@kernel
def acquire(machine: Records, classes: Records, slabs: Records, marks: Ints, heap: int, cls: int) -> int:
    """An empty slab for the class: the last retired of its pool, else a new one; -1 if the span is full."""
    pool = pool_of(int(machine[0]["empties_code"]), cls)
    slab = int(classes[pool]["retired"])
    if slab >= 0:
        classes[pool]["retired"] = slabs[slab]["next"]
        if slabs[slab]["committed"] > 0:
            leave_age_queue(machine, slabs, slab)
        else:
            machine[0]["slab_budget_bytes"] = release_grown(
                int(machine[0]["release_code"]),
                int(machine[0]["slab_budget_bytes"]),
                int(machine[0]["slab_bytes"]),
                int(machine[0]["most_budget_bytes"]),
            )
        words = int(machine[0]["slab_words"])
        for word in range(slab * words, slab * words + (int(slabs[slab]["carved"]) + WORD_MASK) // (WORD_MASK + 1)):
            marks[word] = 0
    else:
        slab = new_slab(machine, slabs, classes, pool, cls)
        if slab < 0:
            return -1
    slabs[slab]["class"] = cls
    slabs[slab]["owner"] = heap
    slabs[slab]["carved"] = 0
    slabs[slab]["freed"] = 0
    slabs[slab]["out"] = 0
    slabs[slab]["low"] = 0
    classes[cls]["acquire"] += 1
    return slab


@kernel
def new_slab(machine: Records, slabs: Records, classes: Records, pool: int, cls: int) -> int:
    """The next slab of the pool's superslab, mapping another if it has none left; -1 if the span is full."""
    if classes[pool]["left"] == 0:
        place = superslab_place(machine, cls, int(machine[0]["superslabs"]), int(classes[pool]["mapped"]))
        if place < 0:
            return -1
        mapped_bytes = int(machine[0]["superslabs"] * machine[0]["slabs_per_superslab"] * machine[0]["slab_bytes"])
        machine[0]["superslabs"] += 1
        classes[pool]["mapped"] += 1
        classes[pool]["next_place"] = place
        classes[pool]["left"] = int(machine[0]["slabs_per_superslab"]) - int(machine[0]["guard_slabs"])
        is_huge = machine[0]["thp_asked"] == 1 and mapped_bytes >= machine[0]["thp_slabs_from_bytes"]
        classes[pool]["next_huge"] = is_huge
        if is_huge:
            commit(machine, int(machine[0]["slabs_per_superslab"]) * int(machine[0]["slab_bytes"]))
    slab = int(machine[0]["slabs"])
    slabs[slab]["place"] = classes[pool]["next_place"]
    if classes[pool]["next_huge"] == 1:
        slabs[slab]["committed"] = machine[0]["slab_bytes"]
    classes[pool]["next_place"] += 1
    classes[pool]["left"] -= 1
    machine[0]["slabs"] = slab + 1
    if slab + 1 > machine[0]["slab_room"]:
        machine[0]["full"] = 1
    return slab
