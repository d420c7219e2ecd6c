"""Peaks of the benchmark by the size of the process: a table of docs/lab/results.md, made of that page's own rows.

python -m heapsmith.bench.studies.by_size [--check] writes the table into the page between two lines MADE, or checks it.
"""

import math
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Check, Part
from heapsmith.tools.common.tables import Words

PART = Part(Path(__file__), LAB / "results.md")
SUITES = {
    "micro, threads": "\n## Peak RSS, to glibc",
    "programs, replay": "\n### Peak RSS, to glibc",
}
"""The headings of the tables of peaks."""

BOUNDS = (0.0, 4.0, 16.0, math.inf)
"""MiB at glibc's peak, between which rows are taken together."""

MIB = {"KiB": 2.0**-10, "MiB": 1.0, "GiB": 2.0**10}


def rows(page: str, heading: str) -> Iterator[tuple[float, dict[str, float]]]:
    """Of each row of a table of peaks, glibc's peak in MiB and the ratios to it by malloc, up to the best peer's."""
    table = page.split(heading, 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line]
    names = lines[0][2 : lines[0].index("leanest peer")]
    for cells in lines[2:]:
        if cells[0].startswith("geometric mean"):
            continue
        number, unit = cells[1].split()
        yield (
            float(number.replace(",", "")) * MIB[unit],
            {
                name: float(cell)
                for name, cell in zip(names, cells[2:], strict=False)
                if re.fullmatch(r"\d+\.\d+", cell)
            },
        )


def table(page: str) -> str:
    """The table as Markdown: geometric means over the rows of each suite and size that ran under every malloc."""
    found, columns = [], list[str]()
    for suite, heading in SUITES.items():
        of_suite = list(rows(page, heading))
        names = sorted({name for _, ratios in of_suite for name in ratios}, key=list(of_suite[0][1]).index)
        columns += [name for name in names if name not in columns]
        for low, high in pairwise(BOUNDS):
            here = [ratios for size, ratios in of_suite if low <= size < high and set(ratios) == set(names)]
            means = {name: geometric_mean(one[name] for one in here) for name in names if here}
            size = f"{low:g} MiB and more" if math.isinf(high) else f"{low:g} to {high:g} MiB"
            found.append((suite, size, len(here), means))
    cells = [
        [suite, size, str(count), *(f"{means[name]:.2f}" if name in means else "-" for name in columns)]
        for suite, size, count, means in found
    ]
    return untitled(Words("", ("<suites", "<glibc's peak", "rows", *columns), cells))


def main(check: Check = False) -> int:
    """Write the table into the page; with --check, fail where the page has another."""
    PART.put([table(PART.page.read_text())], check)
    return 0


if __name__ == "__main__":
    exit_with(main)
