"""The events of a trace as numpy columns, and the rules of every trace (docs/trace.md 1 and 2)."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Numbers

CHUNK_EVENTS = 65_536
MAX_ALIGN_LOG2 = 62
MAX_PROCESSORS = 8192
"""The most that Linux is built for; their numbers are below."""
UNKNOWN = -1
"""The processor of an event whose processor is not told."""


class Op(IntEnum):
    """The operations, with the numbers of the column `op`."""

    MALLOC = 0
    CALLOC = 1
    REALLOC = 2
    ALIGNED = 3
    FREE = 4
    FREE_SIZED = 5
    THREAD_START = 6
    THREAD_EXIT = 7


BIRTHS = frozenset({Op.MALLOC, Op.CALLOC, Op.ALIGNED})
DEATHS = frozenset({Op.FREE, Op.FREE_SIZED})
SIZED = frozenset({Op.MALLOC, Op.CALLOC, Op.REALLOC, Op.ALIGNED, Op.FREE_SIZED})
WITH_ALIGNMENT = frozenset({Op.ALIGNED, Op.FREE_SIZED})
WITH_BLOCK = BIRTHS | DEATHS | {Op.REALLOC}
WITH_SITE = BIRTHS | {Op.REALLOC}


def op_mask(ops: Iterable[int]) -> npt.NDArray[np.bool_]:
    """Return 256 flags for the column `op`: whether the operation is in `ops`."""
    mask = np.zeros(256, np.bool_)
    mask[list(ops)] = True
    return mask


class Chunk(NamedTuple):
    """Consecutive events of a trace as 1-D columns of one length (docs/trace.md section 1)."""

    op: npt.NDArray[np.uint8]
    thread: npt.NDArray[np.uint32]
    block: npt.NDArray[np.uint32]
    size: npt.NDArray[np.int64]  # bytes
    align_log2: npt.NDArray[np.uint8]
    time_ns: npt.NDArray[np.int64]
    processor: npt.NDArray[np.int16]  # UNKNOWN where the trace does not tell it

    @classmethod
    def of(cls, *columns: npt.ArrayLike) -> Self:
        """Return a chunk of sequences, in the order of the columns, cast to their dtypes; the last may be absent.

        Raises ValueError for another number of sequences, or if they are not 1-D and of one length, OverflowError
        for a value that does not fit.
        """
        unknown = [nowhere(len(np.asarray(columns[0])))] if len(columns) == len(CHUNK_DTYPES) - 1 else []
        given = zip([*columns, *unknown], CHUNK_DTYPES.values(), strict=True)
        arrays: list[Any] = [np.asarray(column, dtype) for column, dtype in given]
        return cls(*arrays).checked()

    def checked(self) -> Self:
        """Return the chunk; ValueError if a column is not 1-D or has another dtype or length."""
        shape = (self.op.size,)
        for name, column in self._asdict().items():
            if column.dtype != CHUNK_DTYPES[name] or column.shape != shape:
                raise ValueError(
                    f"column {name}: expected {CHUNK_DTYPES[name]} {shape}, got {column.dtype} {column.shape}"
                )
        return self

    def part(self, first: int, stop: int) -> Self:
        """Return events `first` to `stop - 1` of the chunk, as views."""
        columns: list[Any] = [column[first:stop] for column in self]
        return type(self)(*columns)


CHUNK_DTYPES: dict[str, str] = {
    "op": "uint8",
    "thread": "uint32",
    "block": "uint32",
    "size": "int64",
    "align_log2": "uint8",
    "time_ns": "int64",
    "processor": "int16",
}


def nowhere(events: int) -> npt.NDArray[np.int16]:
    """Return the column `processor` of events whose processors are not told."""
    return np.full(events, UNKNOWN, np.int16)


class Columns(Arrays):
    """The base of a kernel's state that follows events: an array per column, without `processor`."""

    op: Bytes
    thread: Numbers
    block: Numbers
    size: Ints
    align_log2: Bytes
    time_ns: Ints

    def follow(self, chunk: Chunk) -> None:
        """Follow the events of a chunk next; columns of other types are copied."""
        for name, item in Columns.ITEMS.items():
            setattr(self, name, np.require(getattr(chunk, name), item, ("C", "A", "W")))


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Return a chunk of all events of `chunks` (at least one) in order."""
    columns: list[Any] = [np.concatenate(c) for c in zip(*chunks, strict=True)]
    return Chunk(*columns)


# Limits and flags by operation, for the loop below.
_MIN_SIZE = op_mask({Op.REALLOC}).astype(np.int64)
_MAX_SIZE = np.where(op_mask(SIZED), np.iinfo(np.int64).max, 0)
_MAX_ALIGN = np.where(op_mask(WITH_ALIGNMENT), MAX_ALIGN_LOG2, 0).astype(np.uint8)
_HAS_BLOCK = op_mask(WITH_BLOCK)
_NEEDS_LIVE = op_mask(WITH_BLOCK - BIRTHS).astype(np.uint8)
_LIVE_AFTER = op_mask(WITH_BLOCK - DEATHS).astype(np.uint8)


@cached_njit
def _follow(events: Any, live: npt.NDArray[np.uint8], state: npt.NDArray[np.int64]) -> int:
    """Return the index of the first event that breaks a rule, or the number of events.

    `events`: the columns of a chunk. `live` and `state` are then as before that event. `live` is a
    flag per block number, with room for as many new blocks as events; `state` as in Rules. All rules
    are one condition for speed. Rules._reason tells which rule was broken.
    """
    op, thread, block, size, align_log2, time_ns, processor = events
    blocks, alive, threads, last = state[0], state[1], state[2], state[3]
    index = op.size
    for i in range(op.size):
        o, t, b = op[i], np.int64(thread[i]), np.int64(block[i])
        was = live[b if b < live.size else 0]
        sound = (
            (o <= 7)
            & (time_ns[i] >= last)
            & (t <= threads)
            & ((o != 6) | (t == threads))
            & (size[i] >= _MIN_SIZE[o])
            & (size[i] <= _MAX_SIZE[o])
            & (align_log2[i] <= _MAX_ALIGN[o])
            & (processor[i] >= UNKNOWN)
            & (processor[i] < MAX_PROCESSORS)
        )
        if _HAS_BLOCK[o]:
            sound &= (was == _NEEDS_LIVE[o]) & ((b < blocks) | ((b == blocks) & (alive == blocks)))
        else:
            sound &= b == 0
        if not sound:
            index = i
            break
        if _HAS_BLOCK[o]:
            live[b] = _LIVE_AFTER[o]
            alive += np.int64(_LIVE_AFTER[o]) - np.int64(was)
            blocks = max(blocks, b + 1)
        threads = max(threads, t + 1)
        last = time_ns[i]
    state[0], state[1], state[2], state[3] = blocks, alive, threads, last
    return int(index)


class Rules:
    """Follows a trace and finds the first event against the rules, with a byte per block number."""

    def __init__(self) -> None:
        self.events = 0
        self._live = np.zeros(0, np.uint8)
        self._state = np.zeros(4, np.int64)  # block numbers, live blocks, threads, last time

    @property
    def blocks(self) -> int:
        """The block numbers used so far; the rules make this the peak number of live blocks."""
        return int(self._state[0])

    @property
    def live(self) -> int:
        """The live blocks after the events checked so far."""
        return int(self._state[1])

    @property
    def threads(self) -> int:
        """The threads seen so far."""
        return int(self._state[2])

    def breach(self, chunk: Chunk) -> str | None:
        """Move the state past the chunk and return None; else return which event breaks a rule."""
        room = self.blocks + chunk.op.size
        if self._live.size < room:
            self._live = np.concatenate((self._live, np.zeros(2 * room - self._live.size, np.uint8)))
        index = _follow(tuple(chunk), self._live, self._state)
        self.events += index
        return None if index == chunk.op.size else f"event {self.events}: {self._reason(chunk.part(index, index + 1))}"

    def _reason(self, event: Chunk) -> str:
        """Return which rule a single event breaks in the state before it."""
        number, thread, block, size, align_log2, time_ns, processor = (int(column[0]) for column in event)
        if number not in list(Op):
            return f"operation {number} is not one of 0 to {len(Op) - 1}"
        op = Op(number)
        if time_ns < self._state[3]:
            return f"time {time_ns} ns is before that of the event before it"
        if thread > self.threads:
            return f"thread {thread} appears before thread {self.threads} has"
        if op is Op.THREAD_START and thread < self.threads:
            return f"thread {thread} starts after its first event"
        if not _MIN_SIZE[op] <= size <= _MAX_SIZE[op]:
            return f"{op.name} with size {size}"
        if align_log2 > _MAX_ALIGN[op]:
            return f"{op.name} with alignment 2^{align_log2}"
        if not UNKNOWN <= processor < MAX_PROCESSORS:
            return f"{op.name} on processor {processor}; expected at most {MAX_PROCESSORS - 1}"
        if op not in WITH_BLOCK:
            return f"{op.name} with block {block}; expected 0"
        if op not in BIRTHS:
            return f"{op.name} of block {block}, which is not live"
        if block < self.blocks and self._live[block]:
            return f"{op.name} of block {block}, which is live"
        return (
            f"{op.name} of block {block}; the next new block is {self.blocks}, and {self.blocks - self.live} are free"
        )
