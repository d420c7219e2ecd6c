"""A command under a library that takes samples: looks at its processes while it runs, and what they write at exit."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import scratch
from heapsmith.tools.common.elf import defines
from heapsmith.tools.common.foreground import run_foreground
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.preload_everywhere import preloading
from heapsmith.tools.common.process_memory import Gone, ProcessMemory
from heapsmith.tools.common.program_start import Start, Stream
from heapsmith.tools.peers.peers import find_library, names, require_malloc_of
from heapsmith.tools.sampled.process import UNSAMPLED, live_bytes, place_of, snapshot
from heapsmith.tools.sampled.snapshot import Snapshot, read
from heapsmith.tools.top.process import family, image

STEP_S = 0.02
"""Between two looks at the live bytes of a command."""
OF_SAMPLES = "hs_profile_dump"
"""What a library defines that takes samples, and no other does."""
MORE = 1.02
"""A look keeps the samples where this many times the bytes of the look before are live."""


class Ran(NamedTuple):
    """How a command ended, and its processes that took samples, first the one that asked for most bytes.

    With none that took one: a process with sampling on, or if all have it off, one of those; empty if none was seen.
    """

    status: int
    processes: list["Seen"]


class Seen(NamedTuple):
    """A process: its samples where most bytes were live, with the sites of its end; and two looks, if asked for."""

    most: Snapshot
    window: tuple[Snapshot, Snapshot] | None

    @property
    def allocated(self) -> float:
        """About how many bytes it asked for."""
        return float(self.most.sites["allocated"]["bytes"].sum())


class _Looks:
    """What the looks at one process found."""

    def __init__(self) -> None:
        self._begin(b"")

    def _begin(self, image: bytes) -> None:
        """With another program of the process, exec(2) began it anew."""
        self._image = image
        self.most: Snapshot | None = None
        self.most_bytes = 0.0
        self.first: Snapshot | None = None
        self.last: Snapshot | None = None

    def look(self, pid: int, seconds: float | None) -> None:
        """Look at a process, which may have no library, or none yet."""
        with suppress(Gone, Missing, BadInput, KeyError), ProcessMemory(pid) as memory:
            if (now_there := image(pid)) != self._image:
                self._begin(now_there)
            place = place_of(pid, memory)
            if place is None:
                return
            due = seconds is not None and self.first is not None and self.last is None
            if seconds is not None and self.first is None:
                self.first = snapshot(pid, memory, place)
            elif due and _seconds_since(self.first) >= (seconds or 0):
                self.last = snapshot(pid, memory, place)
            if (now := live_bytes(memory, place)) > MORE * self.most_bytes or self.most is None:
                self.most, self.most_bytes = snapshot(pid, memory, place), now


def _seconds_since(moment: Snapshot | None) -> float:
    return (time.monotonic_ns() - moment.time_ns) / 1e9 if moment else 0.0


def run(command: list[str], lib: str, *, mean: int | None, seconds: float | None, stdout: Stream = None) -> Ran:
    """Run a command in the foreground under a library that takes samples.

    BadInput, before it runs, for what cannot be run or preloaded, and for a library that takes no samples.
    """
    library = find_library(lib)
    if library.path is None or not defines(library.path, OF_SAMPLES):
        raise BadInput(f"--lib {library.name}: {UNSAMPLED}")
    looks: dict[int, _Looks] = {}
    with scratch() as folder:
        start = Start(
            command,
            find_program(command, libraries=[library.path]),
            None,
            {"HEAPSMITH": _options(folder, mean)},
        )
        require_malloc_of(library)
        with preloading(start, names(library)) as (whole, _), _looking(looks, seconds):
            status = run_foreground(whole, stdout=stdout).status
        dumps = [read(file) for file in sorted(folder.glob("*.heap"))]
    return Ran(status, sorted(_seen(dumps, looks), key=lambda one: -one.allocated))


def _options(folder: Path, mean: int | None) -> str:
    """The options of HEAPSMITH: those of this process, and ours."""
    if "," in str(folder):
        raise Missing(f"{folder}: HEAPSMITH takes no file with a comma in its name; expected another TMPDIR")
    own = [] if mean is None else [f"sample={mean}"]
    return ",".join([*filter(None, [os.environ.get("HEAPSMITH", "")]), *own, f"profile={folder}/%p.heap"])


@contextmanager
def _looking(looks: dict[int, _Looks], seconds: float | None) -> Iterator[None]:
    """Look at the descendants of this process until the command ends."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(STEP_S):
            for one in family({os.getpid()}):
                if one.pid != os.getpid():
                    looks.setdefault(one.pid, _Looks()).look(one.pid, seconds)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _seen(dumps: list[Snapshot], looks: dict[int, _Looks]) -> list[Seen]:
    """The processes, by what they wrote at exit and by the looks."""
    ends = {one.pid: one for one in dumps}
    found = []
    for pid in dict.fromkeys([*ends, *looks]):
        at_end, of = ends.get(pid), looks.get(pid, _Looks())
        most = of.most if of.most and of.most.taken else None
        if at_end and most and _goes_on(most, at_end):
            with_ends = most._replace(sites=at_end.sites, taken=at_end.taken, dropped=at_end.dropped)
            most = with_ends if _live(most) >= _live(at_end) else at_end
        if chosen := most or at_end:
            last = of.last or at_end
            found.append(Seen(chosen, (of.first, last) if of.first and last else None))
    return [one for one in found if one.most.taken] or sorted(found, key=lambda one: not one.most.mean_bytes)[:1]


def _goes_on(earlier: Snapshot, later: Snapshot) -> bool:
    """Whether the sites of a look are those of a later one, and not of another program in the same process."""
    of, same = earlier.sites, later.sites[: len(earlier.sites)]
    return len(same) == len(of) and np.array_equal(same["frame"], of["frame"])


def _live(of: Snapshot) -> float:
    return float(of.sites["live_bytes"].sum())
