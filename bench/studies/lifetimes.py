"""Memory of patterns of lifetimes against glibc's: peaks and averages, of designs and of mallocs that users have.

python -m heapsmith.bench.studies.lifetimes [--rounds N] [--lib NAME ...] [--check]

Runs bench/programs/lifetimes.c for each row under each malloc, in shuffled rounds, writes lifetimes.json beside this
file, and makes the table of docs/lab/bench.md of it. Averages are over a sample for each thousand calls, so no time
counts.
"""

import random
from pathlib import Path
from statistics import geometric_mean, median
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Check, Part
from heapsmith.bench.suite.rows import environment
from heapsmith.codegen.toolchain import build_tool, run_tool
from heapsmith.model.files import write_json
from heapsmith.tools.common.tables import Words
from heapsmith.tools.peers.peers import GLIBC, find_libraries, preload

SOURCE = Path(__file__).parent.parent / "programs" / "lifetimes.c"
PART = Part(Path(__file__), LAB / "bench.md")
ROWS = (
    "drift 20000 64 2000 30",
    "drift 5000 1000 20000 30",
    "drift 100000 32 400 10",
    "spikes 200 60 6 300000",
    "spikes 4096 60 6 300000",
    "spikes 30000 60 6 300000",
    "spikes 200 16 20 100000",
    "pinned 200000 50",
    "pinned 100000 8",
    "fifo 20000 16 1024 1000000",
    "fifo 2000 1024 30000 200000",
    "lru 30000000 1024 65536 60000 0",
    "lru 30000000 1024 65536 60000 1",
    "strings 20000 3000",
    "strings 400 400000",
    "temporaries 500000 4000000 500",
    "aligned 200 64 1048576 10000",
    "aligned 60 4096 8388608 2000",
    "pools 400",
    "churn 1000000",
    "churn 200000",
    "crowd 1000 40 16 1024 0",
    "crowd 64 2000 16 2048 0",
    "crowd 4 5000 16 1024 20",
    "crowd 2 500 1024 65536 20",
)
"""Kinds and numbers; the source says what they do."""


class Memory(msgspec.Struct, frozen=True):
    """What a row takes under a malloc, in KiB: medians of the rounds."""

    peak_kib: float
    average_kib: float


class Row(msgspec.Struct, frozen=True):
    """A row, by malloc."""

    row: str
    under: dict[str, Memory]


class Data(msgspec.Struct, frozen=True):
    """When and of which commit, in how many rounds."""

    date: str
    commit: str
    rounds: int
    rows: list[Row]


def once(row: str, preloaded: str) -> Memory:
    """A run of a row."""
    program = build_tool("lifetimes", [SOURCE], ["-O2", "-pthread"])
    given = environment() | ({"LD_PRELOAD": preloaded} if preloaded else {})
    words = ["env", "-i", *(f"{name}={value}" for name, value in given.items()), str(program), *row.split()]
    return msgspec.json.decode(run_tool(words, row), type=Memory)


def measured(names: list[str], rounds: int) -> Data:
    """All rows under all mallocs, in shuffled rounds."""
    libraries = find_libraries(names)
    runs = [(row, library) for row in ROWS for library in libraries]
    found: dict[tuple[str, str], list[Memory]] = {}
    draw = random.Random(1)
    for _ in range(rounds):
        for row, library in draw.sample(runs, len(runs)):
            done = once(row, preload(library, environment()) if library.path else "")
            found.setdefault((row, library.name), []).append(done)
    rows = [Row(row, {one.name: middle(found[row, one.name]) for one in libraries}) for row in ROWS]
    return Data(today(), commit(), rounds, rows)


def middle(runs: list[Memory]) -> Memory:
    """The medians of some runs."""
    return Memory(median(run.peak_kib for run in runs), median(run.average_kib for run in runs))


def made(of: Data) -> list[str]:
    """The part of the page: peak and average as parts of glibc's."""
    names = [name for name in of.rows[0].under if name != GLIBC]
    parts = {
        (one.row, name): (
            one.under[name].peak_kib / one.under[GLIBC].peak_kib,
            one.under[name].average_kib / one.under[GLIBC].average_kib,
        )
        for one in of.rows
        for name in names
    }
    lines = [
        [
            f"`{one.row}`",
            f"{one.under[GLIBC].peak_kib / 1024:.1f}, {one.under[GLIBC].average_kib / 1024:.1f} MiB",
            *("{:.2f}, {:.2f}".format(*parts[one.row, name]) for name in names),
        ]
        for one in of.rows
    ]
    means = ([[parts[one.row, name][side] for one in of.rows] for side in (0, 1)] for name in names)
    lines.append(
        ["geometric mean", "", *(", ".join(f"{geometric_mean(side):.3f}" for side in sides) for sides in means)]
    )
    rounds = f"medians of {of.rounds} rounds" if of.rounds > 1 else "one round"
    said = f"Of {of.date}, commit {of.commit}, {rounds}: peak, average."
    return [said, untitled(Words("", ("<row", GLIBC, *names), lines))]


def main(
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    lib: Annotated[list[str] | None, typer.Option("--lib", help="A design or malloc; repeat it.")] = None,
    check: Check = False,
) -> int:
    """Measure, and write the data and the table; with --check, fail where the page has another table."""
    if not check:
        write_json(PART.data, measured([GLIBC, *(lib or ["default"])], rounds))
    PART.put(made(PART.read(Data)), check)
    return 0


if __name__ == "__main__":
    exit_with(main)
