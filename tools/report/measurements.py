"""Tables of measurements: programs and replays under several libraries, library against model."""

import shlex
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from heapsmith.codegen.verify import VerifyReport
from heapsmith.tools.common.other_memory import OtherMemory
from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio
from heapsmith.tools.common.rounds import Ended, Figure
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount, duration
from heapsmith.tools.compare.measure import MeasureRow, MeasureTable, Ratios
from heapsmith.tools.replay.replay import GlibcBytes, ReplayRow, ReplayTable


class HasOtherMemory(Protocol):
    """Results that name memory that malloc did not give."""

    @property
    def other_memory(self) -> list[OtherMemory]:
        """Return the programs that have it."""


WHY: dict[Ended, str] = {
    "rounds": "as asked",
    "known": "until the intervals of CPU and peak were under 2 %",
    "time": "until the time was up",
}


APART = 0.05
"""A ratio differs from that of the medians beside it, if by this part of itself."""


def _cells(row: MeasureRow | ReplayRow, *units: Callable[[float], str]) -> Iterator[str]:
    """Each figure of a row and its ratio to the first library's."""
    for unit, (figure, found) in zip(units, _measurements(row), strict=True):
        yield unit(figure.median)
        yield found.words()


def measured(table: MeasureTable) -> Words:
    """A program under several libraries; ratios to the first, with intervals of 95 %."""
    to = f"to {table.rows[0].library.partition(' ')[0]}"
    columns = ("library", "CPU", to, "time", to, "peak RSS", to, "average RSS", to, "<output")
    same = {True: "same", False: "DIFFERS", None: "varies by itself"}
    rows = [
        (
            row.library,
            *_cells(row, duration, duration, amount, amount),
            same[row.same_output] + (f", exit {row.exit_status}" if row.exit_status else ""),
        )
        for row in table.rows
    ]
    return Words(f"{shlex.join(table.command)}: {medians(table)}", columns, rows)


def medians(table: MeasureTable | ReplayTable) -> str:
    """How the figures of a table came about."""
    if table.rounds == 1:
        return "one round, which gives no interval"
    return f"medians of {table.rounds} shuffled rounds, {WHY[table.ended]}"


def replayed(table: ReplayTable) -> Words:
    """A trace's allocations alone, under several libraries; ratios to the first."""
    to = f"to {table.rows[0].library}"
    columns = ("library", "time per operation", to, "peak RSS", to, "average RSS", to)
    rows = [
        (
            row.library,
            *_cells(row, duration, amount, amount),
        )
        for row in table.rows
    ]
    live = amount(table.peak_live_bytes)
    what = f"{table.trace} replayed: {table.operations:,} operations, {table.threads} threads, {live} live at the peak"
    return Words(f"{what}; {medians(table)}", columns, rows)


def stamped(table: ReplayTable) -> Words:
    """The distribution of single operations, where they were stamped."""
    columns = ("library", "p50", "p99", "p99.9", "worst")
    rows = [
        (
            row.library,
            *(f"{duration(figure.median)} ({figure.spread:.0%})" for figure in (of.p50, of.p99, of.p999)),
            duration(of.worst.median),
        )
        for row in table.rows
        if (of := row.latency_ns) is not None
    ]
    what = "time of an operation, measured: a call and the writes to its new block"
    return Words(f"{what}; medians of rounds (distance of the quartiles)", columns, rows)


def glibc_bytes(trace: str, found: GlibcBytes) -> Words:
    """What glibc's bytes are for on a trace, item by item."""
    rows = [
        (name.replace("_", " "), f"{size:,}", f"{size / found.committed:.1%}")
        for name, size in msgspec.structs.asdict(found).items()
    ]
    title = f"bytes of glibc on {trace} at the peak of the live bytes, measured"
    return Words(title, ("item", "bytes", "%"), rows)


def verified(report: VerifyReport) -> Words:
    """The traces on which library and model were compared."""
    columns = ("trace", "<build", "events", "threads", "addresses", "counters", "heap walks", "<difference")
    rows = [
        (
            run.trace,
            run.build,
            f"{run.events:,}",
            str(run.threads),
            f"{run.addresses:,}",
            str(run.counters),
            f"{run.walks:,}",
            str(run.difference) if run.difference else "none",
        )
        for run in report.runs
    ]
    return Words(f"{report.design} ({report.hash}): library against model", columns, rows)


