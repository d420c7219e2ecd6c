"""Processes below another one: to find them all, and to end them all."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import msgspec

_MOST_TRIES = 1000


class Running(msgspec.Struct, frozen=True):
    """A process that is still running."""

    pid: int
    name: str  # as ps(1) shows it


def children(pid: int) -> list[int]:
    """The processes that the threads of a process have made and not waited for; none of one that is gone."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split())
    return found


def descendants(pid: int) -> list[int]:
    """All processes below a process."""
    found = children(pid)
    for one in found:
        found += children(one)
    return found


def end_below(pid: int) -> None:
    """Kill all processes below a process, which stops first: as long as it is there, none escapes to another parent."""
    with suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
    for _ in range(_MOST_TRIES):
        alive = [one for one in descendants(pid) if not _has_ended(one)]
        if not alive:
            return
        for one in alive:
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True
