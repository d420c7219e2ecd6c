"""Region per class: the address bits above the region give the class; slabs keep their class."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.state import State
from heapsmith.model.policy import empties
from heapsmith.model.policy.emitted import Hit, Question

NAME = "class_region"
HEADER_BYTES = 0
REGIONS = True
CLASS_MAP = False
CODE = Question(Hit(2, 0, 1))
"""Loads: the span's start and end. Branch: is the block in the span?"""
COSTS = {
    f"free.class.stack.{NAME}": 0.05,
    f"free.class.table.{NAME}": 0.00,
    f"free.class.restartable.{NAME}": 0.05,  # as for stacks
    f"take.{NAME}": 0.00,
    f"call.realloc.{NAME}": 0.00,
}

REGION_SLABS = 512
"""This number of records of any table of slabs fills whole pages, so that no page serves two regions."""


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design cannot have regions: a slab keeps its class, each needs room."""
    if not design.row("empties").PER_CLASS:
        wanted = next(row.NAME for row in empties.ROWS if row.PER_CLASS)
        words = f"empties: '{design.row('empties').NAME}' cannot go with classifier '{NAME}'; expected '{wanted}'"
        return Refusal(words, ("empties", "classifier"))
    least = max(design.superslab_bytes, REGION_SLABS * design.slab_bytes)
    if design.region_bytes() < least:
        words = f"slab_span_bytes: {design.slab_span_bytes} gives each class less than {least} bytes"
        return Refusal(words, ("slab_span_bytes",))
    return None


@kernel
def superslab_place(state: State, cls: int, mapped: int) -> int:
    """Return the place of superslab `mapped` of the class, in slabs; -1: the region is full."""
    if mapped >= state.region_superslabs:
        return -1
    return cls * state.region_slabs + mapped * state.slabs_per_superslab


@hit_path
def class_lines(state: State, block: int) -> None:
    """Touch nothing: the address alone gives the class."""
