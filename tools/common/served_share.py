"""Which part of a command's work a library served, and what to say where it did not."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from heapsmith.tools.common.other_memory import OtherMemory, is_other, largest

CHANGED = "it was started"
NOT_LOADED = "its loader could not read the library"
OTHER_RIGHTS = "it runs with other rights than its user's, so the loader ignores LD_PRELOAD"
OVERWRITTEN = "it has overwritten its environment, so it is not known why it started without the library"
NO_EVENT = (
    "no event of it was written: it allocated nothing, or is of a user who may not write beside the trace "
    "(root's --everywhere lets all users)"
)
OWN_MALLOC = "its executable has a malloc of its own, which no preloaded library replaces"
MATTERS = 0.1
"""The share of a command's processor time, or of memory beyond other processes, that is worth a line."""
MOST = 0.5
"""Where a larger share of the processor time was spent without the library, its figures say nothing."""
LEAST_BYTES = 1 << 20
HELP = "--everywhere of run, record and compare preloads to it too (as root)"


class Image(NamedTuple):
    """A program in a process. has: whether the library serves it; None: it ended before that was known.

    own_pid: as which it knows itself: in a namespace of its own (pid_namespaces(7)) not as which it is seen.
    anonymous: resident bytes at most, without pages of files and shared memory. beside: such bytes at one moment, and
    those that a generated library had of the system at most, (0, 0) if not known.
    """

    pid: int
    name: str
    cpu_s: float
    rss: int
    anonymous: int
    has: bool | None
    why: str
    own_pid: int = 0
    beside: tuple[int, int] = (0, 0)


class Apart(msgspec.Struct, frozen=True):
    """Processes of one program that the library did not serve, and why.

    cpu_share: of the processor time of all processes. largest: one of them was the largest process of all.
    """

    program: str
    pids: list[int]
    cpu_share: float
    peak_rss_bytes: int
    largest: bool
    why: str

    def sentence(self) -> str:
        """A line for the user."""
        count = f"pid {self.pids[0]}" if len(self.pids) == 1 else f"{len(self.pids)} processes"
        size = ", the largest process" if self.largest else ""
        return f"{self.program} ({count}, {self.cpu_share:.0%} of the CPU time{size}): {self.why}"


def apart(images: Sequence[Image]) -> list[Apart]:
    """The programs that matter and that the library did not serve, by processor time."""
    whole = sum(one.cpu_s for one in images) or 1.0
    served = max((one.rss for one in images if one.has is not False), default=0)
    of: dict[tuple[str, str], list[Image]] = defaultdict(list)
    for one in images:
        if one.has is False:
            of[one.name, one.why].append(one)
    largest = max((one.rss for one in images if one.has is False), default=0)
    found = []
    for (name, why), its in of.items():
        rss = max(one.rss for one in its)
        is_largest = rss == largest and rss > (1 + MATTERS) * served and rss > served + LEAST_BYTES
        share = sum(one.cpu_s for one in its) / whole
        found.append(Apart(name, list(dict.fromkeys(one.pid for one in its)), share, rss, is_largest, why))
    kept = [one for one in found if one.cpu_share > MATTERS or one.largest]
    return sorted(kept, key=lambda one: -one.cpu_share)


def beside_malloc(images: Sequence[Image]) -> list[OtherMemory]:
    """The programs that matter, that a generated library served, and of whose memory it gave little."""
    least = MATTERS * max((one.anonymous for one in images), default=0)
    served = (one for one in images if one.has and is_other(*one.beside) and one.beside[0] > least)
    return largest(OtherMemory(one.pid, one.name, *one.beside) for one in served)


def did_the_work(found: Sequence[Apart]) -> bool:
    """Whether figures of the command would be those of processes that the library did not serve."""
    return sum(one.cpu_share for one in found) > MOST or any(one.largest for one in found)


def helps(found: Sequence[Apart]) -> bool:
    """Whether HELP would reach one of them."""
    return any(one.why.startswith((CHANGED, NOT_LOADED, OTHER_RIGHTS, OVERWRITTEN)) for one in found)


def sentences(found: Sequence[Apart]) -> str:
    """All of them in one line, and what helps."""
    return "; ".join([*(one.sentence() for one in found), *[HELP] * helps(found)])
