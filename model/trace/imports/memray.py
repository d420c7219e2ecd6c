"""memray's files with all allocations, of versions 12 and 13 of its format."""

import io
from collections.abc import Iterator

import numpy as np

from heapsmith.model.compile.kernel import Ints, compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import stacked
from heapsmith.model.trace.imports.binary import little, pass_over, pieces, scan, state_of, string, varint, whole
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.mappings import Mapped
from heapsmith.model.trace.imports.source import LINE_BYTES, Source
from heapsmith.model.trace.imports.stacked import Stacked, add_frame, has_room, make_room, site_of, with_sites
from heapsmith.model.trace.imports.text import begins, keeps, put

_MAGIC = b"memray\0"
_VERSIONS = (12, 13)  # memray 1.19 and 1.20
_PATHS_SINCE = 13  # the header ends with the paths of modules
_NS_PER_MS = 10**6
_MOST_MS = 1 << 40
_IMAGE_BYTES = 1 << 15  # at most: a path and segments

TRAILER, MEMORY, NATIVE_FRAME, MAPPINGS, IMAGE, SEGMENT, THREAD_NAME, SWITCH, CODE = 1, 2, 5, 6, 7, 8, 10, 12, 14
FRAME_POP, OBJECT, FRAME_PUSH, ALLOCATION = 16, 32, 64, 128  # and the numbers up to the next one
MISS = 15  # a record with this place has its address, which becomes the first of the recent ones
RECENT = 16  # places of the ring; those of records are below MISS
MOST_ADDRESS = 1 << 60  # of those in units of 8 bytes

PYTHON_FREE, MALLOC_FREE = 1, 5  # allocators: their records have no size
_ALLOCATORS = range(1, 16)
_OPS = {5: Op.FREE, 6: Op.MALLOC, 7: Op.MALLOC, 8: Op.CALLOC, **dict.fromkeys(range(9, 14), Op.ALIGNED)}
"""The operation of an allocator; the others are mmap and Python's own, whose memory malloc gave."""
OTHER, NONE = 254, 255
FREE = int(Op.FREE)


class _Memray(Stacked):
    """What the records before told: `last` is the last address of memory, in units of 8 bytes.

    `last_code` is the last address of code, `last_frame` the last number of a native frame.
    """

    ops: Ints  # of each allocator: its operation, OTHER or NONE
    recent: Ints  # a ring of addresses, the newest at `newest`


@hit_path
def signed(state: _Memray, last: int) -> int:
    """The address or number at `at`, a difference to the last one, and -1 if it is none; `at` is behind it then."""
    folded = varint(state)
    if folded < 0:
        return -1
    address = last + ((folded >> 1) ^ -(folded & 1))
    return address if 0 <= address < MOST_ADDRESS else -1


@hit_path
def address_of(state: _Memray, place: int) -> int:
    """The address of a record in units of 8 bytes, or -1."""
    if place == MISS:
        return signed(state, state.last)
    return int(state.recent[(state.newest + place) % RECENT])


@hit_path
def remember(state: _Memray, place: int, address: int) -> None:
    """A record that is whole had this address."""
    if place == MISS:
        state.last = address
        state.newest = (state.newest + RECENT - 1) % RECENT
        state.recent[state.newest] = address


@hit_path
def allocation(state: _Memray, token: int) -> int:
    """Take a birth or a free; return 0 if it is none or not whole."""
    place = token >> 3 & MISS
    address = address_of(state, place)
    allocator = token & 7
    if allocator == 0:
        allocator = little(state, 1)
    op, size, frame = int(state.ops[allocator]), 0, state.last_frame
    if allocator not in (PYTHON_FREE, MALLOC_FREE):
        if state.native:
            frame = signed(state, frame)
        size = varint(state)
    if address < 0 or size < 0 or frame < 0 or op == NONE or state.at > state.end:
        return 0
    remember(state, place, address)
    state.last_frame = frame
    if op == OTHER:
        state.passed += 1
    elif op == FREE:
        state.site[state.calls] = 0
        put(state, FREE, state.tid, address * 8, 0, 0)
    else:
        state.site[state.calls] = site_of(state, frame) if state.native and address > 0 else 0
        put(state, op, state.tid, 0, address * 8, size)
    return 1


@hit_path
def python_object(state: _Memray, token: int) -> int:
    """Take the birth or the end of an object of Python, whose address is one of the recent ones too."""
    place = token >> 1 & MISS
    address, frame = address_of(state, place), state.last_frame
    if token & 1 and state.native:
        frame = signed(state, frame)
    if address < 0 or frame < 0 or state.at > state.end:
        return 0
    remember(state, place, address)
    state.last_frame = frame
    return 1


@hit_path
def numbers(state: _Memray, count: int) -> int:
    """Take numbers that no reader needs; return 0 if they are none."""
    for _ in range(count):
        if varint(state) < 0:
            return 0
    return 1


@hit_path
def memory(state: _Memray) -> int:
    """Take a record of the process's memory, which has the time since the begin; return 0 if it is none."""
    resident, time_ms = varint(state), varint(state)
    if resident < 0 or time_ms < 0 or time_ms > _MOST_MS or state.at > state.end:
        return 0
    state.time_ns = time_ms * _NS_PER_MS
    return 1


@hit_path
def switch(state: _Memray) -> int:
    """Take the thread of the records that follow; return 0 if it is none."""
    tid = little(state, 8)
    if tid < 0 or state.at > state.end:
        return 0
    state.tid = tid
    return 1


