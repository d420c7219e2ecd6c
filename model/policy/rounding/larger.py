"""A rounding allowance: a block of a larger class serves a request whose own class has none at hand."""

from bisect import bisect_right
from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import LEAST_PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.charge import any_class
from heapsmith.model.parts.front_questions import front_look_lines, front_pop

NAME = "larger"
MOMENTS = ("take_wanted",)
CLASS_NUMBERS = ("lend_end", "lend_mask")
SIZES_ALONE = True
MOST_FACTOR = 64
STEPS = 1000
"""A factor counts in thousandths, so that no size depends on how a computer rounds."""
COSTS = {
    "lent": 114.51,
    "lent.look": 36.95,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Classes at most `factor` times larger lend a block to a class whose front is empty.

    factor: how much larger the class may be. A miss then needs no store, but the block wastes up to the factor, and the
    next request of its own class may miss in its place.
    """

    factor: float = 1.5


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such allowance, or None."""
    if 1 <= params.factor <= MOST_FACTOR:
        return None
    return f"factor: {params.factor}; expected 1 to {MOST_FACTOR}"


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class the end of its lenders, and the mask that holds them to its alignment."""
    limit = round(STEPS * design.rounding.factor)
    return [
        {"lend_end": bisect_right(design.sizes, limit * size // STEPS), "lend_mask": min(size & -size, LEAST_PAGE) - 1}
        for size in design.sizes
    ]


@kernel
def lends(state: State, heap: int, cls: int) -> int:
    """Take a block of the first larger class that lends one, into moved[0]; return the number of blocks, 0 or 1."""
    if state.classes[cls]["lend_end"] == 0:
        return 0
    any_class(state)
    mask = int(state.classes[cls]["lend_mask"])
    for larger in range(cls + 1, int(state.classes[cls]["lend_end"])):
        state.lend_looks += 1
        front = heap * state.class_count + larger
        touch(state.listener, class_at(larger) + layout.CLASS_STRIDE, 0)
        if int(state.classes[larger]["stride"]) & mask == 0 and state.classes[larger]["capacity"] > 0:
            if state.classes[larger]["stack"] > 0:
                touch(state.listener, int(state.fronts[front]["top_at"]), 0)
            front_look_lines(state, front, larger)
            block = front_pop(state, front, larger)
            if block >= 0:
                touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT1, 1)
                state.classes[cls]["hit1"] += 1
                state.moved[0] = block
                return 1
    return 0
