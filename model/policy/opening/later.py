"""Later: an array stack keeps nothing until its class has missed some times in the heap.

A thread that asks for a class once leaves no block of it behind. Its first refills are short, blocks that it
does not use go back when the heap grows, and the slots of few blocks lie together.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.cold_paths import FLUSH
from heapsmith.model.memory.layout import TOTAL_COMMITTED, class_at, count_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import takes, touch, touch_bytes
from heapsmith.model.parts.block_questions import parked_lines
from heapsmith.model.parts.charge import any_class
from heapsmith.model.parts.front_questions import capacity_lines, capacity_of, front_drain, front_drain_lines
from heapsmith.model.parts.slab_questions import lock_whole
from heapsmith.model.parts.stacks import own_slots_lines
from heapsmith.model.parts.store import give_batch
from heapsmith.model.policy import front
from heapsmith.model.policy.emitted import Field

NAME = "later"
STATE = {"heaps": {"idle_mark": 0}}
"""The committed bytes from which on a heap looks at its stacks."""
NUMBERS = ("first_blocks", "idle_percent", "compact_blocks", "opens_by_frees")
CLASS_NUMBERS = ("opens_after",)
SLOTS = 4
"""Of a front, in `slots`: its misses while it was closed, its refills that grew, what it held at the last look, and the
frees while it was closed.
"""
REFILLS, HELD, FREES = 1, 2, 3
MOST_MISSES = 255
MOST_FIRST_BLOCKS = 1 << 16
MOST_PERCENT = 1000
MOST_COMPACT = 64
MOST_FREES = 255
COSTS = {"opening.stack": 20.0, "opening.move": 85.0, "opening.compact": 5.0}
"""By hand: callgrind, `opening_look` of replays of blocks of 8 to 32,768 and of 8 to 1,024 bytes: 20.7 and 16.9. Of a
move, and of a refill of a compact stack: what the first of these replays takes more with them."""


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Array stacks keep nothing until their class has missed often enough in the heap.

    misses: with this miss, in a heap and of a class, the stack opens. Each miss before takes one block, each
    free gives it back. Threads that use a class once hold no block of it; each other costs some more misses.
    first_blocks: blocks of a class's first refill; each later one brings twice as many, up to the front's refill (0:
    all are whole). idle_percent: when the heap has grown by this share, a stack with as many blocks as at the growth
    before gives them to the store (0: never). compact_blocks: a stack that never held more lies beside the others
    that did not, on few pages (0: each has slots for its capacity). frees: with this free into a closed stack it opens
    too, for threads that free what others allocate; while it is compact, it then gives all as it is full (0: never).
    """

    misses: int = 2
    first_blocks: int = 0
    idle_percent: int = 0
    compact_blocks: int = 0
    frees: int = 0


