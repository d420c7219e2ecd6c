"""From a trace to the replay driver's script: a stream of flat events per thread, with the order between threads kept.

The script's layout is documented in `runtime/replay/script.h`. The trace is read once, chunk by chunk; memory holds one
chunk, the tables of live blocks and of threads, and 24 bytes per chunk and thread.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.bench.common.rounds import Progress
from heapsmith.model.compile.kernel import compiled, kernel
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.trace.reader import Chunk, Op, TraceReader
from heapsmith.model.trace.writer import TraceWriter

Array = npt.NDArray[Any]

EVENT = np.dtype("u4,u4,u4,u2,u1,u1")
EVENT.names = ("slot", "after", "size_low", "size_high", "align_log2", "op")
HEADER = np.dtype("S8,u4,u4,u8,u8,u8,u8,u8,u8,u4,u4")
HEADER.names = (
    *("magic", "version", "streams", "events", "operations", "slots", "segments"),
    *("peak_live_bytes", "peak_position", "peak_stream", "reserved"),
)
SLOT = np.dtype([(name, "i8") for name in ("next", "since", "owner", "operations", "last")])
VERSION = 1
SPAWN, JOIN = 6, 7  # operations that only scripts have; 0 to 5 are the trace's

REALLOC, FREE, THREAD_START, THREAD_EXIT = int(Op.REALLOC), int(Op.FREE), int(Op.THREAD_START), int(Op.THREAD_EXIT)

RUN = 64  # fresh slots a stream takes at a time, so that streams do not share cache lines of the driver's table
REUSE_LAG = 4096  # events before a slot freed by another stream is born again: by then that free needs no waiting for
MAX_BYTES = (1 << 48) - 1

EVENTS, OPERATIONS, SLOTS, HEAD, TAIL, LIVE_BYTES, PEAK_BYTES, PEAK_INDEX = range(8)  # of the vector `total`


class ScriptFacts(NamedTuple):
    """What a script holds: calls of the malloc family, threads, slots of the block table, peak of requested bytes."""

    operations: int
    threads: int
    slots: int
    peak_live_bytes: int


# ---- slots: the names of blocks in the script
#
# The trace recycles block ids among all threads. Taken over as they are, they would make the thread that gets an id
# wait for the one that freed it, which the program did not do. So each stream has slots of its own: those it freed
# itself (LIFO, linked from streams[s].free) before fresh ones (runs of RUN). A slot freed by another stream than
# that it was born in, and the slots of a thread that has ended, go to one FIFO list (total[HEAD] .. total[TAIL]) from
# which any stream takes a slot once it has lain there for REUSE_LAG events. All lists are linked through slots[].next.


@kernel
def _append(slot: int, slots: Array, total: Array) -> None:
    """Put a slot at the end of the list for all streams."""
    slots[slot]["next"] = -1
    slots[slot]["since"] = total[EVENTS]
    if total[HEAD] < 0:
        total[HEAD] = slot
    else:
        slots[total[TAIL]]["next"] = slot
    total[TAIL] = slot


@kernel
def _take(stream: int, slots: Array, streams: Array, total: Array) -> int:
    """The slot for a block born in this stream."""
    slot = streams[stream]["free"]
    if slot >= 0:
        streams[stream]["free"] = slots[slot]["next"]
        return slot  # type: ignore[no-any-return]
    slot = total[HEAD]
    if slot >= 0 and total[EVENTS] - slots[slot]["since"] > REUSE_LAG:
        total[HEAD] = slots[slot]["next"]
    else:
        if streams[stream]["fresh"] == streams[stream]["fresh_end"]:
            streams[stream]["fresh"] = total[SLOTS]
            total[SLOTS] += RUN
            streams[stream]["fresh_end"] = total[SLOTS]
        slot = streams[stream]["fresh"]
        streams[stream]["fresh"] += 1
    slots[slot]["owner"] = stream
    return slot  # type: ignore[no-any-return]


@kernel
def _give(slot: int, stream: int, slots: Array, streams: Array, total: Array) -> None:
    """The slot of a block freed in this stream."""
    if slots[slot]["owner"] == stream:
        slots[slot]["next"] = streams[stream]["free"]
        streams[stream]["free"] = slot
    else:
        _append(slot, slots, total)


@kernel
def _give_up(stream: int, slots: Array, streams: Array, total: Array) -> None:
    """A thread ends: its free slots are for all."""
    slot = streams[stream]["free"]
    while slot >= 0:
        following = slots[slot]["next"]
        _append(slot, slots, total)
        slot = following
    streams[stream]["free"] = -1


@kernel
def _count_live(change: int, index: int, total: Array) -> None:
    """Follow the requested bytes that are live; index is the event's in its chunk."""
    total[LIVE_BYTES] += change
    if total[LIVE_BYTES] > total[PEAK_BYTES]:
        total[PEAK_BYTES] = total[LIVE_BYTES]
        total[PEAK_INDEX] = index


