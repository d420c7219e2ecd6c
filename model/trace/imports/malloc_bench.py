"""malloc-bench's traces: one protobuf message, by a reader that protobuf generates at run time."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from heapsmith.model.errors import Missing
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import MAX, Calls, align_log2, batches
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source

_LINES_TAG = 0x0A  # field 1, length-delimited
_LIVE_TAG = 0x10  # field 2, a number
_PIECE_BYTES = 1 << 20
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
    """Yield the calls of the message, piece by piece: a part between two of its fields is a message too."""
    return batches(_rows(source, about))


def _rows(source: Source, about: About) -> Iterator[tuple[int, ...]]:
    from google.protobuf.message import DecodeError

    make, number = tracefile(), 0
    for piece, bad in _pieces(source):
        try:
            message = make.FromString(piece)
        except DecodeError as error:
            source.bad(f"lines after {number}", f"not of malloc-bench's message: {error}")
        if message.HasField("max_simultaneous_allocs"):
            about.extra["max_simultaneous_allocs"] = message.max_simultaneous_allocs
        for line in message.lines:
            number += 1
            kind = line.WhichOneof("op")
            if kind is None:
                source.bad(f"line {number}", "expected a malloc, free, realloc or calloc")
            yield *_call(source, number, kind, getattr(line, kind)), 0, number
        if bad:
            source.bad(f"line {number + 1}", bad)


def _pieces(source: Source) -> Iterator[tuple[bytes, str]]:
    """Yield parts of whole fields, each with what is wrong behind it."""
    data, more = b"", True
    while more:
        piece = source.read(_PIECE_BYTES)
        data, more = data + piece, len(piece) == _PIECE_BYTES
        at, wrong = 0, ""
        last = len(data) - (_LINE_BYTES + 2 if more else 0)
        while at < last:
            if data[at] == _LINES_TAG and at + 1 < len(data) and data[at + 1] < _LINE_BYTES:
                end = at + 2 + data[at + 1]
            elif data[at] == _LIVE_TAG:
                end = at + 1
                while end < len(data) and data[end] & 0x80:
                    end += 1
                end += 1
            else:
                wrong = "expected a field of malloc-bench's message"
                break
            if end > len(data):
                wrong = "it ends within this line"
                break
            at = end
        yield data[:at], wrong
        data = data[at:]


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
