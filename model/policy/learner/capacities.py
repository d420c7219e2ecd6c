"""Learned capacities: fronts that miss and flush get longer, and fronts that do neither shorter."""

from collections.abc import Iterator
from typing import Any

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, count_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.charge import any_class
from heapsmith.model.parts.front_questions import front_resize_lines, front_surplus
from heapsmith.model.parts.slab_questions import lock_whole
from heapsmith.model.parts.store import give_batch
from heapsmith.model.policy import front
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.front.common import MAX_CAPACITY, FrontPlan

NAME = "capacities"
MOMENTS = ("heap_begins", "front_missed", "front_flushed")
STATE = {"heaps": {"learn_events": 0}}
"""Misses and flushes since the last decision about capacities."""
RARE = True
NUMBERS = ("learn_window", "learn_often")
CLASS_NUMBERS = ("learn_least", "learn_most", "learn_step")
MOST_WINDOW = 1 << 20
MOST_FACTOR = 64
SLOTS = 3
"""What a front learns, in `slots`: blocks beyond its class's capacity, misses, flushes."""
MISSES, FLUSHES = 1, 2
STEPS = 1000
"""Factors count in thousandths, so that no capacity depends on how a computer rounds."""
COSTS = {
    "learn": 28.90,
    "learn.class": 53.65,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Each heap's fronts change their capacity as the program runs, a window of events at a time.

    window: misses and flushes of a heap's fronts between two decisions; often: a front with at
    least this number of misses, and of flushes, between two decisions grows; a front with neither
    shrinks; least, most, step: bounds and change of the capacity, as parts of the capacity that the
    front states.
    The fast paths count nothing, but each miss and flush costs some instructions, a list's free
    reads its capacity, and each thread reserves the slots of the longest front.
    """

    window: int = 64
    often: int = 1
    least: float = 0.5
    most: float = 4.0
    step: float = 0.5


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such learner, or None."""
    if not 1 <= params.window <= MOST_WINDOW:
        return f"window: {params.window}; expected 1 to {MOST_WINDOW} events"
    if not 1 <= params.often <= params.window:
        return f"often: {params.often}; expected 1 to the window, {params.window}"
    for field, low, high in (("least", 0, 1), ("most", 1, MOST_FACTOR), ("step", 0, MOST_FACTOR)):
        value = getattr(params, field)
        if not low <= value <= high:
            return f"{field}: {value}; expected {low} to {high} times the capacity"
    return None


def why_not_with(design: Any) -> Refusal | None:
    """Return why no class of the design learns, or None."""
    if any(_learns(front.row_of(design.front_of(size))) for size in design.sizes):
        return None
    able = " or ".join(f"'{row.NAME}'" for row in front.ROWS if _learns(row))
    words = f"learner: no class has a front whose capacity can change; expected {able} for one of them"
    return Refusal(words, ("learner", "front"))


def numbers(design: Any) -> dict[str, int]:
    """Return when to decide, and what is often."""
    return {"learn_window": design.learner.window, "learn_often": design.learner.often}


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class the bounds and the step of its capacity; 0: its front does not learn."""
    return [_bounds(design.learner, design.front_of(size), size) for size in design.sizes]


def _bounds(params: Params, own: Any, stride: int) -> dict[str, int]:
    row = front.row_of(own)
    if not _learns(row):
        return dict.fromkeys(CLASS_NUMBERS, 0)
    plan: FrontPlan = front.speller_of(own).derive(own, stride)
    least, most, step = (
        round(STEPS * factor) * plan.capacity // STEPS for factor in (params.least, params.most, params.step)
    )
    return {
        "learn_least": max(least, plan.refill, plan.flush),
        "learn_most": min(most, MAX_CAPACITY),
        "learn_step": max(1, step),
    }


def _learns(row: Any) -> bool:
    return bool(row.CODE.resize != "NULL")


def heap_fields(design: Any) -> list[Field]:
    """Return what a heap knows of its fronts."""
    return [
        Field("int64_t learn_events", 1, "since the last decision about capacities: the sum of `learned`"),
        Field(
            "struct learned { uint32_t misses, flushes; } learned[CLASS_COUNT]",
            len(design.classes()),
            "what happened to each front since",
        ),
    ]


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"capacity": "learned"}


@hit_path
def learned_at(state: State, heap: int, cls: int) -> int:
    """Return where `slots` has what the front of a class has learned in a heap."""
    return state.shared_slots + heap * state.heap_slots + state.learner_slots_at + SLOTS * cls


@hit_path
def capacity(state: State, front: int, cls: int) -> int:
    """Return the class's capacity with what the front has learned."""
    heap = (front - cls) // state.class_count
    return int(state.classes[cls]["capacity"]) + int(state.slots[learned_at(state, heap, cls)])


@kernel
def capacity_lines(state: State, front: int, cls: int) -> None:
    """Touch the front's own capacity."""
    touch(state.listener, int(state.fronts[front]["front_at"]) + layout.FRONT_CAPACITY, 0)


@kernel
def heap_made(state: State, heap: int) -> None:
    """Write the capacities that the fronts begin with."""
    for cls in range(state.class_count):
        touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)
        front_at = heap_at(state, heap) + state.heap_front + layout.FRONT_BYTES * cls
        touch(state.listener, front_at + layout.FRONT_CAPACITY, 1)


