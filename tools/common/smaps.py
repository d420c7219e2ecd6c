"""What is resident of a process by kind, as /proc/PID/smaps tells it, and which of its pages may be malloc's."""

import ctypes
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

PAGE = os.sysconf("SC_PAGE_SIZE")
SURE_BYTES = 1 << 20
"""Of an area with fewer resident bytes nobody asks which of its pages these are."""
MOST_PAGES = 1 << 18
"""The most pages of which a look asks whether they are resident."""

_PRESENT, _ALONE = np.uint64(1 << 63), np.uint64(1 << 56)  # of an entry of /proc/PID/pagemap
_GET_ROBUST_LIST = {"x86_64": 274}.get(os.uname().machine, 100)
_KERNEL_HALF = 1 << 63
_DESCRIPTOR_BYTES = 64 << 10  # of a thread, with its TLS, above its list of robust mutexes
# A line of a field begins with a capital and a header does not, so no match leaves its entry.
_MAPPING = re.compile(
    rb"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ (\S+) \d+ *([^\n]*)\n(?:[A-Z][^\n]*\n)*?Rss: +(\d+) kB\n(?:Pss[^\n]*\n)*"
    rb"Shared_Clean: +\d+ kB\nShared_Dirty: +\d+ kB\nPrivate_Clean: +(\d+) kB\nPrivate_Dirty: +(\d+) kB\n"
    rb"(?:[A-Z][^\n]*\n)*?Anonymous: +(\d+) kB\n(?:[A-Z][^\n]*\n)*?VmFlags: ([^\n]*)\n(?:[A-Z][^\n]*\n)*"
)
_TABLES = re.compile(rb"VmPTE:\s+(\d+) kB")
_SUMS = ("static", "stacks", "files", "files_shared", "shared_memory", "recorder")
_SHARED_NAMES = (b"/memfd:", b"/SYSV", b"/dev/zero (deleted)", b"[anon_shmem:")
_OWN_FLAGS = {b"rr", b"dd"}  # of the recorder's anonymous memory: map_memory in runtime/recorder/stacks.c
_C = ctypes.CDLL(None)


class Area(NamedTuple):
    """Anonymous memory that is malloc's or the program's own. present: of its pages, if only some are resident.

    None: it is not known which, or all or none are.
    """

    start: int
    end: int
    resident: int
    present: npt.NDArray[np.bool_] | None = None


class Look(NamedTuple):
    """What was resident of a process between two times (ns, CLOCK_MONOTONIC); bytes.

    resident: of all kinds but page_tables. static: written pages of private mappings of files, and .bss. files: pages
    that no other process has mapped. shared_memory: tmpfs, System V, memfd, anonymous shared mappings.
    """

    begin_ns: int
    end_ns: int
    resident: int
    areas: list[Area]
    static: int
    stacks: int
    files: int
    files_shared: int
    shared_memory: int
    recorder: int
    page_tables: int


class _Mapping(NamedTuple):
    """An entry of smaps; bytes. private: not shared with another process, of these pages."""

    start: int
    end: int
    rights: bytes
    device: bytes
    path: bytes
    flags: bytes
    resident: int
    private_clean: int
    private_dirty: int
    anonymous: int

    def is_own(self, own: tuple[bytes, ...]) -> bool:
        """Whether it is the recorder's, whose paths begin so."""
        return self.path.startswith(own) or (not self.path and set(self.flags.split()) >= _OWN_FLAGS)

    def is_anonymous(self) -> bool:
        """Whether it is memory of no file and no stack that the kernel knows of: the heap of brk(2) is."""
        private = self.rights.endswith(b"p")
        return private and (self.path in (b"", b"[heap]", b"/dev/zero") or self.path.startswith(b"[anon:"))

    def is_data(self) -> bool:
        """Whether it is the written part of a program or library, behind which .bss follows."""
        return self.rights == b"rw-p" and self.path.startswith(b"/")


def shared_devices(pid: int) -> frozenset[bytes]:
    """The devices of the file systems in memory, as smaps names them."""
    found = set()
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/mountinfo").read_bytes().splitlines():
            if b" - tmpfs " in line:
                major, _, minor = line.split()[2].partition(b":")
                found.add(b"%02x:%02x" % (int(major), int(minor)))
    return frozenset(found)


def count_mappings(pid: int, most: int) -> int:
    """The number of a process's mappings; of more than `most` no more are counted. Raises OSError as `look_at` does."""
    with Path(f"/proc/{pid}/maps").open("rb") as maps:
        return sum(1 for _ in islice(maps, most + 1))


def look_at(pid: int, own: tuple[bytes, ...], devices: frozenset[bytes]) -> Look:
    """Look once. own: with what the paths of the recorder's mappings begin. devices: of `shared_devices`.

    Raises OSError or ValueError if the process ends, or may not be looked at.
    """
    begin_ns = time.monotonic_ns()
    mappings = list(_mappings(Path(f"/proc/{pid}/smaps").read_bytes()))
    if not mappings:
        raise ValueError("no memory is left")
    sums, areas = dict.fromkeys(_SUMS, 0), []
    threads = np.array(sorted(_descriptors(pid)), np.int64)
    before = mappings[0]
    with _Pages(pid) as pages:
        for one in mappings:
            if one.is_own(own):
                sums["recorder"] += one.resident
            elif one.is_anonymous():
                areas += _anonymous(one, before, threads, pages, sums)
            elif one.path == b"[stack]":
                sums["stacks"] += one.resident
            else:
                _of_file(one, devices, sums)
            before = one
        areas = [pages.look(area) for area in areas]
    resident = sum(sums.values()) + sum(area.resident for area in areas)
    tables = _TABLES.search(Path(f"/proc/{pid}/status").read_bytes())
    kinds = sums | {"page_tables": int(tables[1]) << 10 if tables else 0}
    return Look(begin_ns, time.monotonic_ns(), resident, areas, **kinds)


