"""Calls by another tool's pointers or numbers become events (docs/other-tools.md, 'how calls become events')."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import (
    Bytes,
    Ints,
    Numbers,
    compiled,
    hit_path,
    kernel,
    record_type,
)
from heapsmith.model.trace.addresses import Numbered, bind, find, grown_table, new_table, next_number, release, take
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.events import CHUNK_DTYPES, CHUNK_EVENTS, UNKNOWN, Chunk, Op

MAX = (1 << 63) - 1
"""The largest number in a call."""
EVENTS_PER_CALL = 3  # a birth where another block lies, as a realloc of size 0 may be
_FIRST_TABLE = 1 << 12
_ODD = np.int64(0x1E3779B97F4A7C15)

MALLOC, ALIGNED, REALLOC, FREE, FREE_SIZED, THREAD_START = (
    int(op) for op in (Op.MALLOC, Op.ALIGNED, Op.REALLOC, Op.FREE, Op.FREE_SIZED, Op.THREAD_START)
)
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
    "threads",  # with an event so far
    "last_thread",  # the other tool's number of the last event's thread
    "last_number",  # ours
    "first_ns",  # the other tool's time of the first event
    "last_ns",  # of the last event, since the first one
    "backsteps",  # times before that of the event before them
    "late_starts",  # of threads that had events, left out
)


class Calls(NamedTuple):
    """Consecutive calls as columns of one length.

    `old` names the block that a realloc or free takes, `new` the one that a birth or realloc
    returns; 0 is none. All numbers are from 0 to MAX. `record` says where a call stands in its file.
    processor: UNKNOWN where the file does not tell it; None: it does nowhere. site: of births and
    reallocs, 0 where the file does not tell it; None: it does nowhere. A reader may use the columns
    again for the calls that it yields next.
    """

    op: npt.NDArray[np.uint8]
    thread: Ints  # the other tool's number
    old: Ints
    new: Ints
    size: Ints
    align_log2: Ints
    time_ns: Ints
    record: Ints
    processor: Ints | None = None
    site: Ints | None = None


ROW = Calls._fields[:-2]
"""The columns that each format has."""


def align_log2(alignment: int) -> int:
    """Return the log2 of an alignment; what is no power of two counts as the next one, as in glibc."""
    return max(0, alignment - 1).bit_length()


class WrongCall(Exception):
    """A call that no program can have made, in a strict import, where blocks are named by id + 1."""

    def __init__(self, why: int, calls: Calls, at: int) -> None:
        self.record = int(calls.record[at])
        block = (int((calls.new if why == BORN_TWICE else calls.old)[at]) - 1) % (1 << 64)
        verb = "allocation" if why == BORN_TWICE else Op(int(calls.op[at])).name.lower()
        super().__init__(f"{verb} of id {block}, which is {'live' if why == BORN_TWICE else 'not live'}")


class _Build(Numbered):
    """The columns of a batch of calls, the tables of live blocks and of threads, and the columns of the events."""

    op: Bytes
    thread: Ints
    old: Ints
    new: Ints
    size: Ints
    align_log2: Ints
    time_ns: Ints
    processor: Ints
    site: Ints
    thread_keys: Ints  # of the hash table from the other tool's number of a thread to ours
    thread_numbers: Ints
    out_op: Bytes
    out_thread: Numbers
    out_block: Numbers
    out_size: Ints
    out_align_log2: Bytes
    out_time_ns: Ints
    out_processor: Ints
    out_site: Numbers


@hit_path
def number_of(state: _Build, thread: int) -> int:
    """Our number of another tool's thread: 0, 1, ... in the order of first events."""
    if thread != state.last_thread:
        at = find(state.thread_keys, ~thread)
        if state.thread_keys[at] == 0:
            state.thread_keys[at] = ~thread
            state.thread_numbers[at] = state.threads
            state.threads += 1
        state.last_thread, state.last_number = thread, int(state.thread_numbers[at])
    return state.last_number


@hit_path
def since_first(state: _Build, time_ns: int) -> int:
    """The time since the first event, not before that of the last one."""
    if state.threads == 0:
        state.first_ns = time_ns
    if time_ns - state.first_ns < state.last_ns:
        state.backsteps += 1
    else:
        state.last_ns = time_ns - state.first_ns
    return state.last_ns


