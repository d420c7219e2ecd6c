"""The application: the lines that a program touches of its blocks, and beside them."""

from itertools import pairwise
from pathlib import Path
from typing import get_args

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.errors import BadInput
from heapsmith.model.memory import Part as Part
from heapsmith.model.memory.branches import LOOP_END, MOST_TARGET
from heapsmith.model.memory.layout import APPLICATION, REGION, WORD
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import branch, touch, touch_bytes
from heapsmith.model.trace.reader import TraceReader

PARTS = get_args(Part)
NO_PART, ENDS, PAGES, ALL = range(4)

SCRIPT = APPLICATION
"""A replay's script: events of 16 bytes, read in order."""
TABLE = APPLICATION + REGION // 2
"""A replay's table of blocks: 24 bytes for each block."""
EVENT_BYTES, ENTRY_BYTES = 16, 24
LINE_SHIFT = 6
"""The replay's loop goes by lines of 64 bytes."""


TOUCHED_FROM = {"touched_64k": 64 << 10, "touched_512k": 512 << 10, "touched_4m": 4 << 20, "touched_32m": 32 << 20}
"""The least bytes of the large blocks of which a program touches a share."""
FIRST_SIZE, SECOND_SIZE, THIRD_SIZE, FOURTH_SIZE = TOUCHED_FROM.values()
SHARE_SHIFT = 10
WHOLE_SHARE = 1 << SHARE_SHIFT
DENSE = 7 / 8
"""The share of pages written from which the run span gets huge pages (docs/machine-rooms.md, 'thp')."""


class Application(msgspec.Struct, frozen=True):
    """What the program does to a block between malloc and free.

    births: what the program writes of a new block's bytes, or of the bytes that a realloc added:
    nothing, the first and the last word, these and a word of each further page, or all lines.
    deaths: what it reads before it frees the block. touched: the shares, from the first byte on,
    to which this holds for blocks of the sizes TOUCHED_FROM. replays: the program is heapsmith's
    replay driver (runtime/replay), which reads its script and its table of blocks at every event.
    table: it reads the table alone; the script it reads in order, ahead of its use.
    """

    births: Part = "all"
    deaths: Part = "ends"
    touched: tuple[float, ...] = (1.0,) * len(TOUCHED_FROM)
    replays: bool = False
    table: bool = False

    def shares(self) -> list[int]:
        """Return `touched` in whole parts of WHOLE_SHARE."""
        return [round(share * WHOLE_SHARE) for share in self.touched]

    @property
    def fills(self) -> bool:
        """Whether the program writes so much of its large blocks that they get huge pages."""
        return self.births in ("pages", "all") and min(self.touched) >= DENSE


PROGRAM = Application()
"""A program without further knowledge."""
WRITES = Application(births="all", deaths="none", table=True)
"""What a replay does, as far as its time depends on it: the rest is a constant per operation.

The table and the script are not part of the heap's memory: they are resident before the replay begins.
"""
REPLAY = Application(births="all", deaths="none", replays=True, table=True)
"""The program of `heapsmith replay`."""


def program_of(trace: Path, births: Part = PROGRAM.births, deaths: Part = PROGRAM.deaths) -> Application:
    """Return the program of a trace: what the recorder saw it touch of large blocks (docs/live.md).

    Without such samples it touches all. Raises BadInput for a file that is no trace, and for no part of a block.
    """
    for name, part in (("births", births), ("deaths", deaths)):
        if part not in PARTS:
            raise BadInput(f"{name}: {part!r}; expected one of {', '.join(PARTS)}")
    with TraceReader(trace) as reader:
        samples = reader.footer.samples
    limits = [*TOUCHED_FROM.values(), 1 << 62]
    shares = []
    for first, end in pairwise(limits):
        of = [row for row in samples.touched if first <= row.bytes < end] if samples else []
        pages = sum(row.pages for row in of)
        shares.append(sum(row.touched for row in of) / pages if pages else 1.0)
    return Application(births, deaths, tuple(shares))


@hit_path
def touched_end(state: State, start: int, end: int) -> int:
    """Return the end of what the program touches of the bytes from `start` to `end` of a block."""
    if end - start < FIRST_SIZE:
        return end
    return start + ((end - start) * touched_share(state, end) >> SHARE_SHIFT)


@kernel
def touched_share(state: State, size: int) -> int:
    """Return the share of a large block that the program touches, of WHOLE_SHARE."""
    if size < SECOND_SIZE:
        return state.touched_64k
    if size < THIRD_SIZE:
        return state.touched_512k
    return state.touched_4m if size < FOURTH_SIZE else state.touched_32m


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
    end = touched_end(state, start, end)
    part_lines(state, state.births, address, start, end, 1)
    if state.births == ALL and end > start:
        branch(state.listener, LOOP_END, min((end - start) >> LINE_SHIFT, MOST_TARGET))


@hit_path
def death_lines(state: State, address: int, size: int) -> None:
    """Touch the deaths of a block of `size` bytes before its free."""
    part_lines(state, state.deaths, address, 0, touched_end(state, 0, size), 0)


@hit_path
def event_lines(state: State, name: int, is_birth: bool) -> None:
    """Touch what a replay reads for an event on block `name`, before the call: the address of a live block."""
    if state.replays == 1:
        touch(state.listener, SCRIPT + state.events * EVENT_BYTES, 0)
    if state.table == 1:
        touch(state.listener, TABLE + name * ENTRY_BYTES, int(is_birth))
        touch(state.listener, TABLE + name * ENTRY_BYTES + 2 * WORD, 1)
