"""The table of weighted stacks, of which every format is made: call stacks, and quantities of each."""

from collections.abc import Mapping
from functools import cache
from typing import Literal

import msgspec

from heapsmith.model.errors import printable
from heapsmith.tools.sites.grouping import By, Spot, shown

Unit = Literal["bytes", "count", "events"]


class Quantity(msgspec.Struct, frozen=True):
    """What is counted of each stack; `about` says it to people. sums: whether stacks add up to a meaning."""

    name: str
    unit: Unit
    about: str
    sums: bool = True


class Frame(msgspec.Struct, frozen=True, cache_hash=True):
    """A frame of a stack. name: as `sites` shows it. line: 0 where none is known; then `file` is what is known."""

    name: str
    function: str
    file: str
    line: int
    module: str


Stack = tuple[Frame, ...]
"""The innermost frame first."""


class StackTable(msgspec.Struct, frozen=True):
    """Stacks with a value of each quantity. before: of a difference the values of the first trace, else none.

    usual: the quantity that viewers show first. notes: what a reader should know of the values.
    """

    title: str
    usual: str
    quantities: list[Quantity]
    rows: dict[Stack, list[int]]
    before: dict[Stack, list[int]] | None
    notes: list[str]
    reasons: list[str]
    duration_ns: int = 0
    events: int = 0
    peak_event: int = 0

    def place(self, name: str) -> int:
        """The place of a quantity in the values of a row."""
        return [one.name for one in self.quantities].index(name)

    def has(self, names: tuple[str, ...]) -> bool:
        """Whether all of these quantities are there."""
        return set(names) <= {one.name for one in self.quantities}

    def freed(self, values: list[int], place: int) -> tuple[int, int]:
        """The blocks and bytes that a stack asked for beyond those live, of a quantity of live bytes; else none."""
        name = self.quantities[place].name
        blocks = name.replace("_space", "_objects")
        if name not in ("inuse_space", "end_space") or not self.has(("alloc_objects", "alloc_space", blocks)):
            return 0, 0
        asked = (values[self.place("alloc_objects")], values[self.place("alloc_space")])
        return asked[0] - values[self.place(blocks)], asked[1] - values[place]

    @property
    def in_bytes(self) -> list[int]:
        """The places of the quantities in bytes that add up, the usual one first."""
        places = [place for place in self.sums if self.quantities[place].unit == "bytes"]
        return sorted(places, key=lambda place: self.quantities[place].name != self.usual)

    @property
    def sums(self) -> list[int]:
        """The places of the quantities that add up."""
        return [place for place, one in enumerate(self.quantities) if one.sums]


@cache
def frame_of(by: By, spot: Spot) -> Frame:
    """The frame of a spot; what groups do not tell apart is not in it."""
    name = shown(by, spot)
    file, colon, number = spot.line.rpartition(":")
    has_line = bool(colon) and number.isdecimal()
    where = file if has_line else spot.line if spot.line != name else ""
    name, function, where, module = map(printable, (name, spot.function or name, where, spot.module))
    return Frame(name, function, where, int(number) if has_line else 0, module)


def stack_of(by: By, path: tuple[Spot, ...]) -> Stack:
    """The stack of a path."""
    return tuple(frame_of(by, spot) for spot in path)


def without_modules(stack: Stack) -> Stack:
    """The stack by names alone, which builds of a program share."""
    return tuple(msgspec.structs.replace(frame, module="") for frame in stack)


def pseudo(name: str) -> Frame:
    """A frame that is no place in code, such as a sum that no single stack has."""
    return Frame(f"[{name}]", f"[{name}]", "", 0, "")


def joined(first: Mapping[Stack, list[int]], second: Mapping[Stack, list[int]]) -> list[Stack]:
    """The stacks of both, each once."""
    return list(dict.fromkeys([*first, *second]))
