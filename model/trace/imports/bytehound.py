"""bytehound's files, with events of its versions up to 0.11."""

import re
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from heapsmith.model.compile.kernel import Ints, compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import stacked
from heapsmith.model.trace.imports.binary import little, part, pass_over, scan, state_of, whole
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.mappings import Mapped
from heapsmith.model.trace.imports.source import Source, first_line, lz4
from heapsmith.model.trace.imports.stacked import (
    Stacked,
    frame_named,
    frame_of,
    lacks_room,
    leave,
    name_of,
    site_of,
    with_sites,
)
from heapsmith.model.trace.imports.text import begins, keeps, put
from heapsmith.model.trace.stacks import CallTree

_PACKED, _PLAIN = 1, 2
_BLOCK_BYTES = 1 << 20  # bytehound packs 512 KiB at a time
_NS_PER_US = 1000
_MOST_US = 1 << 53
_HEADER_BYTES = 16 + 4 * 8 + 4  # before the command: id, times, process
_ADDRESS = (1 << 63) - 1
_OWN = ("libbytehound", "libmemory_profiler")
_MAPPING = re.compile(rb"(?m)(?:^|\0)([0-9a-f]{1,15})-([0-9a-f]{1,15}) ..x. ([0-9a-f]{1,15}) \S+ \d+ +(/.*)$")
"""Of /proc/self/maps: begin, end, offset in the file and path of code."""

HEADER, ALLOC, REALLOC, FREE, FILE, BACKTRACE, MEMORY_DUMP, MARKER, MEMORY_MAP, MEMORY_UNMAP = range(10)
MALLOPT, ENVIRON, WALL_CLOCK, PARTIAL_BACKTRACE, STRING, FRAME, DECODED_BACKTRACE, SUMS = range(10, 18)
PARTIAL_BACKTRACE_32, BACKTRACE_32, ALLOC_EX, REALLOC_EX, FREE_EX, FILE_64 = range(18, 24)
ADD_REGION, REMOVE_REGION, REGION_USAGE, MEMORY_MAP_EX = range(24, 28)
"""The kinds of events by their numbers."""
IS_CALLOC = 1 << 31  # of an allocation's flags
MALLOC_OP, CALLOC_OP, REALLOC_OP, FREE_OP = (int(op) for op in (Op.MALLOC, Op.CALLOC, Op.REALLOC, Op.FREE))
ALLOCATIONS = 38  # bits of an allocation's number among those of its thread
NUMBERED = 1 << 62  # names with it are numbers of blocks, others their pointers
BACKTRACES = 1 << 61  # numbers of backtraces are below it; others stand for none
ALL = 0xFFFFFFFF  # frames of the last stack are dropped
FRAME_BYTES = 33
MOST_BYTES = 1 << 24  # of a stack and of maps
PROC_S, ELF_MAPS = int.from_bytes(b"/proc/s", "little"), int.from_bytes(b"elf/maps", "little")


class _Bytehound(Stacked):
    """What the events before told. Names stand for the stacks of backtraces, and for the last one of each thread."""

    decoded: Ints  # of each decoded frame its address, or -1 if it was inlined: the next one has its address


@hit_path
def block_of(state: _Bytehound, thread: int, number: int, pointer: int) -> int:
    """What a block is called: by the number that newer files give each block, or by its pointer."""
    if (thread == 0 and number == 0) or (thread == -1 and number == -1):
        return pointer
    return NUMBERED | (thread & 0xFFFFFF) << ALLOCATIONS | number & (1 << ALLOCATIONS) - 1


