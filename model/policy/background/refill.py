"""Background refill: a helper takes batches from the store before a thread needs them."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.charge import any_class
from heapsmith.model.parts.needs import Needs
from heapsmith.model.parts.slab_questions import has_batches, is_idle, keeps_taken, kept_batches
from heapsmith.model.parts.store import take_blocks

NAME = "refill"
MOMENTS = ("front_missed", "inspection", "reset")
STATE = {"classes": {"wanted": 0}}
"""1: a miss has left too few batches since the helper looked."""
RARE = True
NUMBERS = ("background_every",)
CLASS_NUMBERS = ("background_low", "background_full")
MOST_EVERY = 1 << 20
PERCENT = 100
COSTS = {
    "background.block": 5.19,
    "background.step": 2394.31,
}

HELPER = -1
"""The heap that counts what the helper does: that of threads that have none."""


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A helper thread tops up the transfer cache of classes that threads refill from.

    threshold_percent: a class is topped up when its refills leave fewer batches than this part of
    its transfer cache; fill_percent: up to this part; every: events between two steps of the helper
    in the model and in verify, where no thread runs.
    Each process that allocates enough has one more thread, which uses a core when it works: a
    program on one core, or with a thread on every core, waits for it. Its blocks count as memory in
    use before anybody asked for them.
    """

    threshold_percent: int = 50
    fill_percent: int = 100
    every: int = 1024


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such helper, or None."""
    if not 1 <= params.threshold_percent <= PERCENT:
        return f"threshold_percent: {params.threshold_percent}; expected 1 to {PERCENT}"
    if not params.threshold_percent <= params.fill_percent <= PERCENT:
        least = params.threshold_percent
        return f"fill_percent: {params.fill_percent}; expected threshold_percent, {least}, to {PERCENT}"
    if not 1 <= params.every <= MOST_EVERY:
        return f"every: {params.every}; expected 1 to {MOST_EVERY} events"
    return None


def why_not_with(design: Any) -> Refusal | None:
    """Return why the design has no transfer cache, or None."""
    if any(_batches(design)):
        return None
    words = "background: no class has a transfer cache that the helper could top up"
    words += "; expected transfer_bytes for a batch"
    return Refusal(words, ("background", "transfer_bytes"))


def numbers(design: Any) -> dict[str, int]:
    """Return when a step is due where no thread runs."""
    return {"background_every": design.background.every}


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class how many batches are too few, and how many are enough."""
    return [_numbers(design.background, batches) for batches in _batches(design)]


def _batches(design: Any) -> list[int]:
    """Return by size the most batches of its transfer cache."""
    row = design.row("transfer_bytes")
    return [row.batches(design, size) for size in design.sizes]


def _numbers(params: Params, batches: int) -> dict[str, int]:
    low = -(-batches * params.threshold_percent // PERCENT)
    return {"background_low": low, "background_full": max(low, batches * params.fill_percent // PERCENT)}


def needs(plan: Any) -> Needs:
    """Return what a step of the helper takes: for each class as many batches as are enough."""
    topped = [(row, row.numbers["background_full"] * row.front.flush) for row in plan.classes]
    slabs = sum(-(-blocks // row.blocks) + 1 for row, blocks in topped if blocks)
    return Needs(slabs=slabs, first_bytes=sum(blocks * row.stride for row, blocks in topped))


@kernel
def front_missed(state: State, heap: int, cls: int) -> None:
    """Tell the helper of a miss."""
    missed(state, cls)


@kernel
def event_done(state: State) -> None:
    """Do a step of the helper after each `background_every` events."""
    if (state.events + 1) % state.background_every == 0:
        step(state)


@kernel
def missed(state: State, cls: int) -> None:
    """Tell the helper of a miss if the class has too few batches left."""
    if not has_batches(state, cls):
        return
    touch(state.listener, layout.BACKGROUND_LOW + cls * layout.NUMBER_BYTES, 0)
    if kept_batches(state, cls) >= state.classes[cls]["background_low"]:
        return
    touch(state.listener, layout.WANTED + cls * layout.NUMBER_BYTES, int(state.classes[cls]["wanted"] == 0))
    state.classes[cls]["wanted"] = 1


@kernel
def step(state: State) -> None:
    """Do a step of the helper: top up each class that is wanted."""
    any_class(state)
    found = 0
    for cls in range(state.class_count):
        touch(state.listener, layout.WANTED + cls * layout.NUMBER_BYTES, int(state.classes[cls]["wanted"]))
        if state.classes[cls]["wanted"] == 1:
            state.classes[cls]["wanted"] = 0
            found = 1
            top_up(state, cls)
    if found == 1:
        touch(state.listener, layout.TOTAL_STEPS, 1)
        state.background_steps += 1


@kernel
def top_up(state: State, cls: int) -> None:
    """Add batches to the transfer cache of a class until it has enough. The lock is free between two looks."""
    touch(state.listener, layout.POOL_LOCK, 1)
    state.locks_background += 1
    touch(state.listener, layout.BACKGROUND_FULL + cls * layout.NUMBER_BYTES, 0)
    missing = int(state.classes[cls]["background_full"]) - kept_batches(state, cls)
    if missing <= 0 or is_idle(state, cls):
        return
    for _ in range(missing):
        if not add_batch(state, cls):
            return
        state.locks_background += 1


@kernel
def add_batch(state: State, cls: int) -> bool:
    """Take a batch from the store, which comes out in the order of the take; False: the span is full."""
    taken = take_blocks(state, HELPER, cls, int(state.classes[cls]["flush_batch"]), 0)
    touch(state.listener, layout.TOTAL_TOPPED, 1)
    state.background_blocks += taken
    state.classes[cls]["topped"] += taken
    return keeps_taken(state, HELPER, cls, taken)
