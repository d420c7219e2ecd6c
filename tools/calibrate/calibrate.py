"""Calibrate: the cost of each kind of event on this machine, from micro-programs under designs."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which
from statistics import median

import msgspec
import tomlkit

from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import scratch, write_text
from heapsmith.model.memory.hardware import SYSTEM, Hardware, here, load_hardware
from heapsmith.model.predict.cost import instructions_of, kinds
from heapsmith.model.toml_text import schema_line
from heapsmith.tools.calibrate.bad_designs import bad_designs
from heapsmith.tools.calibrate.cells import Cell, Timing, cells_of, libraries_of, stamp_cells, time_cells
from heapsmith.tools.calibrate.fit import Errors, Fit, fit
from heapsmith.tools.calibrate.micro_traces import EVENTS, PROGRAMS, Program, write_programs
from heapsmith.tools.common.call_times import Stamped
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.rounds import Progress, quiet
from heapsmith.tools.replay.callgrind import is_countable, replay_counts

ROUNDS = 5
STAMPED = 3
"""Rounds of replays that stamp each operation; the mean of a replay is steadier than its time."""
LEAST_NS = 0.1
"""A clock with coarse steps may show no time at all."""
COUNTED = 4
"""Of this many pairs of a design and a micro-program, one has its instructions counted."""
OF_A_KIND = 4
"""Of each kind, the pairs with most of its events that are counted too: no kind is left to chance."""

TIMED_EVENTS = 120_000
"""Events of a timed micro-program: enough that its start does not matter."""

CORES_LIMIT_S = 60
OF_CORES = ("miss.transfer", "miss.transfer.awaited", "lock.moved", "shootdown", "shootdown.target")
"""What cores.c prints, but that it prints the second whole and not what it costs beyond the first."""


class Calibration(msgspec.Struct, frozen=True):
    """The machine with its costs, and the quality of their fit.

    counted: replays with counted instructions (0: without valgrind, or of designs that it cannot count; the costs are
    the shipped ones).
    timed: timed replays in each round. The errors are those of these replays under the fitted
    costs; alone_errors those of replays that stamp each operation.
    """

    hardware: Hardware
    counted: int
    timed: int
    instruction_errors: Errors | None
    time_errors: Errors
    alone_errors: Errors
    seconds: float


def calibrate(
    *,
    programs: Mapping[str, Program] = PROGRAMS,
    designs: Sequence[Design] | None = None,
    rounds: int = ROUNDS,
    progress: Progress = quiet,
) -> Calibration:
    """Count and time the micro-programs under the designs (or built-in and bad ones); fit costs.

    Times are medians over interleaved rounds, of programs with one thread. Raises Missing without
    gcc or room for the scripts, and the errors of replays.
    """
    begin = time.perf_counter()
    chosen = list(designs) if designs is not None else [*map(load, builtin_names()), *bad_designs()]
    hardware = here()
    between = of_cores()
    with scratch() as folder:
        libraries = libraries_of(chosen, progress)
        known: dict[bytes, list[Cell]] = {}

        def cells(name: str, events: int) -> Iterator[Cell]:
            own = folder / name
            own.mkdir()
            for trace in write_programs(own, programs, events):
                content = trace.read_bytes()
                if content not in known:  # some programs ignore the number of events

                    def say(_: str, done: int, total: int, name: str = trace.stem) -> None:
                        progress(f"simulate {name}", done, total)

                    known[content] = cells_of(trace, trace.with_suffix(""), chosen, libraries, hardware, say)
                yield from known[content]

        sample: list[Cell] = []
        if which("valgrind"):
            sample = sampled(list(cells("counted", EVENTS)), len(chosen))
        counted = _counted(sample, progress) if sample else None
        instructions = counted.costs if counted else instructions_of(load_hardware())
        single = [cell for cell in cells("timed", TIMED_EVENTS) if cell.facts.threads == 1]
        costs = load_hardware().costs  # any machine's costs will do for the shares of memory
        timing = time_cells(single, instructions, costs, folder, rounds, progress)
        stamped = stamp_cells(single, min(rounds, STAMPED), progress)
    timed, alone = _timed(timing, stamped, single, between)
    residuals = {"core_yardstick_ns": timing.yards.core, "memory_yardstick_ns": timing.yards.memory}
    for what, one in (("time", timed), ("alone", alone), ("instructions", counted)):
        if one:
            residuals |= {f"{what}_median_error": one.errors.median, f"{what}_p90_error": one.errors.p90}
    fitted = {"costs": timed.costs, "alone": alone.costs, "instructions": instructions, "fit": residuals}
    return Calibration(
        msgspec.structs.replace(hardware, **fitted),
        len(sample),
        len(single),
        counted.errors if counted else None,
        timed.errors,
        alone.errors,
        time.perf_counter() - begin,
    )


def _timed(
    timing: Timing, stamped: Sequence[Sequence[Stamped]], cells: Sequence[Cell], between: dict[str, float]
) -> tuple[Fit, Fit]:
    """Fit the costs of operations among others, and of operations alone, whose totals follow from their means."""
    among = fit(timing.spent, [one.ns.median for one in timing.timed])
    means = [max(LEAST_NS, median(one.mean for one in stamps)) for stamps in stamped]
    alone = fit(timing.spent, [mean * cell.facts.operations for mean, cell in zip(means, cells, strict=True)])
    # If a transfer cannot be measured, its cost is that of a miss in the last level.
    moved = {"miss.transfer": among.costs.get("miss.l2", 0.0), "miss.transfer.awaited": 0.0}
    moved |= {kind: between[kind] for kind in moved if kind in between}
    return Fit(among.costs | moved | between, among.errors), Fit(alone.costs | moved, alone.errors)


def sampled(cells: Sequence[Cell], designs: int) -> list[Cell]:
    """Return the cells whose instructions are counted; each program's cells are one per design."""
    every = min(COUNTED, designs)
    countable = [i for i, cell in enumerate(cells) if is_countable(cell.plan)]
    chosen = {i for i in countable if (i // designs + i % designs) % every == 0}
    happened = [kinds(cell.plan, cell.simulation) for cell in cells]
    for name in {name for one in happened for name in one}:
        having = [i for i in countable if name in happened[i]]
        chosen |= set(sorted(having, key=lambda i: -happened[i][name] / cells[i].facts.operations)[:OF_A_KIND])
    return [cells[i] for i in sorted(chosen)]


def _counted(cells: Sequence[Cell], progress: Progress) -> Fit:
    """Fit the instructions of replays."""
    counts = in_parallel("count instructions", lambda cell: replay_counts(cell.script, cell.library), cells, progress)
    runs = [kinds(cell.plan, cell.simulation) for cell in cells]
    return fit(runs, [count.instructions for count in counts], instructions_of(load_hardware()))


def of_cores() -> dict[str, float]:
    """Return what two cores cost each other, in nanoseconds, by kind; nothing where that cannot be measured."""
    cores = {_siblings(processor): processor for processor in sorted(os.sched_getaffinity(0))}
    if len(cores) < 2:
        return {}
    tool = build_tool("heapsmith-cores", [Path(__file__).with_name("cores.c")], [*TOOL_FLAGS, "-pthread"])
    try:
        asked = run_limited([str(tool), *map(str, list(cores.values())[:2])], CORES_LIMIT_S)
    except CheckFailed:
        return {}
    found = list(map(float, asked.stdout.split()))
    if len(found) < 2:
        return {}
    streamed, followed, *others = found
    # Where pages cannot be given back the tool ends before the last two.
    return dict(zip(OF_CORES, (streamed, max(0.0, followed - streamed), *others), strict=False))


def _siblings(processor: int) -> str:
    """The processors that share a core with this processor, as the system lists them."""
    try:
        return (SYSTEM.parent.parent / f"cpu{processor}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def write_machine(path: Path, hardware: Hardware) -> None:
    """Write the hardware as a machine file (model/memory/hardware.py); BadInput if that fails."""
    hardware = msgspec.structs.replace(hardware, name=path.stem)
    fields = {name: value for name, value in msgspec.to_builtins(hardware).items() if value is not None}
    head = "# A machine: its caches, and what each kind of event costs on it. Written by heapsmith calibrate.\n"
    write_text(path, schema_line("machine") + head + tomlkit.dumps(fields))
