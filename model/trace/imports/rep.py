"""Malloc-lab text (.rep) of Computer Systems: A Programmer's Perspective."""

import re
from collections.abc import Iterator

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.lines import Row, calls_by_line
from heapsmith.model.trace.imports.source import Source

_HEADER = ("suggested heap size", "number of ids", "number of operations", "weight")
_FIELDS = {b"a": 3, b"r": 3, b"f": 2}
_LINE_BYTES = 200


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text."""
    reader = _Reader(source, about)
    yield from calls_by_line(source, reader.row, _LINE_BYTES)
    reader.check_end()


class _Reader:
    """Reads the header, then the operations: `done` of those that it announces, on `ids` blocks."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.header: list[int] = []
        self.ids = self.operations = self.done = 0

    def row(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one."""
        fields = text.split()
        if len(self.header) < len(_HEADER):
            self._header_line(line, fields)
            return None
        self.done += 1
        return self._operation(line, fields[0], fields[1:])

    def _header_line(self, line: int, fields: list[bytes]) -> None:
        name = _HEADER[len(self.header)]
        if len(fields) != 1:
            self.source.bad(f"line {line}", f"{name}: expected one number, got {len(fields)} fields")
        self.header.append(self.source.integer(line, fields[0], name))
        if len(self.header) == len(_HEADER):
            heap, self.ids, self.operations, weight = self.header
            self.about.extra = {"suggested_heap_bytes": heap, "weight": weight}

    def _operation(self, line: int, letter: bytes, fields: list[bytes]) -> Row:
        source = self.source
        if self.done > self.operations:
            source.bad(f"line {line}", f"more operations than the {self.operations} that the header says")
        if letter not in _FIELDS:
            source.bad(f"line {line}", f"unknown operation {letter.decode('ascii', 'replace')!r}; expected a, r or f")
        if len(fields) + 1 != _FIELDS[letter]:
            source.bad(f"line {line}", f"expected {_FIELDS[letter]} fields, got {len(fields) + 1}")
        name = source.integer(line, fields[0], "id")
        if name >= self.ids:
            source.bad(f"line {line}", f"id {name}: the header says {self.ids} ids, from 0")
        size = source.integer(line, fields[1], "size") if letter != b"f" else 0
        if letter == b"a":
            return Op.MALLOC, 0, 0, name + 1, size, 0, 0, line
        if letter == b"r" and size:
            return Op.REALLOC, 0, name + 1, name + 1, size, 0, 0, line
        return Op.FREE, 0, name + 1, 0, 0, 0, 0, line

    def check_end(self) -> None:
        """Raise BadInput if the text has fewer lines than its header says."""
        if len(self.header) < len(_HEADER):
            raise BadInput(f"{self.source.name}: ends before the {_HEADER[len(self.header)]}")
        done, operations = self.done, self.operations
        if done < operations:
            raise BadInput(f"{self.source.name}: ends after {done} operations; the header says {operations}")


FORMAT = Format(
    name="rep",
    what="malloc-lab text (.rep)",
    recognises=lambda head: re.match(rb"\s*\d+\s+\d+\s+\d+\s+\d+\s+(?:[arf] |$)", head) is not None,
    read=read,
    inexact=(NO_TIMES, NO_THREADS),
    strict=True,
)
