"""Front capacities: the misses of every capacity in one pass.

A LIFO cache of capacity C that refills and spills single blocks holds n(C) blocks. n(C + 1) - n(C)
is always 0 or 1: the hits nest. So the state of all capacities is one bit per capacity, bit C = n(C
+ 1) - n(C). An allocation hits in the capacities above the lowest set bit and clears this bit. A
free fits in the capacities above the lowest clear bit and sets this bit. (This is the inclusion of
Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM Systems
Journal 9, 1970, for caches of free blocks.) A FIFO ring has the same counts: the order in which
blocks leave changes no count.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.bits import FULL, bit_index
from heapsmith.model.compile.kernel import Ints, Records, compiled, kernel, one_record, record_type
from heapsmith.model.constants import PAGE
from heapsmith.model.design.plan import Plan
from heapsmith.model.search.size_classes import FREE, REALLOC, THREAD_EXIT, THREAD_START
from heapsmith.model.trace.events import Columns
from heapsmith.model.trace.reader import Chunk

WORD_BITS = 32
WORDS = 16
LEVELS = WORDS * WORD_BITS
"""The largest capacity: 512 blocks."""

HELD, MOST, USED = range(WORDS, WORDS + 3)
"""The words after a front's bits: the set bits, their maximum, and 1 once the front was used."""

CLASS_BITS = 8
CLASS_MASK = (1 << CLASS_BITS) - 1

NO_CLASS = -1
NO_HEAP = -1

_compiled = cache(compiled)


class _State(Columns):
    """The state of a pass.

    size_class, classes: from the plan. counts: allocations by lowest
    set bit, and frees by lowest clear bit, per class. fronts: a row of words per heap and class,
    then HELD, MOST, USED. blocks: heap of birth and class of each live block, NO_HEAP if the block
    is large. heap_of: each thread's heap. idle: a stack of the heaps without a thread.
    """

    size_class: Ints
    classes: Records
    counts: Ints
    fronts: Ints
    blocks: Ints
    heap_of: Ints
    idle: Ints
    scalars: Records


@kernel
def _pop(state: _State, front: int) -> int:
    """Allocate: clear the lowest set bit; return its index, or LEVELS if there is no such bit."""
    state.fronts[front, USED] = 1
    if state.fronts[front, HELD] == 0:
        return LEVELS
    state.fronts[front, HELD] -= 1
    word = 0
    while state.fronts[front, word] == 0:
        word += 1
    lowest = int(state.fronts[front, word]) & -int(state.fronts[front, word])
    state.fronts[front, word] -= lowest
    return WORD_BITS * word + bit_index(lowest)


@kernel
def _push(state: _State, front: int) -> int:
    """Free: set the lowest clear bit; return its index, or LEVELS if there is no such bit."""
    state.fronts[front, USED] = 1
    if state.fronts[front, HELD] == LEVELS:
        return LEVELS
    state.fronts[front, HELD] += 1
    state.fronts[front, MOST] = max(state.fronts[front, MOST], state.fronts[front, HELD])
    word = 0
    while state.fronts[front, word] == FULL:
        word += 1
    lowest = ~int(state.fronts[front, word]) & (int(state.fronts[front, word]) + 1)
    state.fronts[front, word] += lowest
    return WORD_BITS * word + bit_index(lowest)


