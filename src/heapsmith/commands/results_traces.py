"""The results of the commands of traces for people: figures of many, imports, repairs, synthetic traces."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heapsmith.api import show
from heapsmith.tools.common.units import amount, duration

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.model.predict.trace_likeness import Likeness, Synthetic
    from heapsmith.model.trace.edit.repair import Repaired
    from heapsmith.model.trace.frames import Footer
    from heapsmith.model.trace.stats import TraceInfo
    from heapsmith.tools.running.record import RunningResult


def trace_table(infos: "Sequence[TraceInfo]") -> None:
    """Several traces, a row each."""
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


def recorded_running(found: "RunningResult") -> None:
    """The trace of a process that ran, what it held when the recording began, and for how long it was held."""
    show.line(f"{found.path}: {found.events:,} events of {' '.join(found.program)} ({found.pid}), {found.design}")
    blocks = f"{found.census_blocks:,} blocks of {amount(found.census_bytes)}"
    show.line(f"{blocks} were live at the beginning, in a heap of {amount(found.heap_bytes)}.")
    held = f"{duration(found.held_ns)} at the beginning, {duration(found.held_at_end_ns)} at the end"
    show.line(f"The process was held for {held}.")
    lost = {"dropped": found.drops, "foreign frees": found.foreign_frees, "lost frees": found.lost_frees}
    for name, count in lost.items():
        if count:
            show.note(f"heapsmith: warning: {count:,} {name}: the trace lacks events (docs/live.md)")


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


def synthesised(found: "Synthetic") -> None:
    """The synthetic trace, what was assumed, and the figures of original and synthetic side by side."""
    show.fields(
        [
            *((name, f"{getattr(found, name):,}") for name in ("events", "threads", "max_blocks")),
            ("phases", f"{found.phases:,}, of them {found.different_phases:,} different"),
            ("rows", f"{found.rows:,}"),
            *(("assumed", line) for line in found.assumed),
        ]
    )
    if found.likeness:
        columns = ("design", "<figure", "original", "synthetic", "difference")
        show.table("simulated on both", columns, [_likeness(row) for row in found.likeness.rows])
        worst = max(found.likeness.rows, key=lambda row: abs(row.difference))
        _, figure, original, synthetic, difference = _likeness(worst)
        show.prose(f"The largest difference is {difference}: {figure} of {worst.design}, {original} and {synthetic}.")


def _likeness(row: "Likeness") -> tuple[str, ...]:
    form = amount if row.figure.endswith("bytes") else (lambda value: f"{value:,.0f}")
    return row.design, row.figure, form(row.original), form(row.synthetic), f"{row.difference:+.1%}"
