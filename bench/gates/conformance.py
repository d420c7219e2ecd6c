"""The large conformance table: real programs x built-in designs, library against model."""

import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.files import scratch
from heapsmith.tools.common.tables import Words, draw


class Cell(NamedTuple):
    """One design on one program's trace; the counts are sums over both builds."""

    design: str
    program: str
    events: int
    addresses: int
    differences: list[str]


def conformance(folder: Path, designs: list[str]) -> list[Cell]:
    """Every design on a new trace of every program here. Raises like `record` and `verify`."""
    recorded: dict[str, str] = {}
    for program in programs(folder / "inputs", scale=1):
        if lacks := program.lacks():
            print(f"{program.name}: left out, needs {', '.join(lacks)}", file=sys.stderr)
        else:
            recorded[str(trace_of(program, folder / program.name))] = program.name
    cells: list[Cell] = []
    for design in designs:
        report = verify(load(design), [*map(Path, recorded)], audit=False)
        for trace, name in recorded.items():
            runs = [run for run in report.runs if run.trace == trace]
            differences = [f"{run.build}: {run.difference}" for run in runs if run.difference is not None]
            events, addresses = sum(run.events for run in runs), sum(run.addresses for run in runs)
            cells.append(Cell(design, name, events, addresses, differences))
            print(f"{design}: {name}: {events:,} events, {len(differences)} differences", file=sys.stderr)
    return cells


def show(cells: list[Cell]) -> None:
    """Print two tables: a row per program and a row per design; events are those of both builds."""
    for head in ("program", "design"):
        names = dict.fromkeys(getattr(cell, head) for cell in cells)
        rows = [[name, *_sums([cell for cell in cells if getattr(cell, head) == name])] for name in names]
        draw(Words("", (head, "events", "addresses", "differences"), [*rows, ["all", *_sums(cells)]]))


def _sums(cells: list[Cell]) -> list[str]:
    return [
        f"{sum(cell.events for cell in cells):,}",
        f"{sum(cell.addresses for cell in cells):,}",
        f"{sum(len(cell.differences) for cell in cells):,}",
    ]


def main(designs: Annotated[list[str] | None, typer.Argument()] = None) -> int:
    """Run the designs, by default all built-in ones; 1 if anything differs."""
    with scratch() as folder:
        cells = conformance(folder, designs or builtin_names())
    show(cells)
    for cell in cells:
        for difference in cell.differences:
            print(f"{cell.design}, {cell.program}: {difference}", file=sys.stderr)
    return int(any(cell.differences for cell in cells))


if __name__ == "__main__":
    exit_with(main)
