"""Jobs of a sweep on processes of this machine."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from heapsmith.model.errors import Missing
from heapsmith.model.predict.process_pool import Pool
from heapsmith.tools.sweep.tasks import Found
from heapsmith.tools.sweep.work import Job, run_file


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
        # A copy of this process would lack its threads.
        with closing(Pool(min(self.slots, len(jobs)), "spawn")) as pool:
            try:
                yield from pool.run(run_file, [(job, Path(job.trace)) for job in jobs], in_order=False)
            except Missing as error:
                raise Missing(f"{error}. What is finished is kept") from None
