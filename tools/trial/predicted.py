"""What the model predicts of designs on the traces of a program: time, instructions, bytes and page faults."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.simulate import Progress, Simulation, simulate
from heapsmith.model.predict.times import priced
from heapsmith.model.search.source import Source

BATCH = 16
"""Designs that are simulated side by side: each takes the memory of its caches."""


class Predicted(msgspec.Struct, frozen=True):
    """What a design takes on all traces together; bytes are those of the trace with the most.

    cpu_ns, instructions: of the allocator.
    """

    instructions: float
    cpu_ns: float
    peak_rss_bytes: float
    average_rss_bytes: float
    minor_faults: float


def predict(
    traces: Sequence[Path], designs: Sequence[Design], hardware: Hardware, progress: Progress | None = None
) -> list[Predicted]:
    """Return what each design takes on traces; BadInput for a damaged one, and for a machine without costs."""
    priced(hardware)
    distinct = list({design.hash(): design for design in designs}.values())
    found: dict[str, list[Predicted]] = {design.hash(): [] for design in distinct}
    for trace in traces:
        source = Source(trace, sited=ask_sites(designs))
        for first in range(0, len(distinct), BATCH):
            some = distinct[first : first + BATCH]
            stage = f"simulating {len(distinct)} designs on {trace.name}"
            rows = simulate(
                trace, some, hardware=hardware, application=source.application, progress=progress, stage=stage
            ).rows
            for row in rows:
                found[row.hash].append(_of(row, source))
    return [_together(found[design.hash()]) for design in designs]


def _of(row: Simulation, source: Source) -> Predicted:
    assert row.price is not None
    assert row.touches is not None
    return Predicted(
        instructions=row.price.instructions_per_op * source.operations,
        cpu_ns=row.price.allocator_ns_per_op * source.operations,
        peak_rss_bytes=row.touches.resident_peak,
        average_rss_bytes=row.touches.resident_average,
        minor_faults=row.touches.faults_4k + row.touches.faults_2m,
    )


def _together(found: Sequence[Predicted]) -> Predicted:
    largest = max(found, key=lambda one: one.peak_rss_bytes)
    sums = {name: sum(getattr(one, name) for one in found) for name in ("instructions", "cpu_ns", "minor_faults")}
    return msgspec.structs.replace(largest, **sums)
