"""Traces from malloc-lab text (.rep) of Computer Systems: A Programmer's Perspective."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.reader import CHUNK_EVENTS, Chunk, Footer, Op, TraceWriter

_HEADER = ("suggested heap size", "number of ids", "number of operations", "weight")
_FIELDS = {"a": 3, "r": 3, "f": 2}
_LINE_BYTES = 200
_MAX_SIZE = (1 << 63) - 1


class _Line(NamedTuple):
    """A line that is not blank."""

    path: Path
    number: int  # counted from 1
    fields: list[str]

    def bad(self, what: str) -> NoReturn:
        raise BadInput(f"{self.path}: line {self.number}: {what}")

    def integer(self, field: int, name: str) -> int:
        """Return the field as an integer from 0 to the largest size."""
        text = self.fields[field]
        if not (text.isascii() and text.isdigit()) or int(text) > _MAX_SIZE:
            self.bad(f"{name}: expected a whole number from 0 to {_MAX_SIZE}, got {text!r}")
        return int(text)


def import_rep(path: str | Path, out: str | Path) -> Footer:
    """Write the trace of a .rep file to `out`; return its footer. Memory grows with the live ids
    only.

    Raises BadInput with the line if the text is malformed or no program has these operations
    (docs/trace.md, section 6).
    """
    path = Path(path)
    try:
        with path.open("rb") as text:
            lines = _lines(path, text)
            heap, ids, operations, weight = (_header_integer(path, lines, name) for name in _HEADER)
            with TraceWriter(out, command=[], source="rep") as writer:
                events = _events(path, lines, ids, operations)
                while rows := list(islice(events, CHUNK_EVENTS)):
                    writer.append(_chunk(rows))
                return writer.close({"suggested_heap_bytes": heap, "weight": weight})
    except OSError as error:
        raise BadInput(f"{path}: cannot read the trace: {error.strerror}") from None


def _lines(path: Path, text: BinaryIO) -> Iterator[_Line]:
    for number, raw in enumerate(iter(lambda: text.readline(_LINE_BYTES), b""), 1):
        line = _Line(path, number, raw.decode("ascii", "replace").split())
        if len(raw) == _LINE_BYTES and not raw.endswith(b"\n"):
            line.bad(f"longer than {_LINE_BYTES} bytes")
        if line.fields:
            yield line


def _header_integer(path: Path, lines: Iterator[_Line], name: str) -> int:
    line = next(lines, None)
    if line is None:
        raise BadInput(f"{path}: ends before the {name}")
    if len(line.fields) != 1:
        line.bad(f"{name}: expected one number, got {len(line.fields)} fields")
    return line.integer(0, name)


def _events(path: Path, lines: Iterator[_Line], ids: int, operations: int) -> Iterator[tuple[int, int, int]]:
    """Yield (operation, block, size) of each line; the block number freed last is reused first."""
    live: dict[int, int] = {}  # id -> block number
    free: list[int] = []
    done = 0
    for done, line in enumerate(lines, 1):
        if done > operations:
            line.bad(f"more operations than the {operations} that the header says")
        letter, name, size = _operation(line, ids)
        if letter == "a":
            if name in live:
                line.bad(f"allocation of id {name}, which is live")
            live[name] = free.pop() if free else len(live)
            yield Op.MALLOC, live[name], size
        elif name not in live:
            line.bad(f"{'free' if letter == 'f' else 'realloc'} of id {name}, which is not live")
        elif letter == "r" and size:
            yield Op.REALLOC, live[name], size
        else:
            free.append(live.pop(name))
            yield Op.FREE, free[-1], 0
    if done < operations:
        raise BadInput(f"{path}: ends after {done} operations; the header says {operations}")


def _operation(line: _Line, ids: int) -> tuple[str, int, int]:
    """Return (letter, id, size or 0) of a line."""
    letter = line.fields[0]
    if letter not in _FIELDS:
        line.bad(f"unknown operation {letter!r}; expected a, r or f")
    if len(line.fields) != _FIELDS[letter]:
        line.bad(f"expected {_FIELDS[letter]} fields, got {len(line.fields)}")
    name = line.integer(1, "id")
    if name >= ids:
        line.bad(f"id {name}: the header says {ids} ids, from 0")
    return letter, name, line.integer(2, "size") if letter != "f" else 0


def _chunk(rows: list[tuple[int, int, int]]) -> Chunk:
    op, block, size = np.array(rows, np.int64).T
    zeros = np.zeros(len(rows), np.int64)
    return Chunk.of(op, zeros, block, size, zeros, zeros)
