"""Cells: traces under designs, simulated and timed; for calibration, validation and findings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.memory.application import WRITES
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.cost import Kinds, memory_share, time_kinds
from heapsmith.model.predict.simulate import Simulation, simulate
from heapsmith.model.predict.times import timed
from heapsmith.tools.calibrate.timed_replays import Replay, Timed, Yards, times, yardsticks
from heapsmith.tools.common.call_times import Stamped
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.rounds import Progress, Stop, interleaved, quiet
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay.replay import replay_once
from heapsmith.tools.replay.script import ScriptFacts, write_script


class Cell(NamedTuple):
    """A trace under a design: its replay and its simulation."""

    script: Path
    facts: ScriptFacts
    plan: Plan
    library: Path
    simulation: Simulation


class Timing(NamedTuple):
    """For each cell: its kinds of time, the share that follows the memory yardstick, its replays.

    Then the times of the yardsticks.
    """

    spent: list[Kinds]
    shares: list[float]
    timed: list[Timed]
    yards: Yards


def libraries_of(designs: Sequence[Design], progress: Progress) -> list[Path]:
    """The libraries of the designs, built if absent."""
    return in_parallel("build libraries", library_of, designs, progress)


def cells_of(
    trace: Path,
    script: Path,
    designs: Sequence[Design],
    libraries: Sequence[Path],
    hardware: Hardware,
    progress: Progress = quiet,
    *,
    cores: Sequence[int] = (),
) -> list[Cell]:
    """Simulate the trace under every design, and write its script; with timings on `cores`, if any."""
    facts = write_script(trace, script)
    plans = [make_plan(design) for design in designs]
    table = simulate(trace, designs, hardware=hardware, application=WRITES, progress=progress)
    if cores:
        table = timed(table, plans, hardware, WRITES, cores=cores, progress=progress)
    return [Cell(script, facts, *each) for each in zip(plans, libraries, table.rows, strict=True)]


def time_cells(
    cells: Sequence[Cell],
    instructions: Mapping[str, float],
    costs: Mapping[str, float],
    folder: Path,
    rounds: int,
    progress: Progress,
) -> Timing:
    """Replay the cells in interleaved rounds. Shares of memory follow from the costs.

    `folder` holds the scripts of the yardsticks.
    """
    spent = [time_kinds(cell.plan, cell.simulation, instructions, cell.facts.operations) for cell in cells]
    shares = [memory_share(one, costs) for one in spent]
    replays = [
        Replay(cell.script, Library(cell.plan.design.name, cell.library, ""), share)
        for cell, share in zip(cells, shares, strict=True)
    ]
    return Timing(spent, shares, *times(replays, yardsticks(folder), rounds, progress))


def stamp_cells(cells: Sequence[Cell], rounds: int, progress: Progress) -> list[list[Stamped]]:
    """The times of each cell's single operations, in interleaved rounds of replays with stamps."""

    def stamp(entry: int) -> Stamped:
        cell = cells[entry]
        found = replay_once(cell.script, Library(cell.plan.design.name, cell.library, ""), latency=True).latency_ns
        assert found is not None
        return found

    names, scripts = [cell.plan.design.name for cell in cells], [cell.script for cell in cells]
    return interleaved("stamp operations", names, Stop(rounds), stamp, progress, groups=scripts).runs
