"""The live blocks of a library in this process: aligned, as long as asked, apart from each other, and left alone."""

import ctypes
from bisect import bisect_left, insort
from typing import NamedTuple

from loaded import Loaded

EDGE = 16
"""Bytes at both ends of what a program may use of a block that have the block's own pattern."""


class Born(NamedTuple):
    """A live block: what was asked for, what may be used, and its pattern."""

    asked: int
    usable: int
    tag: int

    def edges(self) -> tuple[int, int]:
        """Where the pattern at the end begins, and how long both are."""
        length = min(EDGE, self.usable)
        return self.usable - length, length


class Blocks:
    """Watches each block of a library from its birth to its death."""

    def __init__(self, library: Loaded, grain: int) -> None:
        self.library = library
        self.grain = grain
        self.starts: list[int] = []
        self.of: dict[int, Born] = {}
        self.births = 0

    def born(self, start: int, asked: int, alignment: int = 1) -> None:
        """A block was handed out for a request of `asked` bytes."""
        usable = self.library.usable_size(start)
        least = max(alignment, 16 if asked >= 16 else self.grain)
        assert start % least == 0, f"the block at {start:#x} is not aligned to {least}"
        assert usable >= asked, f"malloc_usable_size is {usable} for a block of {asked} bytes"
        place = bisect_left(self.starts, start)
        if place:
            before = self.starts[place - 1]
            assert before + max(1, self.of[before].usable) <= start, f"{start:#x} lies in the block at {before:#x}"
        if place < len(self.starts):
            assert start + max(1, usable) <= self.starts[place], f"{start:#x} reaches into {self.starts[place]:#x}"
        insort(self.starts, start)
        self.births += 1
        self.of[start] = block = Born(asked, usable, self.births % 251)
        behind, length = block.edges()
        for at in (start, start + behind):
            ctypes.memset(at, block.tag, length)

    def watch(self, start: int) -> None:
        """The pattern is as it was."""
        block = self.of[start]
        behind, length = block.edges()
        for at in (0, behind):
            found = ctypes.string_at(start + at, length)
            assert found == bytes([block.tag]) * length, f"the block at {start:#x} changed, from byte {at} on"

    def died(self, start: int) -> Born:
        """The block is about to be freed or resized."""
        self.watch(start)
        del self.starts[bisect_left(self.starts, start)]
        return self.of.pop(start)

    def kept(self, start: int, old: Born, asked: int) -> None:
        """A realloc brought what the program had written, as far as both sizes go."""
        length = min(old.edges()[1], old.asked, asked)
        assert ctypes.string_at(start, length) == bytes([old.tag]) * length, "realloc brought other bytes"
