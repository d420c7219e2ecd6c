"""From calls that name blocks by another tool's pointers or numbers to events (docs/import.md 3)."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Records, compiled, hit_path, kernel, record_type
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.addresses import find, grown_table, new_table, remove
from heapsmith.model.trace.events import CHUNK_EVENTS, Chunk, Op

MAX = (1 << 63) - 1
"""The largest number in a call."""
EVENTS_PER_CALL = 3  # a birth where another block lies, as a realloc of size 0 may be
_FIRST_TABLE = 1 << 12
_ODD = np.int64(0x1E3779B97F4A7C15)

MALLOC, ALIGNED, REALLOC, FREE, FREE_SIZED = (
    int(op) for op in (Op.MALLOC, Op.ALIGNED, Op.REALLOC, Op.FREE, Op.FREE_SIZED)
)
THREAD_START = int(Op.THREAD_START)
DONE, FULL, GROW, BORN_TWICE, NOT_LIVE = range(5)  # why `build` returned

SCALARS = record_type(
    "strict",  # 1: a call that no program can have made ends the import
    "calls",  # in the batch
    "at",  # the next call
    "events",  # emitted
    "live",
    "numbers",  # block numbers used so far
    "spares",  # block numbers to use again
    "foreign",  # frees and reallocs of unknown blocks
    "lost",  # births at a pointer that was live: its free was not seen
    "failed",  # calls that returned no block
)


class Calls(NamedTuple):
    """Consecutive calls as columns of one length.

    `old` names the block that a realloc or free takes, `new` the one that a birth or realloc
    returns; 0 is none. All numbers are from 0 to MAX. `record` says where a call stands in its file.
    """

    op: npt.NDArray[np.uint8]
    thread: Ints  # the other tool's number
    old: Ints
    new: Ints
    size: Ints
    align_log2: Ints
    time_ns: Ints
    record: Ints

    @classmethod
    def of(cls, numbers: "array[int]") -> Self:
        """Return calls of rows with a number per column."""
        columns = np.array(numbers, np.int64).reshape(-1, len(cls._fields)).T
        return cls(columns[0].astype(np.uint8), *(np.ascontiguousarray(column) for column in columns[1:]))


def align_log2(alignment: int) -> int:
    """Return the log2 of an alignment; what is no power of two counts as the next one, as in glibc."""
    return max(0, alignment - 1).bit_length()


def batches(rows: Iterable[tuple[int, ...]]) -> Iterator[Calls]:
    """Yield the calls of rows; those before a bad row, then its BadInput."""
    numbers, bad = array("q"), None
    try:
        for row in rows:
            numbers.extend(row)
            if len(numbers) == CHUNK_EVENTS * len(Calls._fields):
                yield Calls.of(numbers)
                numbers = array("q")
    except BadInput as error:
        bad = error
    if numbers:
        yield Calls.of(numbers)
    if bad:
        raise bad


class WrongCall(Exception):
    """A call that no program can have made, in a strict import, where blocks are named by id + 1."""

    def __init__(self, why: int, calls: Calls, at: int) -> None:
        self.record = int(calls.record[at])
        block = (int((calls.new if why == BORN_TWICE else calls.old)[at]) - 1) % (1 << 64)
        verb = "allocation" if why == BORN_TWICE else Op(int(calls.op[at])).name.lower()
        super().__init__(f"{verb} of id {block}, which is {'live' if why == BORN_TWICE else 'not live'}")


class _Build(Arrays):
    """The columns of a batch of calls, the table of live blocks, and the rows of the events."""

    op: Bytes
    thread: Ints
    old: Ints
    new: Ints
    size: Ints
    align_log2: Ints
    time_ns: Ints
    keys: Ints  # of the hash table from name to block number
    blocks: Ints
    spare: Ints  # a stack
    out: Ints  # a row per field of Chunk
    scalars: Records


@hit_path
def emit(state: _Build, op: int, block: int, size: int, align_log2: int) -> None:
    """Append an event of the call at `at`."""
    i, call = state.events, state.at
    state.out[0, i], state.out[1, i], state.out[2, i] = op, state.thread[call], block
    state.out[3, i], state.out[4, i], state.out[5, i] = size, align_log2, state.time_ns[call]
    state.events = i + 1


@hit_path
def take(state: _Build, name: int) -> int:
    """Remove `name` from the table; return its block, or -1."""
    at = find(state.keys, name)
    if state.keys[at] == 0:
        return -1
    block = int(state.blocks[at])
    remove(state.keys, state.blocks, at)
    state.live -= 1
    return block


@hit_path
def bury(state: _Build, op: int, block: int, size: int, align_log2: int) -> None:
    """`block` dies: its number is the next to be used again."""
    emit(state, op, block, size, align_log2)
    state.spare[state.spares] = block
    state.spares += 1


@hit_path
def vacate(state: _Build, name: int) -> int:
    """Before a block gets `name`: the block that has it was freed unseen and dies now, or return BORN_TWICE."""
    if state.keys[find(state.keys, name)] != 0:
        if state.strict:
            return BORN_TWICE
        bury(state, FREE, take(state, name), 0, 0)
        state.lost += 1
    return DONE


@hit_path
def bind(state: _Build, name: int, block: int) -> None:
    """Give `block` this name, which no block has."""
    at = find(state.keys, name)
    state.keys[at] = name
    state.blocks[at] = block
    state.live += 1


@hit_path
def bear(state: _Build, op: int, name: int, size: int, align_log2: int) -> int:
    """A birth, with the number that was freed last or a new number."""
    if name == 0:
        state.failed += 1
        return DONE
    why = vacate(state, name)
    if why != DONE:
        return why
    if state.spares > 0:
        state.spares -= 1
        block = int(state.spare[state.spares])
    else:
        block = state.numbers
        state.numbers += 1
    bind(state, name, block)
    emit(state, op, block, size, align_log2)
    return DONE


@kernel
def resize(state: _Build, i: int) -> int:
    """A realloc; size 0 frees."""
    old, new, size = int(state.old[i]), int(state.new[i]), int(state.size[i])
    if old == 0:
        return bear(state, MALLOC, new, size, 0)
    if new == 0 and size != 0:
        state.failed += 1
        return DONE
    block = take(state, old)
    if block < 0:
        if state.strict:
            return NOT_LIVE
        state.foreign += 1
        return bear(state, MALLOC, new, size, 0) if new != 0 else DONE
    if size == 0:
        bury(state, FREE, block, 0, 0)
        return bear(state, MALLOC, new, 0, 0) if new != 0 else DONE
    why = vacate(state, new)
    bind(state, new, block)
    emit(state, REALLOC, block, size, 0)
    return why


@hit_path
def apply(state: _Build, i: int) -> int:
    """The call `i`: at most EVENTS_PER_CALL events."""
    op = int(state.op[i])
    if op == REALLOC:
        return resize(state, i)
    if op <= ALIGNED:
        return bear(state, op, int(state.new[i]), int(state.size[i]), int(state.align_log2[i]))
    if op > FREE_SIZED:
        emit(state, op, 0, 0, 0)
        return DONE
    if state.old[i] == 0:
        return DONE
    block = take(state, int(state.old[i]))
    if block >= 0:
        bury(state, op, block, int(state.size[i]), int(state.align_log2[i]))
    elif state.strict:
        return NOT_LIVE
    else:
        state.foreign += 1
    return DONE


@kernel
def build(state: _Build) -> int:
    """Make events of calls until DONE, FULL (CHUNK_EVENTS), GROW (the table is half full) or a wrong call."""
    while state.at < state.calls:
        if state.events >= CHUNK_EVENTS:
            return FULL
        if 2 * state.live >= state.keys.size:
            return GROW
        why = apply(state, state.at)
        if why != DONE:
            return why
        state.at += 1
    return DONE


fast_build = compiled(build)


class Builder:
    """Makes chunks of calls; memory is a batch, a chunk and a table of live blocks."""

    def __init__(self, *, strict: bool) -> None:
        keys, blocks, spare = new_table(_FIRST_TABLE)
        columns: dict[str, Any] = {name: np.zeros(0, kind) for name, kind in _Build.ITEMS.items()}
        out = np.zeros((len(Chunk._fields), CHUNK_EVENTS + EVENTS_PER_CALL), np.int64)
        table = {"keys": keys, "blocks": blocks, "spare": spare, "out": out, "scalars": np.zeros(1, SCALARS)}
        self._state = _Build(**(columns | table))
        self._state.strict = int(strict)
        self._threads: dict[int, int] = {}
        self._first_ns: int | None = None
        self._last_ns = 0
        self.backsteps = 0
        self.late_starts = 0

    def feed(self, calls: Calls) -> Iterator[Chunk]:
        """Yield the events of the next calls. Raises WrongCall, after the events before it."""
        state = self._state
        for name in ("op", "thread", "size", "align_log2", "time_ns"):
            setattr(state, name, getattr(calls, name))
        # names that follow one another would lie side by side in the table
        state.old, state.new = calls.old * _ODD, calls.new * _ODD
        state.calls, state.at, why = calls.op.size, 0, FULL
        while why in (FULL, GROW):
            why = fast_build(state)
            if why == GROW:
                state.keys, state.blocks, state.spare = grown_table(state.keys, state.blocks, state.spare)
            elif state.events:
                yield self._chunk()
        if why != DONE:
            raise WrongCall(why, calls, state.at)

    @property
    def foreign(self) -> int:
        """The frees and reallocs so far of blocks whose birth was not seen."""
        return self._state.foreign

    @property
    def lost(self) -> int:
        """The births so far where a block was live, which then died unseen."""
        return self._state.lost

    @property
    def failed(self) -> int:
        """The calls so far that returned no block."""
        return self._state.failed

    def _chunk(self) -> Chunk:
        """Return the events in `out`, which is empty then."""
        op, thread, block, size, align_log2, time_ns = self._state.out[:, : self._state.events].copy()
        self._state.events = 0
        known = len(self._threads)
        thread = self._numbered(thread)
        chunk = Chunk.of(op, thread, block, size, align_log2, self._monotone(time_ns))
        if (op != THREAD_START).all():
            return chunk
        begins = np.zeros(op.size, np.bool_)
        begins[np.unique(thread, return_index=True)[1]] = True
        kept = (op != THREAD_START) | (begins & (thread >= known))
        self.late_starts += int(np.count_nonzero(~kept))
        columns: list[Any] = [column[kept] for column in chunk]
        return Chunk(*columns)

    def _numbered(self, threads: Ints) -> Ints:
        """Return our numbers of another tool's threads: 0, 1, ... in order of first event."""
        if threads[0] == threads.min() == threads.max():
            return np.full(threads.size, self._threads.setdefault(int(threads[0]), len(self._threads)))
        theirs, first, where = np.unique(threads, return_index=True, return_inverse=True)
        ours = np.zeros(theirs.size, np.int64)
        for at in np.argsort(first):
            ours[at] = self._threads.setdefault(int(theirs[at]), len(self._threads))
        return ours[where]

    def _monotone(self, time_ns: Ints) -> Ints:
        """Return times since the first event, none before the one before it."""
        if self._first_ns is None:
            self._first_ns = int(time_ns[0])
        since = np.append(self._last_ns, time_ns - self._first_ns)
        rising = np.maximum.accumulate(since)
        self.backsteps += int(np.count_nonzero(rising != since))
        self._last_ns = int(rising[-1])
        return rising[1:]
