"""From a trace to the replay driver's script: a stream of events per thread, with their order.

`runtime/replay/script.h` documents the layout. The trace is read once, chunk by chunk. Memory holds
one chunk, the tables of live blocks and of threads, 24 bytes per chunk and thread, and 8 bytes per
sampled instant and thread.
"""

from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.recfunctions import unstructured_to_structured

from heapsmith.model.compile.kernel import (
    Arrays,
    Bytes,
    Ints,
    Numbers,
    Records,
    compiled,
    kernel,
    one_record,
    record_type,
)
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.trace.reader import Chunk, Op, TraceReader
from heapsmith.model.trace.writer import TraceWriter
from heapsmith.tools.common.rounds import Progress, quiet
from heapsmith.tools.replay.instants import Instants

Array = npt.NDArray[Any]

EVENT = np.dtype("u4,u4,u4,u2,u1,u1")
EVENT.names = ("slot", "after", "size_low", "size_high", "align_log2", "op")
HEADER = np.dtype("S8,u4,u4,u8,u8,u8,u8,u8,u4,u4")
HEADER.names = (
    *("magic", "version", "streams", "events", "operations", "slots", "segments"),
    *("peak_live_bytes", "peak_stream", "samples"),
)
SLOT = record_type("next", "since", "owner", "operations", "last")
SEGMENT = np.dtype("u8,u4,u4")
SEGMENT.names = ("first", "count", "window")
VERSION = 5
SPAWN, JOIN = 6, 7  # operations that only scripts have; 0 to 5 are the trace's

REALLOC, FREE, THREAD_START, THREAD_EXIT = int(Op.REALLOC), int(Op.FREE), int(Op.THREAD_START), int(Op.THREAD_EXIT)

RUN = 64  # fresh slots taken at once: streams share no cache lines of the driver's table
REUSE_LAG = 4096  # events before another stream's freed slot is reused; that free is then long done
WINDOW = 1 << 16  # events; how far threads may be from each other is two of these
MAX_BYTES = (1 << 48) - 1


class ScriptFacts(NamedTuple):
    """The counts of a script: calls, threads, slots of the block table, peak of requested bytes."""

    operations: int
    threads: int
    slots: int
    peak_live_bytes: int


# ---- slots: the names of blocks in the script
#
# The trace recycles block ids among all threads. With these ids, a thread that gets an id would
# wait for the thread that freed it, as the program did not. So each stream has its own slots. It
# prefers slots that it freed itself (LIFO, from streams[s].free) to fresh slots (runs of RUN). Two
# kinds of slots go to one FIFO list (state.head .. state.tail): a slot freed by another stream
# than its block's, and the slots of an ended thread. Any stream may take a slot after REUSE_LAG
# events in that list. All lists are linked through slots[].next.


class _Naming(Arrays):
    """The tables that grow with the trace, and the columns of the chunk whose events get slots.

    blocks: slot and bytes of each live block. streams: the free slots of each stream: `free` is the
    slot that it freed last, `fresh` to `fresh_end` were never used. out: the chunk's events.
    """

    op: Bytes
    stream: Ints
    block: Numbers
    size: Ints
    blocks: Records
    slots: Records
    streams: Records
    scalars: Records
    out: Records


@kernel
def _append(state: _Naming, slot: int) -> None:
    """Append a slot to the list for all streams."""
    state.slots[slot]["next"] = -1
    state.slots[slot]["since"] = state.events
    if state.head < 0:
        state.head = slot
    else:
        state.slots[state.tail]["next"] = slot
    state.tail = slot


@kernel
def _take(state: _Naming, stream: int) -> int:
    """Take a slot for a new block of this stream."""
    slot = int(state.streams[stream]["free"])
    if slot >= 0:
        state.streams[stream]["free"] = state.slots[slot]["next"]
        return slot
    slot = state.head
    if slot >= 0 and state.events - state.slots[slot]["since"] > REUSE_LAG:
        state.head = int(state.slots[slot]["next"])
    else:
        if state.streams[stream]["fresh"] == state.streams[stream]["fresh_end"]:
            state.streams[stream]["fresh"] = state.slots_used
            state.slots_used += RUN
            state.streams[stream]["fresh_end"] = state.slots_used
        slot = int(state.streams[stream]["fresh"])
        state.streams[stream]["fresh"] += 1
    state.slots[slot]["owner"] = stream
    return slot


@kernel
def _give(state: _Naming, stream: int, slot: int) -> None:
    """Return the slot of a block that this stream freed."""
    if state.slots[slot]["owner"] == stream:
        state.slots[slot]["next"] = state.streams[stream]["free"]
        state.streams[stream]["free"] = slot
    else:
        _append(state, slot)


