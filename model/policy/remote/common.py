"""What the remote lists of heaps that own slabs have in common: their numbers, a LIFO and its lines."""

from collections.abc import Iterator
from typing import Any, Literal

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import (
    CLASS_MASK,
    COUNT_DRAINED,
    COUNT_REMOTE,
    SLAB_CLASS_NUMBER,
    SLAB_SHIFT,
    WORD,
    block_at,
    count_at,
    heap_at,
    slab_at,
)
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.front_questions import look_lines
from heapsmith.model.parts.fronts import drain_remote
from heapsmith.model.policy.emitted import BEFORE_LIST, SELF, Field, Hit, Question, total

OWNER_CODE = Question(total(Hit(2, 0, 1), SELF), ("!= self",), ("remote_free",))
"""Loads: a table's start, and the owner. Branch: is the owner this thread's heap? Calls: ownership's."""

COUNTED_CODE = Question(
    total(OWNER_CODE.hit, Hit(1, 1, 1)), (*OWNER_CODE.tests, "== 0"), ("remote_free_counted", "remote_frees_end")
)
"""The same where frees are counted: one instruction counts, and a branch asks whether a drain is due."""

MOST_INTERVAL = 1 << 30
Counted = Literal["flushes", "frees"]

STATE = {"heaps": {"since_drain": 0}}
"""Flushes or frees since the last drain."""

COUNTED_COST = 2.0
"""Instructions of a counted free, in the disassembly: a count and a branch."""

APART_WORDS = 7
"""Behind the count of frees: so it is on another line than the list, which other threads write."""


def why_not_interval(drain_interval: int) -> str | None:
    """Return why heaps cannot drain at this interval, or None."""
    if 1 <= drain_interval <= MOST_INTERVAL:
        return None
    return f"drain_interval: {drain_interval}; expected 1 to {MOST_INTERVAL}"


def interval_of(design: Any) -> dict[str, int]:
    """Return the interval of the row's Params, by what is counted, if the design gives one."""
    if isinstance(design.remote, str) or design.remote.drain_interval is None:
        return {}
    name = "drain_frees" if design.remote.drain_counts == "frees" else "drain_interval"
    return {name: design.remote.drain_interval}


def code(design: Any) -> Question:
    """Return what the emitted free asks about the owner."""
    return COUNTED_CODE if "drain_frees" in interval_of(design) else OWNER_CODE


@kernel
def part_at(state: State, heap: int) -> int:
    """Return the model address of the words of a heap's remote list besides its head."""
    return heap_at(state, heap) + state.heap_remote - WORD * state.remote_words


@kernel
def slots_in(state: State, heap: int, cls: int, each: int) -> int:
    """Return where `slots` has the `each` words that a row keeps of a heap and class."""
    return state.shared_slots + heap * state.heap_slots + state.remote_slots_at + each * cls


@kernel
def owns(state: State, heap: int, slab: int) -> bool:
    """Return whether the heap owns the slab."""
    return bool(state.slabs[slab]["owner"] == heap)


@kernel
def no_heap(state: State) -> bool:
    """Return False: the block goes to its owner."""
    return False


@kernel
def push(state: State, heap: int, owner: int, node: int) -> None:
    """Put the node at the head (LIFO)."""
    state.nodes[node]["next"] = state.heaps[owner]["remote"]
    state.heaps[owner]["remote"] = node


@kernel
def pop_lines(state: State, heap: int, node: int, is_linked: bool) -> None:
    """Touch the link, which says whether another block follows, the block's class, and the counter."""
    touch(state.listener, block_at(state, int(state.nodes[node]["block"])), int(state.tail_bytes > 0))
    drained_lines(state, heap, int(state.nodes[node]["block"]))


@kernel
def drained_lines(state: State, heap: int, block: int) -> None:
    """Touch the class in the record of the block's slab, and the counter."""
    touch(state.listener, slab_at(state, block >> SLAB_SHIFT) + SLAB_CLASS_NUMBER, 0)
    touch(state.listener, count_at(state, heap, block & CLASS_MASK) + COUNT_DRAINED, 1)


@kernel
def push_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch the head, the counter and the block's link."""
    touch(state.listener, heap_at(state, owner) + state.heap_remote, 1)
    touch(state.listener, count_at(state, owner, block & CLASS_MASK) + COUNT_REMOTE, 1)
    touch(state.listener, block_at(state, block), 1)


