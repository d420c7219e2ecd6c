"""JSON lines with named fields (docs/other-tools.md, 'tables')."""

import re
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS
from heapsmith.model.trace.events import MAX_PROCESSORS, UNKNOWN, Op
from heapsmith.model.trace.imports.builder import MAX, Calls
from heapsmith.model.trace.imports.callers import Callers
from heapsmith.model.trace.imports.columns import NUMBERS, calls_of_columns, sites_of
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source, first_line
from heapsmith.model.trace.imports.text import parts

_Number = Annotated[int, msgspec.Meta(ge=0, le=MAX)]
_Hex = Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{1,15}$")]
_OPS = {op.name.lower(): op for op in Op}


class _Row(msgspec.Struct, frozen=True, gc=False):
    """A line; other fields are passed over."""

    op: Literal["malloc", "calloc", "realloc", "aligned", "free", "free_sized", "thread_start", "thread_exit"]
    pointer: _Number | _Hex = 0
    old_pointer: _Number | _Hex = 0
    thread: _Number | None = None
    size: _Number = 0
    alignment: _Number = 0
    time_ns: _Number | None = None
    processor: Annotated[int, msgspec.Meta(ge=UNKNOWN, lt=MAX_PROCESSORS)] = UNKNOWN
    caller: str | None = None


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the lines."""
    decoder, before, callers = msgspec.json.Decoder(_Row), 0, Callers(about)
    for data in parts(source):
        lines, bad = data.count(b"\n"), None
        try:
            rows = decoder.decode_lines(data)
        except JSON_FAULTS:
            rows = []
        numbers: Sequence[int] = range(before + 1, before + lines + 1)
        if len(rows) != lines:  # a mistake, or a blank line
            rows, numbers, bad = _one_by_one(source, decoder, data, before)
        if rows:
            yield _calls(rows, numbers, about, callers)
        if bad is not None:
            raise bad
        before += lines


def _one_by_one(
    source: Source, decoder: "msgspec.json.Decoder[_Row]", data: bytearray, before: int
) -> tuple[list[_Row], Sequence[int], BadInput | None]:
    """Return the rows of lines that follow `before` lines, and their numbers, up to the first mistake."""
    rows: list[_Row] = []
    numbers: list[int] = []
    for number, line in enumerate(data.splitlines(), before + 1):
        text = bytes(line.strip())
        try:
            if text:
                rows.append(decoder.decode(text))
                numbers.append(number)
        except JSON_FAULTS as error:
            return rows, numbers, BadInput(f"{source.name}: line {number}: {first_line(error)}")
    return rows, numbers, None


def _calls(rows: Sequence[_Row], numbers: Sequence[int], about: About, callers: Callers) -> Calls:
    """Return the calls of rows, and note what they lack."""
    columns: dict[str, Any] = {name: list(map(attrgetter(name), rows)) for name in NUMBERS}
    for name, lack in (("time_ns", NO_TIMES), ("thread", NO_THREADS)):
        if None in columns[name]:
            columns[name] = [value or 0 for value in columns[name]]
            if lack not in about.inexact:
                about.inexact.append(lack)
    for name in ("pointer", "old_pointer"):
        if str in set(map(type, columns[name])):
            columns[name] = list(map(_pointer, columns[name]))
    op = np.array([_OPS[row.op] for row in rows], np.uint8)
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    about.processors |= bool((arrays["processor"] >= 0).any())
    names = [row.caller for row in rows]
    sites = sites_of(op, arrays["pointer"], np.arange(len(rows)), names, callers) if any(names) else None
    return calls_of_columns(op, arrays, np.array(numbers, np.int64), sites)


def _pointer(value: int | str) -> int:
    return int(value, 16) if isinstance(value, str) else value


FORMAT = Format(
    name="jsonl",
    what="JSON lines with named fields",
    recognises=lambda head: re.match(rb'\s*\{[^{}\n]*"op"\s*:', head) is not None,
    read=read,
    inexact=(),
)
