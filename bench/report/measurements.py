"""Tables of measurements: programs and replays under several libraries, library against model."""

from collections.abc import Callable

from heapsmith.bench.common.rounds import Figure
from heapsmith.bench.common.tables import Words
from heapsmith.bench.common.units import amount, duration
from heapsmith.bench.programs.measure import MeasureTable
from heapsmith.bench.replay.replay import ReplayTable
from heapsmith.codegen.verify import VerifyReport


def _beside(unit: Callable[[float], str], figure: Figure, ratio: Figure) -> tuple[str, str]:
    """A figure and its ratio to the first library's."""
    return unit(figure.median), f"{ratio.median:.2f}x ±{ratio.spread:.0%}"


def measured(table: MeasureTable) -> Words:
    """A program under several libraries; ratios to the first."""
    first = table.rows[0].library.partition(" ")[0]
    columns = ("library", "time", f"to {first}", "CPU", f"to {first}", "peak RSS", f"to {first}", "<output")
    same = {True: "same", False: "DIFFERS", None: "varies by itself"}
    rows = [
        (
            row.library,
            *_beside(duration, row.wall_ns, row.wall_ratio),
            *_beside(duration, row.cpu_ns, row.cpu_ratio),
            *_beside(amount, row.peak_rss_bytes, row.rss_ratio),
            same[row.same_output] + (f", exit {row.exit_status}" if row.exit_status else ""),
        )
        for row in table.rows
    ]
    return Words(f"{' '.join(table.command)}: medians of {table.rounds} interleaved rounds", columns, rows)


def replayed(table: ReplayTable) -> Words:
    """A trace's allocations alone, under several libraries; ratios to the first."""
    first = table.rows[0].library
    columns = ("library", "time per operation", f"to {first}", "peak RSS", f"to {first}")
    rows = [
        (
            row.library,
            *_beside(duration, row.ns_per_op, row.time_ratio),
            *_beside(amount, row.peak_rss_bytes, row.rss_ratio),
        )
        for row in table.rows
    ]
    live = amount(table.peak_live_bytes)
    title = f"{table.trace} replayed: {table.operations:,} operations, {table.threads} threads, {live} live at the peak"
    return Words(title, columns, rows)


def stamped(table: ReplayTable) -> Words:
    """The distribution of single operations, where they were stamped."""
    columns = ("library", "p50", "p99", "p99.9", "worst")
    rows = [
        (row.library, *(duration(figure.median) for figure in (of.p50, of.p99, of.p999, of.worst)))
        for row in table.rows
        if (of := row.latency_ns) is not None
    ]
    return Words("time of an operation: a call and the writes to its new block; medians of rounds", columns, rows)


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


def notes(table: MeasureTable | ReplayTable) -> list[str]:
    """The warnings of a table's rows, in words."""
    return [f"{row.library}: {row.note}" for row in table.rows if row.note]
