"""Calls on a dask cluster, whose workers share no files with this machine."""

import logging
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from heapsmith.model.errors import BadInput, Missing
from heapsmith.tools.sweep.tasks import Found
from heapsmith.tools.sweep.work import Job, run_bytes

AHEAD = 3
"""Calls that wait or run on the cluster, per thread of its workers."""

PATIENCE_S = 10
"""How long a scheduler may take to answer."""


class Call(NamedTuple):
    """Work on a trace: a call of the function with what is given and the bytes of the trace.

    digest: the same for the same bytes.
    """

    function: Callable[[Any, bytes], Any]
    given: Any
    trace: Path
    digest: str


class Cluster:
    """Runs calls on the workers of the scheduler at `address`. Context manager.

    Raises BadInput for an address that is none, Missing where nobody answers, where the scheduler
    has no workers, and where `distributed` is not installed here.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise Missing("--scheduler: no package distributed: pip install 'heapsmith[sweep]'") from None
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # a failure is one line of ours
        self._address = address
        self._sent: dict[str, Any] = {}  # futures of traces, by digest
        try:
            self._client = Client(address, timeout=PATIENCE_S, set_as_default=False)
        except ValueError as error:
            raise BadInput(f"--scheduler: {address}: {error}; expected tcp://HOST:PORT") from None
        except (OSError, TimeoutError):
            raise Missing(f"--scheduler: {address}: no dask scheduler answers within {PATIENCE_S} s") from None
        self.slots = sum(self._client.nthreads().values())
        if not self.slots:
            self._client.close()
            raise Missing(f"--scheduler: {address}: the scheduler has no workers; start them with `dask worker`")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._client.close()

    def run(self, jobs: Sequence[Job]) -> Iterator[dict[str, Found]]:
        """Yield what each job of a sweep finds, as soon as it ends; a trace leaves the workers after its last job.

        Raises as `calls` does.
        """
        left = Counter(job.digest for job in jobs)
        calls = [Call(run_bytes, job, Path(job.trace), job.digest) for job in jobs]
        for number, found in self.calls(calls):
            yield found
            left[jobs[number].digest] -= 1
            if not left[jobs[number].digest]:
                del self._sent[jobs[number].digest]

    def calls(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each call, as soon as it ends.

        The scheduler starts anew what a lost worker held. A trace goes once to each worker that needs
        it. Raises Missing if the scheduler ends or a call ends its workers, and whatever a call raises.
        """
        from distributed import as_completed

        waiting = deque(enumerate(calls))
        running: dict[Any, int] = {}
        flow = as_completed(loop=self._client.loop)
        while waiting or running:
            while waiting and len(running) < AHEAD * self.slots:
                number, call = waiting.popleft()
                if call.digest not in self._sent:
                    self._sent[call.digest] = self._send(call.trace.read_bytes())
                future = self._client.submit(call.function, call.given, self._sent[call.digest], pure=False)
                running[future] = number
                flow.add(future)
            future = next(flow)
            number = running.pop(future)
            yield number, self._result(calls[number], future)

    def _send(self, content: bytes) -> Any:
        """Return a future of the bytes of a trace.

        It is a task with the bytes as its argument, so that the scheduler can make it again when the
        worker that holds it ends. Client.scatter has no such origin, and hangs where a worker ends
        meanwhile.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(bytes, content, pure=False)

    def _result(self, call: Call, future: Any) -> Any:
        """Return what an ended call returned, or raise what ended it."""
        from distributed import CancelledError, KilledWorker

        error = future.exception()
        if isinstance(error, KilledWorker):
            raise Missing(f"{call.trace}: workers of {self._address} end while they simulate it; have they the memory?")
        if isinstance(error, ImportError):
            raise Missing(f"--scheduler: {self._address}: a worker lacks a package: {error}")
        if error is not None:
            raise error
        try:
            return future.result()
        except (CancelledError, OSError):  # what the call raised itself has been raised
            raise Missing(f"--scheduler: {self._address}: the scheduler ended; what is finished is kept") from None
