"""Live bytes over time, and what a delay of release keeps and faults in again."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.constants import PAGE
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.lives import Lives
from heapsmith.model.trace.slices import slices

I64 = npt.NDArray[np.int64]

SLICES = 4096
"""Slices of the trace's time."""


class Kept(NamedTuple):
    """A delay: the mean over time of bytes that are kept in vain, and the bytes that are faulted in a second time."""

    idle: float
    faulted_again: int

    def time_ns(self, costs: Mapping[str, float]) -> float:
        """Return the time of the second faults."""
        return self.faulted_again / PAGE * costs["fault.4k"]


class LiveBytes:
    """Follows a trace: the most and the last live bytes of each slice of its time."""

    def __init__(self, last_ns: int, max_blocks: int, threads: int) -> None:
        self.slice_ns = last_ns // SLICES + 1
        count = last_ns // self.slice_ns + 1
        self._most, self._last = np.full(count, -1, np.int64), np.zeros(count, np.int64)
        self._lives = Lives(max_blocks, threads)

    def feed(self, chunk: Chunk) -> None:
        """Follow the events of the next chunk."""
        for number, part in slices((chunk,), self.slice_ns):
            self._lives.feed(part)
            _, high, now = self._lives.asked()
            self._most[number] = max(high, self._most[number])
            self._last[number] = now

    def _filled(self) -> tuple[I64, I64]:
        """Return the most and the last bytes of each slice; a slice without events has those of the one before."""
        seen = np.maximum.accumulate(np.where(self._most >= 0, np.arange(self._most.size), 0))
        last = self._last[seen]
        return np.where(self._most >= 0, self._most, last), last

    def kept(self, delay_ns: int | None) -> Kept:
        """Return what happens if free pages are released after `delay_ns`; None: never.

        The heap keeps the most bytes that were live within the delay: free pages among live ones,
        and pages that live blocks share with free ones, are not told. A delay below a slice
        counts as a slice.
        """
        most, last = self._filled()
        if delay_ns is None:
            held = np.maximum.accumulate(most)
        else:
            reach = min(most.size, max(1, delay_ns // self.slice_ns))
            padded = np.concatenate((np.zeros(reach, np.int64), most))
            held = np.lib.stride_tricks.sliding_window_view(padded, reach + 1).max(axis=1)
        rises = np.maximum(np.diff(held, prepend=0), 0).sum()
        return Kept(float(np.mean(held - last)), int(rises - most.max()))

    def mean(self) -> float:
        """Return the mean over time of the live bytes."""
        return float(np.mean(self._filled()[1]))
