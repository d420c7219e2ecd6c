"""Writers of memray's and bytehound's binary records, made from the description of their formats."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

lz4 = pytest.importorskip("lz4", reason="the files of memray and bytehound are packed with lz4")
pytest.importorskip("lz4.block")

Record = tuple[Any, ...]
"""A kind and its fields."""

FREE, MALLOC, CALLOC, MMAP, PYTHON_FREE, PYTHON_MALLOC = 5, 6, 8, 14, 1, 2
"""memray's numbers of allocators."""
CODE = 0x7F0000000000
"""Where the code of native frames lies: of the first nine in a file that is mapped there."""


def varint(number: int) -> bytes:
    """Groups of 7 bits, the lowest first, as memray and protobuf write a number."""
    low = [number >> shift & 127 for shift in range(0, max(1, number.bit_length()), 7)]
    return bytes([*(part | 128 for part in low[:-1]), low[-1]])


def folded(number: int) -> bytes:
    """A number that may be below 0."""
    return varint(number * 2 if number >= 0 else -number * 2 - 1)


class Memray:
    """Writes records of memray; `recent` are the 15 last addresses. Allocations have the last frame as innermost."""

    def __init__(self, *, native: bool, version: int = 13) -> None:
        self.native, self.version = native, version
        self.recent: list[int] = [0] * 15
        self.last = self.last_code = self.last_frame = self.frames = 0

    def header(self, command: str, *, sums: bool = False, python: int = 0x030B07F0, hides: int = 0) -> bytes:
        """The begin of a file; the outermost functions of thread 1 that are `hides` are memray's own."""
        text = b"memray\0" + struct.pack("<iibb", self.version, python, self.native, sums)
        text += struct.pack("<QQqq", 5, 5, 10**12, 10**12 + 5) + command.encode() + b"\0"
        text += struct.pack("<iQQbbb", 7, 1, hides, 1, 0, 0)
        return text + (b"/lib\0" + b"/lib/a\0\0" + b"/b\0/c\0\0" if self.version == 13 else b"")

    def _place(self, address: int) -> tuple[int, bytes]:
        """The place of an address among the recent ones, and what follows if it is none of them."""
        if address in self.recent:
            return self.recent.index(address), b""
        self.recent = [address, *self.recent[:-1]]
        delta, self.last = (address >> 3) - self.last, address >> 3
        return 15, folded(delta)

    def _innermost(self) -> bytes:
        if not self.native:
            return b""
        delta, self.last_frame = self.frames - self.last_frame, self.frames
        return folded(delta)

    def _frame(self) -> bytes:
        """A frame of native stacks, which an earlier one called."""
        self.frames += 1
        address, outer = CODE + 16 * self.frames, (self.frames - 1) // 2
        text = b"\x05" + folded(address - self.last_code) + folded(outer - self.last_frame)
        self.last_code, self.last_frame = address, outer
        return text

    def record(self, kind: str, *fields: Any) -> bytes:
        """A record of a kind."""
        if kind == "allocation":
            allocator, address, size = fields
            place, behind = self._place(address)
            text = bytes([128 | place << 3 | (allocator if allocator < 8 else 0)]) + behind
            text += b"" if allocator < 8 else bytes([allocator])
            if allocator in (FREE, PYTHON_FREE):
                return text
            return text + self._innermost() + varint(size)
        if kind == "object":
            place, behind = self._place(fields[1])
            return bytes([32 | place << 1 | fields[0]]) + behind + (self._innermost() if fields[0] else b"")
        if kind == "native":
            return self._frame()
        if kind == "push":  # number of the code object, place, whether the interpreter was entered for it
            code, place, enters = fields
            return bytes([64 | enters]) + varint(code) + folded(place)
        if kind == "pop":
            return bytes([16 | fields[0] - 1])
        if kind == "code":  # number, name, file, lines from the last first line to this one, table
            number, name, file, lines, table = fields
            return b"\x0e" + varint(number) + name + b"\0" + file + b"\0" + folded(lines) + varint(len(table)) + table
        if kind == "switch":
            return b"\x0c" + struct.pack("<Q", *fields)
        if kind == "memory":
            return b"\x02" + varint(fields[0]) + varint(fields[1])
        path, base = fields if kind == "maps" and fields else (b"/lib/a.so", CODE)
        segments = b"".join(b"\x08" + struct.pack("<Q", begin) + varint(160) for begin in (0, 1 << 20))
        return {
            "maps": b"\x06\x07" + path + b"\0" + varint(2) + struct.pack("<Q", base) + segments,
            "name": b"\x0aworker\0",
            "end": b"\x01",
        }[kind]


def short(number: int) -> bytes:
    """A number behind a first byte with a bit of 1 for each byte that follows, as speedy writes it for bytehound."""
    count = next(one for one in range(9) if one == 8 or number < 1 << 7 * (one + 1))
    first = 0xFF << (8 - count) & 0xFF | (number >> 8 * count if count < 8 else 0)
    return bytes([first]) + (number & (1 << 8 * count) - 1).to_bytes(count, "little")


