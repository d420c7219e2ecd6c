"""The events of a trace in slices of equal time, and the live bytes of each slice."""

from collections.abc import Iterable, Iterator

import numpy as np

from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.reader import TraceReader


def last_time_ns(reader: TraceReader) -> int:
    """Return the time of the last event; 0 for a trace without events."""
    events = reader.footer.events
    return next((int(chunk.time_ns[-1]) for chunk in reader.part(events - 1, events)), 0)


def slices(chunks: Iterable[Chunk], slice_ns: int, *, has_times: bool = True) -> Iterator[tuple[int, Chunk]]:
    """Yield each slice's number and events; a slice that two chunks share comes in two parts.

    has_times: without times an event takes a nanosecond.
    """
    first = 0
    for chunk in chunks:
        times = chunk.time_ns if has_times else np.arange(first, first + chunk.op.size)
        number = times // slice_ns
        ends = [*(np.flatnonzero(np.diff(number)) + 1).tolist(), chunk.op.size]
        begin = 0
        for end in ends:
            yield int(number[begin]), chunk.part(begin, end)
            begin = end
        first += chunk.op.size
