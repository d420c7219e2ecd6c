"""From spool to trace: reads a process image's spool (runtime/heap/1_base/spool/spool.h) by time."""

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from heapsmith.model.compile.kernel import Ints, Records
from heapsmith.model.constants import PAGE
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.addresses import grown_table, new_table
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.edit.numbering import SitesByUse
from heapsmith.model.trace.edit.trees import part_of
from heapsmith.model.trace.frames import Samples, Touched
from heapsmith.model.trace.reader import CHUNK_EVENTS, Chunk
from heapsmith.model.trace.stacks import CallTree
from heapsmith.tools.common.perf_map import Generated
from heapsmith.tools.record import spool_merge as m
from heapsmith.tools.record.spool_stacks import FRAMES, MAPPING, Forest, Mapping, forest

VERSION = 5
SPOOL_MAGIC = 0x314C4F4F50535348
WINDOW_MAGIC = 0x574F444E49575348
_HEADER = struct.Struct("<Q6I6Q")
_START_AT, _DROPS_AT = struct.calcsize("<Q6I"), struct.calcsize("<Q6IQ")
_TRAILER = struct.Struct("<Q2I4Q")
_HEADER_BYTES = 4096
_UNIT_BYTES = 8 * m.UNIT_WORDS
FIRST_BYTES = _HEADER_BYTES + _UNIT_BYTES
"""The least size of a spool that holds an event."""
_STACK_STREAM = 0xFFFFFFFF  # the last one
_STAMP_SLACK = 1 << 40  # ticks by which another core's first stamp may precede the image's start
_FIRST_TABLE = 1 << 12
_RELEASE_UNITS = 1024  # units to read before their pages are released
_RELEASE_CHUNKS = 64  # chunks to read before that, about


class SpoolHeader(NamedTuple):
    """The header of a spool; stamps and ticks are of the TSC."""

    pid: int
    parent_pid: int
    sequence: int  # number of the image in its process
    forked: bool  # started by fork, not by exec
    start_stamp: int
    drops: int
    nested: int
    spool_ticks: int
    checked: int  # sites that were remembered and unwound as well
    wrong: int  # of these, where unwinding found another stack
    argv: list[str]


class Totals(NamedTuple):
    """The counts of a merge."""

    records: int  # records in the spool, each of which ran the recorder's hot path
    foreign_frees: int  # frees and reallocs of addresses that no recorded event returned
    lost_frees: int  # allocations at a live address: its block's free was lost and is added
    backsteps: int  # records stamped before the previous record of their stream