@hit_path
def event(state: _Bytehound, kind: int) -> int:
    """Take an allocation, a realloc or a free; return 0 if it is none or not whole."""
    thread, number = 0, 0
    if kind >= ALLOC_EX:
        thread, number = little(state, 8), little(state, 8)
        kind -= ALLOC_EX - ALLOC
    time_us = little(state, 8)
    old = little(state, 8) if kind == REALLOC else 0
    pointer = little(state, 8)
    size = 0 if kind == FREE else little(state, 8)
    backtrace = little(state, 8)
    tid = little(state, 4)
    is_calloc = 0
    if kind != FREE:
        is_calloc = little(state, 4) & IS_CALLOC
        state.at += 4 + 8  # free space behind the block and before it
    if state.at > state.end or pointer < 0 or old < 0 or size < 0 or time_us < 0 or time_us > _MOST_US:
        return 0
    state.time_ns = time_us * _NS_PER_US
    has_stack = kind != FREE and pointer > 0 and 0 <= backtrace < BACKTRACES
    state.site[state.calls] = site_of(state, frame_named(state, 2 * backtrace)) if has_stack else 0
    name = block_of(state, thread, number, pointer)
    if kind == FREE:
        put(state, FREE_OP, tid, name, 0, 0)
    elif kind == REALLOC:
        put(state, REALLOC_OP, tid, block_of(state, thread, number, old), name, size)
    else:
        put(state, CALLOC_OP if is_calloc else MALLOC_OP, tid, 0, name, size)
    return 1


@hit_path
def array(state: _Bytehound, before: int, width: int) -> int:
    """Take `before` bytes, and a number of items of `width` bytes; return 0 if there are too many."""
    state.at += before
    return pass_over(state, little(state, 4) * width)


@hit_path
def texts(state: _Bytehound, count: int) -> int:
    """Take texts, each behind its size; return 0 if one is too long."""
    for _ in range(count):
        if not part(state, little(state, 4)):
            return 0
    return 1


@kernel
def file(state: _Bytehound, kind: int) -> int:
    """Take the content of a file, or leave that of /proc/self/maps to Python; return 0 if it is too long."""
    state.at += 8
    size = little(state, 4)
    begin = state.at
    is_maps = size == 15 and little(state, 7) == PROC_S and little(state, 8) == ELF_MAPS
    state.at = begin
    if not part(state, size):
        return 0
    size = little(state, 4 if kind == FILE else 8)
    if not is_maps or size < 0 or size > MOST_BYTES:
        return pass_over(state, size)
    state.at += size
    return leave(state)


@kernel
def backtrace(state: _Bytehound, kind: int) -> int:
    """Take a stack: its addresses, the innermost first, and all but some of its thread's last one; 0 if it is none."""
    number = state.backtraces
    if kind != DECODED_BACKTRACE:
        number = little(state, 8)
    is_part = kind in (PARTIAL_BACKTRACE, PARTIAL_BACKTRACE_32)
    thread = 2 * little(state, 4) + 1 if is_part else 0
    dropped = little(state, 4) if is_part else ALL
    count, width = little(state, 4), 8 if kind in (BACKTRACE, PARTIAL_BACKTRACE) else 4
    begin = state.at
    if count * width > MOST_BYTES:
        return 0
    state.at += count * width
    if state.at > state.end or lacks_room(state, count + 2):
        return 1
    frame = 0
    if dropped != ALL:
        frame = frame_named(state, thread)
        while dropped > 0 and frame > 0:
            frame = int(state.outer[frame])
            dropped -= 1
    for at in range(count - 1, -1, -1):
        state.at = begin + at * width
        address = little(state, width)
        if kind != DECODED_BACKTRACE:
            address = max(address - 1, 0)  # of the call, before the return address
        elif address < state.decodes:
            address = int(state.decoded[address])
        else:
            return 0
        if address >= 0:
            frame = frame_of(state, address, frame)
    state.at = begin + count * width
    if 0 <= number < BACKTRACES:
        state.named[name_of(state, 2 * number)] = frame
    if is_part:
        state.named[name_of(state, thread)] = frame
    if kind == DECODED_BACKTRACE:
        state.backtraces += 1
    return 1


@hit_path
def short(state: _Bytehound) -> int:
    """The number at `at`, whose first byte begins with a bit of 1 for each byte that follows; -1 if it is too large."""
    first = little(state, 1)
    bits, mask = 0, 0x80
    while first & mask:
        bits += 1
        mask >>= 1
    low = little(state, bits)
    return low | (first & (mask - 1)) << 8 * bits if bits < 8 else low


