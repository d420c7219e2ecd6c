"""malloc-bench's traces: one protobuf message, by a reader that protobuf generates at run time."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Records, compiled, hit_path, kernel, record_type
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.trace.events import CHUNK_EVENTS, Op
from heapsmith.model.trace.imports.builder import MAX, ROW, Calls, align_log2
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
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


class _Message(Arrays):
    """A piece of the message, how its fields are stored, and the columns of the calls found in it (Calls)."""

    data: Bytes
    kinds: Ints  # of each byte: the kind of line whose field has this tag, or NONE
    fields: Ints  # of each kind and byte: the role of the field of this tag, or NONE
    roles: Ints  # of the fields of a line: their values, NONE without
    op: Bytes
    thread: Ints
    old: Ints
    new: Ints
    size: Ints
    align_log2: Ints
    time_ns: Ints
    record: Ints
    scalars: Records


SCALARS = ("at", "end", "calls", "lines")
NONE = -1
TAGS = 256
MALLOC_LINE, FREE_LINE, REALLOC_LINE, CALLOC_LINE = range(len(_SCHEMA))
RESULT, INPUT, SIZE, ALIGNMENT, COUNT = range(5)
_ROLES = {"result_id": RESULT, "input_id": INPUT, "size": SIZE, "alignment": ALIGNMENT, "count": COUNT}
_ROLES |= {"size_hint": SIZE, "alignment_hint": ALIGNMENT}
MALLOC, CALLOC, REALLOC, ALIGNED, FREE, FREE_SIZED = (int(op) for op in list(Op)[:6])
MOST = 1 << 62  # the kernel takes ids and alignments below it


@hit_path
def varint(state: _Message, end: int) -> int:
    """The number at `at`, which is behind it then, or -1 if it has more than 9 bytes or does not end before `end`."""
    value, shift, at = 0, 0, state.at
    while at < end and shift < 63:
        byte = int(state.data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            state.at = at
            return value
        shift += 7
    return -1


@hit_path
def tag_and_length(state: _Message, end: int) -> int:
    """The tag of the field of bytes at `at`, if it is the last before `end`; `at` is at the bytes then. Else NONE."""
    at = state.at
    if at + 2 > end or at + 2 + int(state.data[at + 1]) != end or state.data[at + 1] >= _LINE_BYTES:
        return NONE
    state.at = at + 2
    return int(state.data[at])


@hit_path
def numbers(state: _Message, kind: int, end: int) -> int:
    """Take the fields of a line up to `end`; return 0 if one is not a usual one."""
    for role in range(COUNT + 1):
        state.roles[role] = NONE
    while state.at < end:
        role = int(state.fields[kind * TAGS + int(state.data[state.at])])
        state.at += 1
        value = varint(state, end)
        if role == NONE or value < 0 or value >= MOST:
            return 0
        state.roles[role] = value
    return 1


@hit_path
def log2_of(alignment: int) -> int:
    """The log2 of the least power of two that is not below the alignment (builder.align_log2)."""
    bits = 0
    while (1 << bits) < alignment:
        bits += 1
    return bits


@hit_path
def put(state: _Message, kind: int) -> int:
    """Append the call that `roles` has; return 0 if its product is large."""
    roles, i = state.roles, state.calls
    old, new, size, alignment = 0, int(roles[RESULT]) + 1, max(int(roles[SIZE]), 0), max(int(roles[ALIGNMENT]), 0)
    op = MALLOC
    if kind == FREE_LINE:
        op = FREE if roles[SIZE] == NONE else FREE_SIZED
        alignment = 0 if op == FREE else alignment
        old = int(roles[INPUT]) + 1
    elif kind == REALLOC_LINE:
        op, old = REALLOC, int(roles[INPUT]) + 1
    elif kind == CALLOC_LINE:
        op = CALLOC
        if size >= FACTOR or roles[COUNT] >= FACTOR:
            return 0
        size *= max(int(roles[COUNT]), 0)
    elif alignment > 0:
        op = ALIGNED
    state.op[i], state.old[i], state.new[i], state.size[i] = op, old, new, size
    state.align_log2[i], state.record[i] = log2_of(alignment), state.lines
    state.calls = i + 1
    return 1


@hit_path
def line(state: _Message, end: int) -> int:
    """Take the line up to `end`; return 0 if it is not a usual one."""
    tag = tag_and_length(state, end)
    if tag == NONE or state.kinds[tag] == NONE:
        return 0
    kind = int(state.kinds[tag])
    return int(numbers(state, kind, end) and put(state, kind))


@kernel
def take(state: _Message) -> None:
    """Take lines from `at` on, until the columns are full or `at` is at a field that is not a usual line."""
    while state.at + 2 <= state.end and state.calls < CHUNK_EVENTS:
        begin = state.at
        end = begin + 2 + int(state.data[begin + 1])
        if state.data[begin] != state.lines_tag or state.data[begin + 1] >= _LINE_BYTES or end > state.end:
            return
        state.at = begin + 2
        state.lines += 1
        if not line(state, end):
            state.at = begin
            state.lines -= 1
            return


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the message: the kernels take usual lines, the generated reader all other fields."""
    reader, bad = _Reader(source, about), None
    state = reader.state
    try:
        for _ in reader.pieces():
            while state.at < state.end:
                fast_take(state)
                if state.calls == CHUNK_EVENTS:
                    yield reader.calls()
                elif state.at < state.end and not reader.other_field():
                    break
    except BadInput as error:
        bad = error
    if state.calls:
        yield reader.calls()
    if bad is not None:
        raise bad


