"""The forge's report: all results, the tables of the summary, and the page."""

from collections.abc import Iterator

import msgspec

from heapsmith.bench.common.rounds import Figure
from heapsmith.bench.common.tables import Words, section
from heapsmith.bench.common.units import amount
from heapsmith.bench.programs.measure import MeasureTable
from heapsmith.bench.replay.replay import ReplayTable
from heapsmith.bench.report import measurements, predictions
from heapsmith.codegen.verify import VerifyReport
from heapsmith.model.predict.simulate import SimulationTable
from heapsmith.model.search.tune import Tuned
from heapsmith.model.trace.stats import TraceInfo


class ForgeReport(msgspec.Struct, frozen=True):
    """The results of the forge. `files`: the files that it wrote, report.json last."""

    command: list[str]
    exit_status: int
    name: str
    base: str
    trace: TraceInfo
    tuned: Tuned
    simulated: SimulationTable
    verified: VerifyReport
    measured: MeasureTable
    replayed: ReplayTable
    files: list[str]


def summary(report: ForgeReport) -> list[Words]:
    """The tables that end a forge: proof, prediction, measurement, replay."""
    return [
        measurements.verified(report.verified),
        predictions.simulated(report.simulated),
        measurements.replayed(report.replayed),
        measurements.measured(report.measured),
    ]


def verdict(report: ForgeReport) -> str:
    """In one line, the program under the forged library compared with it under its own malloc."""
    row, own = report.measured.rows[-1], report.measured.rows[0].library
    if row.signal or row.same_output is False:
        return f"{row.library}: does NOT behave as under {own}; do not use it"
    parts = [_change("time", row.wall_ratio), _change("CPU", row.cpu_ratio), _change("peak RSS", row.rss_ratio)]
    output = "identical" if row.same_output else f"not comparable: it varies from run to run under {own}"
    return f"{row.library} against {own}: {', '.join(parts)}; output {output}"


def _change(what: str, ratio: Figure) -> str:
    """The change of one quantity, or that it is within its spread."""
    change = ratio.median - 1
    if abs(change) <= ratio.spread:
        return f"{what} no different within its spread ({change:+.1%} ±{ratio.spread:.1%})"
    return f"{what} {change:+.1%} (±{ratio.spread:.1%})"


def markdown(report: ForgeReport) -> str:
    """The report as a page: commands to use the library, tables, reasons and warnings."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ForgeReport) -> Iterator[str]:
    library = next(file for file in report.files if file.endswith(".so"))
    yield from (f"# {report.name}: an allocator for `{' '.join(report.command)}`", "", verdict(report), "")
    yield from ("```", f"heapsmith run {library} -- {' '.join(report.command)}", "```", "")
    info = report.trace
    yield f"Recorded: {info.events:,} events, {info.threads} threads, {info.distinct_sizes:,} distinct sizes,"
    yield f"{amount(info.allocated_bytes)} allocated, {amount(info.peak_live_bytes)} live at the peak."
    for words in summary(report):
        yield from section(words)
    for name, table in (("measurement", report.measured), ("replay", report.replayed)):
        for note in measurements.notes(table):
            yield from ("", f"Note on the {name}: {note}.")
    yield from ("", "## Why this design", "")
    yield from (f"- `{reason.field}` = {reason.chosen}: {reason.why}" for reason in report.tuned.reasons)
    yield from ("", "## Files", "")
    yield from (f"- `{file}`" for file in report.files)
