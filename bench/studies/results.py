"""The measured part of docs/lab/results.md, made of the reports of `run --json`, one row or more in each.

python -m heapsmith.bench.studies.results [REPORT.json...] keeps the reports beside this script and writes the part;
without reports it writes the part of what is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.study import LAB, Check, Part
from heapsmith.bench.suite.benchmark import PAGE, tables
from heapsmith.bench.suite.results import BenchReport, mean_ratio
from heapsmith.model.errors import BadInput
from heapsmith.model.files import json_text, write_text
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.tables import Words, fold, section

PART = Part(Path(__file__), LAB / "results.md")
Reports = Annotated[list[Path] | None, typer.Argument(metavar="[REPORT.json...]")]
GOAL_TIME, GOAL_MEMORY = 1.02, 1.0
GOALS = (
    f"The goals are at most {GOAL_TIME:.2f} of the best peer's time in every row, and at most the memory of the "
    "leanest of the three fastest peers in three of four rows. "
    "[bench.md](bench.md#where-heapsmith-is-behind-and-why) has the causes that are known, and designs tuned for the "
    "rows that miss the first."
)
Of = dict[str, tuple[str, Ratio]]
"""By row, a cell's peer and its ratio to it."""


def joined(reports: Sequence[BenchReport]) -> BenchReport:
    """All rows in one report without ceilings; its means are those of all rows. BadInput where the columns differ."""
    across = [column for column in reports[0].columns if column.kind != "ceiling"]
    names = [column.name for column in across]
    if any([column.name for column in one.columns if column.kind != "ceiling"] != names for one in reports):
        raise BadInput("reports: expected the same libraries in each")
    rows = [row for one in reports for row in one.rows]
    whole = [row for row in rows if all(row.cell(name) for name in names)]

    def mean(name: str, ratio: str) -> float | None:
        return mean_ratio([getattr(row.cell(name), ratio).median for row in whole])

    columns = [
        msgspec.structs.replace(
            column,
            cpu_mean=mean(column.name, "cpu_to_glibc"),
            rss_mean=mean(column.name, "rss_to_glibc"),
            average_mean=mean(column.name, "average_to_glibc"),
            rows=len(whole),
        )
        for column in across
    ]
    return msgspec.structs.replace(reports[0], columns=columns, rows=rows)


def keep(reports: Sequence[Path], path: Path) -> None:
    """Write reports of `run --json` as one, without paths, designs and other memory; four digits, a line for each row.

    Raises what `joined` raises.
    """
    report = joined([msgspec.json.decode(one.read_bytes(), type=BenchReport) for one in reports])
    columns = [msgspec.structs.replace(column, path=None) for column in report.columns]
    names = {column.name for column in columns}
    rows = [
        msgspec.structs.replace(
            row,
            cells=[cell for cell in row.cells if cell.column in names],
            tuning=row.tuning and msgspec.structs.replace(row.tuning, design=None, finalists=[]),
            other_memory=[],
        )
        for row in report.rows
    ]
    plain = _brief(msgspec.to_builtins(msgspec.structs.replace(report, columns=columns, rows=rows)))
    write_text(path, json_text(plain, indent=None).replace(', {"name": ', ',\n{"name": ') + "\n")


def _brief(value: Any) -> Any:
    """A value of JSON with four digits of each figure."""
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {name: _brief(one) for name, one in value.items()}
        case list():
            return [_brief(one) for one in value]
    return value


def sections(report: BenchReport, level: int) -> list[str]:
    """The tables of a report as lines of Markdown, under headings of a level, without notes."""
    rows = [msgspec.structs.replace(row, note="") for row in report.rows]
    lines = list[str]()
    for table in tables(msgspec.structs.replace(report, rows=rows)):
        title = table.title.partition(" (medians")[0]
        named = Words(title[0].upper() + title[1:], table.columns, table.rows)
        lines += [f"#{line}" if level == 3 and line.startswith("## ") else line for line in section(named)]
    return lines


