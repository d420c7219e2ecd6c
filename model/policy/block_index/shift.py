"""The block index by a shift: all strides must be powers of two, which wastes up to half a block."""

from typing import Any

from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import CLASS_FIRST

NAME = "shift"
DIVIDES = False
AT = CLASS_FIRST  # the shifts have a table of their own
CLASS_NUMBERS = ("stride_shift",)


def why_not_with(design: Any) -> Refusal | None:
    """Return why a shift cannot divide by the strides, or None."""
    odd = next((size for size in design.sizes if size & (size - 1)), None)
    if odd is None:
        return None
    words = f"sizes: {odd} cannot go with block_index '{NAME}'; expected powers of two"
    return Refusal(words, ("sizes", "block_index"))


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return the shift of each class."""
    return [{"stride_shift": size.bit_length() - 1} for size in design.sizes]
