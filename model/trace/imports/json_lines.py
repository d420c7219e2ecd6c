"""JSON lines with named fields (docs/import.md 5)."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from heapsmith.model.trace.events import BIRTHS, DEATHS, SIZED, WITH_ALIGNMENT, Op
from heapsmith.model.trace.imports.builder import MAX, Calls, align_log2, batches
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source

_Number = Annotated[int, msgspec.Meta(ge=0, le=MAX)]
_Hex = Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{1,15}$")]
_OPS = {op.name.lower(): op for op in Op}


class _Row(msgspec.Struct, frozen=True):
    """A line; other fields are passed over."""

    op: Literal["malloc", "calloc", "realloc", "aligned", "free", "free_sized", "thread_start", "thread_exit"]
    pointer: _Number | _Hex = 0
    old_pointer: _Number | _Hex = 0
    thread: _Number | None = None
    size: _Number = 0
    alignment: _Number = 0
    time_ns: _Number | None = None


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the lines."""
    return batches(_rows(source, about))


def _rows(source: Source, about: About) -> Iterator[tuple[int, ...]]:
    decoder = msgspec.json.Decoder(_Row)
    for line, text in source.lines():
        try:
            row = decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            source.bad(f"line {line}", str(error).partition("\n")[0])
        for name, lack in (("time_ns", NO_TIMES), ("thread", NO_THREADS)):
            if getattr(row, name) is None and lack not in about.inexact:
                about.inexact.append(lack)
        op, pointer = _OPS[row.op], _pointer(row.pointer)
        old = pointer if op in DEATHS else _pointer(row.old_pointer) if op is Op.REALLOC else 0
        new = pointer if op in BIRTHS or op is Op.REALLOC else 0
        log2 = align_log2(row.alignment) if op in WITH_ALIGNMENT else 0
        yield op, row.thread or 0, old, new, row.size if op in SIZED else 0, log2, row.time_ns or 0, line


def _pointer(value: int | str) -> int:
    return int(value, 16) if isinstance(value, str) else value


FORMAT = Format(
    name="jsonl",
    what="JSON lines with named fields",
    recognises=lambda head: re.match(rb'\s*\{[^{}\n]*"op"\s*:', head) is not None,
    read=read,
    inexact=(),
)
