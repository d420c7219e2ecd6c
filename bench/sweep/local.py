"""Jobs of a sweep on processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from heapsmith.bench.sweep.tasks import Found
from heapsmith.bench.sweep.work import Job, run_file
from heapsmith.model.errors import Missing


class Processes:
    """Runs jobs on `slots` processes; a single one is this process."""

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def run(self, jobs: Sequence[Job]) -> Iterator[dict[str, Found]]:
        """Yield what each job finds, as soon as it ends; whatever ends this ends the processes.

        Raises Missing if the system kills a process, and whatever a job raises.
        """
        if min(self.slots, len(jobs)) < 2:
            yield from (run_file(job, Path(job.trace)) for job in jobs)
            return
        others = set(multiprocessing.active_children())
        context = multiprocessing.get_context("spawn")  # a copy of this process would lack its threads
        with ProcessPoolExecutor(min(self.slots, len(jobs)), context, _begin) as pool:
            try:
                for future in as_completed([pool.submit(run_file, job, Path(job.trace)) for job in jobs]):
                    yield future.result()
            except BaseException as error:
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
                pool.shutdown(cancel_futures=True)
                if isinstance(error, BrokenProcessPool):
                    why = "a worker process was killed, perhaps for want of memory; expected fewer --workers"
                    raise Missing(f"{why}. What is finished is kept") from None
                raise


def _begin() -> None:
    """Leave interrupts to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
