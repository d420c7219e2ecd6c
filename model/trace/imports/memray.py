"""memray's files with all allocations, of versions 12 and 13 of its format."""

import io
from collections.abc import Iterator

import numpy as np

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import python_stacks, stacked
from heapsmith.model.trace.imports.binary import pieces, scan, state_of
from heapsmith.model.trace.imports.builder import MAX, Calls
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.mappings import Mapped
from heapsmith.model.trace.imports.memray_records import (
    CODE,
    MOST_ADDRESS,
    NONE,
    OTHER,
    RECENT,
    SCALARS,
    Memray,
    fast_take,
    take,
)
from heapsmith.model.trace.imports.python_code import Code
from heapsmith.model.trace.imports.python_stacks import PLACES, PYTHON
from heapsmith.model.trace.imports.source import LINE_BYTES, Source
from heapsmith.model.trace.imports.stacked import name_of, with_sites
from heapsmith.model.trace.stacks import CallTree

__all__ = ["FORMAT", "fast_take", "read", "take"]

_MAGIC = b"memray\0"
_VERSIONS = (12, 13)  # memray 1.19 and 1.20
_PATHS_SINCE = 13  # the header ends with the paths of modules
_ALLOCATORS = range(1, 16)
_OPS = {5: Op.FREE, 6: Op.MALLOC, 7: Op.MALLOC, 8: Op.CALLOC, **dict.fromkeys(range(9, 14), Op.ALIGNED)}
"""The operation of an allocator; the others are mmap and Python's own, whose memory malloc gave."""


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the file."""
    reader = _Reader(source, about)
    state, about.tree = reader.state, reader.tree
    for calls in scan(source, state, reader.take, pieces(source), marked=True):
        yield with_sites(state, calls)
    if state.passed:
        about.inexact.append(f"{state.passed:,} records of mmap and of Python's own allocator were passed over")


class _Reader:
    """The state, the code of Python's functions, and the files that were mapped into a process with native stacks."""

    def __init__(self, source: Source, about: About) -> None:
        self.about = about
        ops = np.full(256, NONE, np.int64)
        for allocator in _ALLOCATORS:
            ops[allocator] = _OPS.get(allocator, OTHER)
        recent = np.zeros(RECENT, np.int64)
        self.state = Memray(**state_of(*SCALARS), **stacked.tables(Memray), ops=ops, recent=recent)
        self.mapped: dict[Mapped, None] = {}  # in the order in which they came
        self.codes: dict[int, Code] = {}
        self.first_line = 0
        self.version = self._header(source)
        self.state.here = name_of(self.state, 0)

    def _header(self, source: Source) -> int:
        """Take the command of the program, and whether records name native stacks; return the version of Python."""
        magic, version = source.read(len(_MAGIC)), _number(source, 4)
        if magic != _MAGIC or version not in _VERSIONS:
            known = " or ".join(map(str, _VERSIONS))
            source.bad("its header", f"expected a file of memray of version {known} (memray 1.19 or 1.20)")
        python = _number(source, 4)
        self.state.has_native, has_sums = _number(source, 1), _number(source, 1)
        if has_sums:
            source.bad("its header", "a file of `memray run --aggregate` has sums, not single allocations")
        source.read(32)  # how many allocations and frames, the times of begin and end
        self.about.command = _string(source).decode("utf-8", "backslashreplace").split()
        source.read(4)  # process
        self.state.main, self.state.hides = _number(source, 8) & MAX, _number(source, 8) & MAX
        source.read(3)  # allocator, and what else was asked for
        if version >= _PATHS_SINCE:
            _string(source)
            for _ in range(2):
                while _string(source):
                    pass
        return python

    def take(self, state: Memray) -> None:
        """Take records."""
        stacked.drive(state, fast_take, self._other)

    def _other(self, record: bytes) -> None:
        """Take a record that the kernel leaves: a function of Python, or a file that was mapped with its segments."""
        data = io.BytesIO(record)
        if data.read(1)[0] == CODE:
            number, function, file, folded = _varint(data), _text(data), _text(data), _varint(data)
            self.first_line += folded >> 1 ^ -(folded & 1)
            self.codes[number] = Code(function, file, self.first_line, data.read(_varint(data)))
            return
        path, count, base = _text(data), _varint(data), _number(data, 8)
        ranges = tuple((data.read(1), _number(data, 8), _varint(data))[1:] for _ in range(count))
        if max(base, *(first + size for first, size in ranges), 0) < MOST_ADDRESS:
            self.mapped[Mapped(path, base, ranges)] = None

    def tree(self) -> CallTree:
        """Return the stacks of the sites; the names of Python's functions are of code that the program generated."""
        tree = python_stacks.tree(self.state, self.mapped)
        self.about.extra["perf_map"] = stacked.named_code(tree, self._name)
        return tree

    def _name(self, address: int) -> str | None:
        """Return the name of a place in a function of Python."""
        code = self.codes.get((address & ~PYTHON) >> PLACES) if address >= PYTHON else None
        return code.name((address & (1 << PLACES) - 1) - 1, self.version) if code else None


def _varint(data: io.BytesIO) -> int:
    """Return a number in groups of 7 bits, the lowest first."""
    value = shift = 0
    while byte := data.read(1):
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            break
    return value


def _text(data: io.BytesIO) -> str:
    """Return the text before the next 0."""
    text = b"".join(iter(lambda: data.read(1), b"\0"))
    return text.decode("utf-8", "backslashreplace")


def _number(source: Source | io.BytesIO, count: int) -> int:
    return int.from_bytes(source.read(count), "little")


def _string(source: Source) -> bytes:
    """Return the bytes before the next 0."""
    text = bytearray()
    while (byte := source.read(1)) != b"\0":
        text += byte
        if not byte or len(text) > LINE_BYTES:
            source.bad("its header", "it is damaged, or the file is cut off")
    return bytes(text)


FORMAT = Format(
    name="memray",
    what="memray's file with all allocations",
    recognises=lambda head: head.startswith(_MAGIC),
    read=read,
    inexact=(
        "times advance in steps of memray's interval",
        "a realloc is a free and a malloc",
        "alignments are not known",
    ),
    record="record",
)
