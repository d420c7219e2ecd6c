"""A transfer cache: a LIFO of batches for each class, which go to the store if no refill comes."""

from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.equations import equal
from heapsmith.model.parts.locks import uncounted
from heapsmith.model.parts.needs import Needs
from heapsmith.model.parts.slab_questions import (
    batch_store,
    copy_of,
    heaps_shard_lines,
    lock_transfer,
    number_at,
    store_of,
)
from heapsmith.model.parts.store import give_batch
from heapsmith.model.policy import front
from heapsmith.model.policy.front.common import frees_alone_fill

NAME = "batches"
FIELD_STEPS = {"transfer_bytes": (1, 1 << 30), "transfer_from_heaps": (1, 1 << 10)}
STATE = {"stores": {"batches": 0, "idle": 0}}
"""Batches in the transfer cache; flushes since the last refill."""
NUMBERS = ("transfer_slots", "transfer_idle", "transfer_from_heaps")
CLASS_FIELDS = ("transfer", "transfer_slot")
COSTS: dict[str, float] = {}  # machines have those of transfers
TRANSFER_BATCHES = 8
"""The most waiting batches of a class: more hardly helped the benchmark's handover programs."""
TRANSFER_IDLE = 16
"""After this many flushes of a class without a refill, its batches go to the store."""


def batches(design: Any, size: int) -> int:
    """Return how many flushed batches of the class of this block size may wait.

    None for a class whose front no refill fills.
    """
    plan = design.front_plan(size)
    is_batched = next(row.BATCHED for row in front.ROWS if plan.kind == row.NAME)
    if frees_alone_fill(design.front_of(size)) or design.row("remote").OWNED or not is_batched:
        return 0
    return int(min(TRANSFER_BATCHES, design.transfer_bytes // (plan.flush * size)))


def numbers(design: Any) -> dict[str, int]:
    """Return the slots of all classes, the flushes without a refill after which batches go, and the heaps for any."""
    most = sum(batches(design, size) * design.front_plan(size).flush for size, _ in design.classes())
    heaps = design.transfer_from_heaps
    return {"transfer_slots": most, "transfer_idle": TRANSFER_IDLE, "transfer_from_heaps": heaps}


def class_fields(design: Any) -> list[dict[str, int]]:
    """Return by class the most batches, and where they begin."""
    found, slot = [], 0
    for size, _ in design.classes():
        most = batches(design, size)
        found.append({"transfer": most, "transfer_slot": slot})
        slot += most * design.front_plan(size).flush
    return found


def bounds(design: Any) -> dict[str, int]:
    """Return the most batches of a class, which bound a loop."""
    return {"most_transfer": max(batches(design, size) for size in design.sizes)}


def needs(plan: Any) -> Needs:
    """Return the slots of all transfer caches."""
    return Needs(shared=plan.numbers["transfer_slots"] * int(plan.design.row("shards").copies(plan)))


def unkept(plan: Any, simulation: Any) -> int:
    """Return how many flushes of classes with batches went to the store, and how many batches."""
    of, found = simulation.counters.classes, 0
    for row in plan.classes:
        i, flush = row.index, max(1, row.front.flush)
        if row.fields["transfer"]:
            found += of["flush"][i] - of["transfer_in"][i] // flush + of["transfer_back"][i] // flush
    return found


@kernel
def first_slot(state: State, store: int) -> int:
    """Return where the batches of a store begin, in `slots` and in the library's transfer cache."""
    first = int(state.classes[store % int(state.class_count)]["transfer_slot"])
    return copy_of(state, store) * state.transfer_slots + first


@kernel
def has_batches(state: State, cls: int) -> bool:
    """Return whether the class may have batches."""
    return bool(state.classes[cls]["transfer"] > 0)


@kernel
def transfer_lines(state: State, cls: int) -> None:
    """Touch the class's word on transfers, if a class may have batches."""
    if state.transfer_slots > 0:
        touch(state.listener, class_at(cls) + layout.CLASS_TRANSFER, 0)


@kernel
def kept_batches(state: State, cls: int) -> int:
    """Return how many batches the class has, where no shards divide them."""
    touch(state.listener, layout.KEPT_BATCHES + cls * layout.NUMBER_BYTES, 0)
    return int(state.stores[cls]["batches"])


@kernel
def has_few_heaps(state: State) -> bool:
    """Return whether there are too few heaps for batches: no other could take them."""
    if state.transfer_from_heaps <= 1:
        return False
    touch(state.listener, layout.TOTAL_HEAPS, 0)
    return bool(state.heaps_made < state.transfer_from_heaps)


@kernel
def is_idle(state: State, cls: int) -> bool:
    """Return whether no refill has looked at the class's batches for long, or no other heap could take one."""
    if has_few_heaps(state):
        return True
    touch(state.listener, layout.IDLE + cls * layout.NUMBER_BYTES, 0)
    return bool(state.stores[cls]["idle"] > TRANSFER_IDLE)


@kernel
def keeps_taken(state: State, heap: int, cls: int, taken: int) -> bool:
    """Make the blocks in `moved` a batch, if they are enough; they go back to the store otherwise."""
    count = int(state.classes[cls]["flush_batch"])
    base = int(state.classes[cls]["transfer_slot"]) + int(state.stores[cls]["batches"]) * count
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, taken * layout.WORD, 1)
    if taken < count:
        give_batch(state, heap, state.moved, 0, taken)
        return False
    for index in range(count):
        state.slots[base + index] = state.moved[count - 1 - index]
    touch(state.listener, layout.KEPT_BATCHES + cls * layout.NUMBER_BYTES, 1)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_IN, 1)
    state.stores[cls]["batches"] += 1
    state.classes[cls]["transfer_in"] += count
    return True


@kernel
def keep_batch(state: State, heap: int, cls: int, count: int) -> bool:
    """Keep the flush in `moved` as a batch if there is room; return whether it was kept.

    A cache that no refill has looked at for long is emptied instead.
    """
    if state.classes[cls]["transfer"] == 0 or has_few_heaps(state):
        return False
    store = batch_store(state, heap, cls, count)
    if store < 0:
        return False
    lock_transfer(state, store)
    state.locks_batch_keep += uncounted(state)
    touch(state.listener, layout.IDLE + number_at(state, store), 1)
    touch(state.listener, layout.KEPT_BATCHES + number_at(state, store), 1)
    state.stores[store]["idle"] += 1
    if state.stores[store]["idle"] > TRANSFER_IDLE:
        empty_batches(state, heap, store, cls)
        return False
    held = int(state.stores[store]["batches"])
    if held == state.classes[cls]["transfer"]:
        return False
    base = first_slot(state, store) + held * count
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 1)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_IN, 1)
    for index in range(count):
        state.slots[base + index] = state.moved[index]
    state.stores[store]["batches"] = held + 1
    state.classes[cls]["transfer_in"] += count
    return True


@kernel
def empty_batches(state: State, heap: int, store: int, cls: int) -> None:
    """Give all batches to the store, the newest first, each in the order of its flush."""
    count = int(state.classes[cls]["flush_batch"])
    while state.stores[store]["batches"] > 0:
        state.stores[store]["batches"] -= 1
        state.classes[cls]["transfer_back"] += count
        base = first_slot(state, store) + int(state.stores[store]["batches"]) * count
        touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 0)
        touch(state.listener, count_at(state, heap, cls) + layout.COUNT_BACK, 1)
        give_batch(state, heap, state.slots, base, count)


@kernel
def take_batch(state: State, heap: int, cls: int) -> int:
    """Take the newest batch into `moved`, the block flushed last first; return its length or 0."""
    if state.classes[cls]["transfer"] == 0 or has_few_heaps(state):
        return 0
    store = store_of(state, heap, cls)
    heaps_shard_lines(state, heap, 0)
    touch(state.listener, layout.IDLE + number_at(state, store), int(state.stores[store]["idle"] > 0))
    touch(state.listener, layout.KEPT_BATCHES + number_at(state, store), 0)
    state.stores[store]["idle"] = 0
    held = int(state.stores[store]["batches"])
    if held == 0:
        return 0
    count = int(state.classes[cls]["flush_batch"])
    base = first_slot(state, store) + (held - 1) * count
    lock_transfer(state, store)
    state.locks_batch_take += uncounted(state)
    touch(state.listener, layout.KEPT_BATCHES + number_at(state, store), 1)
    touch_bytes(state.listener, layout.TRANSFERRED + base * layout.WORD, count * layout.WORD, 0)
    touch(state.listener, count_at(state, heap, cls) + layout.COUNT_OUT, 1)
    for index in range(count):
        state.moved[count - 1 - index] = state.slots[base + index]
    state.stores[store]["batches"] = held - 1
    state.classes[cls]["transfer_out"] += count
    state.classes[cls]["refill"] += 1
    state.classes[cls]["refilled"] += count
    return count


def waiting(state: State) -> Ints:
    """Return by class how many blocks wait in batches."""
    batches = state.stores["batches"].reshape(-1, len(state.classes)).sum(axis=0)
    return np.asarray(batches * state.classes["flush_batch"])


def waiting_blocks(state: State) -> Ints:
    """Return the handles of the blocks that wait."""
    found = [np.empty(0, np.int64)]
    for store in np.flatnonzero(state.stores["batches"]).tolist():
        blocks = state.stores["batches"][store] * state.classes["flush_batch"][store % len(state.classes)]
        base = first_slot(state, store)
        found.append(state.slots[base : base + blocks])
    return np.concatenate(found)


def check_batches(state: State) -> None:
    """Check that no class has more batches than it may."""
    for cls, row in enumerate(state.classes):
        most = int(state.stores["batches"][cls :: len(state.classes)].max(initial=0))
        equal(f"class {cls}: batches <= transfer", most <= row["transfer"], True)
