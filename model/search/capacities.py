"""Front capacities: the misses of every capacity in one pass, and the best use of a budget.

A LIFO cache of capacity C that refills and spills single blocks holds n(C) blocks. n(C + 1) - n(C)
is always 0 or 1: the hits nest. So the state of all capacities is one bit per capacity, bit C = n(C
+ 1) - n(C). An allocation hits in the capacities above the lowest set bit and clears this bit. A
free fits in the capacities above the lowest clear bit and sets this bit. (This is the inclusion of
Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM Systems
Journal 9, 1970, for caches of free blocks.) A FIFO ring has the same counts: the order in which
blocks leave changes no count.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.model.compile.bits import FULL, bit_index
from heapsmith.model.compile.kernel import Ints, Records, compiled, kernel, one_record, record_type
from heapsmith.model.constants import PAGE
from heapsmith.model.design.choices import Front, derive_front
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.records import BATCHES
from heapsmith.model.policy.front import NO_FRONT
from heapsmith.model.policy.front.common import NEVER
from heapsmith.model.search.size_classes import FREE, REALLOC, THREAD_EXIT, THREAD_START
from heapsmith.model.trace.events import Columns
from heapsmith.model.trace.reader import Chunk

WORD_BITS = 32
WORDS = 16
LEVELS = WORDS * WORD_BITS
"""The largest capacity: 512 blocks."""

HELD, MOST, USED = range(WORDS, WORDS + 3)
"""The words after a front's bits: the set bits, their maximum, and 1 once the front was used."""

CAPACITIES = [*range(1, 64), *range(64, 128, 2), *range(128, 256, 4), *range(256, LEVELS + 1, 8)]
"""The capacities that compete for the budget: all up to 64 blocks, then 32 per doubling."""

CLASS_BITS = 8
CLASS_MASK = (1 << CLASS_BITS) - 1

NO_CLASS = -1
NO_HEAP = -1

_compiled = cache(compiled)


