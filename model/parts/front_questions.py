"""What parts and machine ask the rooms about stores and fronts (model/compile/dispatch.py).

A question goes to the design's row of one table, which answers by a function of the name that is given,
with the same parameters; the body here is the answer of a row without it.
`front` is the index of the heap's front of class `cls`; `store` that of a store's class. Batches of
blocks go through `state.moved`. Functions named *_lines touch the cache lines of what the library
does, from the state before.
"""

from heapsmith.model.compile.dispatch import question
from heapsmith.model.memory.layout import CLASS_CAPACITY, NO_BLOCK, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch

# Fronts: where a thread keeps the free blocks of a class.


@question("front", "pop", hit=True)
def front_pop(state: State, front: int, cls: int) -> int:
    """Allocate from level 0: return a block, or NO_BLOCK if level 0 is empty."""
    raise NotImplementedError


@question("front", "promote")
def front_promote(state: State, front: int, cls: int) -> int:
    """Allocate from level 1 when level 0 is empty: return a block, or NO_BLOCK."""
    return NO_BLOCK


@question("front", "fill")
def front_fill(state: State, front: int, cls: int, first: int, count: int) -> None:
    """Put moved[first] to moved[count - 1], from a refill or a promotion, into an empty level 0."""
    raise NotImplementedError


@question("front", "push", hit=True)
def front_push(state: State, front: int, cls: int, block: int) -> int:
    """Free into the front; return how many blocks of `moved` the store must take, in this order."""
    raise NotImplementedError


@question("front", "drain")
def front_drain(state: State, front: int, cls: int) -> int:
    """Empty the front; return the number of blocks in `moved`, in drain order."""
    raise NotImplementedError


@question("front", "level_held")
def level_held(state: State, front: int, cls: int, depth: int) -> int:
    """Return how many blocks level `depth`, below level 0, holds."""
    return 0


@question("front", "surplus")
def front_surplus(state: State, front: int, cls: int, count: int) -> int:
    """Move `count` blocks that a smaller capacity has no room for to `moved`; return their number."""
    return 0


@question("front", "pop_lines")
def front_pop_lines(state: State, front: int, cls: int) -> None:
    """Touch what the class's own alloc function touches."""
    raise NotImplementedError


@question("front", "look_lines")
def front_look_lines(state: State, front: int, cls: int) -> None:
    """Touch what an allocation touches that looks into level 0 again after a drain."""
    raise NotImplementedError


@question("front", "first_lines")
def front_first_lines(state: State, cls: int) -> None:
    """Touch what the functions of a class touch in a thread that has no heap yet."""


@question("front", "promote_lines")
def front_promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch what a promotion touches."""


@question("front", "fill_lines")
def front_fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a refill of `count` blocks touches."""
    raise NotImplementedError


@question("front", "push_lines")
def front_push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch what the class's own free function touches."""
    raise NotImplementedError


@question("front", "overflow_lines")
def front_overflow_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Touch the counters of an overflow."""
    raise NotImplementedError


@question("front", "drain_lines")
def front_drain_lines(state: State, front: int, cls: int) -> None:
    """Touch what the drain of a front at its thread's exit touches."""
    raise NotImplementedError


@question("front", "resize_lines")
def front_resize_lines(state: State, front: int, cls: int, count: int) -> None:
    """Touch what a change of the capacity touches besides the capacity; `count` blocks leave."""


# Size lookup: how malloc finds the class of a request.


@question("size_lookup", "size_lines", hit=True)
def size_lines(state: State, size: int) -> None:
    """Touch what the library reads to find the class of a size, besides a heap's own table."""
    raise NotImplementedError


# Learner, opening, rounding, counting: what a front may hold, borrow and count.


@question("learner", "capacity", hit=True)
def capacity_of(state: State, front: int, cls: int) -> int:
    """Return the most blocks of level 0."""
    return int(state.classes[cls]["capacity"])


@question("learner", "capacity_lines")
def capacity_lines(state: State, front: int, cls: int) -> None:
    """Touch the capacity of level 0."""
    touch(state.listener, class_at(cls) + CLASS_CAPACITY, 0)


@question("opening", "room_of", hit=True)
def room_of(state: State, front: int, cls: int) -> int:
    """Return the most blocks of level 0 where its slots lie now."""
    return int(capacity_of(state, front, cls))


BATCH = 1 << 30
"""More blocks than any compact stack has room for: a batch of the transfer cache comes to a class's own slots."""


@question("opening", "make_room")
def make_room(state: State, front: int, cls: int, count: int) -> None:
    """Let the slots of level 0 move, if `count` blocks do not fit where they lie."""


@question("opening", "has_room")
def has_room(state: State, heap: int, front: int, cls: int, held: int) -> int:
    """Make room for a free in a level 0 that is full where it lies; return how many blocks went to the store for it."""
    return 0


@question("opening", "gives_back")
def gives_back(state: State, front: int, cls: int) -> bool:
    """Count a free into a front that does not serve it; return whether it keeps no block, so that the store gets it."""
    return False


@question("opening", "stays_closed")
def stays_closed(state: State, front: int, cls: int) -> bool:
    """Count a miss of a front; return whether it keeps no block yet, so that the miss brings one."""
    return False


@question("opening", "refill_of")
def refill_of(state: State, front: int, cls: int) -> int:
    """Return how many blocks a refill of a front wants of the store."""
    return int(state.classes[cls]["refill_batch"])


@question("rounding", "lends")
def lends(state: State, heap: int, cls: int) -> int:
    """Take a block for a class from a front of a larger class, into moved[0]; return the number of blocks, 0 or 1."""
    return 0


