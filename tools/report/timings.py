"""Tables of predicted times: latencies of operations, and threads on numbers of cores."""

from collections.abc import Iterator

from heapsmith.model.predict.clock_state import LOCKS
from heapsmith.model.predict.clocks import Timing
from heapsmith.model.predict.simulate import SimulationTable
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import duration


def _timings(table: SimulationTable) -> Iterator[tuple[str, Timing, Timing]]:
    """Yield each timing with its design, and the first of this design."""
    for row in table.rows:
        for timing in row.timings:
            yield row.design, timing, row.timings[0]


def latencies(table: SimulationTable) -> Words:
    """The distribution of operations, the path of the longest, and the paths of the tail."""
    columns = ("design", "cores", "mean", "p50", "p99", "p99.9", "worst", "<the worst is", "<p99.9 and above")
    rows = [
        (
            design,
            str(timing.cores),
            *(duration(ns) for ns in (of.mean, of.p50, of.p99, of.p999, of.worst)),
            of.worst_path,
            ", ".join(f"{share:.0%} {path}" for path, share in list(of.tail.items())[:2]),
        )
        for design, timing, _ in _timings(table)
        for of in [timing.latency]
    ]
    return Words("time of an operation: a call, its waits for locks, and the writes to its new block", columns, rows)


def scaling(table: SimulationTable) -> Words:
    """Time on each number of cores, to that on the first, and what the threads wait for."""
    first = table.rows[0].timings[0].cores
    columns = ("design", "cores", "time", f"to {first}", "CPU", "lock waits", *LOCKS, "hand-over", "for a core")
    per = 1 / max(1, table.operations)
    rows = [
        (
            design,
            str(timing.cores),
            duration(timing.ns_per_op),
            f"{begin.wall_ns / timing.wall_ns:.2f}x" if timing.wall_ns else "-",
            duration(timing.cpu_ns * per),
            duration(timing.lock_wait_ns_per_op),
            *(f"{timing.locks[lock].share:.0%}" for lock in LOCKS),
            duration(timing.handover_wait_ns * per),
            duration(timing.core_wait_ns * per),
        )
        for design, timing, begin in _timings(table)
    ]
    title = (
        f"{table.threads} threads on cores: per operation; what is below a lock's name is its share of the lock waits"
    )
    return Words(title, columns, rows)
