"""The store: slabs with free blocks, and blocks out of them and back; docs/machine.md section 5."""

import numpy as np

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.heap.slabs import WORD_MASK, WORD_SHIFT, acquire, commit, marks_at, retire
from heapsmith.model.memory.layout import (
    CLASS_BYTES,
    CLASS_FIRST,
    CLASS_MASK,
    CLASS_RECIPROCAL,
    CLASS_STRIDE,
    CLASSES,
    COUNT_CARVE,
    COUNT_REUSE,
    INDEX_MASK,
    INDEX_SHIFT,
    POOL_LOCK,
    SLAB_CLASS_NUMBER,
    SLAB_SHIFT,
    WORD,
    count_at,
    slab_at,
)
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.policy.dispatch import (
    ARRAY_STACK,
    LOCAL_CACHE,
    choice_add,
    choice_attach,
    choice_gives,
    choice_lets_go,
    choice_remove,
)
from heapsmith.model.policy.hardening.lines import given_lines

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
        machine[0]["visits"] += 1
        touch(touched, slab_at(slabs, slab), 1)
        touch(touched, slab_at(slabs, slab) + SLAB_CLASS_NUMBER, 0)
        touch(touched, counts + COUNT_CARVE, 1)
        touch(touched, counts + COUNT_REUSE, 1)
        left -= take_freed(touched, machine, classes, slabs, marks, slab, cls, moved, want - left, left)
        left -= take_fresh(touched, machine, classes, slabs, slab, cls, moved, want - left, left)
        if slabs[slab]["freed"] == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
            choice_remove(touched, choice, stores, slabs, store, slab)
            machine[0]["slab_removes"] += 1
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
    machine[0]["words"] += (word >> 1) + 1
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
    given_lines(touched, machine, classes, slabs, block)
    marks[slab * int(machine[0]["slab_words"]) + word] |= 1 << (index & WORD_MASK)
    freed = int(slabs[slab]["freed"])
    slabs[slab]["freed"] = freed + 1
    if freed == 0 or word < slabs[slab]["low"]:
        slabs[slab]["low"] = word
    slabs[slab]["out"] -= 1
    if freed == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
        choice_add(touched, choice, stores, slabs, store, slab)
        machine[0]["slab_adds"] += 1
    if slabs[slab]["out"] == 0 and choice_lets_go(touched, choice, stores, slabs, store, slab):
        choice_remove(touched, choice, stores, slabs, store, slab)
        machine[0]["slab_removes"] += 1
        retire(touched, machine, classes, slabs, heap, slab, cls)


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
    touched: Ints, machine: Records, classes: Records, stores: Records, slabs: Records, marks: Ints, heap: int,
    blocks: Ints, first: int, count: int,
) -> None:  # fmt: skip
    """give(blocks[first]) .. give(blocks[first + count - 1])."""
    tally_given(machine, classes, blocks, first, count)
    for index in range(first, first + count):
        give(touched, machine, classes, stores, slabs, marks, heap, int(blocks[index]))