@question("counting", "hit_lines", hit=True)
def hit_lines(state: State, heap: int, cls: int) -> None:
    """Touch what counts an allocation from level 0."""


@question("counting", "counted_push_lines", hit=True)
def counted_push_lines(state: State, heap: int, cls: int) -> None:
    """Touch what counts a free into a front."""


# Classifiers: how free() finds a block's class.


@question("classifier", "superslab_place")
def superslab_place(state: State, cls: int, mapped: int) -> int:
    """Return the place of the next superslab, in slabs from the span's start; -1: no room."""
    raise NotImplementedError


@question("classifier", "class_lines", hit=True)
def class_lines(state: State, block: int) -> None:
    """Touch what free() reads to find the class of a block."""
    raise NotImplementedError


@question("classifier", "slab_lines")
def slab_lines(state: State, slab: int) -> None:
    """Touch what is written when a slab gets or loses a class."""


@question("classifier", "header_lines", hit=True)
def header_lines(state: State, block: int, write: int) -> None:
    """Touch the header of a block."""


# Slab choice: which slab of a class serves a refill.


@question("slab_choice", "gives")
def choice_gives(state: State, store: int) -> int:
    """Return the slab that serves a take, or -1 if no slab is available."""
    raise NotImplementedError


@question("slab_choice", "attach")
def choice_attach(state: State, store: int, slab: int) -> None:
    """Make a slab available that was just acquired."""
    raise NotImplementedError


@question("slab_choice", "add")
def choice_add(state: State, store: int, slab: int) -> None:
    """Make a slab available that had no free block and now has a free block again."""
    raise NotImplementedError


@question("slab_choice", "remove")
def choice_remove(state: State, store: int, slab: int) -> None:
    """Take away a slab that is exhausted or retired."""
    raise NotImplementedError


@question("slab_choice", "lets_go")
def choice_lets_go(state: State, store: int, slab: int) -> bool:
    """Return whether an available slab that has no block out may be retired."""
    raise NotImplementedError


# Empties: which pool keeps empty slabs.


@question("empties", "pool")
def pool_of(state: State, cls: int) -> int:
    """Return the pool of empty slabs that serves a class."""
    raise NotImplementedError


@question("empties", "retired")
def retired_of(state: State, pool: int) -> int:
    """Return the slab of a pool that serves next, or -1 if the pool serves none."""
    return int(state.stores[pool]["retired"])


# Freed blocks: how a slab keeps them, and which it hands out first.


@question("freed_blocks", "take", hit=True)
def freed_take(state: State, slab: int, cls: int, at: int, count: int) -> None:
    """Take `count` freed blocks of a slab to moved[at] on."""
    raise NotImplementedError


@question("freed_blocks", "give", hit=True)
def freed_give(state: State, slab: int, block: int, freed: int) -> None:
    """Keep a block that comes back to its slab; `freed` counts those that it has already."""
    raise NotImplementedError


@question("freed_blocks", "mark_lines")
def freed_mark_lines(state: State, block: int) -> None:
    """Touch what tells whether a slab keeps a block."""


@question("freed_blocks", "serves", hit=True)
def freed_serves(state: State) -> bool:
    """Return whether a slab's freed blocks may be taken."""
    return True


@question("freed_blocks", "begin")
def freed_begin(state: State, slab: int) -> None:
    """Forget the freed blocks of an empty slab that a class acquires."""
    raise NotImplementedError


@question("freed_blocks", "end_lines")
def freed_end_lines(state: State, slab: int) -> None:
    """Touch what the library touches to forget the freed blocks of a slab that is retired."""
    raise NotImplementedError


# Remote frees: where a block goes that another thread freed.


@question("remote", "stays", hit=True)
def stays(state: State, heap: int, slab: int) -> bool:
    """Return whether a block of `slab` that a thread of `heap` (-1: none) frees goes into the heap's front.

    Otherwise it goes on the remote list of the slab's owner.
    """
    raise NotImplementedError


@question("remote", "needs_heap", hit=True)
def needs_heap(state: State) -> bool:
    """Return whether a thread without a heap gets a heap when it frees a small block."""
    raise NotImplementedError


@question("remote", "joins")
def joins(state: State, heap: int, owner: int, node: int) -> None:
    """Put a node, freed by a thread of `heap`, where it goes on its way to its owner."""
    raise NotImplementedError


@question("remote", "join_lines")
def join_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch what a remote free touches: its counter, and what `joins` does not. The list is as before."""
    raise NotImplementedError


@question("remote", "look_lines")
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch what the owner touches when it looks for remote blocks, and takes them. which: as in opens."""
    raise NotImplementedError


@question("remote", "opens")
def opens(state: State, heap: int, which: int) -> int:
    """Take remote blocks of a heap, and return the first node, or -1.

    which: a class that has a miss, which gets as much as it needs; -1: all of them; -2 - c: of all but those
    of class c. For all of them it is called until none are left.
    """
    raise NotImplementedError


@question("remote", "lacks")
def lacks(state: State, heap: int, cls: int) -> bool:
    """Return whether a refill of a class first takes remote blocks of other classes."""
    raise NotImplementedError


@question("remote", "hands_over")
def hands_over(state: State, heap: int) -> None:
    """Hand over all blocks that the heap's thread has freed and kept."""
    raise NotImplementedError


@question("remote", "goes_by_class")
def goes_by_class(state: State) -> bool:
    """Return whether a drained block goes into a front that is a stack with room, unasked whose it is."""
    raise NotImplementedError


@question("remote", "leave_lines")
def leave_lines(state: State, heap: int, node: int, is_linked: bool) -> None:
    """Touch what a drain touches of a node whose block leaves; is_linked: another block follows."""
    raise NotImplementedError
