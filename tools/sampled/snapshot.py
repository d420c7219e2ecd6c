"""A snapshot of a process's samples: the tables of runtime/heap/9_api/sampling/samples.h at one moment."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.errors import BadInput
from heapsmith.tools.record.spool_stacks import Mapping

FRAMES = 32
SAMPLE = np.dtype(
    [(name, "<u8") for name in ("block", "bytes", "mean", "time_ns", "number")] + [("site", "<u4"), ("thread", "<u4")]
)
ESTIMATE = np.dtype([(name, "<f8") for name in ("blocks", "bytes", "blocks_variance", "bytes_variance")])
SITE = np.dtype(
    [
        ("allocated", ESTIMATE),
        ("live_blocks", "<f8"),
        ("live_bytes", "<f8"),
        ("samples", "<u8"),
        ("sampled_bytes", "<u8"),
        ("depth", "<u8"),
        ("frame", "<u8", FRAMES),
    ]
)
"""The records of the C, field by field."""

MAGIC = b"heap profile:"
OURS = "# heapsmith profile 1"
SECTION = "MAPPED_LIBRARIES:"

Rows = npt.NDArray[Any]


class Snapshot(NamedTuple):
    """The samples of a process at a moment (CLOCK_MONOTONIC).

    mean_bytes: between two samples, at the last one, and before the first as it is set; 0: none was taken, and none is
    to be taken, so that nothing is known. taken: samples since the start. dropped: those
    of them that no table of live samples had room for; unsited: those whose call stack had none. samples: of the live
    blocks. sites: all call stacks by number, of which 0 stands for those without room. is_on: whether further samples
    are to be taken, where that is known.
    """

    pid: int
    design: str
    time_ns: int
    mean_bytes: int
    taken: int
    dropped: int
    unsited: int
    samples: Rows
    sites: Rows
    maps: str
    is_on: bool = True

    def mappings(self) -> list[Mapping]:
        """The mappings of code at that moment."""
        return list(mappings_of(self.maps))

    @property
    def largest_mean(self) -> int:
        """The most bytes between two samples, of any live sample or now."""
        return max(self.mean_bytes, int(self.samples["mean"].max(initial=1)))


def mappings_of(maps: str) -> Iterator[Mapping]:
    """The executable lines of /proc/PID/maps (proc(5))."""
    for line in maps.splitlines():
        words = line.split(maxsplit=5)
        if len(words) >= 5 and "x" in words[1]:
            start, _, end = words[0].partition("-")
            path = words[5] if len(words) > 5 else ""
            yield Mapping(int(start, 16), int(end, 16), int(words[2], 16), path if path.startswith("/") else "")


def is_profile(file: Path) -> bool:
    """Whether there is a file that begins as a profile."""
    try:
        with file.open("rb") as content:
            return content.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(file: Path) -> Snapshot:
    """The snapshot of a file; BadInput for one that no library wrote."""
    return parsed(file.read_text(errors="replace"), str(file))


def parsed(text: str, name: str) -> Snapshot:
    """The snapshot of a profile that a library wrote; BadInput, which names the file, for any other text."""
    head, whole, maps = text.partition(f"{SECTION}\n")
    lines = head.splitlines()
    if len(lines) < 2 or not lines[0].startswith(MAGIC.decode()) or lines[1] != OURS:
        raise BadInput(f"{name}: no profile of a heapsmith library; expected what HEAPSMITH=profile=FILE writes")
    said, samples, sites = dict[str, str](), list[tuple[int, ...]](), dict[int, Rows]()
    try:
        for number, line in enumerate(lines[2:], 2):
            kind, *words = line.removeprefix("# ").split()
            if not line.startswith("#"):
                continue
            if kind == "sample":
                count, site, size, mean, time_ns, thread = map(int, words[:6])
                samples.append((int(words[6], 16), size, mean, time_ns, count, site, thread))
            elif kind == "site":
                sites[int(words[0])] = _site(words, lines[number + 1])
            else:
                said[kind] = " ".join(words)
        numbers = (int(said[one]) for one in ("pid", "time_ns", "mean", "taken", "dropped", "unsited"))
        pid, time_ns, mean, taken, dropped, unsited = numbers
        every = np.zeros(1 + max(sites, default=0), SITE)
        for number, row in sites.items():
            every[number] = row
        live = np.array(samples, SAMPLE)
        if not whole or not {sample[5] for sample in samples} <= {0, *sites}:
            raise ValueError
    except (KeyError, ValueError, IndexError, OverflowError):
        raise BadInput(f"{name}: a damaged profile; expected what HEAPSMITH=profile=FILE writes") from None
    return Snapshot(pid, said["design"], time_ns, mean, taken, dropped, unsited, live, every, maps)


def _site(words: list[str], line: str) -> Rows:
    """A site of its own line and the one below, which has the figures that pprof reads."""
    row = np.zeros((), SITE)
    row["samples"], row["sampled_bytes"] = int(words[1]), int(words[2])
    row["allocated"] = tuple(map(float, words[3:7]))
    figures, _, addresses = line.partition("@")
    live = figures.partition("[")[0].split(":")
    row["live_blocks"], row["live_bytes"] = int(live[0]), int(live[1])
    frames = [int(address, 16) for address in addresses.split()]
    row["depth"] = len(frames)
    row["frame"][: len(frames)] = frames
    return row
