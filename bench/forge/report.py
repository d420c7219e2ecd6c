"""The forge's report: all results, the tables of the summary, and the page."""

import shlex
from collections.abc import Iterator

import msgspec

from heapsmith.bench.common.tables import Words, code, section
from heapsmith.bench.common.units import amount
from heapsmith.bench.forge.share import Share
from heapsmith.bench.forge.verdict import Verdict
from heapsmith.bench.programs.measure import MeasureTable
from heapsmith.bench.replay.replay import ReplayTable
from heapsmith.bench.report import measurements, predictions, searched
from heapsmith.codegen.verify import VerifyReport
from heapsmith.model.errors import printable
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
    share: Share
    verdict: Verdict
    files: list[str]


def summary(report: ForgeReport) -> list[Words]:
    """The tables that end a forge: proof, predictions, bytes saved, finalists, replay, latency, measurement."""
    return [
        measurements.verified(report.verified),
        predictions.simulated(report.simulated),
        *([searched.on_traces(report.tuned)] if len(report.tuned.traces) > 1 else []),
        *searched.saved(report.tuned),
        *searched.finalists(report.tuned),
        *measured_bytes(report.replayed),
        measurements.replayed(report.replayed),
        measurements.stamped(report.replayed),
        measurements.measured(report.measured),
    ]


def measured_bytes(table: ReplayTable) -> list[Words]:
    """What glibc's bytes are for, if that was measured."""
    return [measurements.glibc_bytes(table.trace, table.glibc_bytes)] if table.glibc_bytes else []


def conclusion(report: ForgeReport) -> list[str]:
    """The verdict, and what to expect at most."""
    return [*report.verdict.why, report.share.sentence()]


def markdown(report: ForgeReport) -> str:
    """The report as a page: commands to use the library, tables, reasons and warnings."""
    return "".join(f"{printable(line)}\n" for line in _lines(report))


def _lines(report: ForgeReport) -> Iterator[str]:
    library = next(file for file in report.files if file.endswith(".so"))
    yield f"# {report.name}: an allocator for {code(shlex.join(report.command))}"
    for sentence in conclusion(report):
        yield from ("", sentence)
    yield from ("", "```", f"heapsmith run {library} -- {shlex.join(report.command)}", "```", "")
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
    yield from (f"- {code(file)}" for file in report.files)
