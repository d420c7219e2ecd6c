"""Servers under a design against glibc's malloc: processor time and memory of the recipes' services.

python -m heapsmith.bench.studies.services [--rounds N] [--only NAME] [-o FILE] [--json]; --page writes the table of
services.json beside this file into docs/lab/costs.md.

Root measures with --everywhere, because two of the servers run as another user. The services are those of
bench/programs/services.py.
"""

import os
import re
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Json, Only, Out, Part, Put, settle, tell
from heapsmith.bench.programs.services import SERVICES, lacking, place
from heapsmith.model.errors import Missing
from heapsmith.model.files import scratch
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.common.tables import Words
from heapsmith.tools.compare.measure import Given, measure
from heapsmith.tools.peers.peers import GLIBC

PART = Part(Path(__file__), LAB / "costs.md")


class Row(msgspec.Struct, frozen=True):
    """A service under the design; the ratios are to glibc's malloc, round by round."""

    service: str
    cpu: Ratio
    peak: Ratio
    average: Ratio


class Report(msgspec.Struct, frozen=True):
    """All services, and what they were measured with.

    jvm_malloc_bytes, jvm_heap_bytes: what the JVM itself said at the end of the last run, of malloc and its heap.
    """

    date: str
    commit: str
    processors: int
    design: str
    rounds: int
    rows: list[Row]
    jvm_malloc_bytes: int
    jvm_heap_bytes: int


def report(names: list[str], design: str, rounds: int) -> Report:
    """Measure the services. Raises Missing where one is not installed, and else as `measure` does."""
    if absent := [one for name in names for one in lacking(name, os.environ["PATH"])]:
        raise Missing(f"not installed: {', '.join(absent)}")
    rows, malloc, heap = [], 0, 0
    with scratch() as folder:
        for name in names:
            place(name, folder / name)
            command = ["env", "-C", str(folder / name), "bash", "-eu", "job.sh", SERVICES[name].plain]
            given = Given(everywhere=os.geteuid() == 0)
            found = measure(command, [GLIBC, design], stop=Stop(rounds), given=given, must_succeed=True)
            of = found.rows[-1].ratios
            rows.append(Row(name, of.cpu, of.peak_rss, of.average_rss))
        if (log := folder / "jvm" / "native.log").exists():
            malloc, heap = memory(log.read_text())
    return Report(today(), commit(), os.cpu_count() or 1, design, rounds, rows, malloc, heap)


def memory(log: str) -> tuple[int, int]:
    """What the JVM's native memory tracking says of malloc, and of the resident Java heap."""
    malloc, heap = re.search(r"malloc: (\d+)", log), re.search(r"Java Heap \(reserved=\d+, committed=(\d+)", log)
    if not malloc or not heap:
        raise Missing("java: expected one that tracks native memory (-XX:+PrintNMTStatistics)")
    return int(malloc[1]), int(heap[1])


def table(of: Report) -> Words:
    """A row for each service."""
    columns = ["service", "CPU", "peak RSS", "average RSS"]
    cells = [[row.service, row.cpu.words(), row.peak.words(), row.average.words()] for row in of.rows]
    return Words("", columns, cells)


def made(of: Report) -> list[str]:
    """The part of the page that is made of this report."""
    said = f"Of {of.date}, commit {of.commit}, {of.rounds} rounds of `{of.design}` on {of.processors} processors."
    return [said, untitled(table(of))]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds.")] = 7,
    design: Annotated[str, typer.Option(help="A design or library.")] = "default",
    only: Only = None,
    out: Out = None,
    json: Json = False,
    page: Put = False,
) -> int:
    """Measure the recipes' services under a design and under glibc's malloc."""
    if page:
        return settle(PART, made(PART.read(Report)), page)
    found = report(only or list(SERVICES), design, rounds)
    return tell(found, [table(found)], json, out)


if __name__ == "__main__":
    exit_with(main)
