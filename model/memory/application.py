"""The application: which lines a program touches of its blocks, and beside them, at the events of its trace."""

from typing import Literal

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory.layout import APPLICATION, REGION, WORD
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes

Part = Literal["none", "ends", "all"]
PARTS = ("none", "ends", "all")
NO_PART, ENDS, ALL = range(3)

SCRIPT = APPLICATION
"""A replay's script: events of 16 bytes, read one after the other."""
TABLE = APPLICATION + REGION // 2
"""A replay's table of blocks: 24 bytes each, by block."""
EVENT_BYTES, ENTRY_BYTES = 16, 24


class Application(msgspec.Struct, frozen=True):
    """What the program does to a block besides asking for it and freeing it; a trace does not tell.

    births: what it writes of a new block's requested bytes, or of the part that a realloc added: nothing, its first and
    its last word, or all lines. deaths: what it reads of them before it frees the block. replays: it is heapsmith's
    replay driver (runtime/replay), which reads its script and its table of blocks at every event.
    """

    births: Part = "all"
    deaths: Part = "ends"
    replays: bool = False


PROGRAM = Application()
"""A program of which nothing more is known."""
REPLAY = Application(births="all", deaths="none", replays=True)
"""`heapsmith replay`."""


@kernel
def part_lines(state: State, part: int, address: int, start: int, end: int, write: int) -> None:
    """Of the bytes from `start` to `end` of a block at `address`."""
    if end <= start or part == NO_PART:
        return
    if part == ALL:
        touch_bytes(state.touched, address + start, end - start, write)
    else:
        touch(state.touched, address + start, write)
        touch(state.touched, address + max(start, end - WORD), write)


@hit_path
def birth_lines(state: State, address: int, start: int, end: int) -> None:
    """Of a new block of `end` bytes; one that was resized has its first `start` bytes already."""
    part_lines(state, state.births, address, start, end, 1)


@hit_path
def death_lines(state: State, address: int, size: int) -> None:
    """Of a block of `size` bytes that is about to be freed."""
    part_lines(state, state.deaths, address, 0, size, 0)


@hit_path
def event_lines(state: State, name: int) -> None:
    """Of an event on block `name`, before its call."""
    if state.replays == 1:
        touch(state.touched, SCRIPT + state.events * EVENT_BYTES, 0)
        touch(state.touched, TABLE + name * ENTRY_BYTES, 1)
        touch(state.touched, TABLE + name * ENTRY_BYTES + 2 * WORD, 1)
