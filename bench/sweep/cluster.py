"""Jobs of a sweep on a dask cluster, whose workers share no files with this machine."""

import logging
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from heapsmith.bench.sweep.tasks import Found
from heapsmith.bench.sweep.work import Job, run_bytes
from heapsmith.model.errors import BadInput, Missing

AHEAD = 3
"""Jobs that wait or run on the cluster, per thread of its workers."""

PATIENCE_S = 10
"""How long a scheduler may take to answer."""


class Cluster:
    """Runs jobs on the workers of the scheduler at `address`. Context manager.

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
        """Yield what each job finds, as soon as it ends; the scheduler starts what a lost worker held anew.

        A trace goes to each worker that needs it once, and leaves them after its last job. Raises
        Missing if the scheduler ends or a job ends its workers, and whatever a job raises.
        """
        from distributed import as_completed

        waiting = deque(jobs)
        running: dict[Any, Job] = {}
        left = Counter(job.digest for job in jobs)
        sent: dict[str, Any] = {}
        flow = as_completed(loop=self._client.loop)
        while waiting or running:
            while waiting and len(running) < AHEAD * self.slots:
                job = waiting.popleft()
                if job.digest not in sent:
                    sent[job.digest] = self._send(Path(job.trace).read_bytes())
                future = self._client.submit(run_bytes, job, sent[job.digest], pure=False)
                running[future] = job
                flow.add(future)
            future = next(flow)
            job = running.pop(future)
            yield self._result(job, future)
            left[job.digest] -= 1
            if not left[job.digest]:
                del sent[job.digest]

    def _send(self, content: bytes) -> Any:
        """Return a future of the bytes of a trace.

        It is a task with the bytes as its argument, so that the scheduler can make it again when the
        worker that holds it ends. Client.scatter has no such origin, and hangs where a worker ends
        meanwhile.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(bytes, content, pure=False)

    def _result(self, job: Job, future: Any) -> dict[str, Found]:
        """Return what an ended job found, or raise what ended it."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise Missing(f"--scheduler: {self._address}: the scheduler ended; what is finished is kept")
        error = future.exception()
        if isinstance(error, KilledWorker):
            raise Missing(f"{job.trace}: workers of {self._address} end while they simulate it; have they the memory?")
        if isinstance(error, ImportError):
            raise Missing(f"--scheduler: {self._address}: a worker lacks a package: {error}")
        if error is not None:
            raise error
        found: dict[str, Found] = future.result()
        return found
