"""Workers: simulate designs on traces in several processes; results come in the order of the tasks."""

import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

from heapsmith.model.child import child
from heapsmith.model.compile import wait
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.predict.clocks import Timing
from heapsmith.model.predict.ledgers import Ledgers, ledgers_of
from heapsmith.model.predict.process_pool import Pool
from heapsmith.model.predict.simulate import simulation
from heapsmith.model.predict.times import follower_of
from heapsmith.model.search.outcome import Glance, Outcome, glance_of, outcome_of, rough_ns, waiting
from heapsmith.model.search.source import Source
from heapsmith.model.trace.reader import Op

LITTLE_WORK = 20_000
"""For traces of less work together (Source.work), processes cost more than they save."""


Kind = Literal["glance", "outcome", "p999", "bytes"]
"""Without caches; with caches and pages; and a second pass that times each operation, or tells its bytes."""

Result = Outcome | Glance | float | Ledgers
"""What a task of each kind finds."""


class Task(NamedTuple):
    """A design on the source of this number.

    peak: of its outcome, for `p999` the resident peak, for `bytes` the event of the committed peak.
    """

    design: Design
    source: int
    kind: Kind
    peak: int = 0


class Bench(NamedTuple):
    """What all tasks share. cores: how many, where waits for locks are added to the time; None: no waits."""

    sources: Sequence[Source]
    hardware: Hardware
    cores: int | None = None


class Runner(Protocol):
    """What runs tasks on a bench, `jobs` at once; a context manager."""

    jobs: int

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def stop(self) -> None:
        """End what is under way."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the result of each task, in their order; Missing if a worker is lost for good."""
        ...


Hire = Callable[[Bench], Runner]
"""Returns what runs the tasks of a bench."""


class _Job:
    """The bench of a worker process, set when it starts."""

    bench: Bench


def measured(bench: Bench, task: Task) -> Result:
    """Simulate a design on a whole trace; BadInput as Simulator.feed."""
    source, plan = bench.sources[task.source], make_plan(task.design)
    if task.kind == "p999":
        return _timing(bench, source, plan, task.peak).latency.p999
    # One compiled loop serves all designs, with the rare choices: a search meets them soon.
    listener = Listener(bench.hardware) if task.kind == "outcome" else None
    cores = bench.hardware.cores
    simulator = Simulator(plan, listener=listener, application=source.application, rare=True, cores=cores)
    if task.kind == "bytes":
        return ledgers_of(simulator, source.chunks(), source.events, task.peak)
    for chunk in source.chunks():
        simulator.feed(chunk)
    found = simulation(simulator, source.operations, bench.hardware if task.kind == "outcome" else None)
    if task.kind == "outcome":
        outcome = outcome_of(plan, found, source, bench.hardware, bench.cores)
        if bench.cores is None or source.footer.threads == 1:
            return outcome
        return waiting(outcome, _timing(bench, source, plan, outcome.resident_peak))
    kinds = [row.front.kind for row in plan.classes]
    return glance_of(kinds, found, rough_ns(plan, found, source, bench.hardware, bench.cores))


def _timing(bench: Bench, source: Source, plan: Plan, resident_peak: int) -> Timing:
    """Return the times of a design with those of single operations, as `simulate --latency` predicts them.

    For given cores a thread spends its own time between its events, where the trace tells it, as with
    `--recorded-times`: a program that does nothing else than allocate waits more than any other.
    """
    cores, paced = [bench.cores or bench.hardware.cores], bench.cores is not None and source.tells_time
    follower = follower_of(plan, bench.hardware, source.application, resident_peak, source.footer, cores, paced=paced)
    for chunk in source.chunks():
        follower.feed(chunk)
    return follower.timings(source.operations)[0]


def _begin(bench: Bench) -> None:
    _Job.bench = bench


def _work(task: Task) -> Result:
    return measured(_Job.bench, task)


class Workers:
    """Processes that simulate; context manager. jobs: how many; 1: this process does all itself.

    They begin as copies of this process, which has the model compiled and the traces decoded.
    """

    def __init__(self, bench: Bench, jobs: int | None = None) -> None:
        self._bench = bench
        little = sum(source.work for source in bench.sources) < LITTLE_WORK
        self.jobs = jobs or (1 if little else len(os.sched_getaffinity(0)))
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        self._warm()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes; the next `run` starts others."""
        if self._pool:
            self._pool.close()
            self._pool = None

    def run(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the result of each task, in their order; Missing if the system kills a process."""
        if self.jobs == 1:
            yield from (measured(self._bench, task) for task in tasks)
            return
        if self._pool is None:
            self._pool = Pool(self.jobs, "fork", _begin, self._bench)
        yield from self._pool.run(_work, [(task,) for task in tasks])

    def _warm(self) -> None:
        """Compile or load the two loops, so that the processes have them from the start.

        Another process compiles one of them meanwhile, and leaves it on disk. If it fails, this process compiles both.
        """
        with_caches = Listener(self._bench.hardware)
        other = child(_load, with_caches) if self.jobs > 1 else None
        _load(None)
        if other:
            with wait.reported():
                other.join()
        _load(with_caches)


def _load(listener: Listener | None) -> None:
    """Have the event loop with the rare choices in this process."""
    Simulator(make_plan(Design("warm", [16])), listener=listener, rare=True).step(Op.MALLOC, 0, 0, 1)
