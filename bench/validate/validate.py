"""Validate: predictions for designs on traces, compared with replays under their libraries."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import NamedTuple

import msgspec

from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.bench.validate.quality import Comparison, Quality, Sign, qualities, signs
from heapsmith.bench.validate.syscalls import memory_calls
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.files import scratch
from heapsmith.model.memory.application import REPLAY
from heapsmith.model.memory.hardware import Hardware, Level
from heapsmith.model.memory.listener import Touches
from heapsmith.model.predict.cost import instructions_of, instructions_spent, kinds, system_calls
from heapsmith.model.predict.simulate import Simulation, simulate
from heapsmith.model.predict.times import priced
from heapsmith.tools.calibrate.cells import Cell, cells_of, libraries_of, stamp_cells, time_cells
from heapsmith.tools.calibrate.timed_replays import Timed, Yards
from heapsmith.tools.common.call_times import Stamped
from heapsmith.tools.common.counter_reports import read_report
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.rounds import Figure, Progress, quiet
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay.callgrind import Caches, Counted, is_countable, replay_counts
from heapsmith.tools.replay.replay import Replayed, replay_once

SCALE = 0.3
"""Scale of the inputs of recorded programs."""

LEAST_TRACES = 8
STAMPED = 3
"""Rounds of replays for each round of replays with stamps."""
OPERATIONS = 2000
"""With fewer allocations a program's time says nothing."""

TIME, WALL = "ns per operation", "wall ns per operation of threads"

HIT_PATH = ("hit0", "push")
"""Counters that libraries do not count (docs/machine.md)."""


class Validation(msgspec.Struct, frozen=True):
    """Predictions and measurements. speed: time of the yardsticks relative to the calibration."""

    machine: str
    speed: Yards
    rounds: int
    traces: dict[str, int]
    """Operations by trace."""
    designs: list[str]
    notes: list[str]
    qualities: list[Quality]
    signs: list[Sign]
    cells: list[Comparison]


class Subject(NamedTuple):
    """A cell of a trace with a name."""

    trace: str
    cell: Cell
    misses: Touches
    """Of callgrind's two levels of cache."""
    resident: float
    """Predicted bytes on average over the trace's time, as a replay samples them."""


