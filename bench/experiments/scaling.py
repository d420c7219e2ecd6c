"""Scaling: the throughput of a workload with more threads as a ratio to that with fewer, and locks per operation."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from heapsmith.bench.experiments.profile import Arm, Figure, Profile
from heapsmith.bench.experiments.results import Measured
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.predict.times import timed
from heapsmith.tools.common.ratios import are_known, ratio
from heapsmith.tools.common.rounds import Progress, Stop, interleaved
from heapsmith.tools.peers.peers import Library

Measure = Callable[[Library], Measured]
Threads = dict[str, int]
"""Threads by workload."""


def scaled(
    name: str,
    ready: dict[str, tuple[Path, Measure]],
    threads: Threads,
    arms: Sequence[Arm],
    stop: Stop,
    hardware: Hardware,
    does: Application,
    progress: Progress,
) -> list[Profile]:
    """Return how the throughput of each arm grows from each workload to the next, which has more threads."""
    found: list[Profile] = []
    for before, after in zip(list(ready)[::2], list(ready)[1::2], strict=True):
        for arm in arms:
            runs: list[list[Measured]] = []
            if arm.library:
                each = [partial(ready[workload][1], Library(arm.name, arm.library)) for workload in (before, after)]
                runs = interleaved(
                    f"{name} on {after} under {arm.name}",
                    [before, after],
                    stop,
                    lambda entry, each=each: each[entry](),  # type: ignore[misc]
                    progress,
                    resident=lambda run: int(run.rss),
                ).runs
            traces = [ready[workload][0] for workload in (before, after)]
            growth = f"throughput, {threads[before]} to {threads[after]} threads"
            figures = [_grown(growth, arm.design, traces, hardware, does, runs), *_locks(arm.design, traces[1], runs)]
            found.append(Profile(name, after, arm.name, figures))
    return found


def _grown(
    quantity: str,
    design: Design | None,
    traces: Sequence[Path],
    hardware: Hardware,
    does: Application,
    runs: list[list[Measured]],
) -> Figure:
    predicted = None
    if design is not None:
        slow, fast = (_ns_per_operation(design, trace, hardware, does) for trace in traces)
        predicted = slow / fast
    if not runs:
        return Figure(quantity, predicted, None)
    measured = ratio(*([run.wall / run.operations for run in its] for its in runs))
    return Figure(quantity, predicted, measured.median, measured.bounds())


def _ns_per_operation(design: Design, trace: Path, hardware: Hardware, does: Application) -> float:
    table = simulate(trace, [design], hardware=hardware, application=does)
    (row,) = timed(table, [make_plan(design)], hardware, does).rows
    return row.timings[0].wall_ns / table.operations


def _locks(design: Design | None, trace: Path, runs: list[list[Measured]]) -> list[Figure]:
    """Return the locks of an operation on the last workload, of a library that counts them."""
    if design is None or not design.row("counting").COUNTS_HITS:
        return []
    predicted = sum(simulate(trace, [design]).rows[0].locks_per_million.values()) / 1e6
    each = [run.counts["locks"] / run.operations for run in runs[1]] if runs else []
    return [Figure("locks per operation", predicted, sorted(each)[len(each) // 2] if each else None)]


def is_known(runs: list[list[Measured]]) -> bool:
    """Return whether the interval is narrow."""
    return are_known(len(runs[0]), [([run.wall for run in runs[0]], [run.wall for run in runs[1]])])
