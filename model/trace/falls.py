"""Falls: how long the live bytes of a trace lie well below their peak, after it."""

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.events import Chunk

I64 = npt.NDArray[np.int64]

FALLEN = 0.75
"""Live bytes of at most this part of the peak have fallen."""


@cached_njit
def _follow(
    op: npt.NDArray[np.uint8], block: npt.NDArray[np.uint32], size: I64, when: I64, of_block: I64, now: I64
) -> None:
    """Follow a chunk. `of_block`: the size of each block. `now`: live bytes, their peak, the fallen time since, when.

    The time up to an event goes by the live bytes before it.
    """
    live, peak, fallen, last = now
    for i in range(op.size):
        if live <= FALLEN * peak:
            fallen += when[i] - last
        last = when[i]
        o, b = op[i], block[i]
        if o > 5:
            continue
        if o == 2 or o >= 4:
            live -= of_block[b]
        if o < 4:
            of_block[b] = size[i]
            live += size[i]
        if live > peak:
            peak, fallen = live, 0
    now[:] = live, peak, fallen, last


class Falls:
    """The live bytes of the chunks so far, which are fed in order; 8 bytes per block number."""

    def __init__(self, max_blocks: int) -> None:
        self._of_block = np.zeros(max_blocks, np.int64)
        self._now = np.zeros(4, np.int64)
        self._first: int | None = None

    def feed(self, chunk: Chunk, when: I64) -> None:
        """Follow the next chunk, whose events happened at these times."""
        if not len(when):
            return
        if self._first is None:
            self._first = self._now[3] = int(when[0])
        _follow(chunk.op, chunk.block, chunk.size, when, self._of_block, self._now)

    @property
    def fallen(self) -> float:
        """The part of the time of all events that came after the peak, with live bytes of at most FALLEN of it."""
        return int(self._now[2]) / max(1, int(self._now[3]) - (self._first or 0))
