"""Reuse: exact reuse-distance curves of all lines that heap and program touch, for any designs in one pass."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.machine import Machine
from heapsmith.model.memory.application import PROGRAM, Application
from heapsmith.model.memory.distances import LOWEST
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.memory.touched import Touched
from heapsmith.model.memory.touches import DISTANCES
from heapsmith.model.predict.simulate import Progress, feed_all

CACHES = [1 << shift for shift in range(12, 31)]
"""Bytes of the caches whose misses are told: 4 KiB to 1 GiB, each of as many lines as a bucket of distances begins at,
so that the misses are exact."""


class Bucket(msgspec.Struct, frozen=True):
    """Touches by how many other lines were touched since the line's last one."""

    distance: int  # the lowest, in lines; buckets are exact below 1,024, from there on 16 to a doubling
    touches: int


class ReuseCurve(msgspec.Struct, frozen=True):
    """The lines that heap and program touch under one design."""

    design: str
    hash: str
    accesses: int  # touches of lines; miss ratios are of these
    accesses_per_op: float  # designs differ in it, so compare misses per operation: this times the miss ratio
    lines: int  # different ones: the misses of a cache without end
    miss_ratios: list[float]  # of each of ReuseTable.cache_bytes
    histogram: list[Bucket]  # of all touches but the first of each line, without empty buckets


class ReuseTable(msgspec.Struct, frozen=True):
    """Designs on one trace: misses of fully associative caches with LRU replacement that all threads share."""

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
    """The curves of all lines that the designs' heaps and `application` touch; memory grows with their number.

    `progress` is called after each chunk. Raises BadInput if the trace is damaged.
    """
    hardware = load_hardware()
    listeners = [Touched(hardware, DISTANCES) for _ in designs]
    machines = [
        Machine(make_plan(design), touched=touched, application=application)
        for design, touched in zip(designs, listeners, strict=True)
    ]
    extent = feed_all(trace, machines, "measuring distances", progress)
    return ReuseTable(
        str(trace),
        extent.events,
        extent.operations,
        extent.threads,
        hardware.line_bytes,
        application,
        CACHES,
        [
            _curve(machine, touched, extent.operations, hardware)
            for machine, touched in zip(machines, listeners, strict=True)
        ],
    )


def _curve(machine: Machine, touched: Touched, operations: int, hardware: Hardware) -> ReuseCurve:
    found = touched.distances()
    counts = found.histogram.tolist()
    return ReuseCurve(
        machine.plan.design.name,
        machine.plan.hash,
        found.accesses,
        found.accesses / max(1, operations),
        found.cold,
        [found.misses(size // hardware.line_bytes) / max(1, found.accesses) for size in CACHES],
        [Bucket(lowest, count) for lowest, count in zip(LOWEST.tolist(), counts, strict=True) if count],
    )
