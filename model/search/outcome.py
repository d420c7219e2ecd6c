"""Outcomes: what a design takes on a trace, the objectives of the search, and their ratios to the base."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.constants import HUGE_PAGE, PAGE
from heapsmith.model.design.plan import Plan
from heapsmith.model.memory.application import PROGRAM, Application
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.clocks import Timing
from heapsmith.model.predict.cost import instructions_of, price, releasing_calls, time_kinds
from heapsmith.model.predict.simulate import Simulation
from heapsmith.model.predict.times import wait_costs
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.source import Source

OBJECTIVES = ("time", "peak", "average", "end")
"""What the search makes small: nanoseconds of the allocator per operation; and bytes at the peak, on
average over the run, and at its end.
"""

PROCESS_BYTES = 1 << 20
"""The approximate memory of a process besides its heap; it dwarfs the savings of a tiny heap."""

LEAST_OPERATION_NS = 25
"""The least time of an operation, for traces whose times are too coarse: no program allocates faster."""


class Outcome(msgspec.Struct, frozen=True):
    """A design on a trace, simulated with caches and pages; bytes unless the name says otherwise.

    The averages are over the trace's time. The fragmentations are of the committed peak. huge_ahead:
    half a huge page for slabs, and half for runs, if they have some.
    lock_wait_ns_per_op: of allocator_ns_per_op, the waits for locks, where cores were asked for.
    """

    design: str
    hash: str
    allocator_ns_per_op: float
    instructions_per_op: float
    resident_peak: int
    resident_average: float
    resident_end: int
    huge_ahead: int
    committed_peak: int
    committed_peak_event: int
    committed_average: float
    committed_end: int
    peak_live_bytes: int
    internal_fragmentation: float
    external_fragmentation: float
    operations: int
    run_ns: int
    lock_wait_ns_per_op: float = 0.0

    def predicted(self) -> tuple[float, ...]:
        """Return the predicted figures of OBJECTIVES."""
        return self.allocator_ns_per_op, self.resident_peak, self.resident_average, self.resident_end

    def figures(self) -> tuple[float, ...]:
        """Return the figures of OBJECTIVES that the search compares: bytes with `huge_ahead`.

        How full the last huge page is depends on the input. No design is better because it is full on this one.
        """
        time, *sizes = self.predicted()
        return time, *(size + self.huge_ahead for size in sizes)

    def run_share(self) -> float | None:
        """Return the allocator's share of the run's processor time, without waits.

        None of a trace without times, and where more time is predicted than the run took: then it is no share of it.
        """
        if self.run_ns == 0:
            return None
        ns = (self.allocator_ns_per_op - self.lock_wait_ns_per_op) * self.operations
        share = ns / max(self.run_ns, LEAST_OPERATION_NS * self.operations)
        return share if share <= 1 else None


class Glance(NamedTuple):
    """A design on a trace without caches: OBJECTIVES by a rough price and by committed bytes."""

    figures: tuple[float, ...]
    fronts: dict[str, float]
    """The share of the small allocations that each kind of front serves."""


def outcome_of(
    plan: Plan, simulation: Simulation, source: Source, hardware: Hardware, cores: int | None = None
) -> Outcome:
    """Return the outcome of a simulation with caches and costs; cores: as for `shot_ns`."""
    assert simulation.price is not None
    assert simulation.touches is not None
    shot = shot_ns(simulation, source, hardware, cores) / source.operations
    statistics, totals = simulation.statistics, simulation.counters.totals
    peak = statistics.peak_committed
    return Outcome(
        design=simulation.design,
        hash=simulation.hash,
        allocator_ns_per_op=simulation.price.allocator_ns_per_op + shot,
        instructions_per_op=simulation.price.instructions_per_op,
        resident_peak=simulation.touches.resident_peak,
        resident_average=simulation.touches.resident_average,
        resident_end=simulation.touches.resident_bytes,
        huge_ahead=huge_ahead(plan, simulation, source.application),
        committed_peak=simulation.committed_peak,
        committed_peak_event=peak.event,
        committed_average=statistics.committed_average,
        committed_end=totals["committed"],
        peak_live_bytes=statistics.peak_live.live_bytes,
        internal_fragmentation=peak.internal_fragmentation,
        external_fragmentation=peak.external_fragmentation,
        operations=source.operations,
        run_ns=source.run_ns,
    )


def waiting(outcome: Outcome, timing: Timing) -> Outcome:
    """Return the outcome with the waits for locks in its time."""
    waits = timing.lock_wait_ns_per_op
    time = outcome.allocator_ns_per_op + waits
    return msgspec.structs.replace(outcome, allocator_ns_per_op=time, lock_wait_ns_per_op=waits)


def glance_of(plan_kinds: Sequence[str], simulation: Simulation, time_ns: float) -> Glance:
    """Return what a simulation without caches tells; plan_kinds: the kind of each class's front."""
    totals, of = simulation.counters.totals, simulation.counters.classes
    served = [sum(counts) for counts in zip(of["hit0"], of["hit1"], of["refill"], strict=True)]
    shares: dict[str, float] = {}
    for kind, count in zip(plan_kinds, served, strict=True):
        shares[kind] = shares.get(kind, 0.0) + count / max(1, sum(served))
    committed = simulation.statistics.committed_average
    return Glance((time_ns, simulation.committed_peak, committed, totals["committed"]), shares)


