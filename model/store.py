"""The store: slabs with free blocks, empty slabs, superslabs; docs/machine.md sections 5 and 6.

A block is named by one integer, its handle: slab << 26 | index << 8 | class; slabs are numbered in order of creation.
Bitmaps keep 32 marks in each int64, so that plain Python and compiled code agree without unsigned arithmetic.
"""

import numpy as np

from heapsmith.model.kernel import Ints, Records, kernel
from heapsmith.model.policy.dispatch import (
    choice_add,
    choice_attach,
    choice_gives,
    choice_lets_go,
    choice_remove,
    pool_of,
    slab_goes,
    superslab_place,
)

PAGE = 4096
CLASS_MASK = 255
INDEX_SHIFT = 8
INDEX_MASK = (1 << 18) - 1
SLAB_SHIFT = 26
WORD_SHIFT = 5
WORD_MASK = 31
DE_BRUIJN = 0x077CB531
"""A de Bruijn sequence of 32 bits (Leiserson, Prokop, Randall: "Using de Bruijn sequences to index a 1 in a computer word", 1998)."""

LOWEST_BIT = np.zeros(32, np.int64)
for _bit in range(32):
    LOWEST_BIT[((1 << _bit) * DE_BRUIJN & 0xFFFFFFFF) >> 27] = _bit


@kernel
def take(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    state: Records,
    stores: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    heap: int,
    cls: int,
    moved: Ints,
) -> int:
    """take(refill) of the heap's store into `moved`; the number of blocks taken, fewer than asked if the span is full."""
    store = heap * int(plan[0]["store_step"]) + cls
    choice = int(plan[0]["choice_code"])
    want = int(classes[cls]["refill"])
    taken = 0
    while taken < want:
        slab = choice_gives(choice, stores, slabs, store)
        if slab < 0:
            slab = acquire(plan, counts, totals, state, slabs, marks, pools, heap, cls)
            if slab < 0:
                break
            choice_attach(choice, stores, slabs, store, slab)
        taken = take_freed(plan, counts, slabs, marks, slab, cls, moved, taken, want)
        taken = take_fresh(plan, classes, counts, totals, slabs, slab, cls, moved, taken, want)
        if slabs[slab]["freed"] == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
            choice_remove(choice, stores, slabs, store, slab)
    counts[cls]["refill"] += 1
    counts[cls]["refilled"] += taken
    return taken


@kernel
def take_freed(
    plan: Records, counts: Records, slabs: Records, marks: Ints, slab: int, cls: int, moved: Ints, taken: int, want: int
) -> int:
    """Freed blocks of the slab, lowest index first, while more are wanted; the number in `moved` then."""
    reused = min(want - taken, int(slabs[slab]["freed"]))
    if reused == 0:
        return taken
    base = slab * int(plan[0]["slab_words"])
    word = int(slabs[slab]["low"])
    for at in range(taken, taken + reused):
        while marks[base + word] == 0:
            word += 1
        bits = int(marks[base + word])
        lowest = bits & -bits
        marks[base + word] = bits - lowest
        index = (word << WORD_SHIFT) + int(LOWEST_BIT[(lowest * DE_BRUIJN & 0xFFFFFFFF) >> 27])
        moved[at] = (slab << SLAB_SHIFT) | (index << INDEX_SHIFT) | cls
    slabs[slab]["low"] = word
    slabs[slab]["freed"] -= reused
    slabs[slab]["out"] += reused
    counts[cls]["reuse"] += reused
    return taken + reused


@kernel
def take_fresh(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    slabs: Records,
    slab: int,
    cls: int,
    moved: Ints,
    taken: int,
    want: int,
) -> int:
    """Blocks of the slab that were never out, in order, while more are wanted; the number in `moved` then."""
    carved = int(slabs[slab]["carved"])
    fresh = min(want - taken, int(classes[cls]["blocks"]) - carved)
    if fresh == 0:
        return taken
    for at in range(fresh):
        moved[taken + at] = (slab << SLAB_SHIFT) | ((carved + at) << INDEX_SHIFT) | cls
    carved += fresh
    slabs[slab]["carved"] = carved
    slabs[slab]["out"] += fresh
    counts[cls]["carve"] += fresh
    touched = int(classes[cls]["first"]) + carved * int(classes[cls]["stride"])
    touched = min((touched + PAGE - 1) & -PAGE, int(plan[0]["slab_bytes"]))
    if touched > slabs[slab]["committed"]:
        commit(totals, touched - int(slabs[slab]["committed"]))
        slabs[slab]["committed"] = touched
    return taken + fresh


