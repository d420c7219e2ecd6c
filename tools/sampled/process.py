"""The samples of a running process, read from outside without stopping it (runtime/heap/9_api/sampling/profile.h)."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heapsmith.model.errors import BadInput, Missing
from heapsmith.tools.common.process_memory import Gone, Memory, ProcessMemory, table, views
from heapsmith.tools.sampled.snapshot import SAMPLE, SITE, Snapshot

TRIES = 200
"""Readings of tables that change meanwhile, before it is said that they change too fast."""
HEAD = np.dtype(
    [(name, "<u8") for name in ("changes", "tables", "sites", "taken", "live", "dropped", "unsited", "mean")]
    + [("live_bytes", "<f8")]
)
"""struct samples."""
ENDED = "no such process, or it ended meanwhile"
UNSAMPLED = "takes no samples; expected a design with [sampling], such as by: heapsmith profile -- CMD"


class Place(NamedTuple):
    """Where a process has its samples: the view of its library."""

    at: dict[str, int]
    design: str


def place_of(of: int | Path, memory: Memory) -> Place | None:
    """The library that takes samples in a process, or in a core file; of several the one that took most; None if none.

    BadInput where the library has tables of another layout.
    """
    found = [at for at in (table(memory, view) for view in views(memory)) if "samples" in at]
    if not found:
        return None
    at = max(found, key=lambda at: int(_head(memory, at)["taken"]))
    if (at["sample_bytes"], at["site_bytes"], at["samples_bytes"]) != (SAMPLE.itemsize, SITE.itemsize, HEAD.itemsize):
        name = of if isinstance(of, Path) else f"process {of}"
        raise BadInput(f"{name}: its library is of another version of heapsmith; expected this one's")
    return Place(at, memory.text(at["design"]))


def required_place(pid: int, memory: Memory) -> Place:
    """As place_of. BadInput if the process takes no samples; Gone if it has ended."""
    place = place_of(pid, memory)
    if place is None:
        raise BadInput(f"process {pid} {UNSAMPLED}") if any(memory.objects()) else Gone(f"process {pid}")
    return place


def live_bytes(memory: Memory, place: Place) -> float:
    """About how many bytes are live: an estimate of the samples of now."""
    return float(_head(memory, place.at)["live_bytes"])


def snapshot(pid: int, memory: Memory, place: Place) -> Snapshot:
    """The samples of now. Gone if the process ends; Missing if its tables never stand still."""
    for _ in range(TRIES):
        head = _head(memory, place.at)
        found = _tables(memory, place.at, head)
        if head["changes"] % 2 == 0 and int(_head(memory, place.at)["changes"]) == int(head["changes"]):
            now, mean = _taken(pid, place, head, found, _maps(pid)), _mean_set(memory, place.at)
            return now._replace(mean_bytes=now.mean_bytes if now.taken else mean, is_on=mean > 0)
        time.sleep(0.001)
    raise Missing(f"process {pid}: its samples change too fast to be read; expected a larger mean: --mean BYTES")


def at_the_end(memory: Memory, place: Place, maps: str) -> Snapshot:
    """The samples in a core file, as they are: a thread may have been in the midst of a change.

    maps: what the program had mapped, as /proc/PID/maps says it. Gone if the file lacks them.
    """
    head = _head(memory, place.at)
    return _taken(0, place, head, _tables(memory, place.at, head), maps)


def _taken(pid: int, place: Place, head: np.void, found: tuple["np.ndarray", "np.ndarray"], maps: str) -> Snapshot:
    mean, taken, dropped, unsited = (int(head[name]) for name in ("mean", "taken", "dropped", "unsited"))
    return Snapshot(pid, place.design, time.monotonic_ns(), mean, taken, dropped, unsited, *found, maps)


def sites_so_far(pid: int, memory: Memory, place: Place) -> Snapshot:
    """The call stacks without samples, and without the last one, which may be half written; others never change."""
    _, sites = _tables(memory, place.at, _head(memory, place.at))
    return Snapshot(pid, place.design, time.monotonic_ns(), 0, 0, 0, 0, np.zeros(0, SAMPLE), sites[:-1], _maps(pid))


def of_process(pid: int) -> Snapshot:
    """The samples of a process. BadInput if it does not exist or takes none, Missing if it may not be read."""
    try:
        with ProcessMemory(pid) as memory:
            return snapshot(pid, memory, required_place(pid, memory))
    except Gone:
        raise BadInput(f"{pid}: {ENDED}") from None


def of_thread(of: Snapshot, thread: int) -> Snapshot:
    """The same with the live samples of one thread (gettid(2))."""
    return of._replace(samples=of.samples[of.samples["thread"] == thread])


def _head(memory: Memory, at: dict[str, int]) -> np.void:
    return np.void(np.frombuffer(memory.read(at["samples"], HEAD.itemsize), HEAD)[0])


def _mean_set(memory: Memory, at: dict[str, int]) -> int:
    """Bytes between two samples that are to come; 0: none are to come, or an earlier library does not tell."""
    return memory.word(at["sample_mean"]) if "sample_mean" in at else 0


def _tables(memory: Memory, at: dict[str, int], head: np.void) -> tuple["np.ndarray", "np.ndarray"]:
    """The live samples and the sites; they are right if nothing changed meanwhile."""
    if not head["tables"]:
        return np.zeros(0, SAMPLE), np.zeros(1, SITE)
    first, places = int(head["tables"]), at["SAMPLE_PLACES"]
    samples = np.frombuffer(memory.read(first, places * SAMPLE.itemsize), SAMPLE)
    used = min(int(head["sites"]), at["MOST_SITES"])
    sites = np.frombuffer(memory.read(first + places * SAMPLE.itemsize, used * SITE.itemsize), SITE)
    return samples[samples["block"] != 0], sites


def _maps(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError as error:
        raise Gone(str(error)) from None