def validate(
    traces: Sequence[Path],
    designs: Sequence[Design],
    hardware: Hardware,
    *,
    rounds: int = 15,
    progress: Progress = quiet,
) -> Validation:
    """Compare the model with replays of every trace under every design; `hardware` needs costs.

    Raises BadInput for hardware without costs and for bad traces, CheckFailed where a replay fails.
    """
    priced(hardware)
    with scratch() as folder:
        subjects = list(_subjects(folder, traces, designs, hardware, progress))
        own = [subject.cell for subject in subjects]
        counted = _counted(own, hardware, progress) if which("valgrind") else [None] * len(own)
        calls, refused = _calls(own, progress)
        timing = time_cells(own, instructions_of(hardware), hardware.costs, folder, rounds, progress)
        yards = timing.yards
        speed = Yards(
            yards.core / hardware.fit.get("core_yardstick_ns", yards.core),
            yards.memory / hardware.fit.get("memory_yardstick_ns", yards.memory),
        )
        stamped = stamp_cells(own, max(1, rounds // STAMPED), progress)
        speeds = [(1 - share) * speed.core + share * speed.memory for share in timing.shares]
        cells: list[Comparison] = []
        measured = zip(subjects, counted, calls, timing.timed, stamped, speeds, strict=True)
        for number, (subject, counts, called, timed, stamps, now) in enumerate(measured):
            progress("compare", number + 1, len(subjects))
            counters = _counters_of(subject.cell, folder / f"stats-{number}.json")
            cells += _compared(subject, hardware, counters, counts, called, timed)
            cells += _times(subject, timed, stamps, now)
    return Validation(
        hardware.name,
        speed,
        rounds,
        {one.trace: one.cell.facts.operations for one in subjects},
        [design.name for design in designs],
        _uncounted(designs) + refused,
        qualities(cells),
        list(signs(cells, designs, (TIME, WALL))),
        cells,
    )


def _uncounted(designs: Sequence[Design]) -> list[str]:
    """Say what callgrind does not count, and why."""
    if not which("valgrind"):
        return ["no valgrind: neither instructions nor misses were counted"]
    others = [design.name for design in designs if not is_countable(make_plan(design))]
    return [f"neither instructions nor misses of {name}: valgrind has no restartable sequences" for name in others]


def recorded(folder: Path, progress: Progress = quiet) -> list[Path]:
    """Record traces of the installed programs; BadInput for fewer than LEAST_TRACES."""
    found = []
    all_of_them = programs(folder / "inputs", scale=SCALE)
    for number, program in enumerate(all_of_them):
        progress(f"record {program.name}", number, len(all_of_them))
        if not program.lacks() and not program.hands_over:
            with suppress(CheckFailed):
                found.append(trace_of(program, folder / program.name))
    if len(found) < LEAST_TRACES:
        raise BadInput(f"only {len(found)} programs could be recorded here; give traces: --traces DIR")
    return found


def _subjects(
    folder: Path, traces: Sequence[Path], designs: Sequence[Design], hardware: Hardware, progress: Progress
) -> Iterator[Subject]:
    libraries = libraries_of(designs, progress)
    names = [trace.name.removesuffix(".hst") for trace in traces]
    for number, trace in enumerate(traces):
        name = names[number] if names.count(names[number]) == 1 else str(trace)
        progress(f"simulate {name}", number, len(traces))
        cores = [len(os.sched_getaffinity(0))]
        cells = cells_of(trace, folder / f"script-{number}", designs, libraries, hardware, cores=cores)
        again = simulate(trace, designs, hardware=as_callgrind(hardware), application=REPLAY)
        if any(cell.facts.operations == 0 for cell in cells):
            raise BadInput(f"{trace}: has no operation; expected a trace with allocations")
        for cell, other in zip(cells, again.rows, strict=True):
            assert other.touches is not None
            assert cell.simulation.touches is not None
            yield Subject(name, cell, other.touches, cell.simulation.touches.resident_average)


def _counted(cells: Sequence[Cell], hardware: Hardware, progress: Progress) -> list[Counted | None]:
    """Instructions, and misses of caches like the hardware's first and last level; None where valgrind misleads."""
    simulated = as_callgrind(hardware)
    caches = Caches(simulated.l1, simulated.llc, simulated.line_bytes)

    def count(cell: Cell) -> Counted | None:
        return replay_counts(cell.script, cell.library, caches) if is_countable(cell.plan) else None

    return in_parallel("count instructions and misses", count, cells, progress)


def _calls(cells: Sequence[Cell], progress: Progress) -> tuple[list[int | None], list[str]]:
    """System calls of each cell with one thread, or None; and why they are not counted."""

    def count(cell: Cell) -> int | None:
        return memory_calls(cell.script, cell.library) if cell.facts.threads == 1 else None

    try:
        return in_parallel("count system calls", count, cells, progress), []
    except Missing as error:
        return [None] * len(cells), [str(error)]


def as_callgrind(hardware: Hardware) -> Hardware:
    """The caches that callgrind simulates: one core's first and last level, without the kernel.

    Their number of sets is the largest power of two that fits.
    """

    def like(level: Level) -> Level:
        set_bytes = level.ways * hardware.line_bytes
        return Level((1 << (level.bytes // set_bytes).bit_length() - 1) * set_bytes, level.ways)

    l1, llc = like(hardware.l1), like(hardware.llc)
    return msgspec.structs.replace(hardware, l1=l1, l2=None, llc=llc, cores=1, zeroing_caches=False)


def _counters_of(cell: Cell, stats: Path) -> dict[str, int]:
    """The library's counters at the end of another replay; counters of classes are summed."""
    environment = {**os.environ, "HEAPSMITH": f"stats={stats}"}
    library = Library(cell.plan.design.name, cell.library, "")
    replay_once(cell.script, library, env=environment)
    counters: Counter[str] = Counter()
    for one in read_report(stats).counts:
        counters[one.name] += one.count
    return counters


def _predicted_counters(simulation: Simulation) -> dict[str, int]:
    per_class = {name: sum(counts) for name, counts in simulation.counters.classes.items() if name not in HIT_PATH}
    return per_class | simulation.counters.totals


def _compared(
    subject: Subject,
    hardware: Hardware,
    counters: dict[str, int],
    counted: Counted | None,
    calls: int | None,
    timed: Timed,
) -> Iterator[Comparison]:
    """Compare every quantity of a subject but its times."""
    facts, plan, simulation = subject.cell.facts, subject.cell.plan, subject.cell.simulation
    operations = facts.operations
    touches = simulation.touches
    assert touches is not None

    def cell(quantity: str, predicted: float, measured: float, spread: float = 0.0) -> Comparison:
        return Comparison(subject.trace, plan.design.name, quantity, predicted, measured, spread)

    def over_runs(quantity: str, predicted: float, measured: Callable[[Replayed], float]) -> Comparison:
        figure = Figure.of([measured(run) for run in timed.runs])
        return cell(quantity, predicted, figure.median, figure.spread)

    if facts.threads == 1:
        for name, count in _predicted_counters(simulation).items():
            yield cell("counters", count, counters.get(name, 0))
        if calls is not None:
            yield cell("system calls", system_calls(simulation), calls)
    if counted is not None:
        predicted = instructions_spent(kinds(plan, simulation), instructions_of(hardware))
        yield cell("instructions per operation", predicted / operations, counted.instructions / operations)
        yield cell("D1 misses", subject.misses.l1_misses, counted.d1_misses)
        yield cell("LL misses", subject.misses.llc_misses, counted.ll_misses)
    yield over_runs("peak RSS", touches.resident_peak, lambda run: run.peak_rss_bytes - run.start_rss_bytes)
    yield over_runs("average RSS", subject.resident, lambda run: run.average_rss_bytes - run.start_rss_bytes)
    yield over_runs("page faults", touches.faults_4k + touches.faults_2m, lambda run: run.minor_faults)


def _times(subject: Subject, timed: Timed, stamps: Sequence[Stamped], speed: float) -> Iterator[Comparison]:
    """Compare the times of a subject: `speed` is the present time of its work to the calibration's.

    Threads' processor time holds what they spend on waiting.
    """
    facts, timing = subject.cell.facts, subject.cell.simulation.timings[0]

    def cell(quantity: str, predicted: float, measured: Figure) -> Comparison:
        name = subject.cell.plan.design.name
        return Comparison(subject.trace, name, quantity, predicted * speed, measured.median, measured.spread)

    per = 1 / facts.operations
    own = Figure(timed.ns.minimum * per, timed.ns.median * per, timed.ns.spread)
    yield cell(TIME, timing.cpu_ns * per, own)
    if facts.threads > 1:
        wall = Figure.of([run.wall_ns * per for run in timed.runs])
        yield cell(WALL, timing.ns_per_op, wall)
    for name, field, share in (("p50", "p50", 0.5), ("p99", "p99", 0.99), ("p99.9", "p999", 0.999)):
        # As the clock of this machine shows it; both are scaled, since the stamps' cost drifts like the rest.
        shown = timing.latency.as_stamped(share, stamps[0].stamp, stamps[0].step)
        yield cell(f"{name} of an operation", shown, Figure.of([getattr(stamp, field) for stamp in stamps]))
