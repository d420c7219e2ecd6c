"""Background refill: a helper takes batches from the store before a thread needs them."""

from typing import Any

import msgspec

from heapsmith.model.errors import Refusal

NAME = "refill"
MOMENTS = ("front_missed", "inspection", "reset")
NUMBERS = ("background_every",)
CLASS_NUMBERS = ("background_low", "background_full")
MOST_EVERY = 1 << 20
PERCENT = 100
COSTS = {
    "background.block": 5.30,
    "background.step": 2433.52,
}


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
    if any(design.transfer_batches(size) for size in design.sizes):
        return None
    words = "background: no class has a transfer cache that the helper could top up"
    words += "; expected transfer_bytes for a batch"
    return Refusal(words, ("background", "transfer_bytes"))


def numbers(design: Any) -> dict[str, int]:
    """Return when a step is due where no thread runs."""
    return {"background_every": design.background.every}


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class how many batches are too few, and how many are enough."""
    return [_numbers(design.background, design.transfer_batches(size)) for size in design.sizes]


def _numbers(params: Params, batches: int) -> dict[str, int]:
    low = -(-batches * params.threshold_percent // PERCENT)
    return {"background_low": low, "background_full": max(low, batches * params.fill_percent // PERCENT)}