@kernel
def takes_all(state: State, heap: int, which: int) -> int:
    """Take the whole list, for whatever class; return its first node, or -1."""
    node = int(state.heaps[heap]["remote"])
    state.heaps[heap]["remote"] = -1
    return node


@kernel
def lacks_nothing(state: State, heap: int, cls: int) -> bool:
    """Return False: the list was taken as a whole."""
    return False


@kernel
def goes_by_slab(state: State) -> bool:
    """Return False: a drained block is freed as any block."""
    return False


@kernel
def keeps_nothing(state: State, heap: int) -> None:
    """Do nothing: blocks went to their owners at once."""


def list_of(state: State, heap: int) -> list[tuple[int, int]]:
    """Return the heap's list: the owner of its blocks and its first node."""
    return [(heap, int(state.heaps[heap]["remote"]))]


def fields_of(numbers: dict[str, int]) -> list[Field]:
    """Return what such a list adds to struct heap, by its numbers."""
    left = Field("int64_t frees_left", 1, "to the next drain, of the owner alone")
    apart = Field(f"uint64_t apart[{APART_WORDS}]", APART_WORDS, "from the list's line, which other threads write")
    count = Field("int64_t flushes", 1, "since the last drain, of the owner alone", BEFORE_LIST)
    words = numbers.get("remote_words", 0)
    part = Field("uintptr_t remote_part[REMOTE_WORDS]", words, "what the kind of remote list has besides", BEFORE_LIST)
    counted = [left, apart] * ("drain_frees" in numbers) + [count] * ("drain_interval" in numbers)
    return counted + [part] * (words > 0)


def moments_of(numbers: dict[str, int]) -> tuple[str, ...]:
    """Return the moments that such a list answers, by its numbers."""
    return ("flush_ended",) * ("drain_interval" in numbers) + ("heap_begins",) * ("drain_frees" in numbers)


def files_of(numbers: dict[str, int]) -> dict[str, str]:
    """Return the headers of such a list by what they are for, by its numbers."""
    found = {"drains": "drains_whole", "interval": "uncounted"}
    if "drain_frees" in numbers:
        return found | {"interval": "counted_frees", "moments": "frees"}
    return found | {"interval": "counted", "moments": "interval"} if "drain_interval" in numbers else found


def work(plan: Any, simulation: Any, misses: int, unkept: int) -> Iterator[tuple[str, int]]:
    """Yield the frees that are counted: of own blocks, of other heaps' blocks, and of drained ones."""
    of = simulation.counters.classes
    counted = sum(map(sum, (of["push"], of["direct"], of["remote"]))) * ("drain_frees" in plan.numbers)
    yield f"free.interval.{plan.design.row('remote').NAME}", counted


@kernel
def flush_ended(state: State, heap: int) -> None:
    """Count a flush of the heap's thread; drain after every `drain_interval` flushes."""
    if state.drain_interval > 0:
        counts(state, heap, state.drain_interval)


@kernel
def free_ended(state: State, heap: int) -> None:
    """Count a free by the heap's thread; drain after every `drain_frees` frees."""
    if state.drain_frees > 0:
        counts(state, heap, state.drain_frees)


@kernel
def counts(state: State, heap: int, interval: int) -> None:
    """Count one more, and drain if that makes the interval."""
    state.heaps[heap]["since_drain"] += 1
    touch(state.listener, counted_at(state, heap), 1)
    if state.heaps[heap]["since_drain"] >= interval:
        state.heaps[heap]["since_drain"] = 0
        if state.drain_most > 0:
            drain_remote(state, heap, -2 - state.class_count)
        else:
            look_lines(state, heap, -1)
            drain_remote(state, heap, -1)


@kernel
def counted_at(state: State, heap: int) -> int:
    """Return where the count lies in a heap: of flushes before the words of the remote list, of frees apart."""
    if state.drain_frees > 0:
        return heap_at(state, heap) + state.remote_at
    return heap_at(state, heap) + state.heap_remote - WORD * (1 + state.remote_words)


@kernel
def begins_to_count(state: State, heap: int) -> None:
    """Begin to count in a new heap: frees are counted down."""
    if state.drain_frees > 0:
        touch(state.listener, counted_at(state, heap), 1)


@kernel
def remote_drained(state: State, heap: int) -> None:
    """Begin to count anew."""
    if state.drain_interval > 0 or state.drain_frees > 0:
        state.heaps[heap]["since_drain"] = 0
        touch(state.listener, counted_at(state, heap), 1)
