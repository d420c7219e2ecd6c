"""Grouped empties: the classes of a group share superslabs and empty slabs, apart from all others."""

from collections import Counter
from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.state import State

NAME = "grouped"
RARE = True
PER_CLASS = False
CLASS_NUMBERS = ("pool",)
"""The first class of the group: its place in the stores holds the group's pool and superslab."""
COSTS = {
    f"slab.acquire.{NAME}": 30.28,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The classes of a group share superslabs and empty slabs.

    groups: lists of block sizes. All classes without a group are one more group. A group of one
    class has superslabs of its own; a group of hot classes keeps them close together.
    """

    groups: list[list[int]]


def why_not_valid(params: Params) -> str | None:
    """Return why these groups cannot be, or None."""
    sizes = Counter(size for group in params.groups for size in group)
    if not sizes or not all(params.groups):
        return "groups: a group is empty; expected lists of block sizes"
    twice = next((size for size, count in sizes.items() if count > 1), None)
    return f"groups: {twice} is in two groups" if twice else None


def why_not_with(design: Any) -> Refusal | None:
    """Return why the groups do not fit the design's sizes, or None."""
    sizes = (size for group in design.empties.groups for size in group)
    strange = next((size for size in sizes if size not in design.sizes), None)
    if strange is None:
        return None
    return Refusal(f"empties.groups: {strange} is none of the design's sizes", ("empties", "sizes"))


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return the pool of each class."""
    group_of = {size: index for index, group in enumerate(design.empties.groups) for size in group}
    groups = [group_of.get(size, -1) for size in design.sizes]
    return [{"pool": groups.index(group)} for group in groups]


@kernel
def pool(state: State, cls: int) -> int:
    """Return the pool of the class's group."""
    return int(state.classes[cls]["pool"])
