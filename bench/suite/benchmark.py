"""The benchmark's tables: time, RSS, single calls, instructions; a column per malloc."""

from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean

from heapsmith.bench.suite.columns import TUNED
from heapsmith.bench.suite.results import BenchCell, BenchReport, BenchRow
from heapsmith.model.files import write_json, write_text
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.tables import Words, fold, section
from heapsmith.tools.common.units import amount, duration

OURS = ("library", "tuned")
PAGE = 98
"""Columns of a page's prose without the indentation of a list."""


def tables(report: BenchReport) -> list[Words]:
    """Ratios to glibc, then ratios to the best peer; glibc's column holds absolute figures."""
    cpu = _table(
        report,
        "CPU time per operation, to glibc",
        report.rows,
        lambda row, cell: (duration(cell.cpu_ns.median / row.operations), cell.cpu_to_glibc, cell.cpu_to_best),
        ("best", lambda row: row.best_cpu),
        [column.cpu_mean for column in report.columns],
    )
    wall = _table(
        report,
        "wall time per operation of rows with threads, to glibc",
        [row for row in report.rows if row.threads > 1],
        lambda row, cell: (duration(cell.wall_ns.median / row.operations), cell.wall_to_glibc, cell.wall_to_best),
        ("best", lambda row: row.best_wall),
        [],
    )
    rss = _table(
        report,
        "peak RSS, to glibc and the leanest of the three fastest peers",
        report.rows,
        lambda row, cell: (amount(cell.peak_rss_bytes.median), cell.rss_to_glibc, cell.rss_to_lean),
        ("leanest", lambda row: row.lean),
        [column.rss_mean for column in report.columns],
    )
    average = _table(
        report,
        "average RSS, to glibc and the leanest of the three fastest peers",
        report.rows,
        lambda row, cell: (amount(cell.average_rss_bytes.median), cell.average_to_glibc, cell.average_to_lean),
        ("leanest", lambda row: row.lean),
        [column.average_mean for column in report.columns],
    )
    end = _table(
        report,
        "RSS a second after all is freed, to glibc and the leanest of the three fastest peers",
        [row for row in report.rows if any(cell.end_rss_bytes for cell in row.cells)],
        _end,
        ("leanest", lambda row: row.lean),
        [],
    )
    calls = [_calls(report, call) for call in ("malloc", "free")]
    others = (*calls, _instructions(report), _tunings(report), _to_default(report))
    return [table for table in (cpu, wall, rss, average, end, *others) if table.rows]


def write(path: Path, report: BenchReport) -> None:
    """Write the report to `path`: a page for .md, else JSON; BadInput if it cannot be written."""
    if path.suffix == ".md":
        write_text(path, page(report))
    else:
        write_json(path, report)


def page(report: BenchReport) -> str:
    """The report in Markdown: every table, then the notes."""
    lines = [line for table in tables(report) for line in section(table)]
    said = [fold(f"- {note}", PAGE).replace("\n", "\n  ") for note in notes(report)]
    machine = f"Medians of {_rounds(report)} shuffled rounds on {report.processors} processors."
    return "\n".join(["# Benchmark", "", machine, *lines, *(["", "## Notes", "", *said] if said else [])]) + "\n"


def notes(report: BenchReport) -> list[str]:
    """Releases, inputs of tuned columns, missing cells with reasons, unreliable rows."""
    versions = [f"{one.name} {one.version}" for one in report.columns if one.version]
    said = [f"versions: {', '.join(versions)}"] if versions else []
    said += [f"{one.name}: tuned on {one.tuned_on}" for one in report.columns if one.kind == "tuned"]
    kept = [row.name for row in report.rows if row.tuning and row.tuning.kept_base]
    said += [f"the tuner kept the default design, which `tuned` then is, in {', '.join(kept)}"] if kept else []
    said += [f"{name}: left out: {why}" for name, why in report.skipped.items()]
    said += [f"{row.name} under {name}: {why}" for row in report.rows for name, why in row.failed.items()]
    said += [
        f"{row.name} under {name}: instructions not counted: {why}"
        for row in report.rows
        for name, why in row.uncounted.items()
    ]
    said += [
        f"{row.name} under {name}: single calls not measured: {why}"
        for row in report.rows
        for name, why in row.unstamped.items()
    ]
    said += [f"{row.name}: {one.sentence()}" for row in report.rows for one in row.other_memory]
    return said + [f"{row.name}: {row.note}" for row in report.rows if row.note]


def broken(report: BenchReport) -> list[str]:
    """Rows in which an own library failed; a row without an input to tune on is no failure."""
    ours = [column.name for column in report.columns if column.kind in OURS]
    untuned = [row.name for row in report.rows if row.tuning and not row.tuning.design]
    failed = [(row.name, name) for row in report.rows for name in ours if name in row.failed]
    return [row for row, name in failed if name != TUNED or row not in untuned]


