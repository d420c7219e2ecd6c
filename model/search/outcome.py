"""Outcomes: the simulated results of designs on a trace, and the choice of the best design."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import Design
from heapsmith.model.predict.simulate import Progress, Simulation, simulate
from heapsmith.model.search.size_classes import Histogram

SLOW_NS, SHARED_SLOW_NS = 100, 400
"""The approximate cost of a slow operation: in a single thread, and under contention."""

LEAST_OPERATION_NS = 25
"""The least time of an operation, for traces without real times: no program allocates faster."""

SLOW_SLACK = 0.02
"""How much more the slow operations of a tuned design may cost, as a share of the run's time."""

TIME_PRICE = 2.0
"""The percent of memory that a percent of time is worth."""

SLOW_IN_CLASSES = ("refill", "flush", "direct")
LARGE = (
    "run_hit",
    "run_reuse",
    "run_grow",
    "run_extend",
    "run_free",
    "huge_map",
    "huge_unmap",
    "huge_remap",
    "huge_reuse",
)
SLOW_IN_ALL = (*LARGE, "releases")
"""Counters of the slow operations: takes, flushes and single frees; runs, mappings and releases."""

SLOW_PER_RELEASED_PAGE = 8
"""The release and the new fault of a page cost about a microsecond."""

PROCESS_BYTES = 1 << 20
"""The approximate memory of a process besides its heap; it dwarfs the savings of a tiny heap."""

NEAR_TIE = 0.01
"""Costs within this distance count as equal for the choice of the smaller run cache."""


class Outcome(msgspec.Struct, frozen=True):
    """The simulated results of a design on the trace; bytes unless the name says otherwise.

    The fragmentations are of the committed peak. slow_operations: takes from the store, flushes,
    single frees to the store, runs and mappings handed out, resized or ended, and releases, with
    SLOW_PER_RELEASED_PAGE for each page. slow_share: the approximate cost of slow operations and
    new slabs, as a share of the run's time, run_ns.
    """

    name: str
    hash: str
    classes: int
    slab_bytes: int
    largest_block: int
    run_cache_bytes: int
    committed_peak: int
    peak_live_bytes: int
    internal_fragmentation: float
    external_fragmentation: float
    operations: int
    slow_operations: int
    slow_share: float
    superslabs: int
    acquires: int
    run_span_bytes: int
    run_ns: int

    def cost(self, before: "Outcome") -> float:
        """Return memory, as a share of the process under the base, plus time at its price."""
        memory = (self.committed_peak + PROCESS_BYTES) / (before.committed_peak + PROCESS_BYTES)
        return memory + TIME_PRICE * self.slow_share


def outcomes(
    trace: Path, designs: Sequence[Design], histogram: Histogram, progress: Progress | None, stage: str
) -> list[Outcome]:
    """Return the outcome of each design in one pass over `histogram`'s trace; see `simulate`."""
    table = simulate(trace, designs, progress=progress, stage=stage)
    slow_ns = SLOW_NS if histogram.heaps < 2 else SHARED_SLOW_NS
    run_ns = max(histogram.run_ns, LEAST_OPERATION_NS * table.operations, 1)
    return [
        _outcome(design, row, table.operations, slow_ns, run_ns)
        for design, row in zip(designs, table.rows, strict=True)
    ]


def _outcome(design: Design, simulation: Simulation, operations: int, slow_ns: int, run_ns: int) -> Outcome:
    of, totals = simulation.counters.classes, simulation.counters.totals
    peaks = simulation.statistics
    slow = sum(sum(of[name]) for name in SLOW_IN_CLASSES) + sum(totals[name] for name in SLOW_IN_ALL)
    slow += SLOW_PER_RELEASED_PAGE * (totals["released_bytes"] // PAGE)
    acquires = sum(of["acquire"])
    return Outcome(
        name=design.name,
        hash=simulation.hash,
        classes=len(design.sizes),
        slab_bytes=design.slab_bytes,
        largest_block=design.sizes[-1],
        run_cache_bytes=design.run_cache_bytes,
        committed_peak=simulation.committed_peak,
        peak_live_bytes=peaks.peak_live.live_bytes,
        internal_fragmentation=peaks.peak_committed.internal_fragmentation,
        external_fragmentation=peaks.peak_committed.external_fragmentation,
        operations=operations,
        slow_operations=slow,
        slow_share=slow_ns / run_ns * (slow + acquires),
        superslabs=totals["superslabs"],
        acquires=acquires,
        run_span_bytes=peaks.run_span_bytes,
        run_ns=run_ns,
    )


def ranked(before: Outcome, tried: Sequence[Outcome]) -> list[int]:
    """Return the order of outcomes: fit outcomes by cost, then the others by memory."""

    def place(index: int) -> tuple[bool, float]:
        one = tried[index]
        return (False, one.cost(before)) if is_fit(before, one) else (True, one.committed_peak)

    return sorted(range(len(tried)), key=place)


def best(before: Outcome, tried: Sequence[Outcome]) -> int | None:
    """Return the fit outcome of the least cost, or None if the base costs no more."""
    found = ranked(before, tried)[0]
    is_better = is_fit(before, tried[found]) and tried[found].cost(before) < before.cost(before)
    return found if is_better else None


def least_cached(before: Outcome, tried: Sequence[Outcome]) -> int | None:
    """Return the smallest run cache of near ties with `best`: another run may leave more idle."""
    found = best(before, tried)
    if found is None:
        return None
    most = tried[found].cost(before) + NEAR_TIE
    near = [index for index, one in enumerate(tried) if is_fit(before, one) and one.cost(before) <= most]
    return min(near, key=lambda index: (tried[index].run_cache_bytes, tried[index].cost(before)))


def is_fit(before: Outcome, outcome: Outcome) -> bool:
    """Return whether an outcome commits no more than the base and is not much slower."""
    is_slower = outcome.slow_share > before.slow_share + SLOW_SLACK
    return outcome.committed_peak <= before.committed_peak and not is_slower


def by_slab(before: Outcome, tried: Sequence[Outcome]) -> list[Outcome]:
    """Return the best outcome of each slab size; without a fit outcome, the least committed."""
    first = [tried[index] for index in reversed(ranked(before, tried))]
    return [one for _, one in sorted({one.slab_bytes: one for one in first}.items())]
