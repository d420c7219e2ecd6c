"""Findings of an allocator's log book: prediction, measurement, and the log's figure.

python -m heapsmith.bench.validate.ledger [--machine machine.toml] [--rounds 5] [--json FILE]

The log is of a research allocator of 2025, with its own machine and names. A finding compares two
designs, A and B, that differ in one policy, on a workload of the log's kind, written as a trace.
The model predicts B's change, then replays measure it. The calibration saw neither design.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from heapsmith.bench.calibrate.cells import Cell, cells_of, libraries_of, time_cells
from heapsmith.bench.calibrate.micro_traces import KIB, Script, churning, write_programs
from heapsmith.bench.calibrate.weather import Timed
from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.rounds import quiet
from heapsmith.bench.validate.validate import calibrated
from heapsmith.model.design.design import changed, load
from heapsmith.model.files import scratch, write_json
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.predict.cost import price_of

OPERATIONS = 300_000
FINDINGS = Path(__file__).with_name("findings.toml")


def shifting(script: Script) -> None:
    """A heap of some MiB whose sizes change by phase and need memory of the previous sizes."""
    for phase in range(16):
        sizes = script.sizes(16 << phase % 6, 32 << phase % 6, OPERATIONS // 32)
        for size in sizes:
            script.allocate(size)
        while len(script.live) > 200:
            script.free(int(script.random.integers(len(script.live))))


WORKLOADS = {
    "random_mixed": churning(16, KIB, 400, OPERATIONS // 2),
    "shifting": shifting,
    "mid": churning(8 * KIB, 32 * KIB, 60, OPERATIONS // 8),
}
"""The log's random mixed and mid blocks, of which 400 and 60 live, and the shifting heap."""


class Finding(msgspec.Struct, frozen=True):
    """An A/B experiment of the log: designs as changes of the default one, the first of them A."""

    what: str
    logged: str
    workload: str
    before: dict[str, Any]
    after: dict[str, Any]


class Change(msgspec.Struct, frozen=True):
    """B's change of one quantity as a ratio to A: predicted and measured."""

    quantity: str
    predicted: float
    measured: float


class Row(msgspec.Struct, frozen=True):
    """One finding."""

    name: str
    what: str
    logged: str
    changes: list[Change]


def examine(hardware: Hardware, rounds: int) -> list[Row]:
    """Predict all findings, then measure them."""
    findings = msgspec.toml.decode(FINDINGS.read_bytes(), type=dict[str, Finding])
    base = load("default")
    with scratch() as folder:
        cells: list[Cell] = []
        for name, finding in findings.items():
            place = folder / name
            place.mkdir()
            (trace,) = write_programs(place, {finding.workload: WORKLOADS[finding.workload]})
            designs = [changed(base, f"{name}-A", finding.before), changed(base, f"{name}-B", finding.after)]
            cells += cells_of(trace, place / "script", designs, libraries_of(designs, quiet), hardware)
        timed = time_cells(cells, hardware.instructions, hardware.costs, folder, rounds, quiet).timed
    return [
        Row(name, one.what, one.logged, _changes(cells[2 * i : 2 * i + 2], timed[2 * i : 2 * i + 2], hardware))
        for i, (name, one) in enumerate(findings.items())
    ]


def _changes(cells: Sequence[Cell], timed: Sequence[Timed], hardware: Hardware) -> list[Change]:
    """B's changes; both sequences hold A and B."""
    figures = []
    for cell, measured in zip(cells, timed, strict=True):
        touches, run = cell.simulation.touches, measured.runs[0]
        assert touches is not None
        ns = price_of(cell.plan, cell.simulation, cell.facts.operations, hardware).ns_per_op
        figures.append(
            {
                "time of the replay": (ns, measured.ns.median),
                "page faults": (touches.faults_4k + touches.faults_2m, run.minor_faults),
                "peak RSS": (touches.resident_peak, run.peak_rss_bytes - run.start_rss_bytes),
            }
        )
    a, b = figures
    return [Change(what, b[what][0] / a[what][0], b[what][1] / a[what][1]) for what in a]


def text(rows: list[Row]) -> str:
    """The findings as a Markdown table; changes in percent of A."""
    lines = ["| finding | figure | predicted | measured | the log's |", "|---|---|---|---|---|"]
    for row in rows:
        for change in row.changes:
            logged = row.logged if change is row.changes[0] else ""
            figures = f"{change.predicted - 1:+.1%} | {change.measured - 1:+.1%}"
            lines.append(f"| {row.name}: {row.what} | {change.quantity} | {figures} | {logged} |")
    return "\n".join(lines)


def main(
    machine: str = "default",
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    json: Path | None = None,
) -> int:
    """Findings of the ledger: predicted, then measured."""
    rows = examine(calibrated(load_hardware(machine)), rounds)
    if json:
        write_json(json, rows)
    print(text(rows))
    return 0


if __name__ == "__main__":
    exit_with(main)
