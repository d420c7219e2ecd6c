"""The work of a sweep that other processes do: some designs on one trace, in one pass."""

from pathlib import Path

import msgspec

from heapsmith.model.design.design import parse
from heapsmith.model.errors import CheckFailed, HeapsmithError, Missing
from heapsmith.model.files import scratch, write_whole
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.simulate import simulate
from heapsmith.tools.sweep.tasks import Found, found_in, model_version


class Job(msgspec.Struct, frozen=True):
    """Tasks of one trace that share a pass over it.

    designs: by the key of each task, as TOML. model: the version of the model that must do them.
    """

    trace: str
    digest: str
    designs: dict[str, str]
    hardware: Hardware | None
    model: str


def run_file(job: Job, path: Path) -> dict[str, Found]:
    """Return what each task finds on the trace in this file; raises as `simulate` does."""
    designs = [parse(text, job.trace) for text in job.designs.values()]
    table = simulate(path, designs, hardware=job.hardware)
    return {key: found_in(table, row) for key, row in zip(job.designs, table.rows, strict=True)}


def run_bytes(job: Job, content: bytes) -> dict[str, Found]:
    """Return what each task finds on the trace of these bytes.

    Raises CheckFailed if this process has another version of the model than the job's.
    """
    if job.model != model_version():
        raise CheckFailed(f"a worker has another heapsmith: its model is {model_version()}; expected {job.model}")
    with scratch() as folder:
        path = folder / f"{job.digest}.hst"
        write_whole(path, content, Missing)
        try:
            return run_file(job, path)
        except HeapsmithError as error:
            raise type(error)(str(error).replace(str(path), job.trace)) from None
