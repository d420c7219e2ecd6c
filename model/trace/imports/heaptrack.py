"""heaptrack's files, raw and interpreted."""

import re
from collections.abc import Iterator

import numpy as np

from heapsmith.model.compile.kernel import Ints, compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import stacked
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import NO_THREADS, About, Format
from heapsmith.model.trace.imports.lines import Row
from heapsmith.model.trace.imports.mappings import Mapped
from heapsmith.model.trace.imports.source import Source, shown
from heapsmith.model.trace.imports.stacked import Stacked, add_frame, has_room, make_room, site_of, with_sites
from heapsmith.model.trace.imports.text import (
    NEWLINE,
    SPACE,
    begins,
    columns,
    hexadecimal,
    keeps,
    passes,
    put,
    scan,
    skip_line,
)
from heapsmith.model.trace.stacks import CallTree

_VERSIONS = range(4)
_NS_PER_MS = 10**6
_MOST_MS = 1 << 40
MALLOC, FREE = int(Op.MALLOC), int(Op.FREE)
BIRTH, DEATH, PAIR, CLOCK, FRAME, PROGRAM, FILE, MODULE = b"+-actXxm"  # the first letters of lines
SYSTEM, RESIDENT, ATTACHED, SUPPRESSION, STRING, ADDRESS, COMMENT = b"IRASsi#"
"""Those of lines that tell of no block and no frame, as heaptrack's libheaptrack.cpp and interpret write them."""
_NOISE = frozenset((SYSTEM, RESIDENT, ATTACHED, SUPPRESSION, STRING, ADDRESS, COMMENT))
_FIRST_ROOM = 1 << 12
_NAMED = re.compile(rb"[xm] ([0-9a-f]{1,4}) (.*)")
_HEX = re.compile(rb"[0-9a-f]{1,15}")


class _Heaptrack(Stacked):
    """What the lines before told; in an interpreted file a block is known by the size and stack that it shares.

    The live blocks of a pair of size and stack are a stack, linked by `below`.
    """

    sizes: Ints  # of the pairs
    tops: Ints  # the youngest live block of each pair, counted from 1, or 0
    below: Ints  # of each block the next one of its pair, or of the spare blocks


@hit_path
def push(state: _Heaptrack, pair: int) -> int:
    """A block of this pair is born; return its name. `below` has room."""
    block = state.spare
    if block != 0:
        state.spare = int(state.below[block])
    else:
        state.blocks += 1
        block = state.blocks
    state.below[block] = state.tops[pair]
    state.tops[pair] = block
    return block


@hit_path
def pop(state: _Heaptrack, pair: int) -> int:
    """The youngest block of this pair, which has one, dies; return its name."""
    block = int(state.tops[pair])
    state.tops[pair] = state.below[block]
    state.frees += 1
    if state.tops[pair] != 0:
        state.ambiguous += 1
    state.below[block] = state.spare
    state.spare = block
    return block


@hit_path
def frame(state: _Heaptrack) -> int:
    """Take `t address frame`; return 0 if it is another line or there is no room."""
    address = hexadecimal(state)
    if address < 0 or not passes(state, SPACE):
        return 0
    outer = hexadecimal(state)
    if outer < 0 or outer > state.frames or not passes(state, NEWLINE) or not has_room(state, 1):
        return 0
    add_frame(state, address, outer)
    return 1


@hit_path
def birth(state: _Heaptrack) -> int:
    """Take `+ size stack pointer`, or `+ pair`; return 0 if it is neither."""
    size = hexadecimal(state)
    if size < 0:
        return 0
    if passes(state, NEWLINE):
        if size >= state.pairs or state.blocks + 1 >= state.below.size:
            return 0
        state.site[state.calls] = 0
        put(state, MALLOC, 0, 0, push(state, size), int(state.sizes[size]))
        return 1
    if not passes(state, SPACE):
        return 0
    innermost = hexadecimal(state)
    if innermost < 0 or not passes(state, SPACE):
        return 0
    pointer = hexadecimal(state)
    if pointer < 0 or not passes(state, NEWLINE):
        return 0
    state.site[state.calls] = site_of(state, innermost) if pointer > 0 else 0
    put(state, MALLOC, 0, 0, pointer, size)
    return 1