@kernel
def front_missed(state: State, heap: int, cls: int) -> None:
    """Count a miss."""
    learn(state, heap, cls, MISSES)


@kernel
def front_flushed(state: State, heap: int, cls: int) -> None:
    """Count a flush."""
    learn(state, heap, cls, FLUSHES)


@kernel
def learn(state: State, heap: int, cls: int, what: int) -> None:
    """Count what happened to the front of a class, and decide if the window is full."""
    if state.classes[cls]["learn_most"] == 0:
        return
    touch(state.listener, learned_line(state, heap, cls), 1)
    touch(state.listener, learned_line(state, heap, -1), 1)
    state.slots[learned_at(state, heap, cls) + what] += 1
    state.heaps[heap]["learn_events"] += 1
    if state.heaps[heap]["learn_events"] == state.learn_window:
        state.heaps[heap]["learn_events"] = 0
        for other in range(state.class_count):
            if state.classes[other]["learn_most"] > 0:
                decide(state, heap, other)


@kernel
def learned_line(state: State, heap: int, cls: int) -> int:
    """Return where the counts of a class lie in a heap, a word; -1: the heap's count of all, before them."""
    return heap_at(state, heap) + state.learner_at + layout.WORD * (1 + cls)


@kernel
def decide(state: State, heap: int, cls: int) -> None:
    """Let the front of a class grow, shrink or stay, and forget its counts."""
    at = learned_at(state, heap, cls)
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
    before = capacity(state, front, cls)
    least, most = int(state.classes[cls]["learn_least"]), int(state.classes[cls]["learn_most"])
    after = max(least, min(most, before + by))
    at = int(state.fronts[front]["front_at"]) + layout.FRONT_CAPACITY
    touch(state.listener, at, int(after != before))
    if after == before:
        return
    state.slots[learned_at(state, heap, cls)] += after - before
    if after > before:
        touch(state.listener, layout.TOTAL_LEARNED_UP, 1)
        state.learned_up += 1
    else:
        touch(state.listener, layout.TOTAL_LEARNED_DOWN, 1)
        state.learned_down += 1
    surplus = max(0, int(state.fronts[front]["held"]) - after)
    front_resize_lines(state, front, cls, surplus)
    if surplus > 0:
        give_surplus(state, heap, cls, surplus)


@kernel
def give_surplus(state: State, heap: int, cls: int, surplus: int) -> None:
    """Give blocks of a front to the store, counted as flushed."""
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_FLUSH + layout.WORD, 1)
    any_class(state)
    state.classes[cls]["flushed"] += surplus
    lock_whole(state)
    front_surplus(state, heap * state.class_count + cls, cls, surplus)
    give_batch(state, heap, state.moved, 0, surplus)


def most_capacity(front: Any, numbers: dict[str, int]) -> int | None:
    """Return the most that a front's capacity comes to; None: it never changes."""
    return max(front.capacity, numbers["learn_most"]) if numbers["learn_most"] else None


def period(plan: Any) -> int:
    """Return the misses and flushes of a window, of which the last pays for the decision."""
    return int(plan.numbers["learn_window"])


def work(plan: Any, simulation: Any, misses: int, unkept: int) -> Iterator[tuple[str, int]]:
    """Yield what the learner does: misses and flushes of the fronts that learn, and classes looked at in a decision."""
    of = simulation.counters.classes
    learns = [row.index for row in plan.classes if row.resizable]
    learned = sum(of[name][index] for name in ("refill", "hit1", "flush") for index in learns)
    yield "learn", learned
    yield "learn.class", learned // period(plan) * plan.class_count