@kernel
def commit(totals: Records, size: int) -> None:
    """`size` more bytes are committed."""
    committed = int(totals[0]["committed"]) + size
    totals[0]["committed"] = committed
    if committed > totals[0]["committed_peak"]:
        totals[0]["committed_peak"] = committed


@kernel
def give(
    plan: Records,
    classes: Records,
    counts: Records,
    totals: Records,
    state: Records,
    stores: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    block: int,
) -> None:
    """give(block): it is freed in its slab, which is retired if it is empty then and slab choice lets it go."""
    choice = int(plan[0]["choice_code"])
    cls = block & CLASS_MASK
    slab = block >> SLAB_SHIFT
    index = (block >> INDEX_SHIFT) & INDEX_MASK
    store = int(slabs[slab]["owner"]) * int(plan[0]["store_step"]) + cls
    word = index >> WORD_SHIFT
    marks[slab * int(plan[0]["slab_words"]) + word] |= 1 << (index & WORD_MASK)
    freed = int(slabs[slab]["freed"])
    slabs[slab]["freed"] = freed + 1
    if freed == 0 or word < slabs[slab]["low"]:
        slabs[slab]["low"] = word
    slabs[slab]["out"] -= 1
    if freed == 0 and slabs[slab]["carved"] == classes[cls]["blocks"]:
        choice_add(choice, stores, slabs, store, slab)
    if slabs[slab]["out"] == 0 and choice_lets_go(choice, stores, slabs, store, slab):
        choice_remove(choice, stores, slabs, store, slab)
        retire(plan, counts, totals, state, slabs, pools, slab, cls)


@kernel
def retire(
    plan: Records, counts: Records, totals: Records, state: Records, slabs: Records, pools: Records, slab: int, cls: int
) -> None:
    """An empty slab goes to the pool of its class (LIFO); its pages go back to the OS if the release policy says so."""
    pool = pool_of(int(plan[0]["empties_code"]), cls)
    held = int(state[0]["empties_committed"])
    if slab_goes(int(plan[0]["release_code"]), held, int(plan[0]["keep_slabs"])):
        totals[0]["releases"] += 1
        totals[0]["released_bytes"] += slabs[slab]["committed"]
        totals[0]["committed"] -= slabs[slab]["committed"]
        slabs[slab]["committed"] = 0
    else:
        state[0]["empties_committed"] = held + 1
    slabs[slab]["owner"] = -1
    slabs[slab]["next"] = pools[pool]["retired"]
    pools[pool]["retired"] = slab
    counts[cls]["retire"] += 1


@kernel
def acquire(
    plan: Records,
    counts: Records,
    totals: Records,
    state: Records,
    slabs: Records,
    marks: Ints,
    pools: Records,
    heap: int,
    cls: int,
) -> int:
    """An empty slab for the class: the last retired of its pool, else a new one; -1 if the span is full."""
    pool = pool_of(int(plan[0]["empties_code"]), cls)
    slab = int(pools[pool]["retired"])
    if slab >= 0:
        pools[pool]["retired"] = slabs[slab]["next"]
        if slabs[slab]["committed"] > 0:
            state[0]["empties_committed"] -= 1
        words = int(plan[0]["slab_words"])
        for word in range(slab * words, slab * words + (int(slabs[slab]["carved"]) + WORD_MASK) // (WORD_MASK + 1)):
            marks[word] = 0
    else:
        slab = new_slab(plan, totals, state, slabs, pools, pool, cls)
        if slab < 0:
            return -1
    slabs[slab]["class"] = cls
    slabs[slab]["owner"] = heap
    slabs[slab]["carved"] = 0
    slabs[slab]["freed"] = 0
    slabs[slab]["out"] = 0
    slabs[slab]["low"] = 0
    counts[cls]["acquire"] += 1
    return slab


@kernel
def new_slab(plan: Records, totals: Records, state: Records, slabs: Records, pools: Records, pool: int, cls: int) -> int:
    """The next slab of the pool's superslab, mapping another if it has none left; -1 if the span is full."""
    if pools[pool]["left"] == 0:
        place = superslab_place(plan, cls, int(totals[0]["superslabs"]), int(pools[pool]["superslabs"]))
        if place < 0:
            return -1
        totals[0]["superslabs"] += 1
        pools[pool]["superslabs"] += 1
        pools[pool]["place"] = place
        pools[pool]["left"] = plan[0]["slabs_per_superslab"]
    slab = int(totals[0]["slabs"])
    slabs[slab]["place"] = pools[pool]["place"]
    pools[pool]["place"] += 1
    pools[pool]["left"] -= 1
    totals[0]["slabs"] = slab + 1
    if slab + 1 > state[0]["slab_room"]:
        state[0]["full"] = 1
    return slab
