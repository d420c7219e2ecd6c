"""Functions of Python as their code objects describe them: which line an instruction belongs to."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

_LOCATIONS, _LINES = 0x030B0000, 0x030A0000  # the versions of Python since which a table has locations, or lines
_END = 1 << 62  # above all places: older tables leave the end of the code to the last line
_NO_LINE = -128  # a difference in a table of lines
_LONG, _NO_COLUMNS, _ONE_LINE, _NONE = 14, 13, range(10, 13), 15
"""Kinds of entries in a table of locations; the others are short and stay in the line (CPython, locations.md)."""


class Code(NamedTuple):
    """A code object: its function, file and first line, and the table of its lines."""

    function: str
    file: str
    first_line: int
    table: bytes

    def line(self, place: int, version: int) -> int:
        """Return the line of the instruction at a place, as `version` of Python counts places; 0 if it has none."""
        ends, lines = _lines(self, version)
        at = bisect_right(ends, place)
        return lines[at] if at < len(ends) else 0

    def name(self, place: int, version: int) -> str:
        """Return the name of the instruction: py::FUNCTION:FILE, as CPython names its functions, and :LINE."""
        return python_name(self.function, self.file, self.line(place, version) if place >= 0 and self.table else 0)


def python_name(function: str, file: str, line: int) -> str:
    """Return the name of a place in a function of Python; line: 0 or less if it has none."""
    return f"py::{function}:{file}" + (f":{line}" if line > 0 else "")


@lru_cache(maxsize=1)
def _lines(code: Code, version: int) -> tuple[list[int], list[int]]:
    """Return the place behind each entry of a table, and the line of the entry."""
    ends, lines, line = [], [], code.first_line
    with suppress(IndexError):  # a table that ends within an entry
        for end, step in _entries(code.table, version):
            line += step
            ends.append(end)
            lines.append(line)
    return ends, lines


def _entries(table: bytes, version: int) -> Iterator[tuple[int, int]]:
    """Yield the entries of a table: the place behind it, and the lines from the entry before it to this one."""
    if version >= _LOCATIONS:
        yield from _locations(table)
    elif version >= _LINES:  # places are counted in instructions of 2 bytes
        end = 0
        for at in range(0, len(table), 2):
            end += table[at]
            step = _signed(table[at + 1])
            yield (end + 1) // 2, 0 if step == _NO_LINE else step
        yield _END, 0
    else:  # an entry says by how much the line rises behind it
        end, step = 0, 0
        for at in range(0, len(table), 2):
            end += table[at]
            yield end, step
            step = _signed(table[at + 1])
        yield _END, step


def _locations(table: bytes) -> Iterator[tuple[int, int]]:
    """Yield the same of a table of locations."""
    at = end = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = table[at]
            at += 1
            value |= (byte & 63) << shift
            shift += 6
            if not byte & 64:
                return value

    while at < len(table):
        kind, step = table[at] >> 3 & 15, 0
        end += 2 * ((table[at] & 7) + 1)
        at += 1
        if kind in (_LONG, _NO_COLUMNS):
            folded = varint()
            step = -(folded >> 1) if folded & 1 else folded >> 1
        if kind == _LONG:
            for _ in range(3):  # the last line, and columns
                varint()
        elif kind in _ONE_LINE:
            step = kind - _ONE_LINE.start
            at += 2
        elif kind < _ONE_LINE.start:
            at += 1
        yield end, step


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte
