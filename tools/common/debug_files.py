"""Separate debug files: by build id, by .gnu_debuglink, or in debuginfod's cache, where gdb looks too."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from heapsmith.model.trace.elf import build_id

DEBUG = Path("/usr/lib/debug")
_BLOCK = 1 << 20


def debug_file(path: str, build: str | None) -> str | None:
    """The separate file with symbols and DWARF of a file with this build id; None if there is none here.

    A file named by the build id must have that build id, one named by .gnu_debuglink its checksum.
    """
    for candidate in _by_build_id(build) if build else ():
        if build_id(str(candidate)) == build:
            return str(candidate)
    name, checksum = _link(path)
    for candidate in _by_link(Path(path), name) if name else ():
        if _crc32(candidate) == checksum:
            return str(candidate)
    return None


def _by_build_id(build: str) -> Iterator[Path]:
    yield DEBUG / ".build-id" / build[:2] / f"{build[2:]}.debug"
    for cache in _debuginfod_caches():
        yield cache / build / "debuginfo"


def _debuginfod_caches() -> Iterator[Path]:
    """Where debuginfod's client keeps files (debuginfod_find_debuginfo(3))."""
    if named := os.environ.get("DEBUGINFOD_CACHE_PATH"):
        yield Path(named)
        return
    home = Path(os.environ.get("HOME", "/"))
    yield Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "debuginfod_client"
    yield home / ".debuginfod_client_cache"


def _by_link(path: Path, name: str) -> Iterator[Path]:
    """Where gdb looks for the file that a link names."""
    folder = path.resolve().parent
    yield from (folder / name, folder / ".debug" / name, DEBUG / str(folder).lstrip("/") / name)


def _link(path: str) -> tuple[str | None, int]:
    """The name and the CRC-32 in a file's .gnu_debuglink; None without one."""
    try:
        with open(path, "rb") as file:
            section = ELFFile(file).get_section_by_name(".gnu_debuglink")
            data = section.data() if section else b""
    except (OSError, ELFError, ValueError):
        return None, 0
    name = data.partition(b"\0")[0]
    return (os.fsdecode(name) if name and b"/" not in name else None), int.from_bytes(data[-4:], "little")


def _crc32(path: Path) -> int | None:
    """The CRC-32 of a file; None if it cannot be read."""
    crc = 0
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                crc = zlib.crc32(block, crc)
    except OSError:
        return None
    return crc