def why_not_valid(params: Params) -> str | None:
    """Return why no stack opens with this miss, or has no such refill or look, or None."""
    if not 2 <= params.misses <= MOST_MISSES:
        return f"misses: {params.misses}; expected 2 to {MOST_MISSES}"
    if not 0 <= params.first_blocks <= MOST_FIRST_BLOCKS:
        return f"first_blocks: {params.first_blocks}; expected 0 to {MOST_FIRST_BLOCKS} blocks"
    if not 0 <= params.idle_percent <= MOST_PERCENT:
        return f"idle_percent: {params.idle_percent}; expected 0 to {MOST_PERCENT}"
    if not 0 <= params.compact_blocks <= MOST_COMPACT:
        return f"compact_blocks: {params.compact_blocks}; expected 0 to {MOST_COMPACT} blocks"
    if not 0 <= params.frees <= MOST_FREES:
        return f"frees: {params.frees}; expected 0 to {MOST_FREES}"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return blocks of a first refill, growth between looks, blocks of a compact stack, and the free that opens."""
    return {
        "first_blocks": design.opening.first_blocks,
        "idle_percent": design.opening.idle_percent,
        "compact_blocks": design.opening.compact_blocks if design.heaps is None else 0,
        "opens_by_frees": design.opening.frees,
    }


def files(design: Any) -> dict[str, str]:
    """Return the header of where the slots of a stack are."""
    return {"slots": "compact" if numbers(design)["compact_blocks"] > 0 else "wide"}


def slots_before(design: Any) -> int:
    """Return the slots of a heap's compact stacks: of each class its blocks, and one below them."""
    most = numbers(design)["compact_blocks"]
    return (most + 1) * len(design.classes()) if most > 0 else 0


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class the miss with which its stack opens; 0: at once."""
    opens = [design.heaps is None and _opens(front.row_of(design.front_of(size))) for size in design.sizes]
    return [{"opens_after": design.opening.misses * able} for able in opens]


def places(plan: Any, first: Ints, own: Ints) -> tuple[Ints, Ints]:
    """Return by heap and class where the slots of a stack are at first, and to where it moves (0: it does not).

    first: the address of each heap's first slot; own: by heap and class that of the slots for the whole capacity.
    """
    most = numbers(plan.design)["compact_blocks"]
    is_compact = np.array([most > 0 and row.numbers["opens_after"] > 0 for row in plan.classes])
    compact = first + layout.WORD * ((most + 1) * np.arange(plan.class_count) + 1)
    return np.where(is_compact, compact, own), np.where(is_compact, own, 0)


def _opens(row: Any) -> bool:
    return bool(row.CODE.resize != "NULL" and getattr(row, "IS_STACK", False))


def heap_fields(design: Any) -> list[Field]:
    """Return what a heap knows of its fronts."""
    return [
        Field("uint64_t idle_mark", 1, "committed bytes from which on it looks at its stacks"),
        Field(
            "struct opened { uint32_t held; uint8_t missed, refills, freed; } opened[CLASS_COUNT]",
            len(design.classes()),
            "what it knows of a stack",
        ),
    ]


def work(plan: Any, simulation: Any, misses: int, unkept: int) -> Iterator[tuple[str, int]]:
    """Yield the stacks that heaps look at while they grow, those that move, and refills of compact ones."""
    yield "opening.stack", simulation.statistics.work["stacks_looked_at"]
    yield "opening.move", simulation.statistics.work["stacks_moved"]
    yield "opening.compact", misses * (numbers(plan.design)["compact_blocks"] > 0)


@kernel
def slots_of(state: State, heap: int, cls: int) -> int:
    """Return where `slots` has what is known of the front of a class in a heap."""
    return state.shared_slots + heap * state.heap_slots + state.opening_slots_at + SLOTS * cls


@kernel
def opened_line(state: State, heap: int, cls: int, write: int) -> None:
    """Touch what a heap knows of the front of a class, a word; -1: its mark, before them."""
    touch(state.listener, heap_at(state, heap) + state.opening_at + layout.WORD * (1 + cls), write)


@kernel
def _is_closed(state: State, front: int, cls: int) -> bool:
    if state.fronts[front]["closed_at"] == 0 or state.classes[cls]["opens_after"] == 0:
        return False
    heap = (front - cls) // state.class_count
    opened_line(state, heap, cls, 0)
    return bool(state.slots[slots_of(state, heap, cls)] < state.classes[cls]["opens_after"])


@kernel
def stays_closed(state: State, front: int, cls: int) -> bool:
    """Count a miss; return whether the front stays closed, so that it brings one block."""
    if state.classes[cls]["opens_after"] == 0:
        return False
    heap = (front - cls) // state.class_count
    if state.idle_percent > 0:
        missed(state, heap)
    touch(state.listener, int(state.fronts[front]["top_at"]), 0)
    own_slots_lines(state, front, cls)
    if not _is_closed(state, front, cls):
        return False
    opened_line(state, heap, cls, 1)
    state.slots[slots_of(state, heap, cls)] += 1
    return bool(state.slots[slots_of(state, heap, cls)] < state.classes[cls]["opens_after"])


@kernel
def gives_back(state: State, front: int, cls: int) -> bool:
    """Count a free into a front that does not serve it; return whether it is closed and stays so."""
    if not _is_closed(state, front, cls):
        return False
    if state.opens_by_frees == 0:
        return True
    heap = (front - cls) // state.class_count
    at = slots_of(state, heap, cls)
    opened_line(state, heap, cls, 1)
    state.slots[at + FREES] += 1
    if state.slots[at + FREES] < state.opens_by_frees:
        return True
    state.slots[at] = state.classes[cls]["opens_after"]
    return False


@kernel
def refill_of(state: State, front: int, cls: int) -> int:
    """Return the blocks that a refill wants: each of a heap's first ones twice as many as the one before."""
    refill = int(state.classes[cls]["refill_batch"])
    if state.first_blocks == 0 or state.classes[cls]["opens_after"] == 0:
        return refill
    heap = (front - cls) // state.class_count
    at = slots_of(state, heap, cls) + REFILLS
    wanted = state.first_blocks << int(state.slots[at])
    opened_line(state, heap, cls, int(wanted < refill))
    if wanted >= refill:
        return refill
    state.slots[at] += 1
    return wanted


