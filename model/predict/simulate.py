"""Simulate: a pass over a trace that feeds any number of designs, and the results of each."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.design.fitted import plan_for
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.simulator import Counters, Simulator, Statistics, has_rare_choices
from heapsmith.model.memory.application import PROGRAM, Application
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.listener import Listener, Touches
from heapsmith.model.predict.clocks import Timing
from heapsmith.model.predict.cost import Price, price_of, system_calls
from heapsmith.model.trace.reader import Chunk, Op, TraceReader

Progress = Callable[[str, int, int], None]
"""Called as progress(what, events done, events in all)."""

MEASURED_AS = (
    "processor time of the thread inside the model's compiled event loop (statistics included), after compilation and "
    "warm-up; decoding the trace and growing arrays are excluded"
)


class Rates(msgspec.Struct, frozen=True):
    """Shares of the small allocations, and events per million operations of the trace."""

    hit0: float  # share of small allocations served by level 0
    hit1: float  # share served by level 1
    refill: float  # share that the store served
    refills_per_million: float
    flushes_per_million: float
    spills_per_million: float
    carves_per_million: float  # blocks carved
    remote_per_million: float  # blocks freed by a thread that does not own them
    releases_per_million: float


class TouchRates(msgspec.Struct, frozen=True):
    """Touches of heap and program per operation of the trace."""

    accesses: float  # accesses of lines
    l1_misses: float
    llc_misses: float
    tlb_misses: float  # misses of all TLB levels: page walks


class Simulation(msgspec.Struct, frozen=True):
    """A design on a trace. Sizes are in bytes; ratios are of bytes."""

    design: str
    hash: str
    counters: Counters
    block_sizes: list[int]  # block sizes of the classes, in the order of the counters
    rates: Rates
    statistics: Statistics
    committed_peak: int
    peak_ratio: float  # committed_peak / peak live bytes asked for
    touches: Touches | None  # touches of the simulated hardware, if any
    touch_rates: TouchRates | None
    price: Price | None  # the price, if the hardware has costs
    events_per_second: float  # of this design's model alone (see SimulationTable.measured_as)
    timings: list[Timing] = []  # for each number of cores, if asked for (model/predict/times.py)
    system_calls_per_million: float = 0.0  # of operations, as locks
    locks_per_million: dict[str, float] = {}  # by path and stage (docs/machine-rooms.md, 'locks')


class SimulationTable(msgspec.Struct, frozen=True):
    """Designs side by side on a trace."""

    trace: str
    events: int
    operations: int  # events without thread starts and exits
    threads: int
    max_blocks: int
    machine: str | None  # the simulated hardware, if any, and its application
    application: Application | None
    measured_as: str
    rows: list[Simulation]
    notes: list[str] = []  # of call sites that a design asks for and the trace lacks, of flags without a price


class Extent(NamedTuple):
    """The length of a trace; operations are its events without thread starts and exits."""

    events: int
    operations: int
    threads: int
    max_blocks: int


def simulate(
    trace: Path,
    designs: Sequence[Design],
    *,
    hardware: Hardware | None = None,
    application: Application = PROGRAM,
    page_bytes: int | None = None,
    progress: Progress | None = None,
    stage: str = "simulating",
) -> SimulationTable:
    """Feed the trace to every design by chunks; memory does not grow with the trace's length.

    `hardware`: also simulate its caches, TLBs and pages for the touches of heap and `application`,
    and price them if the hardware has costs. `page_bytes`: as of `plan_for`.
    `progress` is called after each chunk, with `stage`. Raises BadInput if the trace is damaged.
    """
    plans = [plan_for(design, page_bytes) for design in designs]
    rare = any(map(has_rare_choices, plans))
    simulators = [warmed_up(plan, hardware, application, rare) for plan in plans]
    with TraceReader(trace, sited=ask_sites(designs)) as reader:
        extent = feed_all(reader, simulators, stage, progress)
        notes = site_notes(reader, designs)
    if hardware and hardware.costs:
        notes += flag_notes(designs)
    return SimulationTable(
        str(trace),
        *extent,
        hardware.name if hardware else None,
        application if hardware else None,
        MEASURED_AS,
        [simulation(simulator, extent.operations, hardware) for simulator in simulators],
        notes,
    )


def site_notes(reader: TraceReader, designs: Sequence[Design]) -> list[str]:
    """Return a line for each design with groups of call sites of which the trace shows nothing."""
    notes = []
    for design in designs:
        tree = reader.stacks() if design.segregation else None
        if design.segregation and tree is None:
            notes.append(f"{design.name}: the trace has no call stacks (record --stacks), so all calls are in group 0")
        elif tree and not design.row("segregation").groups_of(design.segregation, tree).any():
            notes.append(f"{design.name}: none of its call sites is in the trace; they are those of other builds")
    return notes


def flag_notes(designs: Sequence[Design]) -> list[str]:
    """Return a line for each design with flags of the compiler, whose worth the price does not know."""
    return [
        f"{design.name}: priced without {' '.join(design.compile_flags)}: what flags change must be measured"
        for design in designs
        if design.compile_flags
    ]


class Follower(Protocol):
    """A simulator, or whatever else follows the events of a trace."""

    def feed(self, chunk: Chunk) -> None: ...


class Operations:
    """Counts the events of a trace, and its operations: events without thread starts and exits."""

    def __init__(self) -> None:
        self.events = self.count = 0

    def feed(self, chunk: Chunk) -> None:
        """Count the events of a chunk."""
        self.events += len(chunk.op)
        self.count += int((chunk.op < Op.THREAD_START).sum())


def feed_all(reader: TraceReader, followers: Sequence[Follower], what: str, progress: Progress | None) -> Extent:
    """Feed the trace to all followers by chunks, with progress as `what`; BadInput if damaged."""
    operations = Operations()
    feed_chunks(reader, [operations, *followers], what, progress, reader.footer.events)
    return Extent(operations.events, operations.count, reader.footer.threads, reader.footer.max_blocks)


def feed_chunks(
    chunks: Iterable[Chunk], followers: Sequence[Follower], what: str, progress: Progress | None, events: int
) -> None:
    """Feed chunks to all followers, with progress as `what` out of `events`."""
    done = 0
    for chunk in chunks:
        for follower in followers:
            follower.feed(chunk)
        done += len(chunk.op)
        if progress:
            progress(what, done, events)


def warmed_up(plan: Plan, hardware: Hardware | None, application: Application, rare: bool) -> Simulator:
    """Return a new simulator, after an event of another one has compiled or loaded its kernels."""

    def simulator() -> Simulator:
        return Simulator(plan, listener=Listener(hardware) if hardware else None, application=application, rare=rare)

    simulator().step(Op.MALLOC, 0, 0, 1)
    return simulator()


def simulation(simulator: Simulator, operations: int, hardware: Hardware | None) -> Simulation:
    """Return what a simulator found in the events so far; `operations` of them are operations."""
    counters, statistics = simulator.counters(), simulator.statistics()
    touches = simulator.listener.counts() if simulator.listener else None
    design, peak = simulator.plan.design, counters.totals["committed_peak"]
    found = Simulation(
        design.name,
        simulator.plan.hash,
        counters,
        [row.size for row in simulator.plan.classes],
        _rates(counters, operations),
        statistics,
        peak,
        _ratio(peak, statistics.peak_live.live_bytes),
        touches,
        _touch_rates(touches, operations) if touches else None,
        None,
        _ratio(statistics.events * 1_000_000_000, simulator.kernel_ns),
        locks_per_million={name: _ratio(count * 1_000_000, operations) for name, count in counters.locks.items()},
    )
    calls = _ratio(system_calls(found) * 1_000_000, operations)
    found = msgspec.structs.replace(found, system_calls_per_million=calls)
    if hardware is None or not hardware.costs:
        return found
    return msgspec.structs.replace(found, price=price_of(simulator.plan, found, operations, hardware))


def _rates(counters: Counters, operations: int) -> Rates:
    total = {name: sum(per_class) for name, per_class in counters.classes.items()} | counters.totals
    served = [total[name] for name in ("hit0", "hit1", "refill")]
    events = [total[name] for name in ("refill", "flush", "spill", "carve", "remote", "releases")]
    per_million = (_ratio(count * 1_000_000, operations) for count in events)
    return Rates(*(_ratio(count, sum(served)) for count in served), *per_million)


def _touch_rates(touches: Touches, operations: int) -> TouchRates:
    counts = (touches.accesses, touches.l1_misses, touches.llc_misses, touches.tlb2_misses)
    return TouchRates(*(_ratio(count, operations) for count in counts))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
