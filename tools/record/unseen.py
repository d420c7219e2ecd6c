"""What a recording lacks: processes that the recorder did not serve, and memory that malloc did not give."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.trace.events import WITH_SITE, Op
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.common.other_memory import OTHER_BYTES, OtherMemory, is_other
from heapsmith.tools.common.resident_words import PRIVATE
from heapsmith.tools.common.served_share import NO_EVENT, Image

OTHER_EVENTS = 20_000_000
"""The live bytes of a larger trace are not looked for."""
MOST_SEEN = 0.9
"""Of the most memory that was seen of a process, looks by kind must have met so much."""


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


def only_recorded(images: list[Image], pids: set[int]) -> list[Image]:
    """What was seen, where a process without a file of events is one that the recorder did not serve."""
    return [one._replace(has=False, why=NO_EVENT) if one.has and one.own_pid not in pids else one for one in images]


def other_memory(traces: list[RecordedTrace], images: list[Image]) -> list[OtherMemory]:
    """The processes whose memory is not that of their blocks, of all programs that they became by exec(2).

    A trace has the pid by which its process knows itself. Where several had this pid, in namespaces of their own
    (pid_namespaces(7)), which of them was seen is not known, and nothing is said of them.
    """
    of: dict[int, list[RecordedTrace]] = defaultdict(list)
    for trace in traces:
        of[trace.pid].append(trace)
    found = []
    for pid, its in of.items():
        seen = [one for one in images if one.own_pid == pid and one.has]
        most = max(seen, key=lambda one: one.anonymous, default=None)
        is_clear = len({one.pid for one in seen}) == 1
        if (
            most is None
            or not is_clear
            or most.anonymous < OTHER_BYTES
            or any(one.events > OTHER_EVENTS for one in its)
        ):
            continue
        found_by_kind = _by_kind(pid, most, its)
        if found_by_kind is not None:
            found += found_by_kind
            continue
        lives = [(trace, trace_info(Path(trace.path)).peak_live_bytes) for trace in its]
        live = max(live for _, live in lives)
        if is_other(most.anonymous, live) and is_other(
            most.anonymous, max(_kept(Path(trace.path), live) for trace, live in lives)
        ):
            found.append(OtherMemory(pid, most.name, most.anonymous, live))
    return found


def _by_kind(pid: int, seen: Image, traces: list[RecordedTrace]) -> list[OtherMemory] | None:
    """What the looks at a process say; None if they missed much of what was seen."""
    tables = []
    for trace in traces:
        with TraceReader(trace.path) as reader:
            samples = reader.footer.samples
            tables += [samples.kinds] if samples and samples.kinds else []
    rows = [
        (kinds.malloc[at], {name: getattr(kinds, name)[at] for name in PRIVATE})
        for kinds in tables
        for at in range(len(kinds.time_ns))
    ]
    if max((malloc + sum(other.values()) for malloc, other in rows), default=0) < MOST_SEEN * seen.anonymous:
        return None
    malloc, other = max(rows, key=lambda row: sum(row[1].values()))
    resident = malloc + sum(other.values())
    return [OtherMemory(pid, seen.name, resident, malloc, other)] if is_other(resident, malloc) else []


def _kept(trace: Path, live: int) -> int:
    """What caches of threads may keep: of each that lives at one time what it asked for, `live` bytes at most."""
    asked: npt.NDArray[Any]
    asked, alive, most = np.zeros(1), 0, 1
    with TraceReader(trace) as reader:
        for chunk in reader:
            requests = np.isin(chunk.op, [*WITH_SITE])
            size = max(asked.size, int(chunk.thread.max(initial=0)) + 1)
            asked = np.pad(asked, (0, size - asked.size))
            asked += np.bincount(chunk.thread[requests], chunk.size[requests], minlength=size)
            steps = (chunk.op == Op.THREAD_START).astype(int) - (chunk.op == Op.THREAD_EXIT)
            now = alive + np.cumsum(steps)
            most, alive = max(most, int(now.max(initial=0))), int(now[-1]) if now.size else alive
    return int(np.sort(np.minimum(asked, live))[-most:].sum())
