"""Several traces as one: side by side by time (merge), one after the other (cat), copies of one trace (scale)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.edit.alive import Alive
from heapsmith.model.trace.edit.inputs import Events, Inputs, Progress, no_progress
from heapsmith.model.trace.edit.output import Edited, write_edited
from heapsmith.model.trace.edit.samples import Place
from heapsmith.model.trace.events import join

I64 = npt.NDArray[np.int64]


def merge_traces(
    paths: Sequence[Path], out: Path, begins_ns: Sequence[int] | None = None, progress: Progress = no_progress
) -> Edited:
    """Write to `out` the events of traces in order of time; threads and blocks of each are its own.

    begins_ns: when each trace begins, None: as their recorder says, else together. Events of the same time are
    in order of their numbers in their traces, then of the traces.
    """
    with Inputs(paths, progress) as inputs:
        begins = _recorded_begins(inputs) if begins_ns is None else list(begins_ns)
        step = f"merge: {len(paths)} traces, which begin at {','.join(map(str, begins))} ns"
        places = [Place(begin) for begin in begins]
        return write_edited(out, inputs, _by_time(inputs, begins), step, lambda: places, joint="&")


def scale_trace(path: Path, out: Path, copies: int, stagger_ns: int = 0, progress: Progress = no_progress) -> Edited:
    """Write to `out` copies of a trace in order of time, each `stagger_ns` after the one before."""
    with Inputs([path] * copies, progress) as inputs:
        begins = [stagger_ns * copy for copy in range(copies)]
        step = f"scale: {copies} copies, {stagger_ns} ns apart"
        return write_edited(out, inputs, _by_time(inputs, begins), step, lambda: [Place(begin) for begin in begins])


def concatenate(
    paths: Sequence[Path], out: Path, *, gap_ns: int = 0, free: bool = False, progress: Progress = no_progress
) -> Edited:
    """Write to `out` the events of traces, one trace after the other.

    gap_ns: the time from the last event of one to time 0 of the next. free: what is alive at the end of a
    trace dies there, but for the last trace; else it stays alive.
    """
    with Inputs(paths, progress) as inputs:
        places: list[Place] = []
        step = f"cat: {len(paths)} traces, {gap_ns} ns apart" + (", what is alive at an end dies" if free else "")
        events = _in_turn(inputs, gap_ns, free, places)
        return write_edited(out, inputs, events, step, lambda: places, joint=";")


def _recorded_begins(inputs: Inputs) -> list[int]:
    """Return when the processes of one recording began, from the first on; all 0 if a trace does not tell."""
    starts = [reader.footer.extra.get("start_ns") for reader in inputs.readers]
    known = [start for start in starts if isinstance(start, int)]
    return [start - min(known) for start in known] if len(known) == len(starts) else [0] * len(starts)


def _in_turn(inputs: Inputs, gap_ns: int, free: bool, places: list[Place]) -> Iterator[Events]:
    """Yield the events of all traces in turn; add the place of each to `places` when it has ended."""
    begin = 0
    for trace in range(len(inputs.readers)):
        is_freed = free and trace + 1 < len(inputs.readers)
        alive = Alive(inputs) if is_freed else None
        last = begin
        for events in inputs.of(trace):
            later = _later(events, begin)
            last = int(later.chunk.time_ns[-1])
            if alive:
                alive.follow(later)
            yield later
        if alive:
            yield alive.ends(last)
        places.append(Place(begin, last_ns=last - begin, ends=is_freed))
        begin = last + gap_ns


def _later(events: Events, by_ns: int) -> Events:
    """Return the events at a later time."""
    if by_ns == 0:
        return events
    return Events(events.chunk._replace(time_ns=events.chunk.time_ns + by_ns), events.site)


class _Stream:
    """The events of a trace that come next, from a begin on."""

    def __init__(self, source: Iterator[Events], begin_ns: int) -> None:
        self._source, self._begin_ns = source, begin_ns
        self.number = 0  # of the first of the events
        self.events: Events | None = None
        self.refill()

    @property
    def remaining(self) -> int:
        """How many events were read and not dropped."""
        return self.events.chunk.op.size if self.events else 0

    def refill(self) -> None:
        """Read the next events; None at the end."""
        following = next(self._source, None)
        self.events = None if following is None else _later(following, self._begin_ns)

    def drop(self, count: int) -> None:
        """Go on behind the first `count` events."""
        assert self.events is not None
        self.number += count
        rest = self.events.part(count, self.events.chunk.op.size)
        self.events = rest
        if rest.chunk.op.size == 0:
            self.refill()


def _by_time(inputs: Inputs, begins_ns: Sequence[int]) -> Iterator[Events]:
    """Yield the events of all traces in order of time, of number, of trace; memory: a chunk per trace."""
    streams = [_Stream(inputs.of(trace), begin) for trace, begin in enumerate(begins_ns)]
    while streams := [stream for stream in streams if stream.events is not None]:
        parts = _first_parts(streams)
        stops = np.cumsum([part.chunk.op.size for part in parts])
        firsts = np.concatenate(([0], stops[:-1]))
        events = _joined(parts)
        order = np.empty(stops[-1], np.int64)
        heads, numbers = firsts.copy(), np.array([stream.number for stream in streams])
        whole = np.array([stream.remaining for stream in streams]) == stops - firsts
        count = _interleave(events.chunk.time_ns, heads, stops, numbers, whole, order)
        yield events.where(order[:count])
        for stream, taken in zip(streams, (heads - firsts).tolist(), strict=True):
            if taken:
                stream.drop(taken)


def _first_parts(streams: Sequence[_Stream]) -> list[Events]:
    """Return of each stream the events up to the time at which the events of one of them end."""
    held = [stream.events for stream in streams if stream.events is not None]
    end = min(int(events.chunk.time_ns[-1]) for events in held)
    return [events.part(0, int(np.searchsorted(events.chunk.time_ns, end, side="right"))) for events in held]


def _joined(parts: Sequence[Events]) -> Events:
    site = None if parts[0].site is None else np.concatenate([part.site for part in parts if part.site is not None])
    return Events(join([part.chunk for part in parts]), site)


@cached_njit
def _interleave(time_ns: I64, head: I64, stop: I64, number: I64, whole: npt.NDArray[np.bool_], order: I64) -> int:
    """Write indexes of the events that come next to `order` until a stream must be read on; return their number.

    Stream s has the events head[s] to stop[s] - 1, the first of which has number[s] in its trace. Both move past
    what is taken. whole[s]: these are all events that were read of the stream; at least one stream is so.
    """
    count = 0
    while True:
        best = -1
        for s in range(head.size):
            if head[s] == stop[s]:
                continue
            if best >= 0:
                ahead = time_ns[head[s]] - time_ns[head[best]]
                if ahead > 0 or (ahead == 0 and number[s] >= number[best]):
                    continue
            best = s
        order[count] = head[best]
        count += 1
        head[best] += 1
        number[best] += 1
        if head[best] == stop[best] and whole[best]:
            return count