def shot_ns(simulation: Simulation, source: Source, hardware: Hardware, cores: int | None = None) -> float:
    """Return what calls that release pages take longer because threads run on other cores, on all of these.

    cores: how many there are; None: those of the hardware. The costs are those of
    model/predict/core_sharing.py, which knows who runs at each call. Here it is an average.
    """
    others = min(source.others, (cores or hardware.cores) - 1)
    costs = wait_costs(hardware)
    return releasing_calls(simulation) * (costs.shootdown * min(1, others) + costs.target * others)


def rough_ns(plan: Plan, simulation: Simulation, source: Source, hardware: Hardware, cores: int | None = None) -> float:
    """Return nanoseconds per operation of the instructions, system calls, atomics and page faults.

    Without caches no misses are known. A page faults each time that it is committed, and what was
    committed is what was released and what is left; memory beyond the design's bounds for small pages
    lies on huge pages.
    """
    spent = time_kinds(plan, simulation, instructions_of(hardware), source.operations)
    own = {name: count for name, count in spent.items() if not name.startswith("replay.")}
    totals, peak = simulation.counters.totals, simulation.committed_peak
    committed = max(peak, totals["committed"] + totals["released_bytes"])
    huge = min(sum(_beyond_small_pages(plan, simulation, source.application)), peak)
    own["fault.4k"] = (committed - huge) / PAGE
    own["fault.2m"] = huge / HUGE_PAGE
    return (price(own, hardware.costs) + shot_ns(simulation, source, hardware, cores)) / source.operations


def huge_ahead(plan: Plan, simulation: Simulation, application: Application = PROGRAM) -> int:
    """Return half a huge page for slabs, and half for runs, if they have some."""
    return HUGE_PAGE // 2 * sum(size > 0 for size in _beyond_small_pages(plan, simulation, application))


def _beyond_small_pages(plan: Plan, simulation: Simulation, application: Application) -> tuple[int, int]:
    """Return the bytes of slabs and of runs beyond the design's bounds for small pages."""
    superslabs, run_span_bytes = simulation.counters.totals["superslabs"], simulation.statistics.run_span_bytes
    row = plan.design.row("thp")
    found: tuple[int, int] = row.beyond_small_pages(plan, superslabs, run_span_bytes, application.fills)
    return found


def ratios(figures: Sequence[float], base: Sequence[float]) -> Floats:
    """Return OBJECTIVES in parts of the base's; bytes are those of heap and process."""
    found, known = np.array(figures, np.float64), np.array(base, np.float64)
    rest = np.array([1e-9, *[float(PROCESS_BYTES)] * (len(found) - 1)])
    return np.asarray((found + rest) / (known + rest))


def combined(rows: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Return the weighted geometric means of ratios on several traces."""
    return np.asarray(np.exp(np.average(np.log(np.array(rows)), axis=0, weights=weights)))
