"""Real programs and replays under every malloc: a part of docs/lab/results.md, made of the figures beside this script.

python -m heapsmith.bench.studies.real_programs [REPORT.json...] keeps reports of `run --suite programs` and `replay`
and writes the part; without reports it writes the part of what is kept.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Check, Part
from heapsmith.bench.studies.results import Reports, renew, sections
from heapsmith.bench.suite.benchmark import PAGE
from heapsmith.bench.suite.results import BenchReport, BenchRow
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.tables import Words, fold

PART = Part(Path(__file__), LAB / "results.md")
GAIN = 0.97
"""The median of a ratio of `tuned` to `default` from which on a row counts as one with a gain."""

WORSE = 1.01
"""The ratio above which a whole interval counts as worse."""

Three = tuple[Ratio, Ratio, Ratio]
"""Ratios of CPU time, peak RSS and average RSS."""


def to_glibc(row: BenchRow, name: str) -> Three | None:
    """A malloc's ratios in a row, or None."""
    cell = row.cell(name)
    return (cell.cpu_to_glibc, cell.rss_to_glibc, cell.average_to_glibc) if cell else None


def to_default(row: BenchRow) -> Three | None:
    """The ratios of the row's tuned design to `default`, or None."""
    cell = row.cell("tuned")
    beside = cell.to_default if cell else None
    return (beside.cpu, beside.rss, beside.average) if beside else None


def means(ratios: Sequence[Three | None], digits: int = 2) -> str:
    """Geometric means of the three, in the words of a cell."""
    of_all = zip(*filter(None, ratios), strict=True)
    return " / ".join(f"{geometric_mean(one.median for one in of):.{digits}f}" for of in of_all)


def summary(report: BenchReport) -> Words:
    """By suite, the means of each malloc over the rows that ran under all."""
    names = [column.name for column in report.columns if column.name != "glibc"]
    lines = []
    for suite in dict.fromkeys(row.suite for row in report.rows):
        rows = [row for row in report.rows if row.suite == suite and all(row.cell(name) for name in names)]
        of_each = [means([to_glibc(row, name) for row in rows]) for name in names]
        lines.append((f"`{suite}`", str(len(rows)), *of_each, means([to_default(row) for row in rows], 3)))
    return Words("", ("<suite", "rows", *names, "`tuned` to `default`"), lines)


def gains(report: BenchReport) -> str:
    """How often a tuned design is better than `default`, and in which rows it is surely worse."""
    found = [(row, ratios) for row in report.rows if (ratios := to_default(row))]
    better = {
        suite: sum(row.suite == suite and any(one.median <= GAIN for one in ratios) for row, ratios in found)
        for suite in dict.fromkeys(row.suite for row, _ in found)
    }
    worse = [f"`{row.name}`" for row, ratios in found if any((one.low or 0.0) > WORSE for one in ratios)]
    counts = " and in ".join(f"{count} rows of `{suite}`" for suite, count in better.items())
    return (
        f"In {counts} the tuned design takes at least {100 * (1 - GAIN):.0f} % less time, peak or average than "
        f"`default`. Its whole interval of one of the three lies above {WORSE:g} of `default` in "
        f"{', '.join(worse) or 'no row'}."
    )


def made(report: BenchReport) -> list[str]:
    """The paragraphs of the part."""
    head = "Geometric means over the rows that ran under every malloc, CPU time / peak RSS / average RSS to glibc:"
    lines = [line for line in sections(report, 3) if not line.startswith("| geometric mean")]
    return [fold(head, PAGE), untitled(summary(report)), fold(gains(report), PAGE), "\n".join(lines).strip()]


def main(reports: Reports = None, check: Check = False) -> int:
    """Keep reports, if any are given, and write the part."""
    return renew(PART, made, reports, check)


if __name__ == "__main__":
    exit_with(main)