@hit_path
def shorts(state: _Bytehound, count: int) -> None:
    """Take numbers that no reader needs."""
    for _ in range(count):
        short(state)


@kernel
def region(state: _Bytehound, kind: int) -> int:
    """Take what happened to a mapping; return 0 if it is none."""
    if kind == MEMORY_MAP_EX:
        shorts(state, 1)
        state.at += 8
        shorts(state, 2)
        state.at += 12
        shorts(state, 1)
        state.at += 8
        shorts(state, 1)
        state.at += 4
        return 1
    state.at += 8
    shorts(state, 1)
    state.at += 8
    shorts(state, 1)
    if kind == REGION_USAGE:
        shorts(state, 6)
        return 1
    if kind == ADD_REGION:
        shorts(state, 2)
        state.at += 12
        return pass_over(state, short(state))
    sources = short(state)
    while sources > 0 and state.at < state.end:
        state.at += 8
        shorts(state, 1)
        state.at += 8
        shorts(state, 1)
        state.at += 4
        sources -= 1
    return int(sources == 0 or state.at > state.end)


@kernel
def other_event(state: _Bytehound, kind: int) -> int:
    """Take an event that is no call; return 0 if it is none."""
    if kind == HEADER:
        state.at += _HEADER_BYTES
        return int(texts(state, 3) and part(state, 9))
    if kind in (FILE, FILE_64):
        return file(state, kind)
    if kind in (BACKTRACE, BACKTRACE_32, PARTIAL_BACKTRACE, PARTIAL_BACKTRACE_32, DECODED_BACKTRACE):
        return backtrace(state, kind)
    if kind == STRING:
        state.at += 4
        return int(part(state, little(state, 4)) and leave(state))
    if kind == FRAME:
        state.at += FRAME_BYTES
        return leave(state)
    if kind in (ENVIRON, MEMORY_DUMP):
        return array(state, 0 if kind == ENVIRON else 16, 1)
    if kind >= ADD_REGION:
        return region(state, kind) if kind <= MEMORY_MAP_EX else 0
    return fixed(state, kind)


@hit_path
def fixed(state: _Bytehound, kind: int) -> int:
    """Take an event of a fixed size; return 0 if it is none."""
    size = 0
    if kind == MARKER:
        size = 4
    elif kind == MEMORY_MAP:
        size = 64
    elif kind == MEMORY_UNMAP:
        size = 36
    elif kind == MALLOPT:
        size = 32
    elif kind == WALL_CLOCK:
        size = 24
    elif kind == SUMS:
        size = 56
        state.sums += int(state.at + size <= state.end)
    state.at += size
    return int(size > 0)


@kernel
def one_event(state: _Bytehound) -> int:
    """Take an event; return 0 if it is none, or `at` is behind the piece."""
    kind = little(state, 4)
    if ALLOC <= kind <= FREE or ALLOC_EX <= kind <= FREE_EX:
        return event(state, kind)
    return other_event(state, kind)


@kernel
def take(state: _Bytehound) -> None:
    """Take events (binary.scan)."""
    while begins(state) and keeps(state, whole(state, one_event(state))):
        pass


fast_take = compiled(take)


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
        self.state = _Bytehound(**scalars, **stacked.tables(_Bytehound), decoded=np.zeros(1 << 12, np.int64))
        self.mapped: list[Mapped] = []  # in the order in which they came
        self.strings: dict[int, str] = {}
        self.functions: dict[int, str | None] = {}  # by address

    def take(self, state: _Bytehound) -> None:
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
        state.decoded[state.decodes] = -1 if is_inlined else address & _ADDRESS
        state.decodes += 1
        if not is_inlined:
            self.functions[address & _ADDRESS] = self.strings.get(function, self.strings.get(raw))

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
    begin = 4 + _HEADER_BYTES + 4
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
