"""The simulations of a search on a dask cluster: a design on a trace is a call."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from heapsmith.model.errors import CheckFailed, HeapsmithError, Missing
from heapsmith.model.files import scratch, write_whole
from heapsmith.model.memory import Part
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.search.outcome_store import model_version
from heapsmith.model.search.source import KEPT_EVENTS, Source
from heapsmith.model.search.workers import Bench, Result, Task, measured
from heapsmith.tools.sweep.cluster import Call, Cluster

MOST_HELD = 8
"""Decoded traces that a worker keeps."""


class Given(NamedTuple):
    """What a worker needs besides the bytes of the trace.

    births: what its program writes of new blocks (Application). trace, digest: the name of the
    task's trace and what tells it from others. cores: those of the bench. model: the version of
    the model that must do the task.
    """

    task: Task
    births: Part
    trace: str
    digest: str
    hardware: Hardware
    cores: int | None
    model: str


class _Held:
    """The decoded traces of a worker by digest, the oldest first."""

    sources: dict[str, Source] = {}  # noqa: RUF012


def measured_from_bytes(given: Given, content: bytes) -> Result:
    """Do a task of a search on the trace of these bytes.

    Raises CheckFailed if this process has another version of the model, and as `measured` does.
    """
    if given.model != model_version(search=True):
        raise CheckFailed(
            f"a worker has another heapsmith: its model is {model_version(search=True)}; expected {given.model}"
        )
    held = _Held.sources.get(given.digest)
    if held is not None:
        return _measured(held, given)
    with scratch() as folder:
        path = folder / f"{given.digest}.hst"
        write_whole(path, content, Missing)
        try:
            source = Source(path, sited=True)
            if source.events <= KEPT_EVENTS:
                _hold(given.digest, source)
            return _measured(source, given)
        except HeapsmithError as error:
            raise type(error)(str(error).replace(str(path), given.trace)) from None


def _measured(source: Source, given: Given) -> Result:
    source.application = msgspec.structs.replace(source.application, births=given.births)
    return measured(Bench([source], given.hardware, given.cores), given.task._replace(source=0))


def _hold(digest: str, source: Source) -> None:
    """Keep a trace that is whole in memory for the tasks to come."""
    while len(_Held.sources) >= MOST_HELD:
        _Held.sources.pop(next(iter(_Held.sources)), None)
    _Held.sources[digest] = source


class ClusterRunner:
    """Runs the tasks of a search on a cluster, which the caller opens and closes."""

    def __init__(self, cluster: Cluster, bench: Bench) -> None:
        self._cluster, self._bench = cluster, bench
        self._digests = [source.identity() for source in bench.sources]
        self.jobs = cluster.slots

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Do nothing: calls that nobody waits for end with their iterator."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the result of each task, in their order; raises as `Cluster.calls` does."""
        early: dict[int, Result] = {}
        place = 0
        for number, found in self._cluster.calls([self._call(task) for task in tasks]):
            early[number] = found
            while place in early:
                yield early.pop(place)
                place += 1

    def _call(self, task: Task) -> Call:
        source, digest = self._bench.sources[task.source], self._digests[task.source]
        path, model = Path(source.path), model_version(search=True)
        births = source.application.births
        given = Given(task, births, str(path), digest, self._bench.hardware, self._bench.cores, model)
        return Call(measured_from_bytes, given, path, digest)