@hit_path
def emit(state: _Build, op: int, block: int, size: int, align_log2: int) -> None:
    """Append an event of the call at `at`."""
    i, call = state.events, state.at
    state.out_time_ns[i] = since_first(state, int(state.time_ns[call]))
    state.out_thread[i] = number_of(state, int(state.thread[call]))
    state.out_op[i], state.out_block[i] = op, block
    state.out_size[i], state.out_align_log2[i] = size, align_log2
    state.out_processor[i] = state.processor[call]
    state.out_site[i] = state.site[call] if op <= ALIGNED else 0
    state.events = i + 1


@hit_path
def bury(state: _Build, op: int, block: int, size: int, align_log2: int) -> None:
    """`block` dies: its number is the next to be used again."""
    emit(state, op, block, size, align_log2)
    release(state, block)


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
def bear(state: _Build, op: int, name: int, size: int, align_log2: int) -> int:
    """A birth, with the number that was freed last or a new number."""
    if name == 0:
        state.failed += 1
        return DONE
    why = vacate(state, name)
    if why != DONE:
        return why
    block = next_number(state)
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
        if op == THREAD_START and state.thread_keys[find(state.thread_keys, ~int(state.thread[i]))] != 0:
            state.late_starts += 1
        else:
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
    """Make events of calls until DONE, FULL (CHUNK_EVENTS), GROW (a table is half full) or a wrong call."""
    while state.at < state.calls:
        if state.events >= CHUNK_EVENTS:
            return FULL
        if 2 * state.live >= state.keys.size or 2 * state.threads >= state.thread_keys.size:
            return GROW
        why = apply(state, state.at)
        if why != DONE:
            return why
        state.at += 1
    return DONE


fast_build = compiled(build)


class Builder:
    """Makes chunks of calls; memory is a batch, a chunk and tables of live blocks and of threads."""

    def __init__(self, *, strict: bool) -> None:
        keys, blocks, spare = new_table(_FIRST_TABLE)
        thread_keys, thread_numbers, _ = new_table(_FIRST_TABLE)
        columns: dict[str, Any] = {name: np.zeros(0, kind) for name, kind in _Build.ITEMS.items()}
        for name in (*CHUNK_DTYPES, "site"):
            columns[f"out_{name}"] = np.zeros(CHUNK_EVENTS + EVENTS_PER_CALL, _Build.ITEMS[f"out_{name}"])
        tables = {"keys": keys, "blocks": blocks, "spare": spare, "scalars": np.zeros(1, SCALARS)}
        tables |= {"thread_keys": thread_keys, "thread_numbers": thread_numbers}
        self._state = _Build(**(columns | tables))
        self._state.strict, self._state.last_thread = int(strict), -1

    def feed(self, calls: Calls) -> Iterator[tuple[Chunk, U32]]:
        """Yield the events of the next calls and their sites. Raises WrongCall, after the events before it."""
        state = self._state
        for name in ("op", "thread", "size", "align_log2", "time_ns"):
            setattr(state, name, _read_only(getattr(calls, name)))
        state.processor = _read_only(np.full(calls.op.size, UNKNOWN) if calls.processor is None else calls.processor)
        state.site = _read_only(np.zeros(calls.op.size, np.int64) if calls.site is None else calls.site)
        # names that follow one another would lie side by side in the table
        state.old, state.new = calls.old * _ODD, calls.new * _ODD
        state.calls, state.at, why = calls.op.size, 0, FULL
        while why in (FULL, GROW):
            why = fast_build(state)
            if why == GROW:
                self._grow()
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

    @property
    def backsteps(self) -> int:
        """The times so far before that of the event before them, which they got instead."""
        return self._state.backsteps

    @property
    def late_starts(self) -> int:
        """The starts so far of threads that had events before; they were left out."""
        return self._state.late_starts

    def _grow(self) -> None:
        """Make the half full table twice as large, with the stack of spare numbers beside that of blocks."""
        state = self._state
        if 2 * state.live >= state.keys.size:
            state.keys, state.blocks, state.spare = grown_table(state.keys, state.blocks, state.spare)
        else:
            keys, numbers, _ = grown_table(state.thread_keys, state.thread_numbers, state.spare[:0])
            state.thread_keys, state.thread_numbers = keys, numbers

    def _chunk(self) -> tuple[Chunk, U32]:
        """Return the events so far and their sites; there are none then."""
        events, self._state.events = self._state.events, 0
        chunk = Chunk.of(*(getattr(self._state, f"out_{name}")[:events].copy() for name in Chunk._fields))
        return chunk, self._state.out_site[:events].copy()


def _read_only(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written: the kernel is compiled again for each set of columns that can."""
    view = column.view()
    view.flags.writeable = False
    return view
