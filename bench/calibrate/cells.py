"""Cells: traces under designs, simulated and then timed in replays; calibration, validation and findings share them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heapsmith.bench.calibrate.weather import Replay, Timed, Yards, times, yardsticks
from heapsmith.bench.common.built import library_of
from heapsmith.bench.common.parallel import in_parallel
from heapsmith.bench.common.rounds import Progress
from heapsmith.bench.peers.peers import Library
from heapsmith.bench.replay.script import ScriptFacts, write_script
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.cost import Kinds, memory_share, time_kinds
from heapsmith.model.predict.simulate import Simulation, simulate

WRITES = Application(births="all", deaths="none")
"""What a replay does to blocks. Its script and its table are no part of the heap's memory: they are resident before it
begins, and what they cost is a constant of each operation."""


class Cell(NamedTuple):
    """A trace under a design: what is replayed, and what the model says of it."""

    script: Path
    facts: ScriptFacts
    plan: Plan
    library: Path
    simulation: Simulation


class Timing(NamedTuple):
    """Of each cell the kinds of time it spends, the share of its time that follows the memory yardstick, and its
    replays; then what the yardsticks took."""

    spent: list[Kinds]
    shares: list[float]
    timed: list[Timed]
    yards: Yards


def libraries_of(designs: Sequence[Design], progress: Progress | None) -> list[Path]:
    """The libraries of the designs, built where they are not there yet."""
    return in_parallel("build libraries", library_of, designs, progress)


def cells_of(
    trace: Path,
    script: Path,
    designs: Sequence[Design],
    libraries: Sequence[Path],
    hardware: Hardware,
    progress: Progress | None = None,
) -> list[Cell]:
    """The trace under every design, simulated; writes its script."""
    facts = write_script(trace, script)
    table = simulate(trace, designs, hardware=hardware, application=WRITES, progress=progress)
    return [
        Cell(script, facts, make_plan(design), library, row)
        for design, library, row in zip(designs, libraries, table.rows, strict=True)
    ]


def time_cells(
    cells: Sequence[Cell],
    instructions: Mapping[str, float],
    costs: Mapping[str, float],
    folder: Path,
    rounds: int,
    progress: Progress | None,
) -> Timing:
    """Replay the cells in interleaved rounds; yardsticks lie in `folder`. Shares of memory follow from the costs."""
    spent = [time_kinds(cell.plan, cell.simulation, instructions, cell.facts.operations) for cell in cells]
    shares = [memory_share(one, costs) for one in spent]
    replays = [
        Replay(cell.script, Library(cell.plan.design.name, cell.library, ""), share)
        for cell, share in zip(cells, shares, strict=True)
    ]
    return Timing(spent, shares, *times(replays, yardsticks(folder), rounds, progress))
