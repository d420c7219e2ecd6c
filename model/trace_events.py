"""What an event of a trace is, as numpy columns, and the rules every trace obeys (docs/trace.md, sections 1 and 2)."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Self

import numba
import numpy as np
import numpy.typing as npt

CHUNK_EVENTS = 65_536


class Op(IntEnum):
    """The operations, as the column `op` holds them."""

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


def op_mask(ops: Iterable[int]) -> npt.NDArray[np.bool_]:
    """Table of 256 flags, indexed by the column `op`: whether the operation is one of `ops`."""
    mask = np.zeros(256, np.bool_)
    mask[list(ops)] = True
    return mask


class Chunk(NamedTuple):
    """Consecutive events of a trace as equally long 1-D columns; section 1 of docs/trace.md defines each."""

    op: npt.NDArray[np.uint8]
    thread: npt.NDArray[np.uint32]
    block: npt.NDArray[np.uint32]
    size: npt.NDArray[np.int64]  # bytes
    align_log2: npt.NDArray[np.uint8]
    time_ns: npt.NDArray[np.int64]

    @classmethod
    def of(cls, *columns: npt.ArrayLike) -> Self:
        """A chunk of any six sequences, in the order of the columns, cast to their dtypes.

        Raises ValueError if they are not six 1-D sequences of one length, OverflowError if a value does not fit.
        """
        arrays: list[Any] = [np.asarray(c, d) for c, d in zip(columns, CHUNK_DTYPES.values(), strict=True)]
        return cls(*arrays).checked()

    def checked(self) -> Self:
        """The chunk itself; raises ValueError if a column is not 1-D, has another dtype or another length."""
        shape = (self.op.size,)
        for name, column in self._asdict().items():
            if column.dtype != CHUNK_DTYPES[name] or column.shape != shape:
                raise ValueError(
                    f"column {name}: expected {CHUNK_DTYPES[name]} {shape}, got {column.dtype} {column.shape}"
                )
        return self

    def part(self, first: int, stop: int) -> Self:
        """Events `first` to `stop - 1` of the chunk, as views."""
        columns: list[Any] = [column[first:stop] for column in self]
        return type(self)(*columns)


CHUNK_DTYPES: dict[str, str] = {
    "op": "uint8",
    "thread": "uint32",
    "block": "uint32",
    "size": "int64",
    "align_log2": "uint8",
    "time_ns": "int64",
}


def join(chunks: Sequence[Chunk]) -> Chunk:
    """One chunk of all events of `chunks`, which are at least one, in order."""
    columns: list[Any] = [np.concatenate(c) for c in zip(*chunks, strict=True)]
    return Chunk(*columns)


_BREACHES = (
    "operation {op} is not one of 0 to 7",
    "time {time_ns} ns is before that of the event before it",
    "thread {thread} appears before all lower thread numbers have",
    "thread {thread} starts after its first event",
    "size {size} is negative, or not 0 for an operation without one",
    "alignment 2^{align_log2}: expected 0, or at most 2^62 for aligned and free_sized",
    "a thread's start or exit names block {block}: expected 0",
    "block {block} is born a second time: it is live",
    "block {block} is a new number: expected the next one, and only while no lower number is free",
    "block {block} is not live",
)


@numba.njit(cache=True)
def _first_breach(
    op: npt.NDArray[np.uint8],
    thread: npt.NDArray[np.uint32],
    block: npt.NDArray[np.uint32],
    size: npt.NDArray[np.int64],
    align_log2: npt.NDArray[np.uint8],
    time_ns: npt.NDArray[np.int64],
    live: npt.NDArray[np.uint8],
    state: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """(index of the first event that breaks a rule or -1, which of _BREACHES).

    `live` holds a flag per block number, and room for as many new ones as there are events; `state` = block numbers in
    use, live blocks, threads seen, last time. Both are brought up to date if no rule is broken.
    """
    blocks, alive, threads, last = state[0], state[1], state[2], state[3]
    for i in range(op.size):
        o, t, b, n = op[i], np.int64(thread[i]), np.int64(block[i]), size[i]
        if o > 7:
            return i, 0
        if time_ns[i] < last:
            return i, 1
        last = time_ns[i]
        if t > threads:
            return i, 2
        if o == 6 and t < threads:
            return i, 3
        threads = max(threads, t + 1)
        if n < 0 or (n != 0 and (o == 4 or o > 5)):
            return i, 4
        if align_log2[i] > (62 if o == 3 or o == 5 else 0):
            return i, 5
        if o > 5:
            if b != 0:
                return i, 6
        elif o == 0 or o == 1 or o == 3:
            if b > blocks or (b == blocks and alive < blocks):
                return i, 8
            if live[b]:
                return i, 7
            live[b] = 1
            blocks = max(blocks, b + 1)
            alive += 1
        else:
            if b >= blocks or not live[b]:
                return i, 9
            if o != 2:
                live[b] = 0
                alive -= 1
    state[0], state[1], state[2], state[3] = blocks, alive, threads, last
    return -1, 0


class Rules:
    """Follows a trace from its start and finds the first event that breaks a rule; memory: a byte per block number."""

    def __init__(self) -> None:
        self.events = 0
        self._live = np.zeros(0, np.uint8)
        self._state = np.zeros(4, np.int64)

    @property
    def blocks(self) -> int:
        """Block numbers used so far; the rules make this the peak number of live blocks."""
        return int(self._state[0])

    @property
    def live(self) -> int:
        """Live blocks after the events checked so far."""
        return int(self._state[1])

    @property
    def threads(self) -> int:
        """Threads seen so far."""
        return int(self._state[2])

    def breach(self, chunk: Chunk) -> str | None:
        """None and the state moves past the chunk, or which event breaks which rule, in words."""
        room = self.blocks + chunk.op.size
        if self._live.size < room:
            self._live = np.concatenate((self._live, np.zeros(2 * room - self._live.size, np.uint8)))
        index, rule = _first_breach(*chunk, self._live, self._state)
        if index < 0:
            self.events += chunk.op.size
            return None
        event = {name: int(column[index]) for name, column in chunk._asdict().items()}
        return f"event {self.events + index}: " + _BREACHES[rule].format(**event)
