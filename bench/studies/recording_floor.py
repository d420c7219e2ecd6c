"""What the least recorder costs: a library that forwards malloc's family, and writes 8 bytes for each event.

python -m heapsmith.bench.studies.recording_floor [--out FILE] runs the programs of `recording` alone, under three such
libraries and under the recorder, by turns in random order; --page writes the table into docs/lab/recording.md.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Measure, Part, Put, settle
from heapsmith.bench.studies.recording import Job, jobs, spent_s
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.files import write_json
from heapsmith.tools.common.tables import Words
from heapsmith.tools.record.record import SPOOL_VARIABLE, build_recorder

PART = Part(Path(__file__), LAB / "recording.md")
SOURCE = Path(__file__).resolve().parents[1] / "programs" / "recorder_floor.c"
STEPS = ("forwards", "stores", "copies")
ROUNDS = 5


class Row(msgspec.Struct, frozen=True):
    """A program: processor time alone, and the ratios to it, medians of rounds, of each library."""

    program: str
    alone_s: float
    forwards: float
    stores: float
    copies: float
    recorded: float


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


def library(step: str) -> Path:
    """The least recorder that does this and what comes before."""
    flags = ["-O2", "-shared", "-fPIC", "-fno-builtin", f"-DSTEPS={STEPS.index(step)}"]
    return build_tool(f"recorder-floor-{step}.so", [SOURCE], flags)


def row(of: Job, folder: Path, rounds: int = ROUNDS) -> Row:
    """The times of a program."""
    libraries = {"alone": None, **{step: library(step) for step in STEPS}, "recorded": build_recorder()}
    found: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(rounds):
        for name in random.sample(list(libraries), len(libraries)):
            with TemporaryDirectory(dir=folder) as spool:
                added = {SPOOL_VARIABLE: spool, "FLOOR_FILE": f"{spool}/events"} if libraries[name] else {}
                preload = {"LD_PRELOAD": str(libraries[name])} if libraries[name] else {}
                found[name].append(spent_s(of.words, of.environment(**added, **preload)))
    ratios = {
        name: median(map(float.__truediv__, times, found["alone"])) for name, times in found.items() if name != "alone"
    }
    return Row(of.name, median(found["alone"]), **ratios)


def cells(rows: Sequence[Row]) -> list[list[str]]:
    """The table, with the medians of the programs last."""
    names = (*STEPS, "recorded")
    found = [[one.program, *(f"{getattr(one, name):.2f}x" for name in names)] for one in rows]
    return [*found, ["median", *(f"{median(getattr(one, name) for one in rows):.2f}x" for name in names)]]


def made(of: Report) -> list[str]:
    """The part of the page that is made of this report."""
    said = f"Measured on {of.date} at commit {of.commit}."
    columns = ["program", "forwards the calls", "and stores 8 bytes", "and copies windows", "the recorder"]
    return [said, untitled(Words("", columns, cells(of.rows)))]


def main(out: Measure = None, page: Put = False) -> int:
    """Measure, or take the committed figures, and write the page."""
    report = Report(today(), commit(), []) if out else PART.read(Report)
    if out:
        with TemporaryDirectory() as folder:
            for one in jobs(Path(folder) / "jobs"):
                report.rows.append(row(one, Path(folder)))
                write_json(out, report)
    return settle(PART, made(report), page)


if __name__ == "__main__":
    exit_with(main)
