"""bytehound's files, with events of its versions up to 0.11."""

import re
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from heapsmith.model.trace.imports import stacked
from heapsmith.model.trace.imports.binary import scan, state_of
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.bytehound_events import (
    ADDRESS,
    FRAME,
    HEADER_BYTES,
    STRING,
    Bytehound,
    fast_take,
    take,
)
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.mappings import Mapped
from heapsmith.model.trace.imports.source import Source, first_line, lz4
from heapsmith.model.trace.imports.stacked import (
    with_sites,
)
from heapsmith.model.trace.stacks import CallTree

__all__ = ["FORMAT", "fast_take", "read", "take"]

_PACKED, _PLAIN = 1, 2
_BLOCK_BYTES = 1 << 20  # bytehound packs 512 KiB at a time
_OWN = ("libbytehound", "libmemory_profiler")
_MAPPING = re.compile(rb"(?m)(?:^|\0)([0-9a-f]{1,15})-([0-9a-f]{1,15}) ..x. ([0-9a-f]{1,15}) \S+ \d+ +(/.*)$")
"""Of /proc/self/maps: begin, end, offset in the file and path of code."""


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the file."""
    blocks = _blocks(source)
    first = next(blocks, b"")
    about.command = _command(source, first)
    reader = _Reader(about)
    about.tree = reader.tree
    state, pieces = reader.state, chain((first,), blocks)
    for calls in scan(source, state, reader.take, lambda: next(pieces, b""), marked=False):
        yield with_sites(state, calls)
    if state.sums:
        about.inexact.append(f"short-lived blocks of {state.sums:,} call stacks are missing: bytehound left only sums")


class _Reader:
    """The state, the files that were mapped, and what `bytehound postprocess` says of frames."""

    def __init__(self, about: About) -> None:
        self.about = about
        scalars = state_of("sums", "backtraces", "decodes", *stacked.SCALARS)
        self.state = Bytehound(**scalars, **stacked.tables(Bytehound), decoded=np.zeros(1 << 12, np.int64))
        self.mapped: list[Mapped] = []  # in the order in which they came
        self.strings: dict[int, str] = {}
        self.functions: dict[int, str | None] = {}  # by address

    def take(self, state: Bytehound) -> None:
        """Take events."""
        stacked.drive(state, fast_take, self._other)

    def _other(self, record: bytes) -> None:
        """Take an event that the kernel leaves."""
        kind = int.from_bytes(record[:4], "little")
        if kind == STRING:
            self.strings[int.from_bytes(record[4:8], "little")] = record[12:].decode("utf-8", "backslashreplace")
        elif kind == FRAME:
            self._frame(*struct.unpack("<QIIIIIIB", record[4:]))
        else:
            found = [Mapped.of(*one.groups()) for one in _MAPPING.finditer(record)]
            self.mapped = [one for one in self.mapped if one not in found] + found

    def _frame(self, address: int, library: int, raw: int, function: int, *place: int) -> None:
        """Keep a decoded frame, with the function at its address."""
        state, is_inlined = self.state, place[-1]
        if state.decodes == state.decoded.size:
            state.decoded = np.concatenate((state.decoded, state.decoded))
        state.decoded[state.decodes] = -1 if is_inlined else address & ADDRESS
        state.decodes += 1
        if not is_inlined:
            self.functions[address & ADDRESS] = self.strings.get(function, self.strings.get(raw))

    def tree(self) -> CallTree:
        """Return the stacks of the sites. Where a file is missing, the names of decoded frames are kept."""
        mapped = [one for one in self.mapped if not self.functions or Path(one.path).exists()]
        tree = stacked.tree(self.state, mapped, own=_OWN)
        if found := stacked.named_code(tree, self.functions.get):
            self.about.extra["perf_map"] = found
        return tree


def _blocks(source: Source) -> Iterator[bytes]:
    """Yield the content of the blocks of the file: 1 and LZ4, or 2 and plain bytes."""
    block, number = lz4().block, 0
    while head := source.read(5):
        number += 1
        kind, left = head[0], int.from_bytes(head[1:], "little")
        if kind not in (_PACKED, _PLAIN) or (kind == _PACKED and left > _BLOCK_BYTES):
            source.bad(f"block {number}", "expected a block as bytehound writes it")
        while left or len(head) < 5:
            data = source.read(min(left, _BLOCK_BYTES))
            left -= len(data)
            if not data:
                source.bad(f"block {number}", "the file is cut off within it")
            if kind == _PACKED:
                try:
                    data = block.decompress(data, uncompressed_size=_BLOCK_BYTES)
                except block.LZ4BlockError as error:
                    source.bad(f"block {number}", f"cannot be unpacked: {first_line(error)}")
            if data:
                yield data


def _command(source: Source, first: bytes) -> list[str]:
    """Return the command of the program, from the header in the first block."""
    begin = 4 + HEADER_BYTES + 4
    size = int.from_bytes(first[begin - 4 : begin], "little")
    command = first[begin : begin + size]
    if len(first) < begin + size or first[:4] != bytes(4):
        source.bad("its header", "expected a file of bytehound")
    return command.decode("utf-8", "backslashreplace").rstrip("\0").split("\0")


FORMAT = Format(
    name="bytehound",
    what="bytehound's file",
    # a block that begins with as many literal bytes at least as the number of the header
    recognises=lambda head: (
        re.match(rb"(?s)(?:\x01....(?:[\x40-\xef]|[\xf0-\xff]\xff*[\0-\xfe])|\x02....)\0\0\0\0", head) is not None
    ),
    read=read,
    inexact=("aligned allocations are malloc",),
    record="record",
)