@hit_path
def death(state: _Heaptrack) -> int:
    """Take `- pointer`, or in an interpreted file `- pair`; return 0 if it is neither."""
    block = hexadecimal(state)
    if block < 0 or not passes(state, NEWLINE):
        return 0
    if state.pairs > 0:
        if block >= state.pairs or state.tops[block] == 0:
            return 0
        block = pop(state, block)
    state.site[state.calls] = 0
    put(state, FREE, 0, block, 0, 0)
    return 1


@hit_path
def pair(state: _Heaptrack) -> int:
    """Take `a size stack`; return 0 if it is another line or there is no room."""
    size = hexadecimal(state)
    if size < 0 or not passes(state, SPACE) or hexadecimal(state) < 0 or not passes(state, NEWLINE):
        return 0
    if state.pairs >= state.sizes.size:
        return 0
    state.sizes[state.pairs], state.tops[state.pairs] = size, 0
    state.pairs += 1
    return 1


@hit_path
def clock(state: _Heaptrack) -> int:
    """Take `c milliseconds`; return 0 if it is another line."""
    time = hexadecimal(state)
    if time < 0 or time > _MOST_MS or not passes(state, NEWLINE):
        return 0
    state.time_ns = time * _NS_PER_MS
    return 1


@kernel
def one_line(state: _Heaptrack) -> int:
    """Take the next line; return 0 if it is not a usual one."""
    letter = int(state.data[state.at])
    if letter in (SYSTEM, RESIDENT, ATTACHED, SUPPRESSION, STRING, ADDRESS, COMMENT) and state.has_version:
        return skip_line(state)
    if letter not in (BIRTH, DEATH, PAIR, CLOCK, FRAME) or not state.has_version:
        return 0
    state.at += 1
    if not passes(state, SPACE):
        return 0
    if letter == BIRTH:
        return birth(state)
    if letter == DEATH:
        return death(state)
    if letter == FRAME:
        return frame(state)
    return pair(state) if letter == PAIR else clock(state)