@kernel
def _give_up(state: _Naming, stream: int) -> None:
    """A thread ends: move its free slots to the list for all streams."""
    slot = int(state.streams[stream]["free"])
    while slot >= 0:
        following = int(state.slots[slot]["next"])
        _append(state, slot)
        slot = following
    state.streams[stream]["free"] = -1


@kernel
def _count_live(state: _Naming, change: int, index: int) -> None:
    """Add to the live requested bytes; `index` is the event's index in its chunk."""
    state.live_bytes += change
    if state.live_bytes > state.peak_bytes:
        state.peak_bytes = state.live_bytes
        state.peak_index = index


@kernel
def _name_slots(state: _Naming) -> None:
    """Fill slot and after of out[i] for each event i of a chunk.

    `after` is the number of operations on the slot so far if the last of them was in another
    stream, else 0.
    """
    for i in range(state.op.size):
        state.events += 1
        kind, stream, block = int(state.op[i]), int(state.stream[i]), int(state.block[i])
        if kind >= THREAD_START:
            if kind == THREAD_EXIT and stream != 0:
                _give_up(state, stream)
            continue
        if kind != REALLOC and kind < FREE:
            state.blocks[block]["slot"] = _take(state, stream)
            state.blocks[block]["bytes"] = 0
        slot = int(state.blocks[block]["slot"])
        bytes_now = int(state.size[i]) if kind < FREE else 0
        _count_live(state, bytes_now - int(state.blocks[block]["bytes"]), i)
        state.blocks[block]["bytes"] = bytes_now
        state.out[i]["slot"] = slot
        state.out[i]["after"] = state.slots[slot]["operations"] if state.slots[slot]["last"] != stream else 0
        state.slots[slot]["operations"] += 1
        state.slots[slot]["last"] = stream
        state.operations += 1
        if kind >= FREE:
            _give(state, stream, slot)
            state.blocks[block]["slot"] = -1


_compiled = cache(compiled)


# ---- threads: the stream of each event, and stream 0's starts and joins of threads


class _Lives:
    """Threads' lives: stream 0 starts a thread at its first event, after joining ended threads."""

    def __init__(self, threads: int) -> None:
        self.born = np.zeros(threads, dtype=bool)
        self.born[0] = True
        self.stream_of = np.arange(threads)  # 0 after the join: stream 0 takes over
        self.ended: list[int] = []

    def follow(self, op: Array, thread: Array) -> tuple[Array, list[tuple[int, int, int]]]:
        """The stream of each event, and stream 0's events (before index, SPAWN or JOIN, thread)."""
        stream = self.stream_of[thread]
        births: list[tuple[int, bool, int]] = []
        if not self.born[thread].all():
            present, first = np.unique(thread, return_index=True)
            births = [(int(i), True, int(t)) for t, i in zip(present, first, strict=True) if not self.born[t]]
        ends = [(int(i), False, int(thread[i])) for i in np.flatnonzero(op == THREAD_EXIT)]
        extra: list[tuple[int, int, int]] = []
        for index, birth, t in sorted(births + ends):
            if birth:
                extra += [(index, JOIN, ended) for ended in self.ended]
                for ended in self.ended:
                    self.stream_of[ended] = 0
                    stream[index:][thread[index:] == ended] = 0
                self.ended.clear()
                extra.append((index, SPAWN, t))
                self.born[t] = True
            elif t != 0 and self.stream_of[t] != 0 and t not in self.ended:
                self.ended.append(t)
        return stream, extra


# ---- the file


