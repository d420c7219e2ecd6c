"""The large conformance table: real programs x built-in designs, library against model."""

import sys
from pathlib import Path

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.tables import Words, draw
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.verify import Run, verify
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.files import scratch


class Cell(msgspec.Struct, frozen=True):
    """One design on one program's trace; the counts are sums over both builds."""

    design: str
    program: str
    events: int
    addresses: int
    differences: list[str]


def traces(folder: Path) -> dict[str, Path]:
    """A new trace of each program that this machine has."""
    recorded: dict[str, Path] = {}
    for program in programs(folder / "inputs", scale=1):
        if lacks := program.lacks():
            print(f"{program.name}: left out, needs {', '.join(lacks)}", file=sys.stderr)
            continue
        recorded[program.name] = trace_of(program, folder / program.name)
    return recorded


def conformance(folder: Path, designs: list[str]) -> list[Cell]:
    """Every design on every trace. Raises like `record` and `verify`; cells hold differences."""
    recorded = traces(folder)
    cells: list[Cell] = []
    for name in designs:
        report = verify(load(name), list(recorded.values()), audit=False)
        for program, trace in recorded.items():
            runs = [run for run in report.runs if Path(run.trace) == trace]
            cells.append(_cell(name, program, runs))
            cell = cells[-1]
            said = f"{name}: {program}: {cell.events:,} events, {len(cell.differences)} differences"
            print(said, file=sys.stderr)
    return cells


def _cell(design: str, program: str, runs: list[Run]) -> Cell:
    differences = [f"{run.build}: {run.difference}" for run in runs if run.difference is not None]
    return Cell(design, program, sum(run.events for run in runs), sum(run.addresses for run in runs), differences)


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


def main(words: list[str]) -> int:
    """Run the designs named as arguments, by default all built-in ones; 1 if anything differs."""
    with scratch() as folder:
        cells = conformance(folder, words or builtin_names())
    show(cells)
    for cell in cells:
        for difference in cell.differences:
            print(f"{cell.design}, {cell.program}: {difference}", file=sys.stderr)
    return int(any(cell.differences for cell in cells))


if __name__ == "__main__":
    exit_with(main)
