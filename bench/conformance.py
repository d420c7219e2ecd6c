"""The big conformance table: real programs x built-in designs, library held against model; `make conformance`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from heapsmith.bench.programs import programs
from heapsmith.bench.record import record
from heapsmith.codegen.verify import Run, verify
from heapsmith.model.design import builtin_names, load

CONSOLE = Console(stderr=True)


class Cell(msgspec.Struct, frozen=True):
    """One design on one program's trace; events, addresses and counters of both builds added up."""

    design: str
    program: str
    events: int
    addresses: int
    differences: list[str]


def traces(folder: Path) -> dict[str, Path]:
    """A trace of each program that this machine has, recorded now."""
    recorded: dict[str, Path] = {}
    for program in programs(folder / "inputs", scale=1):
        if lacks := program.lacks():
            CONSOLE.print(f"{program.name}: left out, needs {', '.join(lacks)}")
            continue
        out = folder / f"{program.name}.hst"
        record(program.command, out, all_processes=False, stdout=subprocess.DEVNULL)
        recorded[program.name] = out
    return recorded


def conformance(folder: Path, designs: list[str]) -> list[Cell]:
    """Every design on every trace. Raises what `record` and `verify` raise; differences are in the cells."""
    recorded = traces(folder)
    cells: list[Cell] = []
    for name in designs:
        report = verify(load(name), list(recorded.values()), audit=False)
        by_trace = {out.name: program for program, out in recorded.items()}
        for program in recorded:
            runs = [run for run in report.runs if by_trace[Path(run.trace).name] == program]
            cells.append(_cell(name, program, runs))
            CONSOLE.print(f"{name}: {program}: {cells[-1].events:,} events, {len(cells[-1].differences)} differences")
    return cells


def _cell(design: str, program: str, runs: list[Run]) -> Cell:
    differences = [f"{run.build}: {run.difference}" for run in runs if run.difference is not None]
    return Cell(design, program, sum(run.events for run in runs), sum(run.addresses for run in runs), differences)


def show(cells: list[Cell]) -> None:
    """The table: a row per design, a column per program, events of both builds; `!` marks a difference."""
    columns = list(dict.fromkeys(cell.program for cell in cells))
    table = Table("design", *columns, "events", "addresses", "differences")
    for design in dict.fromkeys(cell.design for cell in cells):
        row = [cell for cell in cells if cell.design == design]
        counts = [f"{cell.events:,}{'!' if cell.differences else ''}" for cell in row]
        table.add_row(design, *counts, *_sums(row))
    table.add_row("all", *([""] * len(columns)), *_sums(cells))
    Console(width=200).print(table)


def _sums(cells: list[Cell]) -> list[str]:
    return [
        f"{sum(cell.events for cell in cells):,}",
        f"{sum(cell.addresses for cell in cells):,}",
        f"{sum(len(cell.differences) for cell in cells):,}",
    ]


def main() -> None:
    """The designs named as arguments, all built-in ones by default; exit code 1 if anything differs."""
    with tempfile.TemporaryDirectory(prefix="heapsmith-conformance-") as folder:
        cells = conformance(Path(folder), sys.argv[1:] or builtin_names())
    show(cells)
    for cell in cells:
        for difference in cell.differences:
            CONSOLE.print(f"{cell.design}, {cell.program}: {difference}")
    sys.exit(any(cell.differences for cell in cells))


if __name__ == "__main__":
    main()