class _Writer:
    """The state of the naming, and the segments written so far."""

    def __init__(self, trace: Path, file: BinaryIO, reader: TraceReader) -> None:
        self.trace = trace
        self.file = file
        self.threads = max(1, reader.footer.threads)
        self.instants = Instants(reader)
        self.state = _Naming(
            blocks=np.zeros(reader.footer.max_blocks, record_type("slot", "bytes")),
            slots=np.zeros(0, SLOT),
            streams=np.zeros(self.threads, record_type("free", "fresh", "fresh_end")),
            scalars=one_record(
                events=0, operations=0, slots_used=0, head=-1, tail=-1, live_bytes=0, peak_bytes=0, peak_index=-1
            ),
        )
        self.state.blocks["slot"] = -1
        self.state.streams["free"] = -1
        self.lives = _Lives(self.threads)
        self.written = np.zeros(self.threads, dtype=np.int64)  # events per stream
        self.peak_stream = 0  # of the event that reaches the peak
        self.peak_positions = self.written.copy()  # events per stream up to and with that one
        self.segments: list[Array] = []  # rows of stream, first event, count, window

    def add(self, chunk: Chunk) -> None:
        """Append a chunk. Raises BadInput for a size that a script event cannot hold."""
        if chunk.size.max(initial=0) > MAX_BYTES:
            index = self.state.events + int(np.argmax(chunk.size))
            raise BadInput(
                f"{self.trace}: event {index}: {chunk.size.max()} bytes: a replay can ask for 2^48 - 1 at most"
            )
        window = self.state.events // WINDOW
        stream, extra = self.lives.follow(chunk.op, chunk.thread)
        events = self._events(chunk, stream)
        kept = np.flatnonzero(chunk.op < THREAD_START)
        if extra:
            at = np.searchsorted(kept, [index for index, _, _ in extra])
            own = np.array([(target, 0, 0, 0, 0, op) for _, op, target in extra], dtype=EVENT)
            events, stream = np.insert(events[kept], at, own), np.insert(stream[kept], at, 0)
            kept = np.insert(kept, at, -1)
        else:
            events, stream = events[kept], stream[kept]
        if self.state.peak_index >= 0:
            upto = int(np.flatnonzero(kept == self.state.peak_index)[0])
            self.peak_stream = int(stream[upto])
            self.peak_positions = self.written + np.bincount(stream[: upto + 1], minlength=self.threads)
        self.instants.follow(chunk, kept, stream, self.written)
        self._append(events, stream, window)

    def _events(self, chunk: Chunk, stream: Array) -> Array:
        """Convert the chunk's events to script events; starts and exits of threads mean nothing."""
        state, slots = self.state, self.state.slots
        room = state.slots_used + chunk.op.size + RUN * self.threads
        if room > slots.size:
            state.slots = np.zeros(2 * room, SLOT)
            state.slots[: slots.size] = slots
            state.slots["last"][slots.size :] = -1
        events = np.zeros(chunk.op.size, dtype=EVENT)
        events["op"] = chunk.op
        events["align_log2"] = chunk.align_log2
        events["size_low"] = chunk.size & 0xFFFFFFFF
        events["size_high"] = chunk.size >> 32 & 0xFFFF
        state.op, state.stream, state.block, state.size, state.out = chunk.op, stream, chunk.block, chunk.size, events
        state.peak_index = -1
        _compiled(_name_slots)(state)
        return events

    def _append(self, events: Array, stream: Array, window: int) -> None:
        counts = np.bincount(stream, minlength=self.threads)
        if np.count_nonzero(counts) > 1:
            narrow = stream.astype(np.uint16) if self.threads <= 0x10000 else stream  # radix sort
            events = events[np.argsort(narrow, kind="stable")]
        present = np.flatnonzero(counts)
        first = int(self.written.sum()) + np.cumsum(counts[present]) - counts[present]
        self.segments.append(np.column_stack([present, first, counts[present], np.full(present.size, window)]))
        self.written += counts
        self._put(events)

    def _put(self, rows: Array) -> None:
        self.file.write(np.ascontiguousarray(rows).data)

    def finish(self) -> ScriptFacts:
        """Write the segments behind the events, and the header before them."""
        rows = np.concatenate([*self.segments, np.zeros((0, 4), dtype=np.int64)])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        _, rows[:, 3] = np.unique(rows[:, 3], return_inverse=True)  # a chunk may be longer than a window
        self._put(np.searchsorted(rows[:, 0], np.arange(self.threads + 1)).astype(np.uint64))
        self._put(self.peak_positions.astype(np.uint64))
        first_sample, samples = self.instants.samples()
        self._put(first_sample)
        self._put(unstructured_to_structured(rows[:, 1:], SEGMENT))
        self._put(samples)
        peak_bytes, operations, slots = self.state.peak_bytes, self.state.operations, self.state.slots_used
        header = np.zeros(1, dtype=HEADER)
        header[0] = (
            *(b"HSREPLAY", VERSION, self.threads, self.written.sum(), operations, slots, len(rows)),
            *(peak_bytes, self.peak_stream, len(samples)),
        )
        self.file.seek(0)
        self._put(header)
        return ScriptFacts(operations, self.threads, slots, peak_bytes)


def write_script(trace: Path, out: Path, progress: Progress = quiet) -> ScriptFacts:
    """Write `trace` as a replay script to `out`, a scratch file of 16 bytes per event.

    Raises BadInput for a trace that cannot be read or replayed, Missing if `out` cannot be written.
    """
    with TraceReader(trace) as reader:
        footer = reader.footer
        try:
            with out.open("wb") as file:
                file.seek(HEADER.itemsize)
                writer = _Writer(trace, file, reader)
                for chunk in reader:
                    writer.add(chunk)
                    progress("script", writer.state.events, footer.events)
                return writer.finish()
        except OSError as error:
            raise Missing(f"{out}: the replay script cannot be written: {error.strerror}") from error


def script_of_nothing(folder: Path) -> Path:
    """Write a script without events to the folder: its replay costs only the fixed work."""
    trace, script = folder / "nothing.hst", folder / "nothing"
    with TraceWriter(trace, command=[], source="nothing"):
        pass
    write_script(trace, script)
    return script
