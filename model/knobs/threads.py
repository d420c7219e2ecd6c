"""How many threads of a trace live at the same time, and how often two of them could meet at a lock."""

from typing import Any

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.trace.events import Chunk

NEAR_NS = 1000
"""Calls of two threads, one after the other within this time, meet: a call is shorter, but a recorded one is slow."""

_NOW = record_type("alive", "most_alive", "meetings", "last_thread", "last_ns")


@cached_njit
def _follow(
    op: npt.NDArray[np.uint8],
    thread: npt.NDArray[np.uint32],
    time_ns: npt.NDArray[np.int64],
    is_alive: npt.NDArray[np.uint8],
    now: Any,
) -> None:
    """Follow a chunk."""
    for i in range(op.size):
        t = thread[i]
        if is_alive[t] == 0:
            is_alive[t] = 1
            now.alive += 1
            now.most_alive = max(now.most_alive, now.alive)
        if op[i] == 7:
            is_alive[t] = 0
            now.alive -= 1
        elif op[i] < 6:
            now.meetings += (t != now.last_thread) & (time_ns[i] - now.last_ns < NEAR_NS)
            now.last_thread, now.last_ns = t, time_ns[i]


class Threads:
    """Follows a trace: the most threads alive at once, and the meetings of calls."""

    def __init__(self, threads: int) -> None:
        self._is_alive = np.zeros(threads, np.uint8)
        self._now = np.zeros(1, _NOW)

    def feed(self, chunk: Chunk) -> None:
        """Follow the events of the next chunk."""
        _follow(chunk.op, chunk.thread, chunk.time_ns, self._is_alive, self._now[0])

    @property
    def most_alive(self) -> int:
        """The most threads that had begun and not ended."""
        return int(self._now[0]["most_alive"])

    @property
    def meetings(self) -> int:
        """The calls within NEAR_NS after one of another thread."""
        return int(self._now[0]["meetings"])
