"""Perfetto's heap profiles: a heap per quantity in bytes, in the packets that heapprofd writes."""

from typing import IO, Any

from heapsmith.model.trace.exports.perfetto import protos
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.numbers import Numbers
from heapsmith.tools.profiles.table import Frame, Stack, StackTable

PID, SEQUENCE = 1, 1


class _Interned:
    """The strings, mappings, frames and call stacks of a packet; each has a number from 1."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._functions, self._files = Numbers[str](1), Numbers[str](1)
        self._modules, self._frames, self._stacks = Numbers[str](1), Numbers[Frame](1), Numbers[Stack](1)

    def stack(self, stack: Stack) -> int:
        """The number of a call stack."""
        if stack not in self._stacks:
            frames = [self._frame(frame) for frame in reversed(stack)]
            self._data.callstacks.add(iid=self._stacks[stack], frame_ids=frames)
        return self._stacks[stack]

    def _frame(self, frame: Frame) -> int:
        if frame not in self._frames:
            function = self._string(self._data.function_names, self._functions, frame.function)
            made = {"function_name_id": function, "mapping_id": self._mapping(frame.module), "rel_pc": 0}
            if frame.file:
                made["source_path_iid"] = self._string(self._data.source_paths, self._files, frame.file)
            if frame.line:
                made["line_number"] = frame.line
            self._data.frames.add(iid=self._frames[frame], **made)
        return self._frames[frame]

    def _mapping(self, module: str) -> int:
        if module not in self._modules:
            number = self._modules[module]
            self._data.mapping_paths.add(iid=number, str=module.encode())
            self._data.mappings.add(iid=number, path_string_ids=[number])
        return self._modules[module]

    def _string(self, strings: Any, numbers: Numbers[str], text: str) -> int:
        if text not in numbers:
            strings.add(iid=numbers[text], str=text.encode())
        return numbers[text]


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write the process, and a packet with the heaps, that of the usual quantity first."""
    messages = protos()
    trace = messages.Trace()
    process = trace.packet.add(trusted_packet_sequence_id=SEQUENCE).track_descriptor
    process.uuid, process.process.pid, process.process.process_name = 1, PID, table.title
    packet = trace.packet.add(trusted_packet_sequence_id=SEQUENCE, timestamp=table.duration_ns)
    packet.sequence_flags = messages.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    interned = _Interned(packet.interned_data)
    for place in sorted(table.in_bytes, key=lambda place: place != usual):
        name = table.quantities[place].name
        heap = packet.profile_packet.process_dumps.add(pid=PID, heap_name=name, sampling_interval_bytes=1)
        heap.timestamp = table.duration_ns
        blocks = table.place(count) if table.has((count := name.replace("_space", "_objects"),)) else None
        for stack, values in table.rows.items():
            freed = table.freed(values, place)
            live = values[blocks] if blocks is not None and blocks != place else 0
            if values[place] or freed[1]:
                sample = heap.samples.add(callstack_id=interned.stack(stack))
                sample.self_allocated, sample.self_freed = values[place] + freed[1], freed[1]
                sample.alloc_count, sample.free_count = live + freed[0], freed[0]
    file.write(trace.SerializeToString(deterministic=True))


FORMAT = Format("perfetto", write, unit="bytes", messages=protos)
