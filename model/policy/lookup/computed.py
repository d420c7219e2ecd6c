"""Computed: the class follows from the request's leading zeros and a shift; there is no table."""

from itertools import count, takewhile
from typing import Any

import msgspec

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import NOTHING

NAME = "computed"
RARE = True
PER_BYTE = False
CODE = NOTHING
NUMBERS = ("lookup_steps_log2", "lookup_even_log2")
MAX_STEPS = 64
COSTS = {
    f"lookup.stack.{NAME}": 8.80,
    f"lookup.table.{NAME}": 5.57,
    f"lookup.restartable.{NAME}": 5.0,  # by hand: the table by the grain is read without it
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Compute the class: no table takes cache lines, at four to six instructions per malloc.

    steps: sizes per doubling, a power of two. The design's sizes must be those of the formula: `n`
    times the first size up to `2 * steps` times it, then `steps` for each doubling.
    """

    steps: int = 4


def why_not_valid(params: Params) -> str | None:
    """Return why there cannot be this number of steps, or None."""
    if 1 <= params.steps <= MAX_STEPS and params.steps & (params.steps - 1) == 0:
        return None
    return f"steps: {params.steps}; expected a power of two, 1 to {MAX_STEPS}"


def size_of(first: int, steps: int, index: int) -> int:
    """Return the size of class `index` by the formula whose first size is `first`."""
    doubling = max(0, index // steps - 1)
    return (index - steps * doubling + 1) * first << doubling


def why_not_with(design: Any) -> Refusal | None:
    """Return why the formula does not give the design's sizes, with the nearest that it gives."""
    steps = design.size_lookup.steps
    if why_not_valid(design.size_lookup):
        return None
    first = 1 << (design.sizes[0].bit_length() - 1)
    wanted = [size_of(first, steps, index) for index in range(len(design.sizes))]
    odd = next((index for index, pair in enumerate(zip(design.sizes, wanted, strict=True)) if pair[0] != pair[1]), None)
    if odd is None:
        return None
    below = takewhile(lambda size: size < design.sizes[-1], (size_of(first, steps, index) for index in count()))
    nearest = list(below)
    nearest.append(size_of(first, steps, len(nearest)))
    words = (
        f"sizes[{odd}]: {design.sizes[odd]} is not what size_lookup '{NAME}' gives with {steps} steps per doubling; "
        f"expected {', '.join(map(str, nearest))}"
    )
    return Refusal(words, ("sizes", "size_lookup"))


def numbers(design: Any) -> dict[str, int]:
    """Return the logarithms of the steps, and of the bytes up to which sizes are evenly spaced."""
    steps = design.size_lookup.steps.bit_length() - 1
    return {"lookup_steps_log2": steps, "lookup_even_log2": design.sizes[0].bit_length() - 1 + steps}


def table_step(design: Any) -> int:
    """Return 0: there is no table."""
    return 0


@hit_path
def size_lines(state: State, size: int) -> None:
    """Touch nothing."""
