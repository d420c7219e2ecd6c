"""Times: a second pass over a trace, in which each event is charged and every thread has a clock."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from heapsmith.model.design.design import ask_sites
from heapsmith.model.design.plan import Plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.predict.clock_state import WaitCosts
from heapsmith.model.predict.clocks import Clocks, Timing
from heapsmith.model.predict.counter_prices import meter_of
from heapsmith.model.predict.simulate import Operations, Progress, Simulation, SimulationTable, feed_chunks
from heapsmith.model.trace.frames import Footer
from heapsmith.model.trace.reader import Chunk, TraceReader

WAIT_KINDS = ("lock.spin", "wake", "replay.thread", "shootdown", "shootdown.target", "lock.moved")
"""The kinds that WaitCosts has, in its order."""


AT_ONCE = 8
"""The designs of one pass over the trace: events that wait for their clocks take 17 MB for each number of cores."""


class Timed:
    """A simulator of charged events, and the clocks for each number of cores."""

    def __init__(self, simulator: Simulator, clocks: list[Clocks]) -> None:
        self.simulator, self.clocks = simulator, clocks

    def feed(self, chunk: Chunk) -> None:
        """Do the events of a chunk."""
        self.simulator.feed(chunk)
        for clocks in self.clocks:
            clocks.follow(chunk, self.simulator.charges)

    def timings(self, operations: int) -> list[Timing]:
        """Return what the clocks show after this number of operations."""
        return [clocks.timing(operations) for clocks in self.clocks]


def priced(hardware: Hardware) -> Hardware:
    """Return the hardware; BadInput if it has no measured costs."""
    if not hardware.costs:
        raise BadInput(f"{hardware.name}: this machine has no costs; run: heapsmith calibrate -o machine.toml")
    return hardware


_any_machine = cache(load_hardware)
"""The default hardware, read once: a search asks for it for each design."""


def wait_costs(hardware: Hardware) -> WaitCosts:
    """Return what waiting costs on the hardware; what calibrate has not measured is any machine's."""
    costs = _any_machine().costs | hardware.costs
    return WaitCosts(*(costs.get(name, 0.0) for name in WAIT_KINDS))


def follower_of(
    plan: Plan,
    hardware: Hardware,
    application: Application,
    resident_peak: int,
    footer: Footer,
    cores: Sequence[int],
    *,
    paced: bool = False,
) -> Timed:
    """Return what follows the events of the footer's trace, whose resident peak a first pass found."""
    shares = footer.samples.shares() if footer.samples else []
    meter = meter_of(plan, hardware, resident_peak)
    simulator = Simulator(plan, listener=Listener(hardware), application=application, meter=meter)
    waiting, shards = wait_costs(hardware), plan.design.row("shards").count(plan)
    clocks = [
        Clocks(footer.threads, footer.max_blocks, number, paced=paced, costs=waiting, shards=shards) for number in cores
    ]
    for one in clocks:
        one.let_run(shares)
    return Timed(simulator, clocks)


def timed(
    table: SimulationTable,
    plans: Sequence[Plan],
    hardware: Hardware,
    application: Application,
    *,
    cores: Sequence[int] = (),
    paced: bool = False,
    progress: Progress | None = None,
) -> SimulationTable:
    """Return the table of a simulation with a Timing for each number of cores in each row.

    The table must come from `simulate` with this hardware and application, and `plans` be those of
    its rows: what a first touch costs depends on the resident peak. Without `cores`: those of the
    hardware. `paced`: see Clocks. Raises BadInput for hardware without costs, and if the trace is
    damaged.
    """
    priced(hardware)
    for number in cores:
        if number < 1:
            raise BadInput(f"cores: {number}; expected at least 1")
    peaks = [row.touches.resident_peak if row.touches else 0 for row in table.rows]
    designs = list(zip(plans, peaks, strict=True))
    timings: list[list[Timing]] = []
    for first in range(0, len(designs), AT_ONCE):
        with TraceReader(Path(table.trace), sited=ask_sites(plan.design for plan in plans)) as reader:
            footer, operations = reader.footer, Operations()
            followers = [
                follower_of(plan, hardware, application, peak, footer, cores or [hardware.cores], paced=paced)
                for plan, peak in designs[first : first + AT_ONCE]
            ]
            passes = -(-len(designs) // AT_ONCE)
            say = _part_of(progress, first // AT_ONCE * footer.events) if progress else None
            feed_chunks(reader, [operations, *followers], "timing", say, passes * footer.events)
        timings += [one.timings(operations.count) for one in followers]
        del followers
    rows: list[Simulation] = [
        msgspec.structs.replace(row, timings=found) for row, found in zip(table.rows, timings, strict=True)
    ]
    return msgspec.structs.replace(table, rows=rows)


def _part_of(progress: Progress, before: int) -> Progress:
    """Return what tells the progress of a pass over the trace, before which this many events were done."""
    return lambda what, done, total: progress(what, before + done, total)
