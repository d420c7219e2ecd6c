"""The store: slabs with free blocks, and blocks that leave and return; docs/machine.md, 'the store'."""

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, count_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.block_questions import given_lines
from heapsmith.model.parts.committed import commit
from heapsmith.model.parts.front_questions import (
    choice_add,
    choice_attach,
    choice_gives,
    choice_lets_go,
    choice_remove,
    freed_give,
    freed_serves,
    freed_take,
    header_lines,
)
from heapsmith.model.parts.locks import OWN, count_take, uncounted
from heapsmith.model.parts.slab_questions import (
    heaps_shard_lines,
    lock_batch,
    lock_store,
    lock_to,
    populate_carved,
    populate_step,
    store_of,
    store_to,
    stride_lines,
    visit_lines,
)
from heapsmith.model.parts.slabs import acquire, retire


@kernel
def take(state: State, heap: int, cls: int, want: int) -> int:
    """Take a refill of `want` blocks from the heap's store into `moved`; return their number (fewer: full span).

    A front that has fresh blocks one behind the other gets them instead, where the slab has no freed block that serves.
    """
    most = int(state.classes[cls]["stretch"])
    heaps_shard_lines(state, heap, 0)
    lock_store(state, store_of(state, heap, cls))
    locks = uncounted(state)
    state.stage = OWN
    taken = take_blocks(state, heap, cls, want, most)
    count_take(state, locks)
    state.classes[cls]["refill"] += 1
    state.classes[cls]["refilled"] += taken
    return taken


@kernel
def take_blocks(state: State, heap: int, cls: int, want: int, most: int) -> int:
    """Take `want` blocks from the heap's store, whose lock the caller has, into `moved`; return their number.

    most: if it is not 0, up to this number of fresh blocks of one slab instead, unless the slab has a freed block.
    """
    store = store_of(state, heap, cls)
    left = want
    row = class_at(cls)
    counts = count_at(state, heap, cls)
    stride_lines(state, cls)
    touch(state.listener, row + layout.CLASS_FIRST, 0)
    while left > 0:
        slab = choice_gives(state, store)
        if slab < 0:
            slab = acquire(state, heap, cls)
            if slab < 0:
                break
            choice_attach(state, store, slab)
        state.visits += 1
        touch(state.listener, slab_at(state, slab), 1)
        visit_lines(state, slab)
        touch(state.listener, counts + layout.COUNT_CARVE, 1)
        if most > 0 and left == want and not has_freed(state, slab):
            want = take_fresh(state, slab, cls, 0, most)
            left = 0
            state.stretched = 1
        else:
            touch(state.listener, counts + layout.COUNT_REUSE, 1)
            left -= take_freed(state, slab, cls, want - left, left)
            left -= take_fresh(state, slab, cls, want - left, left)
        if not is_available(state, slab, cls):
            choice_remove(state, store, slab)
            state.slab_removes += 1
    if state.header_bytes > 0:
        for index in range(want - left):
            header_lines(state, int(state.moved[index]), 1)
    return want - left


@hit_path
def has_freed(state: State, slab: int) -> bool:
    """Return whether a slab has a freed block that serves."""
    return bool(state.slabs[slab]["freed"] > 0 and freed_serves(state))


@hit_path
def is_available(state: State, slab: int, cls: int) -> bool:
    """Return whether a slab has a block for a take."""
    if state.slabs[slab]["carved"] < state.classes[cls]["blocks"]:
        return True
    return has_freed(state, slab)


@hit_path
def take_freed(state: State, slab: int, cls: int, at: int, want: int) -> int:
    """Take up to `want` freed blocks of a slab, to moved[at] on; return their number."""
    count = min(want, int(state.slabs[slab]["freed"]))
    if count == 0 or not freed_serves(state):
        return 0
    freed_take(state, slab, cls, at, count)
    state.slabs[slab]["freed"] -= count
    state.slabs[slab]["out"] += count
    state.classes[cls]["reuse"] += count
    return count


@hit_path
def take_fresh(state: State, slab: int, cls: int, at: int, want: int) -> int:
    """Take up to `want` fresh blocks of the slab, in order, to moved[at] on; return their number."""
    carved = int(state.slabs[slab]["carved"])
    count = min(want, int(state.classes[cls]["blocks"]) - carved)
    if count == 0:
        return 0
    for number in range(count):
        state.moved[at + number] = (slab << layout.SLAB_SHIFT) | ((carved + number) << layout.INDEX_SHIFT) | cls
    carved += count
    state.slabs[slab]["carved"] = carved
    state.slabs[slab]["out"] += count
    state.classes[cls]["carve"] += count
    end = int(state.classes[cls]["first"]) + carved * int(state.classes[cls]["stride"])
    if end > state.slabs[slab]["committed"]:
        step = populate_step(state, cls)
        committed = min((end + step - 1) & -step, int(state.slab_bytes))
        more = committed - int(state.slabs[slab]["committed"])
        populate_carved(state, slab, more, step)
        commit(state, more)
        state.slabs[slab]["committed"] = committed
    return count


@hit_path
def give(state: State, heap: int, block: int) -> None:
    """Give a block back to its slab; an empty slab is retired if slab choice permits."""
    cls = block & layout.CLASS_MASK
    slab = block >> layout.SLAB_SHIFT
    store = store_to(state, slab, cls)
    lock_to(state, store, slab)
    was_available = is_available(state, slab, cls)
    freed = int(state.slabs[slab]["freed"])
    freed_give(state, slab, block, freed)
    given_lines(state, block)
    state.slabs[slab]["freed"] = freed + 1
    state.slabs[slab]["out"] -= 1
    available = was_available or freed_serves(state)
    if available and not was_available:
        choice_add(state, store, slab)
        state.slab_adds += 1
    if state.slabs[slab]["out"] > 0:
        return
    if available and not choice_lets_go(state, store, slab):
        return
    if available:
        choice_remove(state, store, slab)
        state.slab_removes += 1
    retire(state, heap, slab, cls)


@kernel
def tally_given(state: State, blocks: Ints, first: int, count: int) -> None:
    """Count `count` blocks from blocks[first] on as given: each alone, or neighbours at once."""
    state.given += count
    alone = count > 0 and state.classes[int(blocks[first]) & layout.CLASS_MASK]["batched"] == 0
    for index in range(first, first + count):
        if alone or index == first or blocks[index] >> layout.SLAB_SHIFT != blocks[index - 1] >> layout.SLAB_SHIFT:
            state.gives += 1


@kernel
def give_batch(state: State, heap: int, blocks: Ints, first: int, count: int) -> None:
    """Give `count` blocks from blocks[first] on, in order."""
    tally_given(state, blocks, first, count)
    if count > 0:
        lock_batch(state, int(blocks[first]) & layout.CLASS_MASK)
    for index in range(first, first + count):
        give(state, heap, int(blocks[index]))
