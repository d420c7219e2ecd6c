"""Calibrate: what each kind of event costs on this machine, from micro-programs under designs of every policy."""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import which
from typing import NamedTuple

import msgspec
import tomlkit

from heapsmith.bench.calibrate.bad_designs import bad_designs
from heapsmith.bench.calibrate.fit import Errors, Fit, fit
from heapsmith.bench.calibrate.micro_traces import EVENTS, PROGRAMS, Program, write_programs
from heapsmith.bench.calibrate.weather import Replay, times, yardsticks
from heapsmith.bench.common.built import library_of
from heapsmith.bench.common.limited import run_limited
from heapsmith.bench.common.rounds import Progress
from heapsmith.bench.common.whole_file import write_whole
from heapsmith.bench.peers.peers import Library
from heapsmith.bench.replay.callgrind import replay_counts
from heapsmith.bench.replay.script import write_script
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import SYSTEM, Hardware, detected, load_hardware
from heapsmith.model.predict.cost import Kinds, kinds, memory_share, time_kinds
from heapsmith.model.predict.simulate import Simulation, simulate

ROUNDS = 5
COUNTED = 4
"""Of the pairs of a design and a micro-program one in so many has its instructions counted."""

TIMED_EVENTS = 120_000
"""Of a micro-program that is timed: long enough that its start does not tell."""

TRANSFER_LIMIT_S = 60

WRITES = Application(births="all", deaths="none")
"""What a replay does to blocks. Its script and its table are no part of the heap's memory: they are resident before it
begins, and what they cost is a constant of each operation."""

Say = Progress | None


class Calibration(msgspec.Struct, frozen=True):
    """The machine with its costs, and how they were found.

    counted: replays whose instructions were counted (0: there is no valgrind, they are those that are shipped); timed:
    replays timed in each round. The errors are of these replays, by the costs that were fitted to them.
    """

    hardware: Hardware
    counted: int
    timed: int
    instruction_errors: Errors | None
    time_errors: Errors
    seconds: float


class Cell(NamedTuple):
    """A micro-program under a design."""

    script: Path
    threads: int
    operations: int
    plan: Plan
    library: Path
    simulation: Simulation


def calibrate(
    *,
    programs: Sequence[Program] = PROGRAMS,
    designs: Sequence[Design] | None = None,
    rounds: int = ROUNDS,
    progress: Say = None,
) -> Calibration:
    """Count and time the micro-programs under the designs (without them the built-in ones and bad ones); fit costs.

    Times are the medians of interleaved rounds, of programs with one thread. Raises Missing without gcc or room for the
    scripts, and what a replay raises.
    """
    begin = time.perf_counter()
    chosen = list(designs) if designs is not None else [*map(load, builtin_names()), *bad_designs()]
    hardware = hardware_here()
    transfer = transfer_ns()
    with tempfile.TemporaryDirectory(prefix="heapsmith-") as folder:
        libraries = libraries_of(chosen, progress)
        known: dict[bytes, list[Cell]] = {}

        def cells(name: str, events: int) -> Iterator[Cell]:
            for trace in write_programs(_made(Path(folder) / name), programs, events):
                content = trace.read_bytes()
                if content not in known:  # some are the same whatever the events
                    known[content] = _cells(trace, chosen, libraries, hardware, progress)
                yield from known[content]

        counted = _counted(list(cells("counted", EVENTS)), len(chosen), progress) if which("valgrind") else None
        instructions = counted[0].costs if counted else load_hardware().instructions
        alone = [cell for cell in cells("timed", TIMED_EVENTS) if cell.threads == 1]
        spent = [time_kinds(cell.plan, cell.simulation, instructions, cell.operations) for cell in alone]
        shares = [memory_share(one, load_hardware().costs) for one in spent]  # known well enough by any machine's costs
        measured, yards = times(
            [
                Replay(cell.script, Library(cell.plan.design.name, cell.library, ""), share)
                for cell, share in zip(alone, shares, strict=True)
            ],
            yardsticks(Path(folder)),
            rounds,
            progress,
        )
    timed = fit(spent, [one.ns.median for one in measured])
    # Where a transfer cannot be measured it is taken to cost what a line out of the last level does.
    costs = {**timed.costs, "miss.transfer": timed.costs.get("miss.l2", 0.0) if transfer is None else transfer}
    residuals = {
        "core_yardstick_ns": yards.core,
        "memory_yardstick_ns": yards.memory,
        "time_median_error": timed.errors.median,
        "time_p90_error": timed.errors.p90,
    }
    if counted:
        residuals |= {
            "instructions_median_error": counted[0].errors.median,
            "instructions_p90_error": counted[0].errors.p90,
        }
    return Calibration(
        msgspec.structs.replace(hardware, costs=costs, instructions=instructions, fit=residuals),
        counted[1] if counted else 0,
        len(alone),
        counted[0].errors if counted else None,
        timed.errors,
        time.perf_counter() - begin,
    )