@kernel
def _name_slots(
    op: Array, stream: Array, block: Array, size: Array, blocks: Array, slots: Array, streams: Array, total: Array,
    out: Array,
) -> None:  # fmt: skip
    """Fill slot and after of out[i] for each event i of a chunk.

    `after` is the number of operations on the slot so far if the last of them was made in another stream, else 0.
    """
    for i in range(op.size):
        total[EVENTS] += 1
        kind = op[i]
        s = stream[i]
        if kind >= THREAD_START:
            if kind == THREAD_EXIT and s != 0:
                _give_up(s, slots, streams, total)
            continue
        entry = blocks[block[i]]
        slot = entry["slot"]
        if kind != REALLOC and kind < FREE:
            slot = _take(s, slots, streams, total)
            entry["slot"] = slot
            entry["bytes"] = 0
        bytes_now = size[i] if kind < FREE else 0
        _count_live(bytes_now - entry["bytes"], i, total)
        entry["bytes"] = bytes_now
        out[i]["slot"] = slot
        out[i]["after"] = slots[slot]["operations"] if slots[slot]["last"] != s else 0
        slots[slot]["operations"] += 1
        slots[slot]["last"] = s
        total[OPERATIONS] += 1
        if kind >= FREE:
            _give(slot, s, slots, streams, total)
            entry["slot"] = -1


@cache
def _compiled_name_slots() -> Callable[..., None]:
    return compiled(_name_slots)


# ---- threads: which stream an event is in, and where stream 0 creates and joins the others


class _Lives:
    """The threads' lives. Stream 0 creates each thread where its first event is, after joining those ended by then."""

    def __init__(self, threads: int) -> None:
        self.born = np.zeros(threads, dtype=bool)
        self.born[0] = True
        self.stream_of = np.arange(threads)  # 0 for a thread that has been joined: what it still does, stream 0 does
        self.ended: list[int] = []

    def follow(self, op: Array, thread: Array) -> tuple[Array, list[tuple[int, int, int]]]:
        """The stream of each event of a chunk, and stream 0's own events (before index, SPAWN or JOIN, thread)."""
        stream = self.stream_of[thread]
        births = [] if self.born[thread].all() else self._births(thread)
        ends = [(int(i), False, int(thread[i])) for i in np.flatnonzero(op == THREAD_EXIT)]
        extra: list[tuple[int, int, int]] = []
        for index, birth, t in sorted(births + ends):
            if birth:
                extra += [(index, JOIN, ended) for ended in self._join_ended(index, thread, stream)]
                extra.append((index, SPAWN, t))
                self.born[t] = True
            elif t != 0 and self.stream_of[t] != 0 and t not in self.ended:
                self.ended.append(t)
        return stream, extra

    def _births(self, thread: Array) -> list[tuple[int, bool, int]]:
        present, first = np.unique(thread, return_index=True)
        return [(int(i), True, int(t)) for t, i in zip(present, first, strict=True) if not self.born[t]]

    def _join_ended(self, index: int, thread: Array, stream: Array) -> list[int]:
        joined, self.ended = self.ended, []
        for t in joined:
            self.stream_of[t] = 0
            stream[index:][thread[index:] == t] = 0
        return joined


# ---- the file


