"""From spool to trace: one process image's spool file (runtime/recorder/spool.h) becomes chunks in the order of time."""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from heapsmith.model.errors import BadInput
from heapsmith.model.trace_events import CHUNK_DTYPES, CHUNK_EVENTS, Chunk, Op

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

# The layout of spool.h.
VERSION = 1
UNIT_WORDS = 64 * 1024 // 8
WINDOW_WORDS = UNIT_WORDS - 6  # records; then ordinal, stream | home << 32, three words of the recorder's own, magic
SPOOL_MAGIC = 0x314C4F4F50535348
WINDOW_MAGIC = 0x574F444E49575348
_HEADER = struct.Struct("<Q6I4Q")
_HEADER_BYTES = 4096
MALLOC, CALLOC, ALIGNED, FREE, FREE_SIZED, REALLOC_FROM, REALLOC_TO, THREAD_START, THREAD_EXIT = range(1, 10)
LONG = 16
STAMP_SHIFT = 5
STAMP_MASK = (1 << (64 - STAMP_SHIFT)) - 1
ADDRESS_BITS = 48
ADDRESS_MASK = (1 << ADDRESS_BITS) - 1

MALLOC_OP, REALLOC_OP, FREE_OP, FREE_SIZED_OP = int(Op.MALLOC), int(Op.REALLOC), int(Op.FREE), int(Op.FREE_SIZED)
THREAD_START_OP, THREAD_EXIT_OP = int(Op.THREAD_START), int(Op.THREAD_EXIT)
BIRTH_OP = np.array([0, Op.MALLOC, Op.CALLOC, Op.ALIGNED], np.uint8)  # by the spool's operation

# Places in the merge's `state`.
OUT, LIVE, BLOCKS, SPARE, THREADS, LAST_NS, FOREIGN, LOST, BACKSTEPS, RECORDS, STATES = range(11)
# Places in a stream's row of `cursors`: next record (index of its word 0), its window (index into `windows`), the end of
# the stream's windows, its thread, the block that a realloc under way holds (or -1) and its address.
WORD, WINDOW, WINDOWS_END, THREAD, HELD, HELD_ADDRESS, CURSORS = range(7)
DONE, FULL, GROW = range(3)  # why the merge returned

_RELEASE_BYTES = 64 << 20  # of the mapped spool, read before its pages are let go
_FIRST_TABLE = 1 << 12


class SpoolHeader(NamedTuple):
    """The header page of a spool; stamps in TSC ticks."""

    pid: int
    parent_pid: int
    sequence: int  # of the images of this pid
    forked: bool
    start_stamp: int
    drops: int
    nested: int
    spool_ticks: int
    argv: list[str]


class Totals(NamedTuple):
    """What the merge has counted when it is through."""

    events: int
    foreign_frees: int  # frees and reallocs of addresses that no recorded event gave
    lost_frees: int  # allocations that returned an address still live: its free was not seen and is put just before
    backsteps: int  # events whose stamp was before that of the event before them in their own thread


@numba.njit(cache=True)
def _count(words: U64, first: int, operation: int) -> int:
    """Records of the window whose first word is `first`, those of `operation` left out."""
    at, stop, count = first, first + WINDOW_WORDS, 0
    while at < stop and words[at] != 0:
        count += np.int64(words[at] & np.uint64(15)) != operation
        at += 4 if words[at] & np.uint64(LONG) else 2
    return count


@numba.njit(cache=True)
def _count_all(words: U64, windows: I64) -> int:
    """Events in `windows` (first words): records, a realloc's two halves being one."""
    total = 0
    for first in windows:
        total += _count(words, first, REALLOC_FROM)
    return total


@numba.njit(cache=True)
def _slot_of(keys: U64, address: np.uint64) -> int:
    """Where `address` is in the open-addressed table, or the empty place where it would go (Knuth vol. 3, 6.4, L)."""
    mask = keys.size - 1
    at = np.int64((address >> np.uint64(3)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
    while keys[at] != 0 and keys[at] != address:
        at = (at + 1) & mask
    return at


@numba.njit(cache=True)
def _remove(keys: U64, blocks: I64, at: int) -> None:
    """Empty place `at` and close the gap (Knuth vol. 3, 6.4, algorithm R)."""
    mask = keys.size - 1
    gap, at = at, (at + 1) & mask
    while keys[at] != 0:
        home = np.int64((keys[at] >> np.uint64(3)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
        if ((at - home) & mask) >= ((at - gap) & mask):
            keys[gap], blocks[gap] = keys[at], blocks[at]
            gap = at
        at = (at + 1) & mask
    keys[gap] = 0


@numba.njit(cache=True)
def _rehash(keys: U64, blocks: I64, new_keys: U64, new_blocks: I64) -> None:
    for i in range(keys.size):
        if keys[i] != 0:
            at = _slot_of(new_keys, keys[i])
            new_keys[at], new_blocks[at] = keys[i], blocks[i]


@numba.njit(cache=True)
def _stamp_at(words: U64, word: int, base: np.uint64) -> np.uint64:
    """The stamp of a record, in ticks since `base`."""
    return ((words[word] >> np.uint64(STAMP_SHIFT)) - base) & np.uint64(STAMP_MASK)


@numba.njit(cache=True)
def _find_record(words: U64, windows: I64, cursor: I64) -> bool:
    """Move past the end of a window to the stream's next record; False if there is none."""
    while cursor[WORD] >= windows[cursor[WINDOW]] + WINDOW_WORDS or words[cursor[WORD]] == 0:
        cursor[WINDOW] += 1
        if cursor[WINDOW] == cursor[WINDOWS_END]:
            return False
        cursor[WORD] = windows[cursor[WINDOW]]
    return True


@numba.njit(cache=True)
def _sift(heap: I64, held: int, stamps: U64, at: int) -> None:
    """Restore the heap of streams by ascending stamp below place `at`."""
    stream = heap[at]
    while 2 * at + 1 < held:
        child = 2 * at + 1
        if child + 1 < held and stamps[heap[child + 1]] < stamps[heap[child]]:
            child += 1
        if stamps[stream] <= stamps[heap[child]]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = stream


@numba.njit(cache=True)
def _emit(out: tuple[npt.NDArray, ...], state: I64, op: int, thread: int, block: int, size: int, align: int) -> None:
    i = state[OUT]
    out[0][i], out[1][i], out[2][i], out[3][i], out[4][i], out[5][i] = op, thread, block, size, align, state[LAST_NS]
    state[OUT] = i + 1
