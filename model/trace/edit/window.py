"""A part of a trace (slice): what is alive at its begin is born there."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heapsmith.model.trace.edit.alive import Alive
from heapsmith.model.trace.edit.inputs import Events, Inputs, Progress, no_progress
from heapsmith.model.trace.edit.output import Edited, write_edited
from heapsmith.model.trace.edit.samples import Place
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stats import Figures

MAX = (1 << 63) - 1


class Window(NamedTuple):
    """Events that have a number and a time from the first to before the last of each pair."""

    events: tuple[int, int] = (0, MAX)
    time_ns: tuple[int, int] = (0, MAX)

    def of(self, chunk: Chunk, begin: int) -> tuple[int, int]:
        """Return where in a chunk, whose first event has number `begin`, the window begins and stops."""
        first, stop = (min(max(bound - begin, 0), chunk.op.size) for bound in self.events)
        earliest, latest = np.searchsorted(chunk.time_ns, self.time_ns).tolist()
        return max(first, earliest), min(stop, latest)

    def __str__(self) -> str:
        shown = ((("events", ""), self.events), (("time", " ns"), self.time_ns))
        words = [
            f"{name} {first}:{'' if last == MAX else last}{unit}"
            for (name, unit), (first, last) in shown
            if (first, last) != (0, MAX)
        ]
        return ", ".join(words) or "everything"


def slice_trace(path: Path, out: Path, window: Window, progress: Progress = no_progress) -> Edited:
    """Write to `out` the events of a window of a trace; blocks and threads alive at its begin are made there.

    The begin has the time of the window's first event. Raises what TraceReader raises.
    """
    with Inputs([path], progress) as inputs:
        span: list[int] = []
        return write_edited(
            out,
            inputs,
            _within(inputs, window, span),
            f"slice: {window}",
            lambda: [Place(0, min(span), max(span)) if span else Place(0, 0, -1)],
        )


def _within(inputs: Inputs, window: Window, span: list[int]) -> Iterator[Events]:
    """Yield what makes the state at the window's begin, then its events; add their first and last time to `span`."""
    alive = Alive(inputs)
    begin = last_ns = 0
    for events in inputs.of(0):
        chunk = events.chunk
        first, stop = window.of(chunk, begin)
        begin += chunk.op.size
        last_ns = int(chunk.time_ns[-1])
        if not span:
            alive.follow(events.part(0, first))
        if first < stop:
            if not span:
                span.append(int(chunk.time_ns[first]))
                yield alive.births(span[0])
            span[1:] = [int(chunk.time_ns[stop - 1])]
            yield events.part(first, stop)
        if stop < chunk.op.size:
            break
    if not span:
        yield alive.births(last_ns)


def peak_event(path: Path, progress: Progress = no_progress) -> int:
    """Return the first event after which the live bytes are most: a pass over the trace."""
    with TraceReader(path) as trace:
        figures = Figures(trace.footer.max_blocks)
        for chunk in trace:
            figures.feed(chunk)
            progress("peak", int(figures.totals["events"]), trace.footer.events)
        return int(figures.totals["peak_live_bytes_event"])
