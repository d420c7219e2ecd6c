"""Malloc-lab text (.rep) of Computer Systems: A Programmer's Perspective."""

import re
from collections.abc import Iterator

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, batches
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source

_HEADER = ("suggested heap size", "number of ids", "number of operations", "weight")
_FIELDS = {b"a": 3, b"r": 3, b"f": 2}
_LINE_BYTES = 200


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text."""
    lines = source.lines(_LINE_BYTES)
    heap, ids, operations, weight = (_header_integer(source, lines, name) for name in _HEADER)
    about.extra = {"suggested_heap_bytes": heap, "weight": weight}
    return batches(_rows(source, lines, ids, operations))


def _header_integer(source: Source, lines: Iterator[tuple[int, bytes]], name: str) -> int:
    number, line = next(lines, (0, b""))
    if not line:
        raise BadInput(f"{source.path}: ends before the {name}")
    fields = line.split()
    if len(fields) != 1:
        source.bad(f"line {number}", f"{name}: expected one number, got {len(fields)} fields")
    return source.integer(number, fields[0], name)


def _rows(source: Source, lines: Iterator[tuple[int, bytes]], ids: int, operations: int) -> Iterator[tuple[int, ...]]:
    done = 0
    for done, (number, line) in enumerate(lines, 1):
        if done > operations:
            source.bad(f"line {number}", f"more operations than the {operations} that the header says")
        letter, *fields = line.split()
        if letter not in _FIELDS:
            source.bad(f"line {number}", f"unknown operation {letter.decode('ascii', 'replace')!r}; expected a, r or f")
        if len(fields) + 1 != _FIELDS[letter]:
            source.bad(f"line {number}", f"expected {_FIELDS[letter]} fields, got {len(fields) + 1}")
        name = source.integer(number, fields[0], "id")
        if name >= ids:
            source.bad(f"line {number}", f"id {name}: the header says {ids} ids, from 0")
        size = source.integer(number, fields[1], "size") if letter != b"f" else 0
        if letter == b"a":
            yield Op.MALLOC, 0, 0, name + 1, size, 0, 0, number
        elif letter == b"r" and size:
            yield Op.REALLOC, 0, name + 1, name + 1, size, 0, 0, number
        else:
            yield Op.FREE, 0, name + 1, 0, 0, 0, 0, number
    if done < operations:
        raise BadInput(f"{source.path}: ends after {done} operations; the header says {operations}")


FORMAT = Format(
    name="rep",
    what="malloc-lab text (.rep)",
    recognises=lambda head: re.match(rb"\s*\d+\s+\d+\s+\d+\s+\d+\s+(?:[arf] |$)", head) is not None,
    read=read,
    inexact=(NO_TIMES, NO_THREADS),
    strict=True,
)
