"""What the results of the Python interface print, which are those of commands: fields and tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from heapsmith.api import show
from heapsmith.tools.common.tables import draw

if TYPE_CHECKING:  # the modules of these types need numba, which the interface imports only when it is called
    from heapsmith.codegen.verify import VerifyReport
    from heapsmith.model.predict.ledgers import LedgerTable
    from heapsmith.model.predict.simulate import SimulationTable
    from heapsmith.model.search.tune import Tuned
    from heapsmith.model.trace.frames import Samples
    from heapsmith.model.trace.stats import TraceInfo
    from heapsmith.tools.compare.measure import MeasureTable
    from heapsmith.tools.compare.worth import WorthTable
    from heapsmith.tools.forge.page import Written
    from heapsmith.tools.trial.ab import Trial
    from heapsmith.tools.trial.bisect import Bisected


def trace_info(info: "TraceInfo") -> None:
    """A trace in figures."""
    from heapsmith.tools.common import resident_words
    from heapsmith.tools.common.units import amount, duration

    operations = ", ".join(f"{name} {count:,}" for name, count in info.events_by_op.items() if count)
    per_event = f", {info.bytes_per_event:.2f} bytes per event" if info.events else ""
    freed = info.events_by_op["free"] + info.events_by_op["free_sized"]
    lifetime, events = info.lifetime_bytes, info.lifetime_events
    lived = f"50 % at most {amount(lifetime.p50)}, 90 % {amount(lifetime.p90)}, 99 % {amount(lifetime.p99)}"
    lived_events = f"50 % at most {events.p50:,}, 90 % {events.p90:,}, 99 % {events.p99:,}"
    requests = max(1, sum(row.requests for row in info.size_histogram))
    moved = f"{info.reallocs_growing:,} grow, {info.reallocs_shrinking:,} shrink, {info.reallocs_same:,} same"
    show.fields(
        [
            ("trace", info.path),
            ("command", " ".join(info.command) or "-"),
            ("made by", info.source),
            ("events", f"{info.events:,}: {operations}" if operations else "0"),
            ("on disk", f"{amount(info.bytes_on_disk)}{per_event}"),
            ("threads", f"{info.threads}; {info.cross_thread_frees:,} frees by another thread than allocated"),
            *([("processors", f"{info.processors}; {info.migrations:,} moves of threads")] if info.processors else []),
            ("duration", duration(info.duration_ns)),
            ("allocated", amount(info.allocated_bytes)),
            ("peak live", _at(amount(info.peak_live_bytes), info.peak_live_bytes_event, info)),
            ("most live blocks", _at(f"{info.peak_live_blocks:,}", info.peak_live_blocks_event, info)),
            ("live at the end", f"{amount(info.live_bytes_at_end)} in {info.live_blocks_at_end:,} blocks"),
            ("sizes", f"{info.distinct_sizes:,} distinct"),
            ("reallocs", moved),
            ("lifetime, bytes", lived if freed else "no block was freed"),
            ("lifetime, events", lived_events if freed else "no block was freed"),
            ("lost", f"{info.drops:,} events dropped, {info.foreign_frees:,} frees of blocks born before"),
            *([("salvaged", info.salvaged)] if info.salvaged else []),
            *(("not exact", line) for line in info.inexact),
            *(("edited", line) for line in info.edits),
            *([("sampled", f"{info.sample_rate:.4g} of the program's blocks")] if info.sample_rate < 1 else []),
            *_resident(info),
            *([("processor time", _processor_text(info.samples))] if info.samples else []),
        ]
    )
    ranges = [
        (f"{row.first:,} to {row.last:,}", f"{row.requests:,}", f"{row.requests / requests:.1%}")
        for row in info.size_histogram
    ]
    show.table("requests by size", ("bytes", "requests", "share"), ranges)
    show.table("most requested", ("size", "requests"), [(row.size, f"{row.requests:,}") for row in info.top_sizes])
    rows = [(row.size, f"{row.blocks:,}", amount(row.bytes)) for row in info.top_sizes_at_peak]
    show.table("most bytes at the peak", ("size", "blocks", "bytes"), rows)
    if info.samples and info.samples.kinds:
        draw(resident_words.table(info.samples.kinds))
    if info.samples and info.samples.touched:
        touched = [
            (
                f"{amount(row.bytes)} to {amount(2 * row.bytes)}",
                f"{row.blocks:,}",
                f"{row.touched / max(1, row.pages):.1%}",
            )
            for row in info.samples.touched
        ]
        show.table("large blocks when they died", ("bytes", "blocks", "pages touched"), touched)


def _at(figure: str, event: int, info: "TraceInfo") -> str:
    """A figure and the event after which it was so, if the trace has any."""
    return f"{figure} after event {event:,}" if info.events else figure


def _resident(info: "TraceInfo") -> list[tuple[str, str]]:
    """The resident bytes of the whole process: by kind, or how many of these no live block explains."""
    from heapsmith.tools.common import resident_words
    from heapsmith.tools.common.units import amount

    if info.samples and info.samples.kinds:
        return [("memory", resident_words.line(info.samples.kinds, info.samples.resident_peak))]
    peak = info.samples.resident_peak if info.samples else 0
    if not peak:
        return []
    beside = peak - info.peak_live_bytes
    rest = f"; {amount(beside)} or more are not live blocks, but malloc's free memory, files, stacks, mappings"
    return [("peak resident", f"{amount(peak)}{rest if beside > 0 else ''}")]


def _processor_text(samples: "Samples") -> str:
    from heapsmith.tools.common.units import duration

    spent, time = (sum(row[i] for row in samples.processor) for i in (1, 0))
    return f"{duration(spent)} in {duration(time)} of threads"


def verified(report: "VerifyReport") -> None:
    """The claims of the audit that fail, how many hold, and a row per trace and build."""
    from heapsmith.tools.report import measurements

    if report.audit is not None:
        failed = report.audit.failed()
        if failed:
            rows = [(row.name, row.check, row.claim, row.found) for row in failed]
            show.table("claims that do not hold", ("name", "<check", "<claim", "<in the code"), rows)
        claims = len(report.audit.rows)
        show.line(f"audit: {claims - len(failed)} of {claims} claims hold ({report.audit.compiler})")
    if report.runs:
        draw(measurements.verified(report))
        if report.reach:
            draw(measurements.reached(report))
    for note in report.notes:
        show.prose(f"{note}.")
    show.line("ok" if report.ok else "NOT ok")


def simulated(found: "SimulationTable", *, latency: bool = False, scaling: bool = False) -> None:
    """Designs side by side; latencies and scaling where they were asked for."""
    from heapsmith.tools.report import predictions, timings

    draw(predictions.simulated(found))
    if found.machine is not None:
        draw(predictions.touched(found))
    if latency:
        draw(timings.latencies(found))
    if scaling:
        draw(timings.scaling(found))
    draw(predictions.locks(found))
    draw(predictions.counters(found))
    for note in found.notes:
        show.prose(f"{note}.")


def ledgers(found: "LedgerTable") -> None:
    """What the bytes of each design are for."""
    from heapsmith.tools.report.ledgers import ledgers as tables

    for table in tables(found):
        draw(table)


def tuned(found: "Tuned", path: Path | None = None) -> None:
    """Whether the choice gains, the front, the choice on each trace, what its choices are worth, and reasons."""
    from heapsmith.model.search.segregate import why_segregated
    from heapsmith.tools.report import hardening, searched

    show.prose(found.gain.why)
    for table in searched.tables(found):
        draw(table)
    if any(one.ledgers is None for one in found.traces):
        show.prose("What the choice saves of the bytes was not counted: interrupted.")
    if found.why_not_replayed:
        show.prose(f"No design was replayed: {found.why_not_replayed}.")
    if found.segregated and found.segregated.why_not:
        show.prose(f"segregation = off: {why_segregated(found.segregated)}.")
    for reason in found.reasons:
        if reason.field in ("design", "sizes", "segregation"):
            show.prose(f"{reason.field} = {reason.chosen}: {reason.why}")
    show.prose(hardening.sentence(found.design))
    if path is not None:
        show.line(path)


def compared(table: "MeasureTable") -> None:
    """A program under several libraries, then each library compared with the first."""
    from heapsmith.tools.report import measurements

    draw(measurements.measured(table))
    for warning in measurements.notes(table):
        show.prose(warning)
    show.line()
    first = table.rows[0].library
    for row in table.rows[1:]:
        show.prose(measurements.against(row.library, first, row.ratios))
    for line in measurements.other_memory(table):
        show.prose(line)


def worth(found: "WorthTable") -> None:
    """What savings are worth, a sentence for each."""
    for one in found.rows:
        show.prose(one.sentence())


def tried(found: "Trial") -> None:
    """Designs beside a base, figure by figure, then what the intervals say."""
    from heapsmith.tools.report import trials

    for table in trials.tried(found):
        draw(table)
    show.line()
    for line in trials.differences(found):
        show.prose(line)


def bisected(found: "Bisected") -> None:
    """The steps from a design to another, then which makes the difference."""
    from heapsmith.tools.report import trials

    draw(trials.bisected(found))
    show.line()
    for line in trials.causes(found):
        show.prose(line)


def reported(written: "Written") -> None:
    """The page that was written."""
    from heapsmith.tools.common.units import amount

    of = f"{', '.join(written.traces)} under {', '.join(written.designs)}"
    show.note(f"heapsmith: {written.file}: {amount(written.bytes)}, {of}")
