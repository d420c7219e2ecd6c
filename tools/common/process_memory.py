"""The memory of another process, read without stopping it, and where the view of a generated library lies in memory."""

import errno
import fcntl
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from heapsmith.model.errors import Missing

PAGE = 4096
MAGIC = b"\x7fELF\x02\x01"
"""A file of 64 bits, little-endian (elf(5))."""
PT_LOAD, PT_NOTE = 1, 4
MOST_NOTES = 1 << 16
MOST_BYTES = 1 << 32
"""Of one reading: a table larger than that is none of a heap."""
OWNER, KIND = b"heapsmith\0", 1
"""The note of runtime/heap/9_api/view.c."""

MOST_TEXT = 256
ENTRY = struct.Struct("<24sQ")
MOST_ENTRIES = 256
MOST_HEAPS = 1 << 16

REFUSED = (errno.EPERM, errno.EACCES)
GONE = (errno.EIO, errno.ESRCH)
"""Of a write: nothing is mapped there, or the process has ended."""


class Gone(Exception):
    """The process has ended, or its memory is no longer what it was."""


class Memory(ABC):
    """What a program has at its addresses: of a process, or of a core file."""

    @abstractmethod
    def some(self, address: int, count: int) -> bytes:
        """The bytes from an address on, fewer where the memory ends."""

    @abstractmethod
    def objects(self) -> Iterator[int]:
        """Where each file is mapped whose beginning is."""

    def read(self, address: int, count: int) -> bytes:
        """All of `count` bytes; Gone if they are not mapped."""
        found = self.some(address, count) if count < MOST_BYTES else b""
        if len(found) != count:
            raise Gone(f"{count} bytes at {address:#x}")
        return found

    def word(self, address: int) -> int:
        """The word of 8 bytes at an address."""
        return int.from_bytes(self.read(address, 8), "little")

    def text(self, address: int) -> str:
        """The string at an address, up to its null byte; Gone if none ends there."""
        found, end, _ = self.some(address, MOST_TEXT).partition(b"\0")
        if not end:
            raise Gone(f"the text at {address:#x}")
        return found.decode(errors="replace")


class ProcessMemory(Memory):
    """The memory of a process as it is when this opens it: not of a program that the process begins later.

    Gone if the process has ended; Missing if its memory may not be read, or with `writes` not be written.
    """

    def __init__(self, pid: int, *, writes: bool = False) -> None:
        self._pid = pid
        try:
            self._file = os.open(f"/proc/{pid}/mem", (os.O_RDWR if writes else os.O_RDONLY) | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in REFUSED:
                raise Missing(
                    f"process {pid}: its memory may not be read: it needs the same user, and ptrace_scope 0 "
                    "(/proc/sys/kernel/yama/ptrace_scope), or the capability CAP_SYS_PTRACE; see ptrace(2)"
                ) from None
            raise Gone(str(error)) from None

    def __enter__(self) -> "ProcessMemory":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self._file)

    def taken(self) -> bool:
        """Whether it is now this one's alone among all that ask so, until it closes."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def some(self, address: int, count: int) -> bytes:
        """The bytes from an address on, fewer where the memory ends."""
        parts = []
        while count > 0:
            try:
                part = os.pread(self._file, count, address)
            except (OSError, OverflowError):  # not mapped; an address beyond what a file can have
                part = b""
            if not part:
                break
            parts.append(part)
            address, count = address + len(part), count - len(part)
        return b"".join(parts)

    def fill(self, room: memoryview, address: int) -> int:
        """Read the bytes from an address on into `room`; how many there were."""
        filled = 0
        while filled < len(room):
            try:
                part = os.preadv(self._file, [room[filled:]], address + filled)
            except (OSError, OverflowError):  # as in `some`
                part = 0
            if part == 0:
                break
            filled += part
        return filled

    def write(self, address: int, what: bytes) -> None:
        """Write to the memory, where the process may not write too.

        Gone if it is not mapped, or if the process has ended or begun another program; Missing if it is refused.
        """
        try:
            written = os.pwrite(self._file, what, address)
        except OSError as error:
            if error.errno not in GONE:
                raise Missing(f"process {self._pid}: its memory cannot be written: {error.strerror}") from None
            written = 0
        if written != len(what):
            raise Gone(f"{len(what)} bytes at {address:#x}")

    def objects(self) -> Iterator[int]:
        """Where each file is mapped whose beginning is (proc(5)); nothing if the process has ended."""
        try:
            lines = Path(f"/proc/{self._pid}/maps").read_text(errors="replace").splitlines()
        except OSError:
            return
        for line in lines:
            span, rights, offset, *_ = line.split(maxsplit=5)
            if rights.startswith("r") and int(offset, 16) == 0:
                yield int(span.partition("-")[0], 16)


def views(memory: Memory) -> list[int]:
    """The addresses of the views of all generated libraries in a memory; the program may be linked to one."""
    return [view for start in memory.objects() for view in _views_of(memory, start)]


def table(memory: Memory, address: int) -> dict[str, int]:
    """The values by name, with those of the table that the last entry leads to; Gone where no table is any more."""
    addresses = _table(memory, address)
    return addresses | _table(memory, addresses["and"]) if "and" in addresses else addresses


def _table(memory: Memory, address: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in ENTRY.iter_unpack(memory.some(address, MOST_ENTRIES * ENTRY.size)[: MOST_ENTRIES * ENTRY.size]):
        if not name.strip(b"\0"):
            return found
        found[name.rstrip(b"\0").decode("ascii", "replace")] = value
    raise Gone(f"no view at {address:#x}")


def names(memory: Memory, address: int, count: int) -> list[str]:
    return [memory.text(memory.word(address + 8 * index)) for index in range(count)]


def chain(memory: Memory, first: int, link: int, most: int, known: int = 0) -> list[int]:
    """The addresses of a list from its first element to its last, or to one that is known."""
    found: list[int] = []
    while first not in (0, known) and len(found) < most:
        found.append(first)
        first = memory.word(first + link)
    return found


def _views_of(memory: Memory, start: int) -> Iterator[int]:
    """The views to which notes of the file at `start` lead; its headers are read as they lie in memory."""
    head = memory.some(start, PAGE)
    if not head.startswith(MAGIC) or len(head) < 64:
        return
    (table,) = struct.unpack_from("<Q", head, 32)
    each, count = struct.unpack_from("<HH", head, 54)
    headers = memory.some(start + table, each * count)
    if each < 56 or len(headers) < each * count:
        return
    segments = [struct.unpack_from("<IIQQQQQQ", headers, each * number) for number in range(count)]
    first = next(
        (address - offset for kind, _, offset, address, *_ in segments if kind == PT_LOAD and offset < PAGE), 0
    )
    for kind, _, _, address, _, _, size, alignment in segments:
        if kind == PT_NOTE:
            place = start - first + address
            for at in _notes(memory.some(place, min(size, MOST_NOTES)), max(4, alignment)):
                yield place + at + int.from_bytes(memory.read(place + at, 8), "little", signed=True)


def _notes(notes: bytes, alignment: int) -> Iterator[int]:
    """Where the contents of our notes lie."""
    at = 0
    while at + 12 <= len(notes):
        name, content, kind = struct.unpack_from("<III", notes, at)
        owner = at + 12
        begin = _up(owner + name, alignment)
        if notes[owner : owner + name] == OWNER and kind == KIND and content == 8 and begin + 8 <= len(notes):
            yield begin
        at = _up(begin + content, alignment)


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