@kernel
def _class_for(state: _State, size: int, align: int) -> int:
    """Return the class of a request, NO_CLASS if it is large (docs/machine.md, 'from size to class')."""
    if size > state.small_limit:
        return NO_CLASS
    cls = int(state.size_class[(size + state.bias + state.grain - 1) // state.grain])
    if align > state.grain:
        if align > PAGE:
            return NO_CLASS
        while cls < state.class_count and (
            (state.classes[cls]["stride"] | state.classes[cls]["first"]) & (align - 1) != 0
        ):
            cls += 1
    return cls if cls < state.class_count else NO_CLASS


@kernel
def _heap_for(state: _State, thread: int) -> int:
    """Return the thread's heap; a thread without a heap gets an idle or a new heap, both empty."""
    heap = int(state.heap_of[thread])
    if heap == NO_HEAP:
        if state.idle_heaps > 0:
            state.idle_heaps -= 1
            heap = int(state.idle[state.idle_heaps])
        else:
            heap = state.heaps
            state.heaps += 1
        state.heap_of[thread] = heap
    return heap


@kernel
def _end_thread(state: _State, thread: int) -> None:
    """Empty the fronts of the thread's heap, if any, and make the heap idle."""
    heap = int(state.heap_of[thread])
    if heap != NO_HEAP:
        first = heap * state.class_count
        state.fronts[first : first + state.class_count, :MOST] = 0
        state.idle[state.idle_heaps] = heap
        state.idle_heaps += 1
        state.heap_of[thread] = NO_HEAP


@kernel
def _free(state: _State, thread: int, cls: int, owner: int) -> None:
    """Free a block into its owner's front, or the thread's own."""
    if cls != NO_CLASS:
        heap = owner if state.owned > 0 else _heap_for(state, thread)
        state.counts[1, cls, _push(state, heap * state.class_count + cls)] += 1


@kernel
def _follow(state: _State) -> None:
    """Follow the events of a chunk."""
    for event in range(len(state.op)):
        what, who, which = int(state.op[event]), int(state.thread[event]), int(state.block[event])
        if what == THREAD_EXIT:
            _end_thread(state, who)
        if what >= THREAD_START:
            continue
        before, owner = NO_CLASS, NO_HEAP
        if what == REALLOC or what >= FREE:
            owner = int(state.blocks[which]) >> CLASS_BITS
            before = NO_CLASS if owner == NO_HEAP else int(state.blocks[which]) & CLASS_MASK
        if what < FREE:
            size = int(state.size[event])
            cls = _class_for(state, size, 1 << int(state.align_log2[event]))
            if what == REALLOC and before != NO_CLASS:
                usable = int(state.classes[before]["usable"])
                if cls == before or (size <= usable and 2 * size >= usable):
                    continue
            state.blocks[which] = NO_HEAP
            if cls != NO_CLASS:
                heap = _heap_for(state, who)
                state.blocks[which] = heap << CLASS_BITS | cls
                state.counts[0, cls, _pop(state, heap * state.class_count + cls)] += 1
        _free(state, who, before, owner)


class Curve(NamedTuple):
    """A class of all heaps over the capacities C = 0 to LEVELS, in fronts that move single blocks.

    misses[C]: allocations that find the front empty; overflows[C]: frees that find the front full;
    most: for each heap with this class, the most blocks that a front of LEVELS ever held.
    """

    misses: Ints
    overflows: Ints
    most: Ints


class Shape(NamedTuple):
    """The classes of a malloc, and where a freed block goes.

    size_class: the class of a request of n bytes at (n + bias + grain - 1) / grain. classes: of each
    the stride, the first address modulo the page, and the usable bytes. small_limit: the largest
    request of a class. owned: a block goes back to the heap of its birth, not to the thread that
    frees it.
    """

    size_class: Ints
    classes: Sequence[tuple[int, int, int]]
    grain: int
    bias: int
    small_limit: int
    owned: bool

    @staticmethod
    def of(plan: Plan) -> "Shape":
        """Return the shape of a plan."""
        return Shape(
            np.array(plan.size_class, np.int64),
            [(row.stride, row.first, row.usable) for row in plan.classes],
            plan.grain,
            plan.bias,
            plan.small_limit,
            bool(plan.design.row("remote").OWNED),
        )


class CapacityPass:
    """Follows a trace through a malloc's classes, for all front capacities and up to `heaps` heaps.

    A block that another thread frees goes where the shape says. A block for its
    owner arrives at once, although the real owner drains its list only on a miss. All other policies
    are exact. Memory: 152 bytes per heap and class, 8 per block number.
    """

    def __init__(self, shape: Shape, heaps: int, threads: int, max_blocks: int) -> None:
        classes = len(shape.classes)
        self._state = _State(
            size_class=shape.size_class,
            classes=np.array(shape.classes, record_type("stride", "first", "usable")),
            counts=np.zeros((2, classes, LEVELS + 1), np.int64),
            fronts=np.zeros((heaps * classes, WORDS + 3), np.int64),
            blocks=np.full(max_blocks, NO_HEAP, np.int64),
            heap_of=np.full(threads, NO_HEAP, np.int64),
            idle=np.zeros(heaps, np.int64),
            scalars=one_record(
                **{name: getattr(shape, name) for name in ("grain", "bias", "small_limit")},
                class_count=classes,
                owned=int(shape.owned),
                heaps=0,  # heaps created
                idle_heaps=0,
            ),
        )

    def feed(self, chunk: Chunk, *, plain: bool = False) -> None:
        """Follow the events of the next chunk; `plain` runs the kernels as Python."""
        self._state.follow(chunk)
        (_follow if plain else _compiled(_follow))(self._state)

    def curves(self) -> list[Curve]:
        """Return a curve per class of all events so far."""
        classes = self._state.class_count
        fronts = self._state.fronts.reshape(-1, classes, WORDS + 3)
        at_least = np.cumsum(self._state.counts[:, :, ::-1], axis=2)[:, :, ::-1]
        return [
            Curve(at_least[0, cls], at_least[1, cls], fronts[fronts[:, cls, USED] > 0, cls, MOST])
            for cls in range(classes)
        ]