def made(report: BenchReport) -> list[str]:
    """The means, the goals and the tables, as Markdown."""
    means = [("CPU time", "cpu_mean"), ("peak RSS", "rss_mean"), ("average RSS", "average_mean")]
    head = Words("", ("", *(one.name for one in report.columns)), [
        (name, *(f"{getattr(one, mean):.2f}" for one in report.columns)) for name, mean in means
    ])  # fmt: skip
    lines = [f"Geometric means over the {report.columns[0].rows} rows that ran under every malloc, to glibc:"]
    lines += [*list(section(head))[2:], "", "## Against the goals", "", fold(GOALS, PAGE), ""]
    for column in report.columns:
        if column.kind == "library":
            lines += [*_goals(report, column.name), ""]
    lines += sections(report, 2)
    return ["\n".join(lines).rstrip()]


def _goals(report: BenchReport, name: str) -> Iterator[str]:
    """How often a library reaches the goals, and the rows in which it does not, the farthest first."""
    cells = {row.name: (row, cell) for row in report.rows if (cell := row.cell(name))}
    time = {row: (row_.best_cpu, cell.cpu_to_best) for row, (row_, cell) in cells.items()}
    wall = {row: cell.wall_to_best for row, (row_, cell) in cells.items() if row_.threads > 1}
    peak = {row: (row_.lean, cell.rss_to_lean) for row, (row_, cell) in cells.items()}
    fast = sum(ratio.median <= GOAL_TIME for _, ratio in time.values())
    swift = sum(ratio.median <= GOAL_TIME for ratio in wall.values())
    small = sum(_rounded(ratio) <= GOAL_MEMORY for _, ratio in peak.values())
    text = (
        f"`{name}` takes at most {GOAL_TIME:.2f} of the best peer's CPU time in {fast} of {len(time)} rows, and at "
        f"most {GOAL_TIME:.2f} of its wall time in {swift} of the {len(wall)} rows with threads. It takes at most "
        f"{GOAL_MEMORY:.2f} of the leanest peer's peak in {small} of {len(peak)} rows ({small / len(peak):.0%}; the "
        "goal is three in four)."
    )
    yield fold(text, PAGE)
    yield ""
    slow = {row: one for row, one in time.items() if one[1].median > GOAL_TIME}
    sure = {row: one for row, one in slow.items() if one[1].is_more()}
    unsure = {row: one for row, one in slow.items() if row not in sure}
    large = {row: one for row, one in peak.items() if _rounded(one[1]) > GOAL_MEMORY}
    for what, found, peers in (
        (f"Its time is above {GOAL_TIME:.2f} and its whole interval above 1", sure, True),
        (f"Its time is above {GOAL_TIME:.2f} and its interval holds 1", unsure, True),
        (f"Its peak is above {GOAL_MEMORY:.2f}", large, False),
    ):
        if found:
            yield fold(f"- {what}: {_listed(found, peers=peers)}.", PAGE).replace("\n", "\n  ")


def _rounded(ratio: Ratio) -> float:
    return round(ratio.median, 2)


def _listed(found: Of, *, peers: bool) -> str:
    ordered = sorted(found.items(), key=lambda one: -one[1][1].median)
    return ", ".join(f"`{row}` {ratio.median:.2f}{f' ({peer})' if peers else ''}" for row, (peer, ratio) in ordered)


def renew(part: Part, made: Callable[[BenchReport], list[str]], reports: Sequence[Path] | None, check: bool) -> int:
    """Keep reports, if any are given, and write what is made of those that are kept into the page. Return 0."""
    if reports:
        keep(reports, part.data)
    part.put(made(part.read(BenchReport)), check)
    return 0


def main(reports: Reports = None, check: Check = False) -> int:
    """Keep reports, if any are given, and write the part of the page."""
    return renew(PART, made, reports, check)


if __name__ == "__main__":
    exit_with(main)
