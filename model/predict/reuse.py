"""Reuse: exact reuse-distance curves of all touched lines, for any designs in one pass."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import PROGRAM, Application
from heapsmith.model.memory.distances import LOWEST
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.touches import DISTANCES
from heapsmith.model.predict.simulate import Progress, feed_all
from heapsmith.model.trace.reader import TraceReader

CACHES = [1 << shift for shift in range(12, 31)]
"""Bytes of the caches in the results: 4 KiB to 1 GiB. Each has as many lines as the start of a
bucket of distances, so that the misses are exact.
"""


class Bucket(msgspec.Struct, frozen=True):
    """Touches by the number of other lines since the last touch of the line."""

    distance: int  # the lowest, in lines; exact below 1,024, then 16 buckets per doubling
    touches: int


class ReuseCurve(msgspec.Struct, frozen=True):
    """The lines that heap and program touch under a design."""

    design: str
    hash: str
    accesses: int  # touches of lines; miss ratios are of these
    accesses_per_op: float  # this times the miss ratio gives comparable misses per operation
    lines: int  # distinct lines: the misses of an infinite cache
    miss_ratios: list[float]  # for each of ReuseTable.cache_bytes
    histogram: list[Bucket]  # all touches except the first of each line, without empty buckets


class ReuseTable(msgspec.Struct, frozen=True):
    """Designs on a trace: misses of fully associative LRU caches that all threads share."""

    trace: str
    events: int
    operations: int
    threads: int
    line_bytes: int
    application: Application
    cache_bytes: list[int]
    rows: list[ReuseCurve]


def reuse(
    trace: Path, designs: Sequence[Design], *, application: Application = PROGRAM, progress: Progress | None = None
) -> ReuseTable:
    """Return the curves of all lines that heaps and `application` touch.

    Memory grows with the lines. Raises BadInput if the trace is damaged.
    """
    hardware = load_hardware()
    plans = [make_plan(design) for design in designs]
    # All designs run the loop of the rare choices: a second loop takes longer to compile than it saves
    simulators = [
        Simulator(plan, listener=Listener(hardware, DISTANCES), application=application, rare=True) for plan in plans
    ]
    with TraceReader(trace, sited=ask_sites(designs)) as reader:
        extent = feed_all(reader, simulators, "measuring distances", progress)
    return ReuseTable(
        str(trace),
        *extent[:3],
        hardware.line_bytes,
        application,
        CACHES,
        [_curve(simulator, extent.operations, hardware) for simulator in simulators],
    )


def _curve(simulator: Simulator, operations: int, hardware: Hardware) -> ReuseCurve:
    assert simulator.listener is not None
    found = simulator.listener.distances()
    counts = found.histogram.tolist()
    return ReuseCurve(
        simulator.plan.design.name,
        simulator.plan.hash,
        found.accesses,
        found.accesses / max(1, operations),
        found.cold,
        [found.misses(size // hardware.line_bytes) / max(1, found.accesses) for size in CACHES],
        [Bucket(lowest, count) for lowest, count in zip(LOWEST.tolist(), counts, strict=True) if count],
    )