def counted(text: bytes, width: int = 1) -> bytes:
    """Items of some bytes behind their number."""
    return struct.pack("<I", len(text) // width) + text


BACKTRACE = 5
"""The number that calls have unless they say another one."""


def bytehound_event(kind: str, *fields: Any) -> bytes:
    """An event of bytehound: a call (with a block's number kind 20 to 22), a stack, what decodes it, or another one."""
    calls = {"alloc": 1, "realloc": 2, "free": 3}
    if kind in calls:
        time, tid, flags, number, pointer, old, size, backtrace = (*fields, BACKTRACE)[:8]
        text = struct.pack("<I", calls[kind] + (19 if number else 0)) + (struct.pack("<QQ", *number) if number else b"")
        text += struct.pack("<Q", time) + (struct.pack("<Q", old) if kind == "realloc" else b"")
        if kind == "free":
            return text + struct.pack("<QQI", pointer, backtrace, tid)
        return text + struct.pack("<QQQIIIQ", pointer, size, backtrace, tid, flags, 8, 16)
    if kind in BYTEHOUND_STACKS:
        return _bytehound_stack(kind, *fields)
    source = struct.pack("<Q", 5) + short(700) + struct.pack("<I", 1)
    bodies = {
        0: bytes(range(1, 17)) + bytes(36) + counted(b"./a\0b c\0") + counted(b"/bin/a") + counted(b"amd64") + bytes(9),
        4: bytes(8) + counted(b"/proc/self/maps") + counted(b"x" * 3000),
        6: bytes(16) + counted(b"dump"),
        7: bytes(4),
        8: bytes(64),
        9: bytes(36),
        10: bytes(32),
        11: counted(b"HOME=/"),
        12: bytes(24),
        17: bytes(56),
        23: bytes(8) + counted(b"/lib/a") + struct.pack("<Q", 5000) + b"y" * 5000,
        24: bytes(8) + short(1) + bytes(8) + short(1 << 20) + short(0) + short(1 << 62) + bytes(12) + short(3) + b"[a]",
        25: bytes(8) + short(1) + bytes(8) + short(1) + short(2) + (bytes(8) + short(1 << 40) + source) * 2,
        26: bytes(8) + short(1) + bytes(8) + b"".join(map(short, (1, 127, 128, 1 << 14, 1 << 21, 1 << 35, 1 << 56))),
        27: short(1) + bytes(8) + short(0) + short(1) + bytes(12) + short(1) + source,
    }
    return struct.pack("<I", int(kind)) + bodies[int(kind)]


BYTEHOUND_OTHERS = [str(kind) for kind in range(28) if kind not in (*range(1, 4), 5, *range(13, 17), *range(18, 23))]
"""Events that are no calls and tell nothing of stacks."""
BYTEHOUND_STACKS = ("stack", "stack32", "part", "part32", "string", "frame", "decoded", "file", "file64")


def _bytehound_stack(kind: str, *fields: Any) -> bytes:
    """A stack whole or in part, a decoded one, or what tells names and places of frames; see the format."""
    head, (*numbers, last) = (
        struct.pack("<I", {"stack": 5, "stack32": 19, "part": 13, "part32": 18}.get(kind, 0)),
        fields,
    )
    if kind in ("stack", "stack32", "part", "part32"):  # number, (thread, frames to drop,) addresses
        text = head + struct.pack("<QII"[: 1 + len(numbers)], *numbers)
        return text + struct.pack(f"<I{len(last)}{'I' if kind.endswith('32') else 'Q'}", len(last), *last)
    if kind == "string":
        return struct.pack("<II", 14, *numbers) + counted(last)
    if kind == "frame":  # address, number of the function's name, whether it was inlined
        return struct.pack("<IQIIIIIIB", 15, numbers[0], 4, 5, numbers[1], 6, 7, 8, last)
    if kind == "decoded":
        return struct.pack(f"<II{len(last)}I", 16, len(last), *last)
    text, size = counted(numbers[0]), struct.pack("<I" if kind == "file" else "<Q", len(last))
    return struct.pack("<IQ", 4 if kind == "file" else 23, 7) + text + size + last


def bytehound(events: Iterable[Record], block: int = 1 << 19, *, packed: bool = True) -> bytes:
    """A file of bytehound with these events behind its header."""
    content = b"".join([bytehound_event("0"), *(bytehound_event(*one) for one in events)])

    def blocks() -> Iterator[bytes]:
        for begin in range(0, len(content), block):
            data = content[begin : begin + block]
            data = lz4.block.compress(data, store_size=False) if packed else data
            yield bytes([1 if packed else 2]) + struct.pack("<I", len(data)) + data

    return b"".join(blocks())


def memray(
    records: Iterable[Record], *, native: bool = False, version: int = 13, command: str = "./a b c", hides: int = 0
) -> bytes:
    """A file of memray with these records and the mark of the end."""
    writer = Memray(native=native, version=version)
    return b"".join(
        [writer.header(command, hides=hides), *(writer.record(*one) for one in records), writer.record("end")]
    )