class Spool:
    """One spool file, mapped; later writes to it are not seen. Context manager.

    Raises BadInput for a file that is not a whole spool of this version. Memory: a table of live
    blocks, one chunk, and pages of the file that the kernel may reclaim.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self.header = _parse_header(path, file.read(_HEADER_BYTES))
            self._map = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
            written = _written_units(file.fileno(), len(self._map) // _UNIT_BYTES)
        self._words = np.frombuffer(self._map, "<i8", len(self._map) // _UNIT_BYTES * m.UNIT_WORDS)
        windows, streams, numbers = _order_windows(written, self._read_trailers(written))
        of_stacks = streams[numbers == _STACK_STREAM]["window"]
        first = int(of_stacks[0]) if of_stacks.size else windows.size
        self._windows, self._streams = windows[:first], streams[numbers != _STACK_STREAM]
        self._of_stacks = windows[first:]
        self._used: CallTree | None = None
        self.totals = Totals(0, 0, 0, 0)
        self.samples: Samples | None = None
        self.first_ticks = 0  # from the image's start to its first event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        del self._words, self._map  # the map closes with the last array that uses it

    @cached_property
    def _forest(self) -> Forest | None:
        """All stacks; to number them takes longer than to count the records."""
        return forest(self._words, self._of_stacks)

    @property
    def tree(self) -> CallTree | None:
        """The stacks; when all chunks are read, those of events."""
        return self._used or (self._forest.tree if self._forest else None)

    @property
    def python(self) -> list[Generated]:
        """The names of frames of Python."""
        return self._forest.python if self._forest else []

    def count_records(self) -> int:
        """The number of records; a realloc counts once. Foreign frees give no event."""
        records = 0
        for first in range(0, self._windows.size, _RELEASE_UNITS):
            records += m.fast_count_records(self._words, self._windows[first : first + _RELEASE_UNITS])
            self._release()
        return records

    def chunks(self, ns_per_tick: float) -> Iterator[tuple[Chunk, U32, Ints]]:
        """The events in order of time, each with its site, and births and reallocs with the address of the block.

        A site is the number of a stack that `tree` has at the end. Sets `first_ticks` at the begin, `totals` and
        `samples` at the end.
        """
        sites = self._forest.sites if self._forest else np.zeros(1, np.int64)
        state = m.Merge(
            words=self._words,
            windows=self._windows,
            streams=self._streams.copy(),
            heap=np.zeros(self._streams.size + 1, np.int64),
            scalars=np.zeros(1, m.SCALARS),
            out=np.zeros((len(Chunk._fields) + 2, CHUNK_EVENTS + m.EVENTS_PER_RECORD), np.int64),
            sites=sites,
            touched=np.zeros((m.TOUCHED_SIZES, 3), np.int64),
            resident=np.zeros((m.RESIDENT_SAMPLES, 2), np.int64),
            processor=np.full((m.SAMPLED_THREADS, 4), -1, np.int64),
        )
        state.base = (self.header.start_stamp - _STAMP_SLACK) & m.STAMP_MASK
        state.keys, state.blocks, state.spare = new_table(max(_FIRST_TABLE, 4 * self._streams.size))
        m.fast_start_heap(state)
        self.first_ticks = max(0, int(state.first_stamp) - _STAMP_SLACK)
        why, chunk, used = m.FULL, 0, SitesByUse(int(sites.max()))
        while why != m.DONE:
            why = m.fast_merge(state, ns_per_tick)
            if why == m.GROW:
                state.keys, state.blocks, state.spare = grown_table(state.keys, state.blocks, state.spare)
                continue
            *columns, site, address = state.out[:, : state.events].copy()
            yield Chunk.of(*columns), used.of(site.astype(np.uint32)), address
            state.events = 0
            chunk += 1
            if chunk % _RELEASE_CHUNKS == 0:
                self._release()
        self.totals = Totals(state.records, state.foreign, state.lost, state.backsteps)
        self.samples = _samples(state)
        if self._forest:  # frees that are no events have stacks too
            self._used = part_of(self._forest.tree, used.keys())

    def _read_trailers(self, units: Ints) -> Ints:
        """The last words of each of `units`, as rows."""
        words = self._words.reshape(-1, m.UNIT_WORDS)[:, m.WINDOW_WORDS :]
        trailers = np.zeros((units.size, words.shape[1]), np.int64)
        for first in range(0, units.size, _RELEASE_UNITS):
            trailers[first : first + _RELEASE_UNITS] = words[units[first : first + _RELEASE_UNITS]]
            self._release()
        return trailers

    def _release(self) -> None:
        """Release the pages read so far; they can be read again."""
        self._map.madvise(mmap.MADV_DONTNEED)


def _samples(state: m.Merge) -> Samples:
    touched = [Touched(PAGE << row, *counts) for row, counts in enumerate(state.touched.tolist()) if counts[0]]
    resident = [(time, PAGE * pages) for time, pages in state.resident[: state.residents].tolist()]
    threads = state.processor[: state.threads]
    # a child of vfork writes its own thread's time into its parent's stream
    spent = [(time, max(0, processor)) for time, processor in (threads[:, 2:] - threads[:, :2]).tolist()]
    return Samples(touched, resident, PAGE * int(state.resident_peak), spent)


def read_header(path: Path) -> SpoolHeader:
    """The header of a spool. Raises BadInput as Spool does."""
    with path.open("rb") as file:
        return _parse_header(path, file.read(_HEADER_BYTES))


def _parse_header(path: Path, page: bytes) -> SpoolHeader:
    if len(page) < _HEADER_BYTES:
        raise BadInput(f"{path}: expected a spool's header of {_HEADER_BYTES} bytes, found {len(page)}")
    magic, version, pid, parent, sequence, forked, argv_length, *counts = _HEADER.unpack_from(page)
    if magic != SPOOL_MAGIC or version != VERSION:
        raise BadInput(f"{path}: not a spool of version {VERSION}")
    arguments = page[_HEADER.size : _HEADER.size + argv_length].split(b"\0")
    argv = [argument.decode(errors="replace") for argument in arguments[: -1 if argv_length else 0]]
    start, drops, nested, ticks, checked, wrong = counts
    return SpoolHeader(pid, parent, sequence, bool(forked), start, drops, nested, ticks, checked, wrong, argv)


def _written_units(file: int, units: int) -> Ints:
    """The units that have no hole; to read a hole takes memory, which a full tmpfs lacks."""
    whole = np.zeros(units, np.bool_)
    end = 0
    with suppress(OSError):  # ENXIO: no data after this offset (lseek(2), SEEK_DATA)
        while end < units * _UNIT_BYTES:
            start = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
            whole[-(-start // _UNIT_BYTES) : end // _UNIT_BYTES] = True
    return np.flatnonzero(whole)


def _order_windows(places: Ints, trailers: Ints) -> tuple[Ints, Records, Ints]:
    """The indexes of all windows in order by stream, the streams at their first windows, and their numbers."""
    windows = trailers[:, -1] == WINDOW_MAGIC
    places, trailers = places[windows], trailers[windows]
    ordinal, stream, home = trailers[:, 0], trailers[:, 1] & 0xFFFFFFFF, trailers[:, 1] >> 32
    order = np.lexsort((home == places, ordinal, stream))  # after its own older copy
    places, ordinal, stream = places[order], ordinal[order], stream[order]
    repeats = np.zeros(places.size, np.bool_)
    repeats[1:] = (stream[1:] == stream[:-1]) & (ordinal[1:] == ordinal[:-1])
    places, stream = places[~repeats], stream[~repeats]
    starts = np.flatnonzero(np.diff(stream, prepend=-1))
    streams = np.zeros(starts.size, m.STREAM)
    streams["window"] = starts
    streams["windows_end"] = np.append(starts[1:], places.size)[: starts.size]
    streams["word"] = places[starts] * m.UNIT_WORDS
    streams["held"] = streams["place"] = -1
    return places * m.UNIT_WORDS, streams, stream[starts]


def new_spool(path: Path, pid: int, parent: int, argv: list[str]) -> Path:
    """Make the spool of a process that already runs; `set_start` and `set_drops` say the rest."""
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)[: _HEADER_BYTES - _HEADER.size]
    head = _HEADER.pack(SPOOL_MAGIC, VERSION, pid, parent, 0, 0, len(words), *[0] * 6)
    path.write_bytes((head + words).ljust(_UNIT_BYTES, b"\0"))
    return path


def set_start(path: Path, stamp: int) -> None:
    """Say when the image began."""
    _set(path, _START_AT, stamp)


def set_drops(path: Path, drops: int) -> None:
    """Say how many events were lost."""
    _set(path, _DROPS_AT, drops)


def _set(path: Path, at: int, number: int) -> None:
    with path.open("r+b") as file:
        os.pwrite(file.fileno(), struct.pack("<Q", number), at)


def add_stacks(path: Path, stacks: list[tuple[int, Ints]], mappings: list[Mapping]) -> None:
    """Add the stream of stacks to a spool: mappings of code, and the return addresses of each number."""
    records = []
    for one in mappings:
        name = os.fsencode(one.path) + b"\0"
        words = 4 + -(-len(name) // 8)
        head = struct.pack("<4Q", words << 8 | MAPPING, one.start, one.end, one.offset)
        records.append(head + name.ljust(8 * (words - 4), b"\0"))
    records += [
        struct.pack("<Q", number << 32 | len(frames) << 8 | FRAMES) + frames.astype("<u8").tobytes()
        for number, frames in stacks
    ]
    windows = [b""]
    for record in records:
        if len(windows[-1]) + len(record) >= 8 * m.WINDOW_WORDS:
            windows.append(b"")
        windows[-1] += record
    with path.open("r+b") as file:
        file.seek(-(-file.seek(0, os.SEEK_END) // _UNIT_BYTES) * _UNIT_BYTES)
        for ordinal, content in enumerate(windows):
            trailer = _TRAILER.pack(ordinal, _STACK_STREAM, 0, 0, 0, 0, WINDOW_MAGIC)
            file.write(content.ljust(8 * m.WINDOW_WORDS, b"\0") + trailer)


def add_births(path: Path, stream: int, stamp: int, addresses: Ints, sizes: Ints) -> None:
    """Add a stream of one thread to a spool: an allocation of each block, at the same time."""
    head = stamp << m.STAMP_SHIFT & (1 << 64) - 1
    is_long = sizes > m.SIZE_MASK
    short = np.empty((int((~is_long).sum()) + 1, 2), np.uint64)
    short[0] = head | m.THREAD_START, 0
    short[1:, 0] = head | m.MALLOC
    short[1:, 1] = sizes[~is_long].astype(np.uint64) << np.uint64(m.ADDRESS_BITS) | addresses[~is_long].astype(
        np.uint64
    )
    long = np.empty((int(is_long.sum()), 4), np.uint64)
    long[:, 0] = head | m.MALLOC | m.LONG
    long[:, 1], long[:, 2], long[:, 3] = addresses[is_long], sizes[is_long], 0
    ordinal = 0
    with path.open("r+b") as file:
        file.seek(-(-file.seek(0, os.SEEK_END) // _UNIT_BYTES) * _UNIT_BYTES)
        for records in (short, long):
            most = m.WINDOW_WORDS // records.shape[1] - 1  # no window is quite full
            for first in range(0, len(records), most):
                content = records[first : first + most].tobytes().ljust(8 * m.WINDOW_WORDS, b"\0")
                file.write(content + _TRAILER.pack(ordinal, stream, 0, 0, 0, 0, WINDOW_MAGIC))
                ordinal += 1
