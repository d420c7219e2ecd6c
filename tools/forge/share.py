"""The share of a program's CPU time that malloc takes, sampled while the program runs."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.codegen.toolchain import Tool
from heapsmith.model.files import scratch
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.preload import for_all, preload
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.replay_tools import runtime_tool
from heapsmith.tools.common.rounds import Progress, Stop, interleaved
from heapsmith.tools.compare.measure import run_once
from heapsmith.tools.peers.peers import Library

VARIABLE = "HEAPSMITH_MALLOC_SHARE"
"""Names the file that the sampler writes to (`runtime/replay/malloc_share.c`)."""
LEAST = 100
"""Samples below which nothing is said of the share: none of 100 inside allows up to 3 % (95 %)."""
ENOUGH = 2000
"""Samples after which the share is known within 2 % of the program's CPU time (95 %)."""


class Samples(NamedTuple):
    """Samples of a program's CPU time, and how many of them were inside its malloc library."""

    all: int
    inside: int


class Share(msgspec.Struct, frozen=True):
    """`samples` of the program's CPU time under `library`, `inside` of them in that library's code.

    `cpu_to_glibc`: the program's CPU time under the library, to that under glibc.
    """

    library: str
    samples: int
    inside: int
    cpu_to_glibc: float

    @property
    def part(self) -> float:
        """The share of malloc under the library, from 0 to 1; 0 without samples."""
        return self.inside / self.samples if self.samples else 0.0

    @property
    def most(self) -> float:
        """The share of the CPU time under glibc that a malloc of no cost would save; at least 0."""
        return max(0.0, 1 - (1 - self.part) * self.cpu_to_glibc)

    def sentence(self) -> str:
        """What to expect of any malloc at most."""
        if self.samples < LEAST:
            few = f"{self.samples} of the {LEAST} samples that say something"
            return f"The share of malloc in the program's CPU time is unknown: there are {few}."
        return (
            f"malloc takes about {self.part:.0%} of the program's CPU time under {self.library} and {self.most:.0%} "
            "under glibc, with the cache misses that it causes. That is about the most that another malloc can save; "
            "system calls and the first touches of pages are not in it."
        )


def sampler_tool() -> Tool:
    """The sampler, which looks where a process is."""
    return runtime_tool("malloc-share.so", "malloc_share.c", flags=("-shared", "-fPIC"))


def malloc_share(command: list[str], library: Path, to_glibc: Ratio, stop: Stop, progress: Progress) -> Share:
    """Run the command under the library with a sampler, until there are ENOUGH samples.

    A run that exceeds `stop.run_limit_s` raises CheckFailed.
    Processes that end without their destructors (_exit, a signal) are not among the samples.
    """
    sampler = for_all(sampler_tool().ready()).word
    start, preloaded = Start(command, find_program(command)), Library(library.name, library)
    with scratch() as folder:
        listing = folder / "samples"
        listing.touch()
        added = {"LD_PRELOAD": preload([sampler], start.variables()), VARIABLE: str(listing)}
        until = stop._replace(enough=lambda _: _read(listing).all >= ENOUGH)
        run = partial(run_once, start._replace(added=added), preloaded, folder, limit_s=stop.run_limit_s)
        interleaved("malloc's share", [library.name], until, lambda _: run(), progress)
        found = _read(listing)
    return Share(library.name, found.all, found.inside, to_glibc.median)


def _read(listing: Path) -> Samples:
    """The sum over all processes."""
    rows = [tuple(map(int, line.split())) for line in listing.read_text().splitlines()]
    return Samples(sum(row[0] for row in rows), sum(row[1] for row in rows))
