"""The big conformance table: real programs x built-in designs, library held against model; `make conformance`."""

import sys
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.verify import Run, verify
from heapsmith.model.design.design import builtin_names, load

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
        recorded[program.name] = trace_of(program, folder / program.name)
    return recorded


def conformance(folder: Path, designs: list[str]) -> list[Cell]:
    """Every design on every trace. Raises what `record` and `verify` raise; differences are in the cells."""
    recorded = traces(folder)
    cells: list[Cell] = []
    for name in designs:
        report = verify(load(name), list(recorded.values()), audit=False)
        for program, trace in recorded.items():
            runs = [run for run in report.runs if Path(run.trace) == trace]
            cells.append(_cell(name, program, runs))
            CONSOLE.print(f"{name}: {program}: {cells[-1].events:,} events, {len(cells[-1].differences)} differences")
    return cells


def _cell(design: str, program: str, runs: list[Run]) -> Cell:
    differences = [f"{run.build}: {run.difference}" for run in runs if run.difference is not None]
    return Cell(design, program, sum(run.events for run in runs), sum(run.addresses for run in runs), differences)


def show(cells: list[Cell]) -> None:
    """Two tables, a row per program and a row per design; events are those of both builds together."""
    for head in ("program", "design"):
        table = Table(head, "events", "addresses", "differences")
        for name in dict.fromkeys(getattr(cell, head) for cell in cells):
            table.add_row(name, *_sums([cell for cell in cells if getattr(cell, head) == name]))
        table.add_row("all", *_sums(cells))
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
