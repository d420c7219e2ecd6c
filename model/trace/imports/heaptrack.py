"""heaptrack's files, raw and interpreted."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, batches
from heapsmith.model.trace.imports.format import NO_THREADS, About, Format
from heapsmith.model.trace.imports.source import Source, shown

_VERSIONS = range(4)
_NS_PER_MS = 10**6


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the file."""
    return batches(_Reader(source, about).rows())


class _Reader:
    """The state of reading; in an interpreted file a block is known by the size and stack that it shares."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.sizes: list[int] = []  # of the pairs of size and stack, interpreted files only
        self.live: dict[int, list[int]] = {}  # the blocks of each pair
        self.born = 0
        self.frees = 0
        self.ambiguous = 0
        self.time_ns = 0

    def rows(self) -> Iterator[tuple[int, ...]]:
        """Yield the calls; after the first line, a line's first letter says what it is."""
        for line, text in self.source.lines():
            kind, *fields = text.split()
            if line == 1:
                self._check_version(kind, fields)
            elif kind == b"+":
                new, size = self._birth(line, fields)
                yield Op.MALLOC, 0, 0, new, size, 0, self.time_ns, line
            elif kind == b"-":
                yield Op.FREE, 0, self._death(line, fields), 0, 0, 0, self.time_ns, line
            elif kind == b"a":
                self.sizes.append(self._numbers(line, fields, 2)[0])
            elif kind == b"c":
                self.time_ns = self.source.product(line, self._numbers(line, fields, 1)[0], _NS_PER_MS)
            elif kind == b"X":
                self.about.command = text[2:].decode("utf-8", "backslashreplace").split()
        if self.ambiguous:
            share = f"{self.ambiguous / self.frees:.1%} of the frees"
            self.about.inexact.append(f"{share} may be of another live block of the same size and stack")

    def _check_version(self, kind: bytes, fields: list[bytes]) -> None:
        version = self.source.integer(1, fields[1], "version of the file", 16) if len(fields) > 1 else 0
        if kind != b"v" or version not in _VERSIONS:
            self.source.bad("line 1", f"expected a file of heaptrack of version 0 to {_VERSIONS[-1]}")

    def _numbers(self, line: int, fields: list[bytes], count: int) -> list[int]:
        if len(fields) < count:
            self.source.bad(f"line {line}", f"expected {count} numbers, got {len(fields)}")
        numbers = [self.source.integer(line, field, "number", 16) for field in fields[:count]]
        return numbers

    def _birth(self, line: int, fields: list[bytes]) -> tuple[int, int]:
        """Return the name and the size of the new block: from size, stack and pointer, or from a pair's index."""
        if len(fields) != 1:
            size, _, pointer = self._numbers(line, fields, 3)
            return pointer, size
        index = self._pair(line, fields)
        self.born += 1
        self.live.setdefault(index, []).append(self.born)
        return self.born, self.sizes[index]

    def _death(self, line: int, fields: list[bytes]) -> int:
        """Return the name of the block: its pointer, or the youngest block of a pair."""
        if not self.sizes:
            return self._numbers(line, fields, 1)[0]
        blocks = self.live.get(self._pair(line, fields), [])
        if not blocks:
            self.source.bad(f"line {line}", f"expected a pair that has a live block, got {shown(fields[0])}")
        self.frees += 1
        self.ambiguous += len(blocks) > 1
        return blocks.pop()

    def _pair(self, line: int, fields: list[bytes]) -> int:
        (index,) = self._numbers(line, fields, 1)
        if index >= len(self.sizes):
            self.source.bad(f"line {line}", f"pair {index}: the file has {len(self.sizes)} so far, from 0")
        return index


FORMAT = Format(
    name="heaptrack",
    what="heaptrack's file, raw or interpreted",
    recognises=lambda head: re.match(rb"v [0-9a-f]{5}( [0-9a-f])?\n", head) is not None,
    read=read,
    inexact=(
        NO_THREADS,
        "times advance in steps of heaptrack's timer",
        "calloc and aligned allocations are malloc, a realloc is a free and a malloc",
    ),
)
