"""Findings of an allocator's log book: prediction, measurement, and the log's figure.

python -m heapsmith.bench.validate.ledger [--machine machine.toml] [--rounds 5] [--json FILE]

The log is of a research allocator of 2025, with its own machine and names. A finding compares two
designs, A and B, that differ in one policy, on a workload of the log's kind, written as a trace.
The model predicts B's change, then replays measure it. The calibration saw neither design.
"""

import argparse
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.bench.calibrate.cells import Cell, cells_of, libraries_of, time_cells
from heapsmith.bench.calibrate.micro_traces import KIB, Script, write_programs
from heapsmith.bench.calibrate.weather import Timed
from heapsmith.bench.common.command import exit_with
from heapsmith.bench.validate.validate import calibrated
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.files import scratch, write_json
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.predict.cost import price_of

OPERATIONS = 300_000
DESIGNS = Path(__file__).with_name("findings.toml")


def random_mixed(script: Script) -> None:
    """The log's random mixed: 16 to 1,024 bytes, about 400 blocks live."""
    script.churn(script.sizes(16, KIB, OPERATIONS // 2), 400)


def shifting(script: Script) -> None:
    """A heap of some MiB whose sizes change by phase and need memory of the previous sizes."""
    for phase in range(16):
        sizes = script.sizes(16 << phase % 6, 32 << phase % 6, OPERATIONS // 32)
        for size in sizes:
            script.allocate(size)
        while len(script.live) > 200:
            script.free(int(script.random.integers(len(script.live))))


def mid(script: Script) -> None:
    """The log's mid blocks: 8 to 32 KiB, 60 live."""
    script.churn(script.sizes(8 * KIB, 32 * KIB, OPERATIONS // 8), 60)


class Finding(NamedTuple):
    """One of the ledger's A/B experiments."""

    name: str
    what: str
    logged: str
    workload: Callable[[Script], None]
    before: Design
    after: Design


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


def findings() -> list[Finding]:
    """The findings to predict."""
    base = load("default")
    changes = tomllib.loads(DESIGNS.read_text(encoding="utf-8"))
    designs = {name: changed(base, name, fields) for name, fields in changes.items()}
    return [
        Finding(
            "E12",
            "superslabs of one class -> shared ones",
            "superslabs 877 -> 72, throughput +131 %",
            shifting,
            designs["dedicated-slabs"],
            designs["shared-slabs"],
        ),
        Finding(
            "E18",
            "8-byte header -> headerless",
            "+10 to 20 % expected, later 3 to 5 %",
            random_mixed,
            designs["with-header"],
            designs["without-header"],
        ),
        Finding(
            "E26",
            "blocks of 8 to 32 KiB: no thread cache -> thread cache",
            "+304 %",
            mid,
            designs["mid-uncached"],
            designs["mid-cached"],
        ),
        Finding(
            "E6",
            "linked list -> array in front of the store",
            "+15 to 20 % expected",
            random_mixed,
            designs["listed"],
            designs["stacked"],
        ),
    ]


def examine(hardware: Hardware, rounds: int, chosen: Sequence[Finding]) -> list[Row]:
    """Predict all findings, then measure them."""
    with scratch() as folder:
        cells: list[Cell] = []
        for finding in chosen:
            place = folder / finding.name
            place.mkdir()
            (trace,) = write_programs(place, [finding.workload])
            designs = [finding.before, finding.after]
            cells += cells_of(trace, place / "script", designs, libraries_of(designs, None), hardware)
        timed = time_cells(cells, hardware.instructions, hardware.costs, folder, rounds, None).timed
    return [_row(one, cells[2 * i : 2 * i + 2], timed[2 * i : 2 * i + 2], hardware) for i, one in enumerate(chosen)]


def _row(finding: Finding, cells: Sequence[Cell], timed: Sequence[Timed], hardware: Hardware) -> Row:
    ns, runs = [one.ns.median for one in timed], [one.runs[0] for one in timed]
    prices = [price_of(cell.plan, cell.simulation, cell.facts.operations, hardware).ns_per_op for cell in cells]
    touches = [cell.simulation.touches for cell in cells if cell.simulation.touches is not None]
    faults = [float(one.faults_4k + one.faults_2m) for one in touches]
    rss = [float(one.resident_peak) for one in touches]
    return Row(
        finding.name,
        finding.what,
        finding.logged,
        [
            Change("time of the replay", prices[1] / prices[0], ns[1] / ns[0]),
            Change("page faults", faults[1] / faults[0], runs[1].minor_faults / runs[0].minor_faults),
            Change(
                "peak RSS",
                rss[1] / rss[0],
                (runs[1].peak_rss_bytes - runs[1].start_rss_bytes) / (runs[0].peak_rss_bytes - runs[0].start_rss_bytes),
            ),
        ],
    )


def text(rows: list[Row]) -> str:
    """The findings as a Markdown table; changes in percent of A."""
    lines = ["| finding | figure | predicted | measured | the log's |", "|---|---|---|---|---|"]
    for row in rows:
        for change in row.changes:
            logged = row.logged if change is row.changes[0] else ""
            figures = f"{change.predicted - 1:+.1%} | {change.measured - 1:+.1%}"
            lines.append(f"| {row.name}: {row.what} | {change.quantity} | {figures} | {logged} |")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Findings of the ledger: predicted, then measured.")
    parser.add_argument("--machine", default="default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(words)
    rows = examine(calibrated(load_hardware(options.machine)), max(1, options.rounds), findings())
    if options.json:
        write_json(options.json, rows)
    print(text(rows))
    return 0


if __name__ == "__main__":
    exit_with(main)