@kernel
def has_room(state: State, heap: int, front: int, cls: int, held: int) -> int:
    """Let a full compact stack move for a free, or give all if frees opened it; return how many blocks it gave."""
    if state.opens_by_frees > 0:
        opened_line(state, heap, cls, 0)
    if state.opens_by_frees == 0 or state.slots[slots_of(state, heap, cls) + FREES] < state.opens_by_frees:
        make_room(state, front, cls, held + 1)
        return 0
    takes(state.listener, FLUSH)
    capacity_lines(state, front, cls)
    give_idle(state, heap, cls, held)
    return held


@hit_path
def room_of(state: State, front: int, cls: int) -> int:
    """Return the most blocks of a stack where it lies: of one that is compact, and did not move, fewer."""
    capacity = capacity_of(state, front, cls)
    return min(capacity, int(state.compact_blocks)) if state.fronts[front]["moves_to"] > 0 else capacity


@kernel
def make_room(state: State, front: int, cls: int, count: int) -> None:
    """Let a compact stack move, if it has no room for `count` blocks."""
    if state.fronts[front]["moves_to"] > 0 and count > state.compact_blocks:
        state.stacks_moved += 1
        held = int(state.fronts[front]["held"])
        touch_bytes(state.listener, int(state.fronts[front]["slots_at"]), layout.WORD * held, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
        state.fronts[front]["slots_at"] = state.fronts[front]["moves_to"]
        state.fronts[front]["moves_to"] = 0
        touch_bytes(state.listener, int(state.fronts[front]["slots_at"]), layout.WORD * held, 1)
        if state.fronts[front]["closed_at"] == 0:
            capacity_lines(state, front, cls)
            touch(state.listener, int(state.fronts[front]["top_at"]), 1)
            touch(state.listener, int(state.fronts[front]["end_at"]), 1)


@kernel
def missed(state: State, heap: int) -> None:
    """Look at the heap's stacks if the heap has grown enough since the last look."""
    touch(state.listener, TOTAL_COMMITTED, 0)
    committed = int(state.committed)
    opened_line(state, heap, -1, int(committed >= state.heaps[heap]["idle_mark"]))
    if committed < state.heaps[heap]["idle_mark"]:
        return
    state.heaps[heap]["idle_mark"] = committed + committed // 100 * state.idle_percent + state.slab_bytes
    for cls in range(state.class_count):
        if state.classes[cls]["opens_after"] > 0:
            look(state, heap, cls)


@kernel
def look(state: State, heap: int, cls: int) -> None:
    """Give what an idle stack holds to the store, and note what it holds then."""
    front = heap * state.class_count + cls
    state.stacks_looked_at += 1
    own_slots_lines(state, front, cls)
    touch(state.listener, int(state.fronts[front]["top_at"]), 0)
    parked_lines(state, heap, cls)
    if state.fronts[front]["closed_at"] > 0:
        return
    at = slots_of(state, heap, cls) + HELD
    held = int(state.fronts[front]["held"])
    opened_line(state, heap, cls, 1)
    if held > 0 and held == state.slots[at]:
        give_idle(state, heap, cls, held)
        held = 0
    state.slots[at] = held


@kernel
def give_idle(state: State, heap: int, cls: int, held: int) -> None:
    """Give all blocks of a stack to the store, counted in `flushed`."""
    front = heap * state.class_count + cls
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_FLUSH + layout.WORD, 1)
    any_class(state)
    state.classes[cls]["flushed"] += held
    touch(state.listener, class_at(cls) + layout.CLASS_DRAIN, 0)
    front_drain_lines(state, front, cls)
    front_drain(state, front, cls)
    lock_whole(state)
    give_batch(state, heap, state.moved, 0, held)
