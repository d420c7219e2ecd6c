"""Outcomes: what a design comes to on a trace, simulated, and which of several is the best."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import Design
from heapsmith.model.predict.simulate import Progress, Simulation, simulate
from heapsmith.model.search.size_classes import Histogram

SLOW_NS, SHARED_SLOW_NS = 100, 400
"""What a slow operation costs, about, in the only thread and where others are at the same locks and cache lines."""

LEAST_OPERATION_NS = 25
"""No program allocates faster than so, on average: what a run takes at least, where its trace has no real times."""

SLOW_SLACK = 0.02
"""What slow operations of a tuned design may cost more than the base's, as a share of the run's time."""

TIME_PRICE = 2.0
"""How many percent of memory one percent of time is worth."""

SLOW_IN_CLASSES = ("refill", "flush", "direct")
LARGE = ("run_hit", "run_reuse", "run_grow", "run_extend", "run_free", "huge_map", "huge_unmap", "huge_remap")
SLOW_IN_ALL = (*LARGE, "releases")
"""Counters of the slow operations: takes, flushes and single frees to the store; runs, mappings and releases."""

SLOW_PER_RELEASED_PAGE = 8
"""A page that is given back and faulted in again costs about a microsecond."""

PROCESS_BYTES = 1 << 20
"""What a process has besides its heap, about: of a tiny heap a saved share is a small share of the process."""

NEAR_TIE = 0.01
"""Costs this close count as equal where one design has the smaller run cache."""


class Outcome(msgspec.Struct, frozen=True):
    """What a design comes to on the trace, simulated; bytes where the name says nothing else.

    The fragmentations are those at the committed peak. slow_operations: takes from the store, flushes, single frees to
    it, runs and mappings handed out, resized or ended, and releases, each page given back as SLOW_PER_RELEASED_PAGE.
    slow_share: what they and slabs begun anew cost, about, as a share of the run's time, run_ns.
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
        """Memory, as a share of what the process has under the base `before`, and time, at its price."""
        memory = (self.committed_peak + PROCESS_BYTES) / (before.committed_peak + PROCESS_BYTES)
        return memory + TIME_PRICE * self.slow_share


def outcomes(
    trace: Path, designs: Sequence[Design], histogram: Histogram, progress: Progress | None, stage: str
) -> list[Outcome]:
    """What each of the designs comes to, by one pass over the trace that `histogram` is of, told as `stage`.

    Raises what `simulate` raises.
    """

    def tell(_: str, done: int, total: int) -> None:
        if progress:
            progress(stage, done, total)

    table = simulate(trace, designs, progress=tell)
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
    """Which outcomes to look at first: those that are fit by their cost, then the others by what they commit."""

    def place(index: int) -> tuple[bool, float]:
        one = tried[index]
        return (False, one.cost(before)) if is_fit(before, one) else (True, one.committed_peak)

    return sorted(range(len(tried)), key=place)


def best(before: Outcome, tried: Sequence[Outcome]) -> int | None:
    """Which outcome to take: of those that are fit the one that costs least; None if the base costs no more."""
    found = ranked(before, tried)[0]
    is_better = is_fit(before, tried[found]) and tried[found].cost(before) < before.cost(before)
    return found if is_better else None


def least_cached(before: Outcome, tried: Sequence[Outcome]) -> int | None:
    """As `best`, but of near ties the one with the least run cache, which may idle more in another run."""
    found = best(before, tried)
    if found is None:
        return None
    most = tried[found].cost(before) + NEAR_TIE
    near = [index for index, one in enumerate(tried) if is_fit(before, one) and one.cost(before) <= most]
    return min(near, key=lambda index: (tried[index].run_cache_bytes, tried[index].cost(before)))


def is_fit(before: Outcome, outcome: Outcome) -> bool:
    """Whether it commits no more than the base and is not much slower."""
    is_slower = outcome.slow_share > before.slow_share + SLOW_SLACK
    return outcome.committed_peak <= before.committed_peak and not is_slower


def by_slab(before: Outcome, tried: Sequence[Outcome]) -> list[Outcome]:
    """The best outcome of each slab size, by slab size; of those none of which is fit the one that commits least."""
    first = [tried[index] for index in reversed(ranked(before, tried))]
    return [one for _, one in sorted({one.slab_bytes: one for one in first}.items())]