class _Reader:
    """The state of reading, with the tables of the generated class."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.make = tracefile()
        self.is_last = False
        arrays: dict[str, Any] = {name: np.zeros(CHUNK_EVENTS, np.int64) for name in ROW}
        arrays |= {"op": np.zeros(CHUNK_EVENTS, np.uint8), "data": np.zeros(0, np.uint8)}
        arrays |= {"scalars": np.zeros(1, record_type(*SCALARS, "lines_tag")), "roles": np.zeros(8, np.int64)}
        kinds, fields = _tables(self.make.DESCRIPTOR)
        self.state = _Message(**arrays, kinds=kinds, fields=fields)
        self.live_tag = _tag(self.make.DESCRIPTOR.fields_by_name["max_simultaneous_allocs"])
        self.state.lines_tag = _tag(self.make.DESCRIPTOR.fields_by_name["lines"])

    def pieces(self) -> Iterator[None]:
        """Fill `data` with the next bytes of the message, behind what was left of it."""
        state = self.state
        while not self.is_last:
            piece = self.source.piece(_PIECE_BYTES)
            self.is_last = piece == b""
            state.data = np.concatenate((state.data[state.at : state.end], np.frombuffer(piece, np.uint8)))
            state.at, state.end = 0, state.data.size
            yield

    def calls(self) -> Calls:
        """Return the calls in the columns, which are empty then."""
        calls, self.state.calls = self.state.calls, 0
        return Calls(*(getattr(self.state, name)[:calls] for name in ROW))

    def other_field(self) -> bool:
        """Read the field at `at` by the generated reader; False if it ends beyond the piece."""
        from google.protobuf.message import DecodeError

        state = self.state
        data = state.data[state.at : state.at + _LINE_BYTES + 2].tobytes()
        size = self._size_of(data)
        if size > len(data) and not self.is_last:
            return False
        place = f"line {state.lines + 1}"
        if size == 0:
            self.source.bad(place, "expected a field of malloc-bench's message")
        if size > len(data):
            self.source.bad(place, "it ends within this line")
        try:
            message = self.make.FromString(data[:size])
        except DecodeError as error:
            self.source.bad(place, f"not of malloc-bench's message: {error}")
        state.at += size
        if message.HasField("max_simultaneous_allocs"):
            self.about.extra["max_simultaneous_allocs"] = message.max_simultaneous_allocs
        for one in message.lines:
            self._line(one)
        return True

    def _size_of(self, data: bytes) -> int:
        """Return the bytes of the message's field at the begin of the data; 0 if it is none of its fields."""
        if data[0] == self.state.lines_tag:
            size = data[1] if len(data) > 1 else 0
            return 2 + size if size < _LINE_BYTES else 0
        if data[0] != self.live_tag:
            return 0
        ends = (at for at in range(1, len(data)) if data[at] < 0x80)
        return next(ends, len(data)) + 1

    def _line(self, one: Any) -> None:
        state, kind = self.state, one.WhichOneof("op")
        state.lines += 1
        if kind is None:
            self.source.bad(f"line {state.lines}", "expected a malloc, free, realloc or calloc")
        row = *_call(self.source, state.lines, kind, getattr(one, kind)), 0, state.lines
        for name, value in zip(ROW, row, strict=True):
            getattr(state, name)[state.calls] = value
        state.calls += 1


def _tag(field: Any) -> int:
    """Return the byte with which a field of the message begins: its number, and how it is stored."""
    is_number = field.type == field.TYPE_UINT64
    return int(field.number << 3 | (0 if is_number else 2))


def _tables(message: Any) -> tuple[Ints, Ints]:
    """Return the kind of line of each tag, and the role of the field of each kind and tag, as the class has them."""
    kinds, fields = np.full(TAGS, NONE, np.int64), np.full(len(_SCHEMA) * TAGS, NONE, np.int64)
    line_fields = message.fields_by_name["lines"].message_type.fields_by_name
    for kind, name in enumerate(_SCHEMA):
        one = line_fields[name.lower()]
        kinds[_tag(one)] = kind
        for field in one.message_type.fields:
            fields[kind * TAGS + _tag(field)] = _ROLES[field.name]
    return kinds, fields


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
