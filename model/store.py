"""The store: slabs with free blocks, empty slabs, superslabs; docs/machine.md sections 5 and 6.

Bitmaps keep 32 marks in each int64, so that plain Python and compiled code agree without unsigned arithmetic.
"""

import numpy as np

from heapsmith.model.age import join, leave
from heapsmith.model.design import PAGE
from heapsmith.model.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.layout import (
    CLASS_BYTES,
    CLASS_FIRST,
    CLASS_MASK,
    CLASS_RECIPROCAL,
    CLASS_STRIDE,
    CLASSES,
    COUNT_ACQUIRE,
    COUNT_CARVE,
    COUNT_RETIRE,
    COUNT_REUSE,
    COUNTS,
    INDEX_MASK,
    INDEX_SHIFT,
    MARKS,
    POOL_LOCK,
    SLAB_BYTES,
    SLAB_CLASS,
    SLAB_CLASS_NUMBER,
    SLAB_ELDER,
    SLAB_NEWER,
    SLAB_NEXT,
    SLAB_OLDER,
    SLAB_OWNER,
    SLAB_SHIFT,
    SLABS,
    SPAN,
    TOTAL_COMMITTED,
    TOTAL_RELEASES,
    TOTAL_SLABS,
    TOTAL_SUPERSLABS,
    WORD,
    count_at,
    slab_at,
)
from heapsmith.model.policy.dispatch import (
    LOCAL_CACHE,
    SLAB_MAP,
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
from heapsmith.model.touches import gone, on_huge, touch, touch_bytes

WORD_SHIFT = 5
WORD_MASK = 31
DE_BRUIJN = 0x077CB531
"""A de Bruijn sequence: Leiserson, Prokop, Randall: "Using de Bruijn sequences to index a 1 in a word", 1998."""

LOWEST_BIT = np.zeros(32, np.int64)
for _bit in range(32):
    LOWEST_BIT[((1 << _bit) * DE_BRUIJN & 0xFFFFFFFF) >> 27] = _bit


@kernel
def take(
    touched: Ints,
    machine: Records,
    classes: Records,
    stores: Records,
    slabs: Records,
    marks: Ints,
    heap: int,
    cls: int,
    moved: Ints,
) -> int:
    """take(refill) of the heap's store into `moved`; the number of blocks taken, fewer if the span is full."""
    store = heap * int(machine[0]["store_step"]) + cls
    choice = int(machine[0]["choice_code"])
    want = int(classes[cls]["refill_batch"])
    left = want
    row = CLASSES + cls * CLASS_BYTES
    counts = count_at(machine, heap, cls)
    touch(touched, row + CLASS_STRIDE, 0)
    touch(touched, row + CLASS_FIRST, 0)
    if machine[0]["remote_code"] == LOCAL_CACHE:
        touch(touched, POOL_LOCK, 1)
    while left > 0:
        slab = choice_gives(touched, choice, stores, slabs, store)
        if slab < 0:
            slab = acquire(touched, machine, classes, slabs, marks, heap, cls)
            if slab < 0:
                break
            choice_attach(touched, choice, stores, slabs, store, slab)
        touch(touched, slab_at(slabs, slab), 1)
        touch(touched, slab_at(slabs, slab) + SLAB_CLASS_NUMBER, 0)
        touch(touched, counts + COUNT_CARVE, 1)
        touch(touched, counts + COUNT_REUSE, 1)
        left -= take_freed(touched, machine, classes, slabs, marks, slab, cls, moved, want - left, left)
        left -= take_fresh(touched, machine, classes, slabs, slab, cls, moved, want - left, left)
        if slabs[slab]["freed"] == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
            choice_remove(touched, choice, stores, slabs, store, slab)
    classes[cls]["refill"] += 1
    classes[cls]["refilled"] += want - left
    return want - left


@hit_path
def take_freed(
    touched: Ints,
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
    before = word
    for number in range(count):
        while marks[base + word] == 0:
            word += 1
        bits = int(marks[base + word])
        lowest = bits & -bits
        marks[base + word] = bits - lowest
        index = (word << WORD_SHIFT) + int(LOWEST_BIT[(lowest * DE_BRUIJN & 0xFFFFFFFF) >> 27])
        moved[at + number] = (slab << SLAB_SHIFT) | (index << INDEX_SHIFT) | cls
    touch_bytes(touched, marks_at(machine, slabs, slab), (before >> 1) * WORD, 0)
    touch_bytes(
        touched, marks_at(machine, slabs, slab) + (before >> 1) * WORD, ((word >> 1) - (before >> 1) + 1) * WORD, 1
    )
    slabs[slab]["low"] = word
    slabs[slab]["freed"] -= count
    slabs[slab]["out"] += count
    classes[cls]["reuse"] += count
    return count


@hit_path
def take_fresh(
    touched: Ints,
    machine: Records,
    classes: Records,
    slabs: Records,
    slab: int,
    cls: int,
    moved: Ints,
    at: int,
    want: int,
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
    end = int(classes[cls]["first"]) + carved * int(classes[cls]["stride"])
    committed = min((end + PAGE - 1) & -PAGE, int(machine[0]["slab_bytes"]))
    if committed > slabs[slab]["committed"]:
        commit(touched, machine, committed - int(slabs[slab]["committed"]))
        slabs[slab]["committed"] = committed
    return count


@kernel
def commit(touched: Ints, machine: Records, size: int) -> None:
    """`size` more bytes are committed."""
    if size != 0:
        touch(touched, COUNTS + TOTAL_COMMITTED, 1)
    committed = int(machine[0]["committed"]) + size
    machine[0]["committed"] = committed
    if committed > machine[0]["committed_peak"]:
        machine[0]["committed_peak"] = committed


@hit_path
def give(
    touched: Ints,
    machine: Records,
    classes: Records,
    stores: Records,
    slabs: Records,
    marks: Ints,
    heap: int,
    block: int,
) -> None:
    """give(block): it is freed in its slab, which is retired if it is empty then and slab choice lets it go."""
    choice = int(machine[0]["choice_code"])
    cls = block & CLASS_MASK
    slab = block >> SLAB_SHIFT
    index = (block >> INDEX_SHIFT) & INDEX_MASK
    store = int(slabs[slab]["owner"]) * int(machine[0]["store_step"]) + cls
    word = index >> WORD_SHIFT
    touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_FIRST, 0)
    touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_RECIPROCAL, 0)
    touch(touched, slab_at(slabs, slab), 1)
    touch(touched, slab_at(slabs, slab) + SLAB_CLASS_NUMBER, 0)
    touch(touched, marks_at(machine, slabs, slab) + (word >> 1) * WORD, 1)
    marks[slab * int(machine[0]["slab_words"]) + word] |= 1 << (index & WORD_MASK)
    freed = int(slabs[slab]["freed"])
    slabs[slab]["freed"] = freed + 1
    if freed == 0 or word < slabs[slab]["low"]:
        slabs[slab]["low"] = word
    slabs[slab]["out"] -= 1
    if freed == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
        choice_add(touched, choice, stores, slabs, store, slab)
    if slabs[slab]["out"] == 0 and choice_lets_go(touched, choice, stores, slabs, store, slab):
        choice_remove(touched, choice, stores, slabs, store, slab)
        retire(touched, machine, classes, slabs, heap, slab, cls)


@kernel
def give_batch(
    touched: Ints, machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, heap: int,
    blocks: Ints, first: int, count: int,
) -> None:  # fmt: skip
    """give(blocks[first]) .. give(blocks[first + count - 1])."""
    for index in range(first, first + count):
        give(touched, machine, classes, stores, slabs, marks, heap, int(blocks[index]))


@kernel
def retire(touched: Ints, machine: Records, classes: Records, slabs: Records, heap: int, slab: int, cls: int) -> None:
    """An empty slab goes to the pool of its class (LIFO) and the age queue; then the oldest beyond the budget are
    released."""
    pool = pool_of(int(machine[0]["empties_code"]), cls)
    touch(touched, count_at(machine, heap, cls) + COUNT_RETIRE, 1)
    touch_bytes(touched, marks_at(machine, slabs, slab), int(machine[0]["bitmap_words"]) * WORD, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 1)
    slab_lines(touched, machine, slabs, slab)
    slabs[slab]["owner"] = -1
    slabs[slab]["next"] = classes[pool]["retired"]
    classes[pool]["retired"] = slab
    classes[cls]["retire"] += 1
    join_age_queue(touched, machine, slabs, slab)
    release = int(machine[0]["release_code"])
    while release_goes(release, int(machine[0]["aged_slab_bytes"]), int(machine[0]["slab_budget_bytes"])):
        release_slab(touched, machine, slabs, int(machine[0]["oldest_slab"]))


@kernel
def join_age_queue(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab with committed bytes becomes the newest of the age queue (FIFO)."""
    newest = int(machine[0]["newest_slab"])
    touch(touched, slab_at(slabs, slab) + SLAB_NEWER, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_ELDER, 1)
    if newest >= 0:
        touch(touched, slab_at(slabs, newest) + SLAB_NEWER, 1)
    join(slabs, newest, slab)
    machine[0]["newest_slab"] = slab
    if machine[0]["oldest_slab"] < 0:
        machine[0]["oldest_slab"] = slab
    machine[0]["aged_slab_bytes"] += slabs[slab]["committed"]


@kernel
def leave_age_queue(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab with committed bytes leaves the age queue."""
    touch(touched, slab_at(slabs, slab) + SLAB_NEWER, 0)
    touch(touched, slab_at(slabs, slab) + SLAB_ELDER, 0)
    if slabs[slab]["older"] >= 0:
        touch(touched, slab_at(slabs, int(slabs[slab]["older"])) + SLAB_NEWER, 1)
    if slabs[slab]["newer"] >= 0:
        touch(touched, slab_at(slabs, int(slabs[slab]["newer"])) + SLAB_ELDER, 1)
    leave(slabs, slab)
    if machine[0]["oldest_slab"] == slab:
        machine[0]["oldest_slab"] = slabs[slab]["newer"]
    if machine[0]["newest_slab"] == slab:
        machine[0]["newest_slab"] = slabs[slab]["older"]
    machine[0]["aged_slab_bytes"] -= slabs[slab]["committed"]


@kernel
def release_slab(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab leaves the age queue and its pages go back to the OS; it stays in its pool."""
    leave_age_queue(touched, machine, slabs, slab)
    touch(touched, slab_at(slabs, slab), 1)
    touch(touched, COUNTS + TOTAL_RELEASES, 1)
    touch(touched, COUNTS + TOTAL_COMMITTED, 1)
    gone(touched, SPAN + int(slabs[slab]["place"]) * int(machine[0]["slab_bytes"]), int(machine[0]["slab_bytes"]))
    machine[0]["releases"] += 1
    machine[0]["released_bytes"] += slabs[slab]["committed"]
    machine[0]["committed"] -= slabs[slab]["committed"]
    slabs[slab]["committed"] = 0


@kernel
def acquire(touched: Ints, machine: Records, classes: Records, slabs: Records, marks: Ints, heap: int, cls: int) -> int:
    """An empty slab for the class: the last retired of its pool, else a new one; -1 if the span is full."""
    pool = pool_of(int(machine[0]["empties_code"]), cls)
    slab = int(classes[pool]["retired"])
    if slab >= 0:
        classes[pool]["retired"] = slabs[slab]["next"]
        touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 0)
        if slabs[slab]["committed"] > 0:
            leave_age_queue(touched, machine, slabs, slab)
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
        slab = new_slab(touched, machine, slabs, classes, pool, cls)
        if slab < 0:
            return -1
    touch(touched, slab_at(slabs, slab), 1)
    touch(touched, count_at(machine, heap, cls) + COUNT_ACQUIRE, 1)
    slab_lines(touched, machine, slabs, slab)
    slabs[slab]["class"] = cls
    slabs[slab]["owner"] = heap
    slabs[slab]["carved"] = 0
    slabs[slab]["freed"] = 0
    slabs[slab]["out"] = 0
    slabs[slab]["low"] = 0
    classes[cls]["acquire"] += 1
    return slab


@kernel
def new_slab(touched: Ints, machine: Records, slabs: Records, classes: Records, pool: int, cls: int) -> int:
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
        touch(touched, COUNTS + TOTAL_SUPERSLABS, 1)
        if is_huge:
            superslab_bytes = int(machine[0]["slabs_per_superslab"]) * int(machine[0]["slab_bytes"])
            on_huge(touched, SPAN + place * int(machine[0]["slab_bytes"]), superslab_bytes)
            touch_bytes(touched, SLABS + place * SLAB_BYTES, int(machine[0]["slabs_per_superslab"]) * SLAB_BYTES, 1)
            commit(touched, machine, int(machine[0]["slabs_per_superslab"]) * int(machine[0]["slab_bytes"]))
    slab = int(machine[0]["slabs"])
    slabs[slab]["place"] = classes[pool]["next_place"]
    touch(touched, slab_at(slabs, slab) + SLAB_OLDER, 1)
    touch(touched, COUNTS + TOTAL_SLABS, 1)
    if classes[pool]["next_huge"] == 1:
        slabs[slab]["committed"] = machine[0]["slab_bytes"]
    classes[pool]["next_place"] += 1
    classes[pool]["left"] -= 1
    machine[0]["slabs"] = slab + 1
    if slab + 1 > machine[0]["slab_room"]:
        machine[0]["full"] = 1
    return slab


@hit_path
def marks_at(machine: Records, slabs: Records, slab: int) -> int:
    """Where a slab's bitmap begins."""
    return MARKS + int(slabs[slab]["place"]) * int(machine[0]["bitmap_words"]) * WORD


@kernel
def slab_lines(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """Of a slab that gets a class, or has none any more: its class and flags, its owner, and what free looks at."""
    touch(touched, slab_at(slabs, slab) + SLAB_CLASS_NUMBER, 1)
    if machine[0]["remote_code"] != LOCAL_CACHE:
        touch(touched, POOL_LOCK, 1)
        touch(touched, slab_at(slabs, slab) + SLAB_OWNER, 1)
    if machine[0]["classifier_code"] == SLAB_MAP:
        touch(touched, SLAB_CLASS + int(slabs[slab]["place"]), 1)