@hit_path
def native_frame(state: _Memray) -> int:
    """Take a frame of native stacks: a place in a call, and the frame that called it; return 0 if it is none."""
    address, outer = signed(state, state.last_code), signed(state, state.last_frame)
    if address < 0 or outer < 0 or outer > state.frames or state.at > state.end:
        return 0
    if not has_room(state):
        state.paused = 1
        return 0
    add_frame(state, address, outer)
    state.last_code, state.last_frame = address, outer
    return 1


@hit_path
def code(state: _Memray) -> int:
    """Take what a function of Python is called and where its lines are; return 0 if it is none."""
    return int(numbers(state, 1) and string(state) and string(state) and numbers(state, 1) and bytes_of(state))


@hit_path
def bytes_of(state: _Memray) -> int:
    """Take a number and as many bytes; return 0 if it is none."""
    return pass_over(state, varint(state))


@kernel
def rare_record(state: _Memray, token: int) -> int:
    """Take a record of names, maps or the end; return 0 if it is none."""
    if token == CODE:
        return code(state)
    if token == NATIVE_FRAME:
        return native_frame(state)
    if token == IMAGE and state.native:
        state.paused = 1
        return 0
    if token == IMAGE:
        return int(string(state) and numbers(state, 1) and little(state, 8) >= 0)
    if token == SEGMENT:
        return int(little(state, 8) >= 0 and numbers(state, 1))
    if token == THREAD_NAME:
        return string(state)
    if token == TRAILER:
        state.at, state.ended = state.end, 1
    return int(token in (TRAILER, MAPPINGS))


@kernel
def one_record(state: _Memray) -> int:
    """Take a record; return 0 if it is none, or `at` is behind the piece."""
    token = int(state.data[state.at])
    state.at += 1
    if token >= ALLOCATION:
        return allocation(state, token)
    if token >= FRAME_PUSH:
        return numbers(state, 2)
    if token >= OBJECT:
        return python_object(state, token)
    if token >= FRAME_POP:
        return 1
    if token == SWITCH:
        return switch(state)
    return memory(state) if token == MEMORY else rare_record(state, token)


@kernel
def take(state: _Memray) -> None:
    """Take records (binary.scan)."""
    while begins(state) and keeps(state, whole(state, one_record(state))):
        pass


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the file."""
    reader = _Reader(source)
    state = reader.state
    about.command, is_native = _header(source)
    state.native = int(is_native)
    if is_native:
        about.tree = lambda: stacked.tree(state, reader.mapped)
    for calls in scan(source, state, reader.take, pieces(source), marked=True):
        yield with_sites(state, calls) if is_native else calls
    if state.passed:
        about.inexact.append(f"{state.passed:,} records of mmap and of Python's own allocator were passed over")


class _Reader:
    """The state, and the files that were mapped into a process with native stacks."""

    def __init__(self, source: Source) -> None:
        self.source = source
        ops = np.full(256, NONE, np.int64)
        for allocator in _ALLOCATORS:
            ops[allocator] = _OPS.get(allocator, OTHER)
        scalars = state_of("native", "last", "newest", "tid", "passed", "last_code", "last_frame", *stacked.SCALARS)
        self.state = _Memray(**scalars, **stacked.tables(), ops=ops, recent=np.zeros(RECENT, np.int64))
        self.mapped: dict[Mapped, None] = {}  # in the order in which they came

    def take(self, state: _Memray) -> None:
        """Take records; where the kernel pauses, make room, or read which file was mapped, and go on."""
        fast_take(state)
        while state.paused:
            state.paused = 0
            if not has_room(state):
                make_room(state)
            elif not self._image():
                return
            fast_take(state)

    def _image(self) -> bool:
        """Keep the name of a file that was mapped, and its segments; False if not all of them are in the piece."""
        state = self.state
        data = io.BytesIO(state.data[state.at : min(state.end, state.at + _IMAGE_BYTES)].tobytes())
        name = data.getvalue()[1:].partition(b"\0")[0]
        data.seek(len(name) + 2)
        count = _varint(data)
        base, ranges = _number(data, 8), []
        for _ in range(min(count, _IMAGE_BYTES)):
            data.read(1)
            ranges.append((_number(data, 8), _varint(data)))
        if data.read(1) == b"":  # the mark of the end, at least, is behind
            if len(data.getvalue()) == _IMAGE_BYTES:
                self.source.bad(f"record {state.line + 1}", "expected a file of code with its segments")
            return False
        if max(base, *(sum(one) for one in ranges), 0) < MOST_ADDRESS:
            self.mapped[Mapped(name.decode("utf-8", "backslashreplace"), base, tuple(ranges))] = None
        state.at += data.tell() - 1
        state.line += 1 + count
        return True


def _header(source: Source) -> tuple[list[str], bool]:
    """Return the command of the program, and whether the records name native stacks."""
    magic, version = source.read(len(_MAGIC)), _number(source, 4)
    if magic != _MAGIC or version not in _VERSIONS:
        known = " or ".join(map(str, _VERSIONS))
        source.bad("its header", f"expected a file of memray of version {known} (memray 1.19 or 1.20)")
    _number(source, 4)  # Python's version
    is_native, has_sums = _number(source, 1), _number(source, 1)
    if has_sums:
        source.bad("its header", "a file of `memray run --aggregate` has sums, not single allocations")
    source.read(32)  # how many allocations and frames, the times of begin and end
    command = _string(source)
    source.read(4 + 8 + 8 + 3)  # process, thread, frames to leave out, allocator, and what else was asked for
    if version >= _PATHS_SINCE:
        _string(source)
        for _ in range(2):
            while _string(source):
                pass
    return command.decode("utf-8", "backslashreplace").split(), bool(is_native)


def _varint(data: io.BytesIO) -> int:
    """Return a number in groups of 7 bits, the lowest first."""
    value = shift = 0
    while byte := data.read(1):
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            break
    return value


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