def reached(report: VerifyReport) -> Words:
    """Which functions of the library ran on the traces, and how often."""
    ran = sum(one.ran is True for one in report.reach)
    silent = sum(one.ran is False for one in report.reach)
    title = f"what these traces reached: {ran} of {len(report.reach)} functions that count something"
    if silent:
        title += f"; of the {silent} that did not run, agreement says nothing"
    if shared := len(report.reach) - ran - silent:
        title += f"; {shared} share their counters with others, so nobody knows"
    rows = [
        (
            one.function,
            one.file,
            ", ".join(f"{name} {count:,}" for name, count in one.counts.items()) if one.ran is not False else "-",
        )
        for one in sorted(report.reach, key=lambda one: (one.ran is None, one.ran is False))
    ]
    return Words(title, ("function", "<file", "<ran"), rows)


def notes(table: MeasureTable | ReplayTable) -> list[str]:
    """The warnings of a table: its rows', an output that varies, rounds that are too few."""
    said = [f"{row.library}: {row.note}" for row in table.rows if row.note]
    if isinstance(table, MeasureTable):
        said += [f"the output under {name} is NOT that under {table.output_of}" for name in table.differing()]
        if any(row.same_output is None for row in table.rows):
            said.append(f"the output is not comparable: it varies from run to run under {table.output_of} itself")
        if (processes := max(run.processes for row in table.rows for run in row.runs)) > 1:
            said.append(f"RSS is the sum over up to {processes} processes: pages that they share count in each")
    if _are_apart(table):
        said.append("ratios are medians of the rounds' own ratios, not ratios of medians")
    if 1 < table.rounds < LEAST_ROUNDS:
        said.append(f"intervals of {table.rounds} rounds say little: {LEAST_ROUNDS} is the least to decide by")
    return said


def _are_apart(table: MeasureTable | ReplayTable) -> bool:
    """Whether a reader who divides two medians of a column gets another ratio than the one beside them."""
    first, *rows = [_measurements(row) for row in table.rows]
    return any(
        _is_apart(figure.median / reference.median, found)
        for row in rows
        for (figure, found), (reference, _) in zip(row, first, strict=True)
        if reference.median
    )


def _measurements(row: MeasureRow | ReplayRow) -> list[tuple[Figure, Ratio]]:
    """The figures of a row, each with its ratio."""
    if isinstance(row, MeasureRow):
        figures = [row.cpu_ns, row.wall_ns, row.peak_rss_bytes, row.average_rss_bytes]
        return list(zip(figures, [found for _, found in row.ratios.items()], strict=True))
    return [
        (row.ns_per_op, row.time_ratio),
        (row.peak_rss_bytes, row.rss_ratio),
        (row.average_rss_bytes, row.average_ratio),
    ]


def _is_apart(of_medians: float, found: Ratio) -> bool:
    """Whether the ratio of two medians is beside a ratio's interval as it is printed, or APART from it."""
    low, high = found.bounds() or (found.median, found.median)
    is_within = round(low, 2) <= round(of_medians, 2) <= round(high, 2)
    return not is_within or abs(of_medians - found.median) > APART * found.median


def other_memory(found: HasOtherMemory) -> list[str]:
    """What a verdict on mallocs leaves out: memory that malloc did not give."""
    return [one.sentence() for one in found.other_memory]


def against(its: str, other: str, found: Ratios) -> str:
    """Quantity by quantity, one library compared with another, as a sentence."""
    return f"{its} against {other}: {', '.join(f'{name} {change(one)}' for name, one in found.items())}."


def change(found: Ratio) -> str:
    """A ratio as a change with its interval: -4.0% (-4.4 to -3.7), or that it may be none."""
    middle, bounds = f"{found.median - 1:+.1%}", found.bounds()
    if bounds is None:
        return f"{middle} (no interval)"
    interval = f"{100 * (bounds[0] - 1):+.1f} to {100 * (bounds[1] - 1):+.1f}"
    return f"{middle} ({interval})" if found.is_less() or found.is_more() else f"no different ({interval})"
