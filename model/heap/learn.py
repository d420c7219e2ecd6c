"""Learner: fronts change their capacity after misses and flushes; docs/machine.md section 4."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.heap.charge import any_class
from heapsmith.model.heap.store import give_batch
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import count_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front import front_resize_lines, front_surplus
from heapsmith.model.policy.front.common import capacity_of, learned_at

MISSES, FLUSHES = 1, 2
"""What happened to a front: places of its counts among what it learns."""


@kernel
def learn(state: State, heap: int, cls: int, what: int) -> None:
    """Count what happened to the front of a class, and decide if the window is full."""
    if state.classes[cls]["learn_most"] == 0:
        return
    touch(state.listener, learned_line(state, heap, cls), 1)
    touch(state.listener, learned_line(state, heap, -1), 1)
    state.slots[learned_at(state, heap * state.class_count + cls, cls) + what] += 1
    state.heaps[heap]["learn_events"] += 1
    if state.heaps[heap]["learn_events"] == state.learn_window:
        state.heaps[heap]["learn_events"] = 0
        for other in range(state.class_count):
            if state.classes[other]["learn_most"] > 0:
                decide(state, heap, other)


@kernel
def learned_line(state: State, heap: int, cls: int) -> int:
    """Return where the counts of a class lie in a heap, a word; -1: the heap's count of all, before them."""
    words = state.remote_words + int(state.drain_interval > 0) + state.class_count
    return heap_at(state, heap) + state.heap_remote + layout.WORD * (cls - words)


@kernel
def decide(state: State, heap: int, cls: int) -> None:
    """Let the front of a class grow, shrink or stay, and forget its counts."""
    at = learned_at(state, heap * state.class_count + cls, cls)
    misses, flushes = int(state.slots[at + MISSES]), int(state.slots[at + FLUSHES])
    touch(state.listener, learned_line(state, heap, cls), 1)
    step = int(state.classes[cls]["learn_step"])
    if misses >= state.learn_often and flushes >= state.learn_often:
        resize(state, heap, cls, step)
    elif misses == 0 and flushes == 0:
        resize(state, heap, cls, -step)
    state.slots[at + MISSES] = state.slots[at + FLUSHES] = 0


@kernel
def resize(state: State, heap: int, cls: int, by: int) -> None:
    """Change a front's capacity within its bounds; what it has no room for goes to the store."""
    front = heap * state.class_count + cls
    before = capacity_of(state, front, cls)
    least, most = int(state.classes[cls]["learn_least"]), int(state.classes[cls]["learn_most"])
    capacity = max(least, min(most, before + by))
    at = int(state.fronts[front]["front_at"]) + layout.FRONT_CAPACITY
    touch(state.listener, at, int(capacity != before))
    if capacity == before:
        return
    state.slots[learned_at(state, front, cls)] += capacity - before
    if capacity > before:
        touch(state.listener, layout.TOTAL_LEARNED_UP, 1)
        state.learned_up += 1
    else:
        touch(state.listener, layout.TOTAL_LEARNED_DOWN, 1)
        state.learned_down += 1
    surplus = max(0, int(state.fronts[front]["held"]) - capacity)
    front_resize_lines(state, front, cls, surplus)
    if surplus > 0:
        give_surplus(state, heap, cls, surplus)


@kernel
def give_surplus(state: State, heap: int, cls: int, surplus: int) -> None:
    """Give blocks of a front to the store, counted as flushed."""
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_FLUSH + layout.WORD, 1)
    any_class(state)
    state.classes[cls]["flushed"] += surplus
    if state.owned == 0 and state.shards == 0:
        touch(state.listener, layout.POOL_LOCK, 1)
    front_surplus(state, heap * state.class_count + cls, cls, surplus)
    give_batch(state, heap, state.moved, 0, surplus)
