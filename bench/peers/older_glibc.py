"""Let a shared object made for glibc 2.38 or newer run on an older one: its C23 number parsers become the C17 ones."""

import struct
from pathlib import Path
from typing import NamedTuple

from heapsmith.model.errors import BadInput

C23_PREFIX = b"__isoc23_"
PARSERS = (b"strtol", b"strtoll", b"strtoul", b"strtoull")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NEED = struct.Struct("<HHIII")
_NEED_VERSION = struct.Struct("<IHHII")
_DYNSYM, _VERSYM, _VERNEED = 11, 0x6FFFFFFF, 0x6FFFFFFE


class _Section(NamedTuple):
    """Where a section lies in the file and, for tables, the section with its strings."""

    kind: int
    offset: int
    size: int
    link: int


def _sections(image: bytearray) -> list[_Section]:
    """All sections of an x86-64 ELF file (System V ABI, chapter 4)."""
    start, count = struct.unpack_from("<Q", image, 0x28)[0], struct.unpack_from("<H", image, 0x3C)[0]
    rows = [_SECTION.unpack_from(image, start + i * _SECTION.size) for i in range(count)]
    return [_Section(row[1], row[4], row[5], row[6]) for row in rows]


def _text(image: bytearray, start: int) -> bytes:
    return bytes(image[start : image.index(0, start)])


def _needed_versions(image: bytearray, need: _Section, strings: int) -> dict[bytes, int]:
    """Where each version record of the section .gnu.version_r lies, by the version's name."""
    found: dict[bytes, int] = {}
    library = need.offset
    while True:
        _, count, _, first, following = _NEED.unpack_from(image, library)
        record = library + first
        for _ in range(count):
            _, _, _, name, step = _NEED_VERSION.unpack_from(image, record)
            found[_text(image, strings + name)] = record
            record += step
        if following == 0:
            return found
        library += following


def bind_to_older(path: Path, version: str, base: str = "GLIBC_2.2.5") -> None:
    """Rewrite the file in place so that it no longer needs `version` of the C library, such as GLIBC_2.38.

    Each undefined `__isoc23_strtol` and the like of that version becomes `strtol` of `base`; they differ in one thing,
    the prefix 0b of binary numbers (C23 7.24.1.7). The code is not touched. Raises BadInput if the file needs more
    of `version` than these functions.
    """
    image = bytearray(path.read_bytes())
    sections = _sections(image)
    by_kind = {section.kind: section for section in sections}
    symbols, marks, need = by_kind[_DYNSYM], by_kind[_VERSYM], by_kind[_VERNEED]
    strings = sections[symbols.link].offset
    records = _needed_versions(image, need, strings)
    newer = records.get(version.encode())
    if newer is None:
        return
    older = records[base.encode()]
    newer_mark, older_mark = (_NEED_VERSION.unpack_from(image, record)[2] for record in (newer, older))
    for i in range(symbols.size // _SYMBOL.size):
        if struct.unpack_from("<H", image, marks.offset + 2 * i)[0] != newer_mark:
            continue
        at = symbols.offset + i * _SYMBOL.size
        name = struct.unpack_from("<I", image, at)[0]
        called = _text(image, strings + name)
        if called.removeprefix(C23_PREFIX) not in PARSERS:
            raise BadInput(f"{path}: needs {called.decode()} of {version}, which the C library here lacks")
        struct.pack_into("<I", image, at, name + len(C23_PREFIX))
        struct.pack_into("<H", image, marks.offset + 2 * i, older_mark)
    identity = _NEED_VERSION.unpack_from(image, older)
    kept = _NEED_VERSION.unpack_from(image, newer)
    _NEED_VERSION.pack_into(image, newer, identity[0], identity[1], newer_mark, identity[3], kept[4])
    path.write_bytes(image)
