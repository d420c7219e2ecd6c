"""Peaks of mallocs with settings that services often have: a table of docs/lab/bench.md, made of benchmark runs.

python -m heapsmith.bench.studies.as_set [FILE...] takes the peaks of files of `run -o` into as_set.json and writes the
table; without a file it writes the table of what is there.
"""

from pathlib import Path
from statistics import geometric_mean
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Check, Part
from heapsmith.model.files import write_json
from heapsmith.tools.common.tables import Words
from heapsmith.tools.peers.peers import GLIBC

PART = Part(Path(__file__), LAB / "bench.md")
COLUMNS = ("glibc-two-arenas", "jemalloc", "jemalloc-deployed")


class Peaks(msgspec.Struct, frozen=True):
    """A row: its threads, glibc's peak, and the ratios of the other columns to it, medians of some rounds."""

    row: str
    threads: int
    glibc_bytes: int
    rounds: int
    ratios: dict[str, float]


class Data(msgspec.Struct, frozen=True):
    """When the rows were measured, and of which commit."""

    date: str
    commit: str
    rows: list[Peaks]


def taken(files: list[Path]) -> list[Peaks]:
    """The peaks of the rows of some runs of the benchmark."""
    found = []
    for file in files:
        for row in msgspec.json.decode(file.read_bytes())["rows"]:
            cells = {cell["column"]: cell for cell in row["cells"] if cell["peak_rss_bytes"]}
            if {GLIBC, *COLUMNS} <= cells.keys():
                ratios = {name: round(cells[name]["rss_to_glibc"]["median"], 3) for name in COLUMNS}
                peak = int(cells[GLIBC]["peak_rss_bytes"]["median"])
                found.append(Peaks(row["name"], row["threads"], peak, row["rounds"], ratios))
    return found


def table(of: Data) -> Words:
    """A line for each row, and the geometric means."""
    lines = [
        [f"`{one.row}`", f"{one.glibc_bytes / 2**20:.1f} MiB", *(f"{one.ratios[name]:.2f}" for name in COLUMNS)]
        for one in of.rows
    ]
    means = [geometric_mean(one.ratios[name] for one in of.rows) for name in COLUMNS]
    lines.append(["geometric mean", "", *(f"{mean:.2f}" for mean in means)])
    return Words("peaks", ("<row", "glibc", *COLUMNS), lines)


def made(of: Data) -> list[str]:
    """The part of the page."""
    said = f"Of {of.date}, commit {of.commit}, medians of {min(one.rounds for one in of.rows)} rounds."
    return [said, untitled(table(of))]


def main(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", exists=True, dir_okay=False)] = None,
    check: Check = False,
) -> int:
    """Take the peaks of runs, if any are given, and write the table."""
    if files:
        write_json(PART.data, Data(today(), commit(), taken(files)))
    PART.put(made(PART.read(Data)), check)
    return 0


if __name__ == "__main__":
    exit_with(main)