class _Writer:
    """The tables that grow with the trace, and the segments written so far."""

    def __init__(self, trace: Path, file: BinaryIO, threads: int, max_blocks: int) -> None:
        self.trace = trace
        self.file = file
        self.threads = max(1, threads)
        self.blocks = np.zeros(max_blocks, dtype=[("slot", "i8"), ("bytes", "i8")])
        self.blocks["slot"] = -1
        self.slots = np.zeros(0, dtype=SLOT)
        self.streams = np.zeros(self.threads, dtype=[("free", "i8"), ("fresh", "i8"), ("fresh_end", "i8")])
        self.streams["free"] = -1
        self.total = np.zeros(8, dtype=np.int64)
        self.total[HEAD] = self.total[TAIL] = -1
        self.lives = _Lives(self.threads)
        self.written = np.zeros(self.threads, dtype=np.int64)  # events per stream
        self.peak = (0, 0)  # stream, its events up to and with the one at the peak
        self.segments: list[Array] = []  # rows of stream, first event, count

    def add(self, chunk: Chunk) -> None:
        """Append one chunk. Raises BadInput for a size that a script event cannot hold."""
        if chunk.size.max(initial=0) > MAX_BYTES:
            index = int(self.total[EVENTS]) + int(np.argmax(chunk.size))
            raise BadInput(
                f"{self.trace}: event {index}: {chunk.size.max()} bytes: a replay can ask for 2^48 - 1 at most"
            )
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
        if self.total[PEAK_INDEX] >= 0:
            upto = int(np.flatnonzero(kept == self.total[PEAK_INDEX])[0])
            s = int(stream[upto])
            self.peak = (s, int(self.written[s] + np.count_nonzero(stream[: upto + 1] == s)))
        self._append(events, stream)

    def _events(self, chunk: Chunk, stream: Array) -> Array:
        """The chunk's events as script events, one for one (those of thread lives mean nothing)."""
        room = int(self.total[SLOTS]) + chunk.op.size + RUN * self.threads
        if room > self.slots.size:
            grown = np.zeros(2 * room, dtype=self.slots.dtype)
            grown[: self.slots.size] = self.slots
            grown["last"][self.slots.size :] = -1
            self.slots = grown
        events = np.zeros(chunk.op.size, dtype=EVENT)
        events["op"] = chunk.op
        events["align_log2"] = chunk.align_log2
        events["size_low"] = chunk.size & 0xFFFFFFFF
        events["size_high"] = chunk.size >> 32 & 0xFFFF
        self.total[PEAK_INDEX] = -1
        tables = (self.blocks, self.slots, self.streams, self.total)
        _compiled_name_slots()(chunk.op, stream, chunk.block, chunk.size, *tables, events)
        return events

    def _append(self, events: Array, stream: Array) -> None:
        counts = np.bincount(stream, minlength=self.threads)
        if np.count_nonzero(counts) > 1:
            narrow = stream.astype(np.uint16) if self.threads <= 0x10000 else stream  # 16 bits sort by radix
            events = events[np.argsort(narrow, kind="stable")]
        present = np.flatnonzero(counts)
        first = int(self.written.sum()) + np.cumsum(counts[present]) - counts[present]
        self.segments.append(np.column_stack([present, first, counts[present]]))
        self.written += counts
        self._put(events)

    def _put(self, rows: Array) -> None:
        self.file.write(np.ascontiguousarray(rows).data)

    def finish(self) -> ScriptFacts:
        """Write the segments behind the events, and the header before them."""
        rows = np.concatenate([*self.segments, np.zeros((0, 3), dtype=np.int64)])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        self._put(np.searchsorted(rows[:, 0], np.arange(self.threads + 1)).astype(np.uint64))
        self._put(rows[:, 1:].astype(np.uint64))
        peak_bytes, operations, slots = (int(self.total[i]) for i in (PEAK_BYTES, OPERATIONS, SLOTS))
        header = np.zeros(1, dtype=HEADER)
        header[0] = (
            *(b"HSREPLAY", VERSION, self.threads, self.written.sum(), operations, slots, len(rows)),
            *(peak_bytes, self.peak[1], self.peak[0], 0),
        )
        self.file.seek(0)
        self._put(header)
        return ScriptFacts(operations, self.threads, slots, peak_bytes)


def write_script(trace: Path, out: Path, progress: Progress | None = None) -> ScriptFacts:
    """Write `trace` as a replay script to `out`, a scratch file of 16 bytes per event.

    Raises BadInput for a trace that cannot be read or replayed, Missing where `out` cannot be written.
    """
    with TraceReader(trace) as reader:
        footer = reader.footer
        try:
            with out.open("wb") as file:
                file.seek(HEADER.itemsize)
                writer = _Writer(trace, file, footer.threads, footer.max_blocks)
                for chunk in reader:
                    writer.add(chunk)
                    if progress is not None:
                        progress("script", int(writer.total[EVENTS]), footer.events)
                return writer.finish()
        except OSError as error:
            raise Missing(f"{out}: the replay script cannot be written: {error.strerror}") from error


def script_of_nothing(folder: Path) -> Path:
    """A script without events, in the folder: its replay does what any replay does besides."""
    trace, script = folder / "nothing.hst", folder / "nothing"
    with TraceWriter(trace, command=[], source="nothing"):
        pass
    write_script(trace, script)
    return script
