"""Where a replay samples its RSS: how far each thread has come at evenly spaced instants of the trace's time."""

from typing import Any

import numpy as np
import numpy.typing as npt

from heapsmith.model.trace.reader import Chunk, TraceReader
from heapsmith.model.trace.slices import last_time_ns

Array = npt.NDArray[Any]

SAMPLE = np.dtype("u8,u4,u4")
SAMPLE.names = ("position", "moment", "instants")

MOST, LEAST = 256, 8  # MOST is MOMENTS of runtime/replay/script.h
MOST_SAMPLES = 1 << 20  # of all threads together, from which on there are fewer instants
ALONE, SHARED = 1 << 10, 1 << 14  # events for each instant: a sample disturbs the replay around it


class Instants:
    """Evenly spaced instants between a trace's first and last event, and the events of each stream up to them.

    A trace whose events are all at one time, as without time stamps, has an event in each unit of time.
    """

    def __init__(self, reader: TraceReader) -> None:
        events = reader.footer.events
        begin = next((int(chunk.time_ns[0]) for chunk in reader.part(0, 1)), 0)
        end = last_time_ns(reader)
        self.has_times = begin < end
        period = ALONE if reader.footer.threads <= 1 else SHARED
        self.threads = max(1, reader.footer.threads)
        count = min(max(events // period, LEAST), MOST, events, max(MOST_SAMPLES // self.threads, LEAST))
        if not self.has_times:
            begin, end = 0, events
        self.times = begin + (np.arange(count) + 0.5) / max(count, 1) * (end - begin)
        self.events = 0  # of the chunks before
        self.passed = 0  # instants before the first event of the next chunk
        self.moments: list[Array] = []  # events per stream at each instant that was passed
        self.last = np.zeros(self.threads, np.int64)  # at the last event so far

    def follow(self, chunk: Chunk, kept: Array, stream: Array, written: Array) -> None:
        """Pass the instants up to a chunk's last event.

        kept: the chunk's events that the script has, ascending, with -1 for its own. stream: that of
        each of the kept ones. written: events per stream before them.
        """
        now = np.maximum.accumulate(chunk.time_ns) if self.has_times else self.events + np.arange(1, chunk.op.size + 1)
        self.events += chunk.op.size
        of_trace = np.flatnonzero(kept >= 0)
        if of_trace.size == 0:
            return

        def events_up_to(index: int) -> Array:
            return written + np.bincount(stream[: index + 1], minlength=self.threads)

        stop = int(np.searchsorted(self.times, now[-1], "right"))
        for time in self.times[self.passed : stop]:
            event = int(np.searchsorted(now, time, "right")) - 1
            index = int(np.searchsorted(kept[of_trace], event, "right")) - 1
            before = self.last if self.last.any() else events_up_to(int(of_trace[0]))
            self.moments.append(events_up_to(int(of_trace[index])) if index >= 0 else before)
        self.passed = stop
        self.last = events_up_to(int(of_trace[-1]))

    def samples(self) -> tuple[Array, Array]:
        """Return the number of each stream's first sample, and one more, and the samples."""
        rest = [self.last] * (self.times.size - self.passed) if self.last.any() else []
        every = np.array([*self.moments, *rest], np.int64).reshape(-1, self.threads)
        first = np.flatnonzero(np.append(np.ones(min(1, len(every)), bool), (every[1:] != every[:-1]).any(axis=1)))
        moments, instants = every[first], np.diff(np.append(first, len(every)))
        stream, moment = np.nonzero(moments.T)
        rows = np.zeros(len(stream), SAMPLE)
        rows["position"], rows["moment"], rows["instants"] = moments[moment, stream], moment, instants[moment]
        return np.searchsorted(stream, np.arange(self.threads + 1)).astype(np.uint64), rows