def _anonymous(
    one: _Mapping, before: _Mapping, threads: npt.NDArray[np.int64], pages: "_Pages", sums: dict[str, int]
) -> list[Area]:
    """The area of a mapping, but for static data and for the stack of a thread.

    The C library keeps the descriptor of a thread at the upper end of its stack, which has a guard below. An older
    kernel makes one mapping of a stack and of memory above it.
    """
    if one.start == before.end and before.is_data():
        sums["static"] += one.resident
        return []
    within = threads[np.searchsorted(threads, one.start) : np.searchsorted(threads, one.end)]
    if not within.size or before.end != one.start or before.rights != b"---p":
        return [Area(one.start, one.end, one.resident)] if one.rights != b"---p" else []
    top = min(one.end, -(-(int(within[-1]) + _DESCRIPTOR_BYTES) // PAGE) * PAGE)
    above = pages.count(top, one.end) if top < one.end else 0
    above = min(one.resident, above)
    sums["stacks"] += one.resident - above
    return [Area(top, one.end, above)] if top < one.end else []


def _of_file(one: _Mapping, devices: frozenset[bytes], sums: dict[str, int]) -> None:
    """Count a mapping of a file or of shared memory. Of a private one the written pages are anonymous."""
    sums["static"] += one.anonymous
    rest = one.resident - one.anonymous
    if one.path.startswith(_SHARED_NAMES) or one.device in devices:
        sums["shared_memory"] += rest
        return
    alone = min(rest, max(0, one.private_clean + one.private_dirty - min(one.anonymous, one.private_dirty)))
    sums["files"] += alone
    sums["files_shared"] += rest - alone


def _mappings(text: bytes) -> Iterator[_Mapping]:
    """The entries of smaps. Raises ValueError if one lacks a field."""
    at = 0
    while at < len(text):
        if (entry := _MAPPING.match(text, at)) is None:
            raise ValueError(f"smaps: expected a whole entry, not {text[at : at + 100]!r}")
        start, end, rights, device, path, *counts, flags = entry.groups()
        resident, clean, dirty, anonymous = (int(count) << 10 for count in counts)
        yield _Mapping(int(start, 16), int(end, 16), rights, device, path, flags, resident, clean, dirty, anonymous)
        at = entry.end()


def _descriptors(pid: int) -> Iterator[int]:
    """Where the descriptors of the threads but the first lie: there they keep the lists of their robust mutexes.

    A thread that the C library did not make has none. One may name any address: none of the kernel's half counts.
    """
    for name in os.listdir(f"/proc/{pid}/task"):
        head, length = ctypes.c_uint64(), ctypes.c_uint64()
        if int(name) == pid or _C.syscall(_GET_ROBUST_LIST, int(name), ctypes.byref(head), ctypes.byref(length)) != 0:
            continue
        if head.value < _KERNEL_HALF:
            yield head.value


class _Pages:
    """Which pages of a process are resident (/proc/PID/pagemap); context manager."""

    def __init__(self, pid: int) -> None:
        self._left, self._file = MOST_PAGES, -1
        with suppress(OSError):
            self._file = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file >= 0:
            os.close(self._file)

    def count(self, start: int, end: int) -> int:
        """How many bytes are resident; 0 if that is not known."""
        entries = self._read(start, end)
        return PAGE * int(np.count_nonzero(entries & _PRESENT)) if entries is not None else 0

    def look(self, area: Area) -> Area:
        """The area with its pages. Of those that went back since smaps was read nobody knows whose they were."""
        if not SURE_BYTES <= area.resident < area.end - area.start:
            return area
        entries = self._read(area.start, area.end)
        if entries is None:
            return area
        # Pages that were only read are all one page of zeros, which is present and not resident; it is never alone.
        # Pages that a fork shares are not alone either. A page may have come since smaps was read.
        told: list[npt.NDArray[np.bool_]] = [(entries & bit) != 0 for bit in (_PRESENT, _ALONE)]
        found, pages = min(
            ((PAGE * int(np.count_nonzero(pages)), pages) for pages in told),
            key=lambda one: abs(one[0] - area.resident),
        )
        return area._replace(resident=min(area.resident, found), present=pages)

    def _read(self, start: int, end: int) -> npt.NDArray[np.uint64] | None:
        pages = (end - start) // PAGE
        if self._file < 0 or pages > self._left:
            return None
        self._left -= pages
        with suppress(OSError):
            content = os.pread(self._file, 8 * pages, start // PAGE * 8)
            return np.frombuffer(content, np.uint64) if len(content) == 8 * pages else None
        return None
