"""Figures of benchmark rows without running them: shared by the benchmark's tests."""

from pathlib import Path

from heapsmith.bench.suite.columns import Column
from heapsmith.bench.suite.rows import Calls, Runner, Sample
from heapsmith.tools.common.call_times import Stamped
from heapsmith.tools.peers.peers import Library


def sample(cpu: int, wall: int, rss: int, output: str = "same") -> Sample:
    return Sample(wall, cpu, rss, rss // 2, output, 10)


ACROSS = [
    Column(Library("glibc", None, "2.36"), "peer"),
    *(Column(Library(name, Path(f"/{name}.so"), "1.0"), "peer") for name in ("quick", "lean", "third", "slow")),
    Column(Library("default", Path("/default.so"), "abc"), "library"),
    Column(Library("made", Path("/made.so")), "tuned", "another input"),
    Column(Library("stack", Path("/stack.so")), "ceiling"),
]


FIGURES = {
    "glibc": (800, 900, 100),
    "quick": (400, 410, 300),
    "lean": (420, 400, 120),
    "third": (440, 430, 200),
    "slow": (600, 500, 50),
    "default": (200, 300, 90),
    "made": (100, 205, 60),
    "stack": (50, 50, 50),
}


def nothing(_: Path) -> Runner:
    raise AssertionError


def calls_of(malloc: float, free: float) -> Calls:
    return Calls(*(Stamped(one, one, 3 * one, 9 * one, 100 * one, 20.0, 10.0) for one in (malloc, free)))
