"""The application: the lines that a program touches of its blocks, and beside them."""

from typing import Literal

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory.branches import LOOP_END, MOST_TARGET
from heapsmith.model.memory.layout import APPLICATION, REGION, WORD
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import branch, touch, touch_bytes

Part = Literal["none", "ends", "pages", "all"]
PARTS = ("none", "ends", "pages", "all")
NO_PART, ENDS, PAGES, ALL = range(4)

SCRIPT = APPLICATION
"""A replay's script: events of 16 bytes, read in order."""
TABLE = APPLICATION + REGION // 2
"""A replay's table of blocks: 24 bytes for each block."""
EVENT_BYTES, ENTRY_BYTES = 16, 24
LINE_SHIFT = 6
"""The replay's loop goes by lines of 64 bytes."""


class Application(msgspec.Struct, frozen=True):
    """What the program does to a block between malloc and free; a trace does not record it.

    births: what the program writes of a new block's bytes, or of the bytes that a realloc added:
    nothing, the first and the last word, these and a word of each further page, or all lines.
    deaths: what it reads before it frees the block. replays: the program is heapsmith's replay
    driver (runtime/replay), which reads its script and its table of blocks at every event.
    """

    births: Part = "all"
    deaths: Part = "ends"
    replays: bool = False


PROGRAM = Application()
"""A program without further knowledge."""
WRITES = Application(births="all", deaths="none")
"""The writes of a replay to blocks.

The script and the table are not part of the heap's memory: they are resident before the replay
begins, and their cost is a constant per operation.
"""
REPLAY = Application(births="all", deaths="none", replays=True)
"""The program of `heapsmith replay`."""


@kernel
def part_lines(state: State, part: int, address: int, start: int, end: int, write: int) -> None:
    """Touch the given part of the bytes from `start` to `end` of a block at `address`."""
    if end <= start or part == NO_PART:
        return
    if part == ALL:
        touch_bytes(state.listener, address + start, end - start, write)
        return
    touch(state.listener, address + start, write)
    if part == PAGES:
        for at in range(start + PAGE, end - WORD, PAGE):
            touch(state.listener, address + at, write)
    touch(state.listener, address + max(start, end - WORD), write)


@hit_path
def birth_lines(state: State, address: int, start: int, end: int) -> None:
    """Touch the births of a block of `end` bytes; its first `start` bytes are not new."""
    part_lines(state, state.births, address, start, end, 1)
    if state.births == ALL and end > start:
        branch(state.listener, LOOP_END, min((end - start) >> LINE_SHIFT, MOST_TARGET))


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
