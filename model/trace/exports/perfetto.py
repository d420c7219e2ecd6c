"""A trace file for Perfetto: counters of live bytes and blocks, and the rates of each thread.

The messages are those of perfetto's protos (TracePacket, TrackDescriptor, TrackEvent), from the
package perfetto.
"""

from typing import IO, Any

import numpy as np
import numpy.typing as npt

from heapsmith.model.errors import Missing
from heapsmith.model.trace.events import BIRTHS, DEATHS, Chunk, Op, op_mask
from heapsmith.model.trace.exports.format import COMMAND, Followed, Target, metadata, without
from heapsmith.model.trace.lives import Lives
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.slices import last_time_ns, slices

SLICES = 4096
"""Points of a counter: about the pixels of two wide screens."""

NO_SCALE = "the trace has no times: a nanosecond of this file is an event, and a rate per second is of 10^9 events"

_REQUEST, _BIRTH, _DEATH = op_mask(BIRTHS | {Op.REALLOC}), op_mask(BIRTHS), op_mask(DEATHS)
_PID = 1
_PROCESS, _BYTES, _BLOCKS, _FIRST_THREAD = 1, 2, 3, 16
"""Numbers of tracks; each thread has _KINDS from _FIRST_THREAD on."""
_KINDS = ("track", "requests", "bytes", "frees")


def protos() -> Any:
    """Return the module of perfetto's messages; Missing without it."""
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        raise Missing("traces for Perfetto need the package perfetto: pip install 'heapsmith[exports]'") from None
    return perfetto_trace_pb2


class _Writer:
    """Writes packets; a trace is its packets one behind the other, as messages of field 1."""

    def __init__(self, file: IO[bytes], messages: Any) -> None:
        self.packets = 0
        self._file, self._protos = file, messages
        self._events = messages.TrackEvent

    def describe(self, uuid: int, parent: int | None = None, **fields: Any) -> None:
        """Introduce a track: `name`, or messages of its kind."""
        packet = self._packet()
        track = packet.track_descriptor
        track.uuid = uuid
        if parent is not None:
            track.parent_uuid = parent
        for field, value in fields.items():
            if isinstance(value, dict):
                for name, one in value.items():
                    setattr(getattr(track, field), name, one)
            else:
                setattr(track, field, value)
        self._write(packet)

    def count(self, time_ns: int, uuid: int, value: int) -> None:
        """Add a value to a counter."""
        packet = self._packet()
        packet.timestamp = time_ns
        event = packet.track_event
        event.type, event.track_uuid, event.counter_value = self._events.TYPE_COUNTER, uuid, value
        self._write(packet)

    def _packet(self) -> Any:
        packet = self._protos.TracePacket()
        packet.trusted_packet_sequence_id = 1
        return packet

    def _write(self, packet: Any) -> None:
        self._file.write(self._protos.Trace(packet=[packet]).SerializeToString())
        self.packets += 1


