"""What samples cost: instructions, CPU time and peak RSS of programs under a design that takes them, to one without.

python -m heapsmith.bench.studies.sampling_cost [--out FILE] measures, and writes the file after each program; rows of
other programs in it stay. --page writes the table of the file into docs/lab/sampling.md.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Measure, Only, Part, Put, settle
from heapsmith.bench.programs.instructions import events
from heapsmith.bench.programs.programs import Program, programs
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import Missing
from heapsmith.model.files import write_json
from heapsmith.tools.common.elf import loader
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.common.tables import Words
from heapsmith.tools.compare.measure import measure

PART = Part(Path(__file__), LAB / "sampling.md")
NAMES = ("perl", "python", "lua", "jq", "gawk", "php", "xmllint", "sqlite3")
BASE = "default"
ARMS: dict[str, dict[str, Any]] = {
    "off": {"kind": "ready"},
    "countdown": {"kind": "countdown"},
    "ready": {"kind": "ready", "on": True},
}
"""Off shows what chance does: the library has samples, which are off, and its hot paths are those of the base."""
COUNTED = "countdown"
"""The arm whose samples are counted."""
PARTS = ("hs_call_stack", "hs_sample_taken", "hs_sample_freed", "sample_interval")
"""The functions of a sample, none of which calls another: first its walk of the stack."""
SAMPLED_MEAN = 1 << 14
"""For samples enough in a short run."""
ROUNDS = 15
SCALE = 0.25
"""The inputs of the runs whose instructions are counted, in parts of those whose time is."""


class Row(msgspec.Struct, frozen=True):
    """A program under the design with samples, to the design without: medians of rounds, with 95 % intervals."""

    program: str
    arm: str
    instructions: float
    cpu: Ratio
    peak: Ratio
    rounds: int
    commit: str
    date: str


class Samples(msgspec.Struct, frozen=True):
    """How many samples a program takes, and the instructions of one: all but its run of pages, and its walk alone."""

    program: str
    samples: int
    each: int
    walk: int
    commit: str
    date: str


class Report(msgspec.Struct, frozen=True):
    """All rows, and the samples of some programs."""

    rows: list[Row]
    samples: list[Samples] = []


def arms() -> list[Design]:
    """The design without samples, and that of each arm."""
    base = load(BASE)
    return [base, *(changed(base, f"{BASE}-{arm}", {"sampling": fields}) for arm, fields in ARMS.items())]


def instructions(program: Program, library: Path, *options: str) -> int:
    """Those of a run of the program, whose command is a program or env(1) with variables and a program.

    options: of callgrind.
    """
    words = list(program.command)
    if words[0] == "env":
        first = next(at for at, word in enumerate(words[1:], 1) if "=" not in word)
        os.environ |= dict(word.split("=", 1) for word in words[1:first])
        words = words[first:]
    found = Path(shutil.which(words[0]) or words[0]).resolve()
    if not loader(found):
        raise Missing(f"{found}: no program that a loader starts; expected one first on PATH")
    return int(events(library, found, *words[1:], options=options)[0])


def counted(program: Program, library: Path, functions: Sequence[str], counter: str) -> tuple[int, int]:
    """A counter of the library after a run of the program with many samples, and the instructions of some functions,
    none of which calls another of them.
    """
    with TemporaryDirectory() as folder:
        stats = Path(folder) / "stats"
        os.environ["HEAPSMITH"] = f"stats={stats},sample={SAMPLED_MEAN}"
        spent = instructions(program, library, *map("--toggle-collect={}".format, functions))
        del os.environ["HEAPSMITH"]
        return int(msgspec.json.decode(stats.read_bytes())["counters"][counter]), spent


def taken(program: Program, library: Path) -> Samples:
    """The samples of a run of the program."""
    (count, each), (_, walk) = (counted(program, library, of, "sampled") for of in (PARTS, PARTS[:1]))
    return Samples(program.name, count, round(each / count), round(walk / count), commit(), today())


def rows(program: Program, smaller: Program, designs: Sequence[Design], rounds: int) -> Iterator[Row]:
    """The rows of a program, one for each design but the first; smaller: with inputs for counting instructions."""
    libraries = [library_of(design) for design in designs]
    table = measure(program.command, [str(library) for library in libraries], stop=Stop(rounds), must_succeed=True)
    base, *counts = (instructions(smaller, library) for library in libraries)
    at, day = commit(), today()
    for design, count, row in zip(designs[1:], counts, table.rows[1:], strict=True):
        arm = design.name.removeprefix(f"{designs[0].name}-")
        yield Row(program.name, arm, count / base, row.ratios.cpu, row.ratios.peak_rss, table.rounds, at, day)


def written(out: Path, names: Sequence[str], designs: Sequence[Design], rounds: int = ROUNDS) -> Report:
    """The report with these programs anew, written after each; to the first design."""
    report = msgspec.json.decode(out.read_bytes(), type=Report) if out.exists() else Report([])
    with TemporaryDirectory() as folder:
        small = {one.name: one for one in programs(Path(folder) / "small", scale=SCALE)}
        for program in programs(Path(folder) / "whole"):
            if program.name in names and not program.lacks():
                others = [one for one in report.rows if one.program != program.name]
                report = Report([*others, *rows(program, small[program.name], designs, rounds)], report.samples)
                write_json(out, report)
    return report


def with_samples(out: Path, names: Sequence[str]) -> Report:
    """The report with the samples of these programs anew."""
    library = library_of(changed(load(BASE), f"{BASE}-{COUNTED}", {"sampling": ARMS[COUNTED]}))
    report = msgspec.json.decode(out.read_bytes(), type=Report)
    with TemporaryDirectory() as folder:
        for program in programs(Path(folder), scale=SCALE):
            if program.name in names and not program.lacks():
                others = [one for one in report.samples if one.program != program.name]
                report = Report(report.rows, [*others, taken(program, library)])
                write_json(out, report)
    return report


def made(of: Report) -> list[str]:
    """The part of the page."""
    cells = [
        [
            *(one.program, one.arm, f"{one.instructions - 1:+.2%}"),
            *(words for of_rounds in (one.cpu, one.peak) for words in _cells(of_rounds)),
        ]
        for one in of.rows
    ]
    for arm in ARMS:
        own = [one for one in of.rows if one.arm == arm]
        means = [geometric_mean(values) for values in zip(*map(_figures, own), strict=True)]
        count, cpu, peak = (mean - 1 for mean in means)
        cells.append(["geometric mean", arm, f"{count:+.2%}", f"{cpu:+.1%}", "", f"{peak:+.1%}", ""])
    columns_of_rows = ["program", "<samples", "instructions", "CPU time", "", "peak RSS", ""]
    first = of.rows[0]
    said = f"Measured on {first.date} at commit {first.commit}, {first.rounds} interleaved rounds."
    columns = ["program", "samples", "instructions of one", "of its walk"]
    counts = [[one.program, *(f"{count:,}" for count in (one.samples, one.each, one.walk))] for one in of.samples]
    each = int(median(one.each for one in of.samples))
    last = of.samples[0]
    of_one = f"A sample in the median takes {each:,} instructions. Counted on {last.date} at commit {last.commit}:"
    return [said, untitled(Words("", columns_of_rows, cells)), of_one, untitled(Words("", columns, counts))]


def _cells(of: Ratio) -> tuple[str, str]:
    """The median, and its interval."""
    low, high = of.bounds() or (of.median, of.median)
    return f"{of.median - 1:+.1%}", f"{low - 1:+.1%} to {high - 1:+.1%}"


def _figures(one: Row) -> tuple[float, float, float]:
    return one.instructions, one.cpu.median, one.peak.median


def main(out: Measure = None, only: Only = None, page: Put = False) -> int:
    """Measure, or write the page."""
    if out:
        written(out, only or NAMES, arms())
    report = with_samples(out, only or NAMES) if out else PART.read(Report)
    return settle(PART, made(report), page)


if __name__ == "__main__":
    exit_with(main)
