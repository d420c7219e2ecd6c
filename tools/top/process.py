"""What the system says of processes (proc(5)): their families, programs, memory, threads and processor time."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from heapsmith.tools.common.process_memory import Gone

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Facts(NamedTuple):
    """A process now. started: in ticks since boot, so that a number that is used again is another process."""

    pid: int
    parent: int
    started: int
    ended: bool  # a zombie, or on its way
    threads: int
    processor_s: float
    rss_bytes: int


def facts(pid: int) -> Facts:
    """The facts of a process; Gone if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError as error:
        raise Gone(str(error)) from None
    words = text.rpartition(")")[2].split()  # from the third field on: the second may hold anything
    ended = words[0] in "ZX"
    return Facts(
        pid,
        int(words[1]),
        int(words[19]),
        ended,
        int(words[17]),
        (int(words[11]) + int(words[12])) * TICK_S,
        int(words[21]) * PAGE_BYTES,
    )


def command(pid: int) -> list[str]:
    """The words of a process's command line; none of one that has ended."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0 ")  # servers write their state there
    except OSError:
        return []
    return [word.decode(errors="replace") for word in raw.split(b"\0")] if raw else []


def image(pid: int) -> bytes:
    """What tells one program image of a process from the next, because exec(2) lays out its memory anew.

    Gone if it cannot be read.
    """
    try:
        return Path(f"/proc/{pid}/auxv").read_bytes()
    except OSError as error:
        raise Gone(str(error)) from None


def everyone() -> Iterator[Facts]:
    """All processes that this one sees."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                yield facts(int(name))
            except Gone:
                continue


def family(members: set[int]) -> list[Facts]:
    """These processes and all that descend from them, as far as they live."""
    alive = {one.pid: one for one in everyone() if not one.ended}
    found = {pid for pid in members if pid in alive}
    grown = True
    while grown:
        children = {one.pid for one in alive.values() if one.parent in found} - found
        found |= children
        grown = bool(children)
    return [alive[pid] for pid in sorted(found)]
