"""Calibrate: what each kind of event costs on this machine, from micro-programs under designs of every policy."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which

import msgspec
import tomlkit

from heapsmith.bench.calibrate.bad_designs import bad_designs
from heapsmith.bench.calibrate.cells import Cell, cells_of, libraries_of, time_cells
from heapsmith.bench.calibrate.fit import Errors, Fit, fit
from heapsmith.bench.calibrate.micro_traces import EVENTS, PROGRAMS, Program, write_programs
from heapsmith.bench.common.limited import run_limited
from heapsmith.bench.common.parallel import in_parallel
from heapsmith.bench.common.rounds import Progress
from heapsmith.bench.replay.callgrind import replay_counts
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import scratch, write_text
from heapsmith.model.memory.hardware import SYSTEM, Hardware, detected, load_hardware
from heapsmith.model.predict.cost import kinds

ROUNDS = 5
COUNTED = 4
"""Of the pairs of a design and a micro-program one in so many has its instructions counted."""

TIMED_EVENTS = 120_000
"""Of a micro-program that is timed: long enough that its start does not tell."""

TRANSFER_LIMIT_S = 60

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
    with scratch() as folder:
        libraries = libraries_of(chosen, progress)
        known: dict[bytes, list[Cell]] = {}

        def cells(name: str, events: int) -> Iterator[Cell]:
            own = folder / name
            own.mkdir()
            for trace in write_programs(own, programs, events):
                content = trace.read_bytes()
                if content not in known:  # some are the same whatever the events
                    say = _saying(f"simulate {trace.stem}", progress)
                    known[content] = cells_of(trace, trace.with_suffix(""), chosen, libraries, hardware, say)
                yield from known[content]

        counted = _counted(list(cells("counted", EVENTS)), len(chosen), progress) if which("valgrind") else None
        instructions = counted[0].costs if counted else load_hardware().instructions
        alone = [cell for cell in cells("timed", TIMED_EVENTS) if cell.facts.threads == 1]
        costs = load_hardware().costs  # any machine's are good enough for the shares of memory
        timing = time_cells(alone, instructions, costs, folder, rounds, progress)
    timed = fit(timing.spent, [one.ns.median for one in timing.timed])
    # Where a transfer cannot be measured it is taken to cost what a line out of the last level does.
    costs = {**timed.costs, "miss.transfer": timed.costs.get("miss.l2", 0.0) if transfer is None else transfer}
    residuals = {
        "core_yardstick_ns": timing.yards.core,
        "memory_yardstick_ns": timing.yards.memory,
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


def _saying(what: str, progress: Say) -> Say:
    """The progress of a simulation, under another name."""
    return progress and (lambda _, done, total: progress(what, done, total))


def hardware_here() -> Hardware:
    """This machine's caches, or the default ones where the system does not describe them; without costs."""
    try:
        return detected()
    except Missing:
        return msgspec.structs.replace(load_hardware(), costs={}, fit={})


def _counted(cells: Sequence[Cell], designs: int, progress: Say) -> tuple[Fit, int]:
    """The fit of instructions, and how many replays it is of: along diagonals of programs by designs."""
    chosen = [cell for i, cell in enumerate(cells) if (i // designs + i % designs) % min(COUNTED, designs) == 0]
    counts = in_parallel("count instructions", lambda cell: replay_counts(cell.script, cell.library), chosen, progress)
    runs = [kinds(cell.plan, cell.simulation) for cell in chosen]
    return fit(runs, [count.instructions for count in counts], load_hardware().instructions), len(chosen)


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
    write_text(path, head + tomlkit.dumps(fields))
