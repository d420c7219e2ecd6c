"""What each program of a recorded command counts in a search for the command's malloc."""

from collections import defaultdict
from pathlib import Path

from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.record.record import RecordResult
from heapsmith.tools.record.unseen import RecordedTrace

Shares = list[tuple[Path, float]]
"""The traces to tune on, and what they count."""

LEAST_SHARE = 0.02
"""Programs with a smaller share are left out of a search, but for the one of the record's first trace."""


def shares(recorded: RecordResult) -> Shares:
    """Return the traces to tune on and their weights, which sum to 1; the record's first trace comes first.

    All processes of a command have one malloc. The share of a process is the mean of its part of all
    events, for time, and its part of memory over time: bytes live at its peak, times how long it ran. A
    program has the share of all its processes, and its first trace in the record, the longest, stands for it.
    Traces that lost events are left out, but for the record's first. Raises BadInput for a trace that
    cannot be read.
    """
    first, *others = recorded.traces
    of: dict[str, list[RecordedTrace]] = defaultdict(list)
    for trace in [first, *(trace for trace in others if trace.max_blocks and not trace.drops)]:
        of[name_of(trace)].append(trace)
    events = {program: sum(trace.events for trace in traces) for program, traces in of.items()}
    memory = {program: sum(map(_byte_seconds, traces)) for program, traces in of.items()}
    all_events, all_memory = max(1, sum(events.values())), sum(memory.values()) or 1.0
    share = [(Path(of[name][0].path), (events[name] / all_events + memory[name] / all_memory) / 2) for name in of]
    kept = [share[0], *(one for one in share[1:] if one[1] >= LEAST_SHARE)]
    whole = sum(part for _, part in kept)
    return [(path, part / whole) for path, part in kept]


def name_of(trace: RecordedTrace) -> str:
    """The program's file name, without its folder; "" if it gave itself none."""
    return "".join(trace.program[:1]).rpartition("/")[2]


def _byte_seconds(trace: RecordedTrace) -> float:
    """The bytes live at the process's peak, times the seconds to its last event."""
    info = trace_info(Path(trace.path))
    return info.peak_live_bytes * info.duration_ns / 1e9
