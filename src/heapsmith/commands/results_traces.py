"""The results of the commands of traces for people: figures of one trace or of many, imports, repairs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heapsmith.api import show

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.model.trace.edit.repair import Repaired
    from heapsmith.model.trace.frames import Footer, Samples
    from heapsmith.model.trace.stats import TraceInfo


def trace_info(info: "TraceInfo") -> None:
    """A trace in figures."""
    from heapsmith.bench.common.units import amount, duration

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
            ("peak live blocks", _at(f"{info.peak_live_blocks:,}", info.peak_live_blocks_event, info)),
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
            *([("peak resident", amount(peak))] if (peak := info.samples and info.samples.resident_peak) else []),
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


def trace_table(infos: "Sequence[TraceInfo]") -> None:
    """Several traces, a row each."""
    from heapsmith.bench.common.units import amount, duration

    columns = ("trace", "events", "threads", "duration", "allocated", "peak live", "live at end", "sizes", "on disk")
    rows = [
        (
            info.path,
            f"{info.events:,}",
            f"{info.threads:,}",
            duration(info.duration_ns),
            *(amount(size) for size in (info.allocated_bytes, info.peak_live_bytes, info.live_bytes_at_end)),
            f"{info.distinct_sizes:,}",
            amount(info.bytes_on_disk),
        )
        for info in infos
    ]
    show.table("traces", columns, rows)


def imported(footer: "Footer") -> None:
    """The trace of another tool's file, and what is not exact in it."""
    show.fields(
        [
            *((name, f"{getattr(footer, name):,}") for name in ("events", "threads", "max_blocks", "foreign_frees")),
            *([("salvaged", footer.salvaged)] if footer.salvaged else []),
            *(("not exact", line) for line in footer.extra["inexact"]),
        ]
    )


def repaired(found: "Repaired") -> None:
    """What a repaired trace has, and one line for each damage."""
    names = [name for name in found.__struct_fields__ if name != "damage"]
    damage = [("damage", line) for line in found.damage] or [("damage", "none")]
    show.fields([*((name, show.figure(getattr(found, name))) for name in names), *damage])


def _at(figure: str, event: int, info: "TraceInfo") -> str:
    """A figure and the event after which it was so, if the trace has any."""
    return f"{figure} after event {event:,}" if info.events else figure


def _processor_text(samples: "Samples") -> str:
    from heapsmith.bench.common.units import duration

    spent, time = (sum(row[i] for row in samples.processor) for i in (1, 0))
    return f"{duration(spent)} in {duration(time)} of threads"