@kernel
def take(state: _Heaptrack) -> None:
    """Take usual lines (text.scan)."""
    while begins(state) and keeps(state, one_line(state)):
        pass


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the file."""
    reader = _Reader(source, about)
    for calls in scan(source, reader.state, fast_take, reader.line):
        if reader.state.pairs == 0 and reader.state.frames > 0:
            about.tree = reader.tree
        yield with_sites(reader.state, calls)
    if reader.state.ambiguous:
        share = f"{reader.state.ambiguous / reader.state.frees:.1%} of the frees"
        about.inexact.append(f"{share} may be of another live block of the same size and stack")


class _Reader:
    """Reads lines of all kinds, by their first letter; the kernels read most of them."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        tables = {name: np.zeros(_FIRST_ROOM, np.int64) for name in ("sizes", "tops", "below")}
        scalars = columns("has_version", "pairs", "blocks", "spare", "frees", "ambiguous", *stacked.SCALARS)
        self.state = _Heaptrack(**scalars, **tables, **stacked.tables(_Heaptrack))
        self.program = ""
        self.mapped: dict[Mapped, None] = {}  # in the order in which they came

    def line(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one."""
        state = self.state
        state.site[state.calls] = 0
        kind, *fields = text.split()
        if not state.has_version:
            self._check_version(line, kind, fields)
        elif kind == b"+":
            new, size = self._birth(line, fields)
            return Op.MALLOC, 0, 0, new, size, 0, state.time_ns, line
        elif kind == b"-":
            return Op.FREE, 0, self._death(line, fields), 0, 0, 0, state.time_ns, line
        elif kind == b"a":
            size = self._numbers(line, fields, 2)[0]
            if state.pairs == state.sizes.size:
                state.sizes, state.tops = _twice(state.sizes), _twice(state.tops)
            state.sizes[state.pairs] = size
            state.pairs += 1
        elif kind == b"c":
            state.time_ns = self.source.product(line, self._numbers(line, fields, 1)[0], _NS_PER_MS)
        elif kind == b"t":
            self._frame(line, fields)
        elif kind == b"x" or kind == b"m":
            self._file(kind, text)
        elif kind == b"X":
            self.about.command = text[2:].decode("utf-8", "backslashreplace").split()
        elif text[0] not in _NOISE:
            self.source.bad(f"line {line}", f"expected a line of heaptrack, got {shown(text)}")
        return None

    def _check_version(self, line: int, kind: bytes, fields: list[bytes]) -> None:
        is_head = kind == b"v" and len(fields) > 0
        version = self.source.integer(line, fields[1], "version of the file", 16) if is_head and len(fields) > 1 else 0
        if not is_head or version not in _VERSIONS:
            self.source.bad(f"line {line}", f"expected a file of heaptrack of version 0 to {_VERSIONS[-1]}")
        self.state.has_version = 1

    def _numbers(self, line: int, fields: list[bytes], count: int) -> list[int]:
        if len(fields) < count:
            self.source.bad(f"line {line}", f"expected {count} numbers, got {len(fields)}")
        return [self.source.integer(line, field, "number", 16) for field in fields[:count]]

    def _birth(self, line: int, fields: list[bytes]) -> tuple[int, int]:
        """Return the name and the size of the new block: from size, stack and pointer, or from a pair's index."""
        if len(fields) != 1:
            size, innermost, pointer = self._numbers(line, fields, 3)
            self.state.site[self.state.calls] = site_of(self.state, innermost) if pointer else 0
            return pointer, size
        index = self._pair(line, fields)
        if self.state.blocks + 1 >= self.state.below.size:
            self.state.below = _twice(self.state.below)
        return push(self.state, index), int(self.state.sizes[index])

    def _death(self, line: int, fields: list[bytes]) -> int:
        """Return the name of the block: its pointer, or the youngest block of a pair."""
        if not self.state.pairs:
            return self._numbers(line, fields, 1)[0]
        index = self._pair(line, fields)
        if self.state.tops[index] == 0:
            self.source.bad(f"line {line}", f"expected a pair that has a live block, got {shown(fields[0])}")
        return pop(self.state, index)

    def _pair(self, line: int, fields: list[bytes]) -> int:
        (index,) = self._numbers(line, fields, 1)
        if index >= self.state.pairs:
            self.source.bad(f"line {line}", f"pair {index}: the file has {self.state.pairs} so far, from 0")
        return index

    def _frame(self, line: int, fields: list[bytes]) -> None:
        """Keep a frame of the stacks."""
        state = self.state
        address, outer = self._numbers(line, fields, 2)
        if outer > state.frames:
            self.source.bad(f"line {line}", f"frame {outer}: the file has {state.frames} so far, from 1")
        if not has_room(state, 1):
            make_room(state)
        add_frame(state, address, outer)

    def _file(self, kind: bytes, text: bytes) -> None:
        """Keep the name of the program, or a file that was mapped: its length, name, base and ranges."""
        found = _NAMED.fullmatch(text)
        size = int(found[1], 16) if found else 0
        if found is None or len(found[2]) < size:
            return
        name, numbers = found[2][:size].decode("utf-8", "backslashreplace"), found[2][size:].split()
        if kind == b"x":
            self.program = name
        elif len(numbers) % 2 and all(map(_HEX.fullmatch, numbers)):
            base, *rest = (int(number, 16) for number in numbers)
            self.mapped[
                Mapped(self.program if name == "x" else name, base, tuple(zip(rest[::2], rest[1::2], strict=True)))
            ] = None

    def tree(self) -> CallTree:
        """Return the stacks of the sites."""
        return stacked.tree(self.state, self.mapped)


def _twice(table: Ints) -> Ints:
    """Return a table with twice the room."""
    return np.concatenate((table, np.zeros_like(table)))


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
