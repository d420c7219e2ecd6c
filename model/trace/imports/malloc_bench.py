"""malloc-bench's traces: one protobuf message, by a reader that protobuf generates at run time."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from heapsmith.model.errors import Missing
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import MAX, Calls, align_log2
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.lines import Row, calls_of_rows
from heapsmith.model.trace.imports.source import Source

_PIECE_BYTES = 1 << 20
FACTOR = 1 << 31  # the kernels multiply numbers below it
_LINE_BYTES = 1 << 7  # a line is shorter: it has at most three numbers
_SCHEMA = {
    "Malloc": ("result_id", "size", "alignment"),
    "Free": ("input_id", "size_hint", "alignment_hint"),
    "Realloc": ("result_id", "input_id", "size"),
    "Calloc": ("result_id", "count", "size"),
}
"""The kinds of lines, in the order of their fields in a line, and the fields of each in order."""
_OPS = {"malloc": Op.MALLOC, "realloc": Op.REALLOC, "calloc": Op.CALLOC}


@cache
def tracefile() -> Any:
    """Return the class of the message; Missing without the package protobuf."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise Missing("malloc-bench's traces need the package protobuf: pip install 'heapsmith[imports]'") from None
    file = descriptor_pb2.FileDescriptorProto(name="heapsmith/tracefile.proto", package="heapsmith", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    optional, message, number = kinds.LABEL_OPTIONAL, kinds.TYPE_MESSAGE, kinds.TYPE_UINT64
    line = descriptor_pb2.DescriptorProto(name="TraceLine")
    line.oneof_decl.add(name="op")
    for at, (kind, fields) in enumerate(_SCHEMA.items(), 1):
        line.field.add(
            name=kind.lower(), number=at, label=optional, type=message, type_name=f".heapsmith.{kind}", oneof_index=0
        )
        one = file.message_type.add(name=kind)
        for place, field in enumerate(fields, 1):
            one.field.add(name=field, number=place, label=optional, type=number)
    file.message_type.append(line)
    whole = file.message_type.add(name="Tracefile")
    whole.field.add(name="lines", number=1, label=kinds.LABEL_REPEATED, type=message, type_name=".heapsmith.TraceLine")
    whole.field.add(name="max_simultaneous_allocs", number=2, label=optional, type=number)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("heapsmith.Tracefile"))


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the message, whose fields the generated class reads one by one."""
    return calls_of_rows(_Reader(source, about).rows())


class _Reader:
    """The generated class, the bytes with which fields of the message begin, and the lines read so far."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.make = tracefile()
        self.lines = 0
        fields = self.make.DESCRIPTOR.fields_by_name
        self.lines_tag, self.live_tag = fields["lines"].number << 3 | 2, fields["max_simultaneous_allocs"].number << 3

    def rows(self) -> Iterator[Row]:
        """Yield the calls."""
        data, at, is_last = b"", 0, False
        while not is_last:
            piece = self.source.piece(_PIECE_BYTES)
            data, at, is_last = data[at:] + piece, 0, piece == b""
            while at < len(data):
                field = data[at : at + _LINE_BYTES + 2]
                size = self._size_of(field)
                if size > len(field) and not is_last:
                    break
                yield from self._calls(field, size)
                at += size

    def _calls(self, field: bytes, size: int) -> Iterator[Row]:
        from google.protobuf.message import DecodeError

        place = f"line {self.lines + 1}"
        if size == 0:
            self.source.bad(place, "expected a field of malloc-bench's message")
        if size > len(field):
            self.source.bad(place, "it ends within this line")
        try:
            message = self.make.FromString(field[:size])
        except DecodeError as error:
            self.source.bad(place, f"not of malloc-bench's message: {error}")
        if message.HasField("max_simultaneous_allocs"):
            self.about.extra["max_simultaneous_allocs"] = message.max_simultaneous_allocs
        for one in message.lines:
            self.lines, kind = self.lines + 1, one.WhichOneof("op")
            if kind is None:
                self.source.bad(place, "expected a malloc, free, realloc or calloc")
            yield *_call(self.source, self.lines, kind, getattr(one, kind)), 0, self.lines

    def _size_of(self, data: bytes) -> int:
        """Return the bytes of the message's field at the begin of the data; 0 if it is none of its fields."""
        if data[0] == self.lines_tag:
            size = data[1] if len(data) > 1 else 0
            return 2 + size if size < _LINE_BYTES else 0
        if data[0] != self.live_tag:
            return 0
        ends = (at for at in range(1, len(data)) if data[at] < 0x80)
        return next(ends, len(data)) + 1


def _call(source: Source, number: int, kind: str, call: Any) -> tuple[int, ...]:
    """Return op, thread, old, new, size and log2 of the alignment; a block is named by id + 1, no block by 0."""
    old = call.input_id + 1 if kind in ("free", "realloc") and call.HasField("input_id") else 0
    if kind == "free":
        new, size, alignment = 0, call.size_hint, call.alignment_hint
        op = Op.FREE_SIZED if call.HasField("size_hint") else Op.FREE
    else:
        new, size = call.result_id + 1 if call.HasField("result_id") else 0, call.size
        alignment = call.alignment if kind == "malloc" else 0
        op = Op.ALIGNED if alignment else _OPS[kind]
    if kind == "calloc":
        size *= call.count
    if max(old, new, size, alignment) > MAX:
        source.bad(f"line {number}", f"expected numbers up to {MAX}, got {max(old, new, size, alignment)}")
    return op, 0, old, new, size, align_log2(alignment) if op in (Op.ALIGNED, Op.FREE_SIZED) else 0


FORMAT = Format(
    name="malloc-bench",
    what="malloc-bench's protobuf message",
    recognises=lambda head: re.match(rb"(?s)\n[\x02-\x7f](?:\n|\x12|\x1a|\")[\x00-\x7f]", head) is not None,
    read=read,
    inexact=(NO_TIMES, NO_THREADS),
    strict=True,
)
