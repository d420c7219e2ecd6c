"""Shared table: one table of classes for all heaps, with an entry for each `granularity` bytes."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.constants import PAGE
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import SIZE_CLASS
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import Hit

NAME = "shared_table"
RARE = True
PER_BYTE = False
CODE = Hit(1, 0, 0)
"""Load: the entry of the size."""
NUMBERS = ("lookup_grain", "lookup_shift")
COSTS = {
    f"lookup.stack.{NAME}": 3.43,
    f"lookup.table.{NAME}": 0.42,
    f"lookup.restartable.{NAME}": 0.0,  # by hand: the table by the grain is read without it
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """One table of classes for all heaps; heaps are smaller by a byte for each size up to 1,024.

    granularity: bytes per entry, a power of two that divides all sizes. A coarse table takes fewer
    cache lines; a size needs a few more instructions than with a byte for each.
    """

    granularity: int = 16


def why_not_valid(params: Params) -> str | None:
    """Return why there cannot be such a table, or None."""
    one = params.granularity
    if 1 <= one <= PAGE and one & (one - 1) == 0:
        return None
    return f"granularity: {one}; expected a power of two, 1 to {PAGE}"


def why_not_with(design: Any) -> Refusal | None:
    """Return why a valid table cannot tell the design's classes apart, or None."""
    if why_not_valid(design.size_lookup):
        return None
    one = design.size_lookup.granularity
    odd = next((size for size in design.sizes if size % one), None)
    if odd is None:
        return None
    return Refusal(f"size_lookup.granularity: {one} does not divide the size {odd}; expected less", ("size_lookup",))


def numbers(design: Any) -> dict[str, int]:
    """Return the bytes per entry, and their logarithm."""
    step = table_step(design)
    return {"lookup_grain": step, "lookup_shift": step.bit_length() - 1}


def table_step(design: Any) -> int:
    """Return the bytes per entry of the library's table."""
    return int(design.size_lookup.granularity)


@hit_path
def size_lines(state: State, size: int) -> None:
    """Touch the entry of a size in the table of classes."""
    touch(state.listener, SIZE_CLASS + ((size + state.bias + state.lookup_grain - 1) >> state.lookup_shift), 0)
