"""The life of each block, from its birth to its death, in memory for the live blocks."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.stacks import SitedChunk

I64 = npt.NDArray[np.int64]

LIFE = record_type(
    "life",  # its number, in order of birth
    "op",  # of its birth
    "size",  # at its birth
    "last_size",  # after its last realloc
    "align_log2",
    "reallocs",
    "event",  # of its birth
    "time_ns",
    "thread",
    "site",
    "lives",  # 1 while the block lives
)
"""What is known of the block that has a number, or had it last."""

_NOW = record_type("events", "births")


class Ended(NamedTuple):
    """Lives as columns of one length: `columns` by the fields of LIFE, and their ends, -1 of a block that lives."""

    columns: dict[str, I64]
    block: I64
    death_event: I64
    death_ns: I64
    death_thread: I64


@cached_njit
def _follow(
    columns: tuple[Any, npt.NDArray[np.uint32], npt.NDArray[np.uint32], I64, npt.NDArray[np.uint8], I64],
    site: npt.NDArray[np.uint32],
    of_block: Any,
    ended: Any,
    deaths: I64,
    now: Any,
) -> int:
    """Follow a chunk; copy the lives that end to `ended`, the events that end them to `deaths`; return their number."""
    op, thread, block, size, align_log2, time_ns = columns
    count = 0
    for i in range(op.size):
        o = op[i]
        if o > 5:
            continue
        life = of_block[block[i]]
        if o == 2:
            life.last_size = size[i]
            life.reallocs += 1
        elif o >= 4:
            life.lives = 0
            ended[count] = life
            deaths[count] = i
            count += 1
        else:
            life.life, life.op, life.size, life.last_size = now.births, o, size[i], size[i]
            life.align_log2, life.reallocs, life.event, life.time_ns = align_log2[i], 0, now.events + i, time_ns[i]
            life.thread, life.site, life.lives = thread[i], site[i], 1
            now.births += 1
    now.events += op.size
    return count


class BlockLives:
    """The lives of the blocks of the chunks so far: 88 bytes per block number."""

    def __init__(self, max_blocks: int) -> None:
        self._of_block = np.zeros(max_blocks, LIFE)
        self._now = np.zeros(1, _NOW)

    def feed(self, chunk: Chunk) -> Ended:
        """Follow the next chunk, with its sites if it has them; return the lives that end in it, in order of death."""
        site = chunk.site if isinstance(chunk, SitedChunk) else np.zeros(chunk.op.size, np.uint32)
        first = int(self._now[0]["events"])
        ended, deaths = np.zeros(chunk.op.size, LIFE), np.zeros(chunk.op.size, np.int64)
        columns = (chunk.op, chunk.thread, chunk.block, chunk.size, chunk.align_log2, chunk.time_ns)
        count = _follow(columns, site, self._of_block, ended, deaths, self._now[0])
        at = deaths[:count]
        thread = chunk.thread[at].astype(np.int64)
        return Ended(_fields(ended[:count]), chunk.block[at].astype(np.int64), first + at, chunk.time_ns[at], thread)

    def alive(self) -> Ended:
        """Return the lives that have not ended, in order of birth."""
        block = np.flatnonzero(self._of_block["lives"])
        block = block[np.argsort(self._of_block["life"][block])]
        none = np.full(block.size, -1, np.int64)
        return Ended(_fields(self._of_block[block]), block, none, none, none)


def _fields(lives: Any) -> dict[str, I64]:
    return {name: np.ascontiguousarray(lives[name]) for name in lives.dtype.names}