class _Counters:
    """The counters of a trace, slice of time by slice of time."""

    def __init__(self, writer: _Writer, reader: TraceReader, slice_ns: int, units: Any) -> None:
        self._writer, self._slice_ns, self._units = writer, slice_ns, units
        self._lives = Lives(reader.footer.max_blocks, reader.footer.threads)
        self._blocks = 0
        self._rates = np.zeros((len(_KINDS), reader.footer.threads), np.int64)  # in this slice; row 0 is unused
        self._shown = np.zeros((len(_KINDS), reader.footer.threads), np.int64)  # the last values written
        self._known: set[int] = set()
        writer.describe(_PROCESS, process={"pid": _PID, "process_name": " ".join(reader.header.command) or "trace"})
        writer.describe(_BYTES, _PROCESS, name="live bytes", counter={"unit": units.UNIT_SIZE_BYTES})
        writer.describe(_BLOCKS, _PROCESS, name="live blocks", counter={"unit": units.UNIT_COUNT})

    def feed(self, part: Chunk) -> None:
        """Follow events of the slice that is open."""
        self._lives.feed(part)
        self._blocks += int(np.count_nonzero(_BIRTH[part.op])) - int(np.count_nonzero(_DEATH[part.op]))
        threads = self._rates.shape[1]
        asks, frees = _REQUEST[part.op], _DEATH[part.op]
        self._rates[1] += np.bincount(part.thread[asks], minlength=threads)
        self._rates[2] += _sums(part.thread[asks], part.size[asks], threads)
        self._rates[3] += np.bincount(part.thread[frees], minlength=threads)

    def close(self, number: int) -> None:
        """Write the values of slice `number`, which ends, and begin another."""
        start = number * self._slice_ns
        self._writer.count(start, _BYTES, self._lives.asked()[1])
        self._writer.count(start, _BLOCKS, self._blocks)
        self._show(start, self._rates * 1_000_000_000 // self._slice_ns)
        self._rates[:] = 0

    def rest(self, number: int) -> None:
        """Write that nothing happens in slice `number`."""
        self._show(number * self._slice_ns, self._rates)

    def _show(self, start: int, rates: npt.NDArray[np.int64]) -> None:
        for kind, thread in np.argwhere(rates != self._shown).tolist():
            if thread not in self._known:
                self._describe_thread(thread)
            self._writer.count(start, _track(thread, kind), int(rates[kind, thread]))
        self._shown[:] = rates

    def _describe_thread(self, thread: int) -> None:
        self._known.add(thread)
        name = {"pid": _PID, "tid": _PID + thread, "thread_name": f"thread {thread}"}
        self._writer.describe(_track(thread, 0), _PROCESS, thread=name)
        units = (self._units.UNIT_COUNT, self._units.UNIT_SIZE_BYTES, self._units.UNIT_COUNT)
        for kind, unit in enumerate(units, 1):
            named = f"thread {thread}: {_KINDS[kind]} per second"
            self._writer.describe(_track(thread, kind), _track(thread, 0), name=named, counter={"unit": unit})


def _sums(thread: npt.NDArray[np.uint32], size: npt.NDArray[np.int64], threads: int) -> npt.NDArray[np.int64]:
    """Return the sum of sizes by thread, exactly; weights of bincount are floating."""
    sums = np.zeros(threads, np.int64)
    np.add.at(sums, thread, size)
    return sums


def _track(thread: int, kind: int) -> int:
    return _FIRST_THREAD + thread * len(_KINDS) + kind


def write(source: Followed, file: IO[bytes]) -> tuple[int, list[str], list[str]]:
    """Write counters of SLICES slices of the trace's time; return the packets, what they lack, and their scale."""
    messages, reader = protos(), source.reader
    has_times = "time_ns" not in without(reader)
    last = last_time_ns(reader) if has_times else reader.footer.events
    slice_ns = last // SLICES + 1
    writer = _Writer(file, messages)
    counters = _Counters(writer, reader, slice_ns, messages.CounterDescriptor)
    at = None
    for number, part in slices(source, slice_ns, has_times=has_times):
        if at is not None and number != at:
            counters.close(at)
            if number > at + 1:
                counters.rest(at + 1)
        counters.feed(part)
        at = number
    if at is not None:
        counters.close(at)
        counters.rest(at + 1)
    lacks = [
        f"single events and blocks: it has sums of slices of {slice_ns:,} {'ns' if has_times else 'events'} each",
        *(["processors"] if reader.header.has_processors else []),
        *(["call stacks"] if reader.header.has_sites else []),
        *source.ends_of_threads(),
        *(what for what in metadata(reader) if what != COMMAND),  # it is the name of the process
    ]
    return writer.packets, lacks, [] if has_times else [NO_SCALE]


TARGET = Target("perfetto", "a trace for Perfetto", (".pftrace", ".perfetto-trace", ".pftrace.gz"), write)
