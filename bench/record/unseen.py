"""What a recording lacks: processes that the recorder did not serve, and memory that malloc did not give."""

from pathlib import Path

import msgspec

from heapsmith.bench.common.reach import NO_EVENT, Image
from heapsmith.bench.common.units import amount
from heapsmith.model.trace.stats import trace_info

OTHER_BYTES, OTHER_TIMES, OTHER_EVENTS = 8 << 20, 2, 20_000_000
"""Resident bytes beyond this many times the live bytes, and that many more, are worth a word; not of a larger trace."""


class RecordedTrace(msgspec.Struct, frozen=True):
    """One process image: its trace, and the losses of its recording."""

    path: str
    pid: int
    parent_pid: int
    sequence: int  # number of the image in its process: 0, then 1 more with each exec
    program: list[str]
    events: int
    max_blocks: int
    drops: int  # events lost because the spool could not grow
    foreign_frees: int  # frees of blocks with no recorded allocation: a parent's blocks
    lost_frees: int  # blocks with no recorded free; freed when their address is reused
    nested: int  # calls inside another call of the same thread; they are not recorded
    stacks: int  # distinct call stacks
    sites_checked: int  # sites found without unwinding that were unwound as well
    sites_wrong: int  # of these, where that found another stack


class OtherMemory(msgspec.Struct, frozen=True):
    """A process of which much memory was resident that no block of its trace explains."""

    pid: int
    program: str
    peak_rss_bytes: int
    peak_live_bytes: int

    def sentence(self) -> str:
        """A line for the user."""
        other = amount(self.peak_rss_bytes - self.peak_live_bytes)
        return (
            f"{other} of the resident memory of {self.program} (pid {self.pid}) are none of malloc's: "
            "it has an allocator of its own, or maps memory itself"
        )


def only_recorded(images: list[Image], pids: set[int]) -> list[Image]:
    """What was seen, where a process without a file of events is one that the recorder did not serve."""
    return [one._replace(has=False, why=NO_EVENT) if one.has and one.own_pid not in pids else one for one in images]


def other_memory(traces: list[RecordedTrace], images: list[Image]) -> list[OtherMemory]:
    """The processes whose memory is not that of their blocks."""
    found = []
    for pid in dict.fromkeys(trace.pid for trace in traces):
        peak = max(
            (one for one in images if one.own_pid == pid and one.has), key=lambda one: one.anonymous, default=None
        )
        its = [trace for trace in traces if trace.pid == pid]  # more than one after an exec
        if peak is None or peak.anonymous < OTHER_BYTES or any(trace.events > OTHER_EVENTS for trace in its):
            continue
        live = max(trace_info(Path(trace.path)).peak_live_bytes for trace in its)
        if peak.anonymous > OTHER_TIMES * live + OTHER_BYTES:
            found.append(OtherMemory(pid, peak.name, peak.anonymous, live))
    return found