def hardware_here() -> Hardware:
    """This machine's caches, or the default ones where the system does not describe them; without costs."""
    try:
        return detected()
    except Missing:
        return msgspec.structs.replace(load_hardware(), costs={}, fit={})


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _cells(
    trace: Path, designs: Sequence[Design], libraries: Sequence[Path], hardware: Hardware, progress: Say
) -> list[Cell]:
    """A micro-program under every design, simulated; its script lies beside the trace."""
    script = trace.with_suffix("")
    facts = write_script(trace, script)
    table = simulate(
        trace,
        designs,
        hardware=hardware,
        application=WRITES,
        progress=progress and (lambda _, done, total: progress(f"simulate {trace.stem}", done, total)),
    )
    return [
        Cell(script, facts.threads, facts.operations, make_plan(design), library, row)
        for design, library, row in zip(designs, libraries, table.rows, strict=True)
    ]


def libraries_of(designs: Sequence[Design], progress: Say) -> list[Path]:
    """The libraries of the designs, built two at a time where they are not there yet."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = []
        for number, library in enumerate(pool.map(library_of, designs)):
            if progress is not None:
                progress("build libraries", number + 1, len(designs))
            found.append(library)
    return found


def _counted(cells: Sequence[Cell], designs: int, progress: Say) -> tuple[Fit, int]:
    """The fit of instructions, and how many replays it is of: along diagonals of programs by designs."""
    chosen = [cell for i, cell in enumerate(cells) if (i // designs + i % designs) % min(COUNTED, designs) == 0]
    runs: list[Kinds] = []
    found: list[float] = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        counts = pool.map(lambda cell: replay_counts(cell.script, cell.library), chosen)
        for number, (cell, count) in enumerate(zip(chosen, counts, strict=True)):
            if progress is not None:
                progress("count instructions", number + 1, len(chosen))
            runs.append(kinds(cell.plan, cell.simulation))
            found.append(count.instructions)
    return fit(runs, found, load_hardware().instructions), len(chosen)


def transfer_ns() -> float | None:
    """What a line that another core wrote costs beyond one in L1 (transfer.c); None where that cannot be had."""
    cores = {_siblings(processor): processor for processor in sorted(os.sched_getaffinity(0))}
    if len(cores) < 2:
        return None
    tool = build_tool("heapsmith-transfer", [Path(__file__).with_name("transfer.c")], [*TOOL_FLAGS, "-pthread"])
    try:
        asked = run_limited([str(tool), *map(str, list(cores.values())[:2])], TRANSFER_LIMIT_S)
    except CheckFailed:
        return None
    return float(asked.stdout) if asked.returncode == 0 else None


def _siblings(processor: int) -> str:
    """The processors that share a core with this one, as the system lists them."""
    try:
        return (SYSTEM.parent.parent / f"cpu{processor}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def write_machine(path: Path, hardware: Hardware) -> None:
    """Write the hardware as a machine file (model/memory/hardware.py); BadInput if that fails."""
    hardware = msgspec.structs.replace(hardware, name=path.stem)
    fields = {name: value for name, value in msgspec.to_builtins(hardware).items() if value is not None}
    head = "# A machine: its caches, and what each kind of event costs on it. Written by heapsmith calibrate.\n"
    write_whole(path, (head + tomlkit.dumps(fields)).encode())
