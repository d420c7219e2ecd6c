"""Tables of measurements: programs and replays under several libraries, library against model."""

from heapsmith.bench.common.rounds import Figure
from heapsmith.bench.common.tables import Words
from heapsmith.bench.common.units import amount, duration
from heapsmith.bench.programs.measure import MeasureTable
from heapsmith.bench.replay.replay import ReplayTable
from heapsmith.codegen.verify import VerifyReport


def times(figure: Figure) -> str:
    """A ratio with its spread between quartiles: 0.93x ±2%."""
    return f"{figure.median:.2f}x ±{figure.spread:.0%}"


def measured(table: MeasureTable) -> Words:
    """A program under several libraries; ratios to the first."""
    first = table.rows[0].library.partition(" ")[0]
    columns = ("library", "time", f"to {first}", "CPU", f"to {first}", "peak RSS", f"to {first}", "<output")
    same = {True: "same", False: "DIFFERS", None: "varies by itself"}
    rows = [
        (
            row.library,
            duration(row.wall_ns.median),
            times(row.wall_ratio),
            duration(row.cpu_ns.median),
            times(row.cpu_ratio),
            amount(row.peak_rss_bytes.median),
            times(row.rss_ratio),
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
            duration(row.ns_per_op.median),
            times(row.time_ratio),
            amount(row.peak_rss_bytes.median),
            times(row.rss_ratio),
        )
        for row in table.rows
    ]
    live = amount(table.peak_live_bytes)
    title = f"{table.trace} replayed: {table.operations:,} operations, {table.threads} threads, {live} live at the peak"
    return Words(title, columns, rows)


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
