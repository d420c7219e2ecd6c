"""Malloc-lab text (.rep) of Computer Systems: A Programmer's Perspective."""

import re
from collections.abc import Iterator

from heapsmith.model.compile.kernel import compiled, kernel
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.imports.text import (
    NEWLINE,
    SPACE,
    Row,
    Text,
    begins,
    columns,
    decimal,
    keeps,
    passes,
    put,
    scan,
)

_HEADER = ("suggested heap size", "number of ids", "number of operations", "weight")
_FIELDS = {b"a": 3, b"r": 3, b"f": 2}
_LINE_BYTES = 200
MALLOC, REALLOC, FREE = int(Op.MALLOC), int(Op.REALLOC), int(Op.FREE)
BIRTH, RESIZE, DEATH = b"arf"


class _Rep(Text):
    """The state of a text: `ids` and `operations` as the header says, `done` of these operations."""


@kernel
def one_line(state: _Rep) -> int:
    """Take the next line; return 0 if it is not a usual one."""
    letter = int(state.data[state.at])
    if letter not in (BIRTH, RESIZE, DEATH):
        return 0
    state.at += 1
    if not passes(state, SPACE):
        return 0
    name, size = decimal(state), 0
    if name < 0 or name >= state.ids or state.done >= state.operations:
        return 0
    if letter != DEATH:
        if not passes(state, SPACE):
            return 0
        size = decimal(state)
    if size < 0 or not passes(state, NEWLINE):
        return 0
    if letter == BIRTH:
        put(state, MALLOC, 0, 0, name + 1, size)
    elif size > 0:
        put(state, REALLOC, 0, name + 1, name + 1, size)
    else:
        put(state, FREE, 0, name + 1, 0, 0)
    state.done += 1
    return 1


@kernel
def take(state: _Rep) -> None:
    """Take usual lines (text.scan)."""
    while begins(state) and keeps(state, one_line(state)):
        pass


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text."""
    reader = _Reader(source, about)
    yield from scan(source, reader.state, fast_take, reader.line, _LINE_BYTES)
    reader.check_end()


class _Reader:
    """Reads the header and lines of all kinds; the kernel reads most of the lines behind the header."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.header: list[int] = []
        self.state = _Rep(**columns("ids", "operations", "done"))

    def line(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one."""
        fields = text.split()
        if len(self.header) < len(_HEADER):
            self._header_line(line, fields)
            return None
        self.state.done += 1
        return self._operation(line, fields[0], fields[1:])

    def _header_line(self, line: int, fields: list[bytes]) -> None:
        name = _HEADER[len(self.header)]
        if len(fields) != 1:
            self.source.bad(f"line {line}", f"{name}: expected one number, got {len(fields)} fields")
        self.header.append(self.source.integer(line, fields[0], name))
        if len(self.header) == len(_HEADER):
            heap, self.state.ids, self.state.operations, weight = self.header
            self.about.extra = {"suggested_heap_bytes": heap, "weight": weight}

    def _operation(self, line: int, letter: bytes, fields: list[bytes]) -> Row:
        source, state = self.source, self.state
        if state.done > state.operations:
            source.bad(f"line {line}", f"more operations than the {state.operations} that the header says")
        if letter not in _FIELDS:
            source.bad(f"line {line}", f"unknown operation {letter.decode('ascii', 'replace')!r}; expected a, r or f")
        if len(fields) + 1 != _FIELDS[letter]:
            source.bad(f"line {line}", f"expected {_FIELDS[letter]} fields, got {len(fields) + 1}")
        name = source.integer(line, fields[0], "id")
        if name >= state.ids:
            source.bad(f"line {line}", f"id {name}: the header says {state.ids} ids, from 0")
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
        done, operations = self.state.done, self.state.operations
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