def _table(
    report: BenchReport,
    title: str,
    rows: list[BenchRow],
    of: Callable[[BenchRow, BenchCell], tuple[str, Ratio, Ratio]],
    best: tuple[str, Callable[[BenchRow], str]],
    means: list[float | None],
) -> Words:
    """A quantity `of` cells: the figure, the ratio to glibc and to the peer that is `best`."""
    names = [column.name for column in report.columns]
    ours = [column.name for column in report.columns if column.kind in OURS]
    what, peer = best
    columns = ("row", *names, f"<{what} peer", *(f"{name} to {what}" for name in ours))
    lines = []
    for row in rows:
        figures = {cell.column: of(row, cell) for cell in row.cells}
        shown = [f"{figures[name][1].median:.2f}" if name in figures else "-" for name in names[1:]]
        compared = [figures[name][2].words() if name in figures else "-" for name in ours]
        marked = row.name + (" *" if row.note else "")
        lines.append((marked, figures[names[0]][0], *shown, peer(row), *compared))
    if means and lines:
        shown = ["-" if mean is None else f"{mean:.3f}" for mean in means]
        lines.append((f"geometric mean of {report.columns[0].rows}", *shown, "", *("" for _ in ours)))
    return Words(f"{title} (medians of {_rounds(report)} rounds; * see notes)", columns, lines)


def _end(_: BenchRow, cell: BenchCell) -> tuple[str, Ratio, Ratio]:
    """The figures of a cell of a row that waits until all is freed."""
    assert cell.end_rss_bytes is not None
    assert cell.end_to_glibc is not None
    assert cell.end_to_lean is not None
    return amount(cell.end_rss_bytes.median), cell.end_to_glibc, cell.end_to_lean


def _calls(report: BenchReport, call: str) -> Words:
    """The slow calls of malloc or free, where they were stamped."""
    names = [column.name for column in report.columns if column.kind != "ceiling"]
    lines = []
    for row in report.rows:
        figures = [getattr(cell, f"{call}_ns") if (cell := row.cell(name)) else None for name in names]
        shown = [f"{of.p99.median:,.0f} / {of.p999.median:,.0f}" if of else "-" for of in figures]
        if any(figures):
            lines.append((row.name, *shown))
    what = "with the writes to its block, " if call == "malloc" else ""
    title = f"single calls of {call}, {what}p99 / p99.9 in ns (medians of {_rounds(report)} rounds)"
    return Words(title, ("row", *names), lines)


def _instructions(report: BenchReport) -> Words:
    """Instructions per operation of the rows that have counts."""
    names = [column.name for column in report.columns]
    lines = []
    for row in report.rows:
        counts = [cell.instructions if (cell := row.cell(name)) else None for name in names]
        if any(count is not None for count in counts):
            lines.append((row.name, *("-" if count is None else f"{count:.1f}" for count in counts)))
    title = "instructions per operation by callgrind (call and PLT included, the loop subtracted)"
    return Words(title, ("row", *names), lines)


def _tunings(report: BenchReport) -> Words:
    """The column `tuned` by row: its training input and the tuner's result."""
    columns = ("row", "design", "classes", "slab", "<tuned on another input", "calls")
    lines = [
        (
            row.name,
            tuning.hash + (" (default kept)" if tuning.kept_base else ""),
            str(len(tuning.design.sizes)),
            amount(tuning.design.slab_bytes),
            tuning.on,
            f"{tuning.operations:,}",
        )
        for row in report.rows
        if (tuning := row.tuning) and tuning.design
    ]
    asked = _asked(report)
    return Words(f"what `tuned` is in each row{asked and f' ({asked})'}", columns, lines)


def _to_default(report: BenchReport) -> Words:
    """The ratios of tuned columns to the column of the default design, with means over all rows of a column."""
    lines = []
    for column in report.columns:
        cells = [(row.name, cell) for row in report.rows if (cell := row.cell(column.name))]
        found = [(name, cell.to_default) for name, cell in cells if cell.to_default]
        ratios = [(beside.cpu, beside.rss, beside.average) for _, beside in found]
        shown = zip(found, ratios, strict=True)
        lines += [(name, column.name, *(one.words() for one in its)) for (name, _), its in shown]
        if found:
            means = [geometric_mean([one.median for one in of]) for of in zip(*ratios, strict=True)]
            lines.append((f"geometric mean of {len(found)}", column.name, *(f"{mean:.3f}" for mean in means)))
    return Words("tuned to `default`", ("row", "<column", "CPU time", "peak RSS", "average RSS"), lines)


def _rounds(report: BenchReport) -> str:
    """The number of rounds, of which rows may have different ones."""
    counts = sorted({row.rounds for row in report.rows})
    return " to ".join(str(count) for count in dict.fromkeys([*counts[:1], *counts[-1:]])) or "no"


def _asked(report: BenchReport) -> str:
    """What was asked of the search, in the words of the command; empty: nothing."""
    limits = report.limits
    words = [f"--favour {report.favour}"] if report.favour != "balanced" else []
    words += [f"--max-time {limits.time:g}x"] if limits.time is not None else []
    words += [f"--max-rss {limits.rss:g}x"] if limits.rss is not None else []
    words += [f"--max-rss {limits.rss_bytes}"] if limits.rss_bytes is not None else []
    return " ".join(words)
