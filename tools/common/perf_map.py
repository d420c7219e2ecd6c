"""Maps of code that a program generated while it ran (/tmp/perf-PID.map): names for addresses without a file."""

import os
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

FOLDER = Path("/tmp")
"""Where programs that generate code write their maps, for perf(1)."""


class Generated(msgspec.Struct, frozen=True, array_like=True):
    """A function of generated code."""

    start: int
    bytes: int
    name: str


def generated_code(pid: int, addresses: Iterable[int], since: float, folder: Path = FOLDER) -> list[Generated]:
    """The functions of the map of a process of this user that cover these addresses; none if it has no map.

    since: when the process began at the earliest; an older map is that of another process with its
    number. Of several functions at an address the last one counts, because a map is only added to.
    """
    try:
        with open(folder / f"perf-{pid}.map", "rb") as file:
            about = os.fstat(file.fileno())
            is_own = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
            if not is_own or about.st_mtime < int(since):
                return []
            latest = {one.start: one for one in _functions(file)}
    except OSError:
        return []
    functions = sorted(latest.values(), key=lambda one: one.start)
    found = (covering(functions, address) for address in addresses)
    return sorted({one for one in found if one}, key=lambda one: one.start)


def covering(functions: list[Generated], address: int) -> Generated | None:
    """The function that covers an address, of functions by ascending start."""
    at = bisect_right(functions, address, key=lambda one: one.start) - 1
    return functions[at] if at >= 0 and address < functions[at].start + functions[at].bytes else None


def of_footer(value: object) -> list[Generated]:
    """The functions that a trace's footer has (`perf_map` of its extra); none for anything else."""
    try:
        return msgspec.convert(value, list[Generated])
    except msgspec.ValidationError:
        return []


def _functions(lines: Iterable[bytes]) -> Iterator[Generated]:
    """The functions of lines `start size name`, the numbers in hexadecimal digits; other lines are left out."""
    for line in lines:
        words = line.decode(errors="replace").rstrip("\n").split(" ", 2)
        try:
            start, size = int(words[0], 16), int(words[1], 16)
        except (ValueError, IndexError):
            continue
        if len(words) == 3 and size > 0:
            yield Generated(start, size, words[2])
