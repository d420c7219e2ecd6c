"""The application: the lines that a program touches of its blocks, and beside them."""

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
"""A replay's script: events of 16 bytes, read in order."""
TABLE = APPLICATION + REGION // 2
"""A replay's table of blocks: 24 bytes for each block."""
EVENT_BYTES, ENTRY_BYTES = 16, 24


class Application(msgspec.Struct, frozen=True):
    """What the program does to a block between malloc and free; a trace does not record it.

    births: what the program writes of a new block's bytes, or of the bytes that a realloc added:
    nothing, the first and the last word, or all lines. deaths: what it reads before it frees the
    block. replays: the program is heapsmith's replay driver (runtime/replay), which reads its
    script and its table of blocks at every event.
    """

    births: Part = "all"
    deaths: Part = "ends"
    replays: bool = False


PROGRAM = Application()
"""A program without further knowledge."""
REPLAY = Application(births="all", deaths="none", replays=True)
"""The program of `heapsmith replay`."""


@kernel
def part_lines(state: State, part: int, address: int, start: int, end: int, write: int) -> None:
    """Touch the given part of the bytes from `start` to `end` of a block at `address`."""
    if end <= start or part == NO_PART:
        return
    if part == ALL:
        touch_bytes(state.listener, address + start, end - start, write)
    else:
        touch(state.listener, address + start, write)
        touch(state.listener, address + max(start, end - WORD), write)


@hit_path
def birth_lines(state: State, address: int, start: int, end: int) -> None:
    """Touch the births of a block of `end` bytes; its first `start` bytes are not new."""
    part_lines(state, state.births, address, start, end, 1)


@hit_path
def death_lines(state: State, address: int, size: int) -> None:
    """Touch the deaths of a block of `size` bytes before its free."""
    part_lines(state, state.deaths, address, 0, size, 0)


@hit_path
def event_lines(state: State, name: int) -> None:
    """Touch what a replay reads for an event on block `name`, before the call."""
    if state.replays == 1:
        touch(state.listener, SCRIPT + state.events * EVENT_BYTES, 0)
        touch(state.listener, TABLE + name * ENTRY_BYTES, 1)
        touch(state.listener, TABLE + name * ENTRY_BYTES + 2 * WORD, 1)