class _State(Columns):
    """The state of a pass.

    size_class, classes: from the plan (docs/machine.md section 2). counts: allocations by lowest
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
    """Return the class of a request, NO_CLASS if it is large (docs/machine.md section 2)."""
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


class Option(NamedTuple):
    """A size of a class's front: room for `blocks` (0: no front), the most `bytes` of its idle
    blocks in the trace over all heaps, and an estimate of the slow operations (refills, flushes,
    single moves).
    """

    blocks: int
    bytes: int
    slow: float


class Share(NamedTuple):
    """The result for a class: its front, the chosen option, and all options in ascending order."""

    front: Front
    chosen: Option
    options: list[Option]


ROOMS = ("capacity", "list_capacity")


def _roomy(front: Front, blocks: int, stride: int) -> Front:
    """Return the front with room for at most `blocks` and derived batches, or no front."""
    fields = front.__struct_fields__
    if blocks == 0 or "capacity" not in fields:
        none: Front = NO_FRONT.Params()
        return none
    batches = [name for name in BATCHES if name in fields and getattr(front, name) != NEVER]
    numbers: dict[str, Any] = dict.fromkeys(batches) | {"capacity": blocks}
    if "list_capacity" in fields:
        upper = min(derive_front(front, stride).capacity, max(1, blocks // 2))
        numbers |= {"capacity": upper, "list_capacity": max(1, blocks - upper)}
    return msgspec.structs.replace(front, **numbers)


@lru_cache(4096)
def resized(front: Front, blocks: int, stride: int) -> Front:
    """Return the same kind of front with room for at most `blocks`, with its batches stated.

    Two levels share the blocks; level 0 keeps its size if possible. The byte bound stays. 0 blocks
    make no front.
    """
    roomy = _roomy(front, blocks, stride)
    plan = derive_front(roomy, stride)
    fields = (name for name in ROOMS + BATCHES if getattr(roomy, name, NEVER) != NEVER)
    return msgspec.structs.replace(roomy, **{name: getattr(plan, name) for name in fields})


@lru_cache(4096)
def _sizes(front: Front, stride: int) -> NDArray[np.int64]:
    """Return the sizes that this front can have: a column of blocks, refill and flush for each."""
    plans = [derive_front(_roomy(front, blocks, stride), stride) for blocks in CAPACITIES]
    columns: list[tuple[int, int, int]] = []
    for plan in plans:
        held = plan.capacity + plan.list_capacity
        if (columns[-1][0] if columns else 0) < held <= LEVELS:
            columns.append((held, plan.refill, plan.flush))
    return np.array(columns, np.int64).reshape(-1, 3).T


def options(front: Front, stride: int, curve: Curve) -> list[Option]:
    """Return the options of this front for a class of `stride` bytes, ascending, no front first.

    A front that moves batches is slow once per batch: misses over the refill, overflows over the
    flush. A heap's front never holds more than its capacity. It also never holds more than an
    unbounded front with single moves, plus a refill less 1.
    """
    held, refill, flush = _sizes(front, stride)
    most = np.sort(curve.most).astype(np.int64)
    sums = np.concatenate(([0], np.cumsum(most)))
    below = np.searchsorted(most, held - refill + 1)
    idle = (sums[below] + below * (refill - 1) + (len(most) - below) * held) * stride
    slow = curve.misses[held] / refill + curve.overflows[held] / flush
    none = Option(0, 0, float(curve.misses[0] + curve.overflows[0]))
    return [none, *map(Option, held.tolist(), idle.tolist(), slow.tolist())]


def lower_hull(sizes: Sequence[Option]) -> list[Option]:
    """Return the lower convex hull of slow over bytes, from the fewest bytes to the least slow.

    Of equal options, the smallest counts, but a front comes before no front.
    """
    hull: list[Option] = []
    for option in sorted(sizes, key=lambda size: (size.bytes, size.slow, size.blocks == 0, size.blocks)):
        if hull and option.slow >= hull[-1].slow:
            continue
        while len(hull) > 1 and _gain(hull[-2], option) >= _gain(hull[-2], hull[-1]):
            hull.pop()
        hull.append(option)
    return hull


def _gain(small: Option, large: Option) -> float:
    """Return the slow operations saved per additional byte."""
    return (small.slow - large.slow) / (large.bytes - small.bytes)


Known = dict[tuple[int, Front], tuple[list[Option], list[Option]]]
"""The options of a class's front and their hull, by class and front: of other plans with these curves."""


def allot(curves: Sequence[Curve], plan: Plan, budget_bytes: int, known: Known | None = None) -> dict[int, Share]:
    """Return the share of each class that the trace used and that has a front, within the budget.

    Each class starts with an option of no bytes. The hull step that saves most per byte comes next.
    This greedy choice is the optimum of the relaxed knapsack, where steps may be cut, because
    slopes fall along a hull (Dantzig, "Discrete-variable extremum problems", Operations Research 5,
    1957). Here, a step that does not fit ends its class, so the loss is less than the saving of a
    step.
    """
    fronts = {row.index: plan.design.front_of(row.size) for row in plan.classes if row.front.capacity}
    known = {} if known is None else known
    used = {cls: front for cls, front in fronts.items() if len(curves[cls].most)}
    for cls, front in used.items():
        if (cls, front) not in known:
            sizes = options(front, plan.classes[cls].stride, curves[cls])
            known[cls, front] = sizes, lower_hull(sizes)
    hulls = {cls: known[cls, front][1] for cls, front in used.items()}
    chosen = {cls: hull[0] for cls, hull in hulls.items()}
    steps = [(cls, *step) for cls, hull in hulls.items() for step in pairwise(hull)]
    for cls, here, there in sorted(steps, key=lambda step: (-_gain(*step[1:]), step[0])):
        if chosen[cls] is here and there.bytes - here.bytes <= budget_bytes:
            budget_bytes -= there.bytes - here.bytes
            chosen[cls] = there
    return {
        cls: Share(resized(fronts[cls], option.blocks, plan.classes[cls].stride), option, known[cls, fronts[cls]][0])
        for cls, option in chosen.items()
    }
