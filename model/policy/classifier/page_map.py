"""Page map: one byte per page of the span holds the class; a new slab writes a byte for each page."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import LEAST_PAGE
from heapsmith.model.memory.layout import SLAB_CLASS, block_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.committed import commit_calls
from heapsmith.model.policy.emitted import Hit, Question

NAME = "page_map"
RARE = True
HEADER_BYTES = 0
REGIONS = False
CLASS_MAP = True
CODE = Question(Hit(3, 0, 1))
"""Loads: the span's start and end, and the page's byte. Branch: is the block in the span?"""
NUMBERS = ("map_pages",)
COSTS = {
    f"free.class.stack.{NAME}": 1.43,
    f"free.class.table.{NAME}": 0.89,
    f"free.class.restartable.{NAME}": 1.43,  # as for stacks
    f"take.{NAME}": 0.00,
    f"call.realloc.{NAME}": 3.86,
}


def numbers(design: Any) -> dict[str, int]:
    """Return the bytes of the map for each slab: one per page."""
    return {"map_pages": design.slab_bytes // LEAST_PAGE}


@hit_path
def class_lines(state: State, block: int) -> None:
    """Touch the byte of the block's page for a read."""
    touch(state.listener, SLAB_CLASS + block_at(state, block) // LEAST_PAGE, 0)


@kernel
def slab_lines(state: State, slab: int) -> None:
    """Touch the bytes of the slab's pages for a write."""
    at = SLAB_CLASS + int(state.slabs[slab]["place"]) * state.map_pages
    touch_bytes(state.listener, at, state.map_pages, 1)


@kernel
def commit_map(state: State, place: int, slabs: int) -> None:
    """Count the call that makes the map usable for new slabs, a byte per page."""
    state.memory_calls += commit_calls(place, slabs, state.map_pages)


def map_bytes(design: Any) -> int:
    """Return the bytes of the map for each slab."""
    return numbers(design)["map_pages"]
