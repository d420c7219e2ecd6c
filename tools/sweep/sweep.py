"""Sweep: every design on every trace; what is finished is kept, so that a sweep goes on where it was."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import design_text
from heapsmith.model.heap.simulator import has_rare_choices
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.simulate import Progress
from heapsmith.tools.sweep.cluster import Cluster
from heapsmith.tools.sweep.grid import Skipped, Variant
from heapsmith.tools.sweep.local import Processes
from heapsmith.tools.sweep.table import require_parquet, write_table
from heapsmith.tools.sweep.tasks import Found, Recording, Store, machine_hash, model_version, recording
from heapsmith.tools.sweep.work import Job

MOST_TOGETHER = 8
"""Designs of one job, which share the reading of a trace: more would save little and lose more."""

JOBS_PER_SLOT = 4
"""Jobs are so small that each process has some, so that none waits long for the last."""


class Sweep(msgspec.Struct, frozen=True):
    """What a sweep did. Tasks are designs on traces, without those that are equal to another.

    kept: tasks that were finished before. events: simulated now, a trace's for each of its designs.
    """

    out: str
    store: str
    designs: int
    traces: int
    rows: int
    tasks: int
    kept: int
    simulated: int
    events: int
    seconds: float
    skipped: list[Skipped]


class Executor(Protocol):
    """What runs jobs: `slots` at once, in any order."""

    slots: int

    def run(self, jobs: Sequence[Job]) -> Iterator[dict[str, Found]]: ...


@contextmanager
def executor(workers: int, scheduler: str | None) -> Iterator[Executor]:
    """Give the workers of a cluster, or `workers` processes; raises as Cluster does."""
    if scheduler is None:
        yield Processes(workers)
    else:
        with Cluster(scheduler) as cluster:
            yield cluster


class Request(msgspec.Struct, frozen=True):
    """What to sweep: designs, and what the grids skipped; files of traces; the machine, if any."""

    variants: list[Variant]
    skipped: list[Skipped]
    traces: list[Path]
    hardware: Hardware | None
    folder: Path  # of the store


def sweep(asked: Request, out: Path, runs_on: AbstractContextManager[Executor], progress: Progress) -> Sweep:
    """Simulate what the store lacks, and write the rows of all designs and traces to `out`.

    Each finished task is in the store at once; `out` appears whole, at the end. Raises BadInput for
    a damaged trace, Missing without pyarrow, and whatever the executor raises.
    """
    require_parquet()
    begin = time.monotonic()
    store = Store(asked.folder, machine_hash(asked.hardware))
    traces = list(map(recording, asked.traces))
    by_digest = {trace.digest: trace for trace in traces}
    by_hash = {design.hash(): design for design, _ in asked.variants}
    ahead = {
        trace: {key: name for key, name in _keyed(store, by_hash, trace).items() if store.get(key) is None}
        for trace in sorted(by_digest.values(), key=lambda trace: -trace.events)
    }
    events = {key: trace.events for trace, lacking in ahead.items() for key in lacking}
    total, done = sum(events.values()), 0
    if events:
        with runs_on as running:
            for found in running.run(_jobs(ahead, by_hash, asked.hardware, running.slots)):
                for key, figures in found.items():
                    store.put(key, figures)
                    done += events[key]
                progress("simulating designs x traces", done, total)
    rows = write_table(out, asked.variants, traces, asked.hardware, store)
    tasks = len(by_hash) * len(by_digest)
    return Sweep(
        out=str(out),
        store=str(asked.folder),
        designs=len(asked.variants),
        traces=len(traces),
        rows=rows,
        tasks=tasks,
        kept=tasks - len(events),
        simulated=len(events),
        events=total,
        seconds=time.monotonic() - begin,
        skipped=asked.skipped,
    )


def _keyed(store: Store, hashes: Iterable[str], trace: Recording) -> dict[str, str]:
    """Return the hash of the design of each task on a trace, by the task's key."""
    return {store.key(name, trace.digest): name for name in hashes}


def _jobs(
    ahead: dict[Recording, dict[str, str]], designs: dict[str, Design], hardware: Hardware | None, slots: int
) -> list[Job]:
    """Return the tasks as jobs, those of the longest trace first; designs are by their hash.

    Designs with rare choices stand together: one of them makes all of its pass run the slower loop.
    """
    tasks = sum(map(len, ahead.values()))
    together = min(MOST_TOGETHER, max(1, tasks // (JOBS_PER_SLOT * slots)))
    needed = {name for lacking in ahead.values() for name in lacking.values()}
    rare = {name: has_rare_choices(make_plan(designs[name])) for name in needed}
    texts = {name: design_text(designs[name]) for name in needed}
    jobs: list[Job] = []
    for trace, lacking in ahead.items():
        keys = sorted(lacking, key=lambda key: rare[lacking[key]])
        for first in range(0, len(keys), together):
            its = {key: texts[lacking[key]] for key in keys[first : first + together]}
            jobs.append(Job(str(trace.path), trace.digest, its, hardware, model_version()))
    return jobs
