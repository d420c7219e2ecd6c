"""A rounding allowance: a block of a larger class serves a request whose own class has none at hand."""

from bisect import bisect_right
from typing import Any

import msgspec

from heapsmith.model.constants import PAGE

NAME = "larger"
MOMENTS = ("take_wanted",)
CLASS_NUMBERS = ("lend_end", "lend_mask")
SIZES_ALONE = True
MOST_FACTOR = 64
STEPS = 1000
"""A factor counts in thousandths, so that no size depends on how a computer rounds."""
COSTS = {
    "lent": 103.01,
    "lent.look": 41.51,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Classes at most `factor` times larger lend a block to a class whose front is empty.

    A miss then needs no store, but the block wastes up to the factor, and the next request of its
    own class may miss in its place.
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
        {"lend_end": bisect_right(design.sizes, limit * size // STEPS), "lend_mask": min(size & -size, PAGE) - 1}
        for size in design.sizes
    ]
