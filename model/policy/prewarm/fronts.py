"""Prewarmed fronts: a new heap's fronts hold blocks of the stated classes from the start."""

from collections import Counter
from typing import Any

import msgspec

from heapsmith.model.errors import Refusal

NAME = "fronts"
MOMENTS = ("heap_started",)
NUMBERS = ("prewarm_end",)
"""1 + the last class that is prepared."""
CLASS_NUMBERS = ("prewarm_blocks", "prewarm_slabs")
"""Blocks that each new heap prepares, and slabs that the first heap prepares."""
SIZES_ALONE = True
MOST_BLOCKS, MOST_SLABS = 65_536, 4_096


class Prepared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is prepared of some classes.

    sizes: their block sizes; blocks: blocks of each that every new heap allocates and frees; slabs:
    slabs of each that the first heap acquires.
    """

    sizes: list[int]
    blocks: int = 0
    slabs: int = 0


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A new heap allocates blocks of some classes and frees them.

    classes: how many of which. The first requests of a thread hit, but each thread pays for all
    these blocks when it starts, in time and in memory, whether it uses them or not.
    """

    classes: list[Prepared]


def why_not_valid(params: Params) -> str | None:
    """Return why nothing like this can be prepared, or None."""
    sizes = Counter(size for one in params.classes for size in one.sizes)
    if not sizes:
        return "classes: no class is named; expected block sizes"
    for size, count in sizes.items():
        if count > 1:
            return f"classes: {size} is named twice"
    for index, one in enumerate(params.classes):
        for field, most in (("blocks", MOST_BLOCKS), ("slabs", MOST_SLABS)):
            value = getattr(one, field)
            if not 0 <= value <= most:
                return f"classes[{index}].{field}: {value}; expected 0 to {most}"
    return None


def why_not_with(design: Any) -> Refusal | None:
    """Return why the prepared classes do not fit the design's sizes, or None."""
    sizes = (size for one in design.prewarm.classes for size in one.sizes)
    strange = next((size for size in sizes if size not in design.sizes), None)
    if strange is None:
        return None
    return Refusal(f"prewarm.classes: {strange} is none of the design's sizes", ("prewarm", "sizes"))


def numbers(design: Any) -> dict[str, int]:
    """Return where the prepared classes end."""
    last = max(size for one in design.prewarm.classes for size in one.sizes)
    return {"prewarm_end": 1 + design.sizes.index(last)}


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return what is prepared of each class."""
    of = {size: one for one in design.prewarm.classes for size in one.sizes}
    none = Prepared([])
    return [
        {"prewarm_blocks": of.get(size, none).blocks, "prewarm_slabs": of.get(size, none).slabs}
        for size in design.sizes
    ]


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"sparing": "sparing"}
