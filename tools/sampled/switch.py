"""Switches the samples of a running process on, of all its threads or of one, and as they were before.

This writes what hs_sample (runtime/heap/9_api/sampling/switch.h) writes, while the process runs.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from heapsmith.model.errors import BadInput
from heapsmith.tools.common.process_memory import MOST_HEAPS, Gone, ProcessMemory, chain
from heapsmith.tools.sampled.process import ENDED, required_place

USUAL_MEAN = 524_288
"""As of the design sampled."""


@contextmanager
def switched(pid: int, mean: int | None, thread: int | None) -> Iterator[bool]:
    """Take samples for the time of the block: one in `mean` bytes on average (None: as before, or the usual mean).

    Yields whether it took some before. thread: whose requests alone they are of. BadInput if the process, or its
    thread, does not exist, or takes none, and while another command does this to it.
    """
    try:
        with ProcessMemory(pid, writes=True) as memory:
            at = _place(pid, memory)
            if thread is not None and not Path(f"/proc/{pid}/task/{thread}").exists():
                raise BadInput(f"--thread {thread}: no thread of process {pid}; expected one of /proc/{pid}/task")
            if mean is not None and mean > at["SAMPLE_MOST_BYTES"]:
                raise BadInput(f"--mean {mean}: expected at most {at['SAMPLE_MOST_BYTES']}")
            if not memory.taken():
                raise BadInput(f"process {pid}: another command takes samples of it; expected one at a time")
            before = memory.word(at["sample_mean"]), _thread(memory, at)
            try:
                _switch(memory, at, mean or before[0] or USUAL_MEAN, thread or 0)
                yield before[0] > 0
            finally:
                with suppress(Gone):
                    _switch(memory, at, *before)
    except Gone:
        raise BadInput(f"{pid}: {ENDED}") from None


def _place(pid: int, memory: ProcessMemory) -> dict[str, int]:
    at = required_place(pid, memory).at
    if "sample_mean" not in at:
        raise BadInput(f"process {pid}: its library is of an earlier heapsmith; expected one that is built anew")
    return at


def _thread(memory: ProcessMemory, at: dict[str, int]) -> int:
    return int(struct.unpack("<I", memory.read(at["sample_thread"], 4))[0])


def _switch(memory: ProcessMemory, at: dict[str, int], mean: int, thread: int) -> None:
    """In between nobody samples; then the rows of all heaps lead to where each thread sees whether it is meant.

    A thread that meets a mean half written takes a sample by that, which tells by which mean it was taken.
    """
    memory.write(at["sample_mean"], bytes(8))
    memory.write(at["sample_thread"], struct.pack("<I", thread))
    memory.write(at["sample_mean"], struct.pack("<Q", mean))
    if "heap.row_of" in at and mean > 0:
        for heap in chain(memory, memory.word(at["newest_heap"]), at["heap.earlier"], MOST_HEAPS):
            memory.write(heap + at["heap.row_of"], bytes(at["DIRECT_LIMIT"] + 1))
