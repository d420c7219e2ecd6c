"""Learned capacities: fronts that miss and flush get longer, and fronts that do neither shorter."""

from typing import Any

import msgspec

from heapsmith.model.errors import Refusal
from heapsmith.model.policy import front
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.front.common import MAX_CAPACITY, FrontPlan

NAME = "capacities"
MOMENTS = ("heap_begins", "front_missed", "front_flushed")
NUMBERS = ("learn_window", "learn_often")
CLASS_NUMBERS = ("learn_least", "learn_most", "learn_step")
MOST_WINDOW = 1 << 20
MOST_FACTOR = 64
STEPS = 1000
"""Factors count in thousandths, so that no capacity depends on how a computer rounds."""
COSTS = {
    "learn": 29.31,
    "learn.class": 61.50,
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
    if any(_learns(_row_of(design.front_of(size))) for size in design.sizes):
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
    row = _row_of(own)
    if not _learns(row):
        return dict.fromkeys(CLASS_NUMBERS, 0)
    plan: FrontPlan = row.derive(own, stride)
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


def _row_of(own: Any) -> Any:
    return next(row for row in front.ROWS if row.Params is type(own))


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
