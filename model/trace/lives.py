"""The lives of a trace's blocks: who was born when, sizes against lifetimes, threads that free for others."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.trace.events import Chunk

I64 = npt.NDArray[np.int64]

BUCKETS = 65
"""Bucket k of sizes and lifetimes is 2^(k-1) .. 2^k - 1; bucket 0 is 0."""

THREADS = 32
"""Threads that are told apart; the last one stands for all later threads too."""

NOW = record_type("events", "bytes", "low", "high")


@cached_njit
def _follow(
    op: npt.NDArray[np.uint8],
    thread: npt.NDArray[np.uint32],
    block: npt.NDArray[np.uint32],
    size: I64,
    of_block: I64,
    lifetimes: I64,
    passed: I64,
    now: Any,
) -> None:
    """Follow a chunk. `of_block` (3, blocks): size, event of birth, thread of birth."""
    live, low, high, first = now.bytes, now.low, now.high, now.events
    last = passed.shape[0] - 1
    for i in range(op.size):
        o, b = op[i], block[i]
        if o > 5:
            continue
        if o == 2 or o >= 4:
            live -= of_block[0, b]
        if o < 4:
            of_block[0, b] = size[i]
            live += size[i]
            if o != 2:
                of_block[1, b], of_block[2, b] = first + i, min(thread[i], last)
        else:
            lifetimes[math.frexp(of_block[0, b])[1], math.frexp(first + i - of_block[1, b])[1]] += 1
            passed[of_block[2, b], min(thread[i], last)] += 1
        low, high = min(low, live), max(high, live)
    now.bytes, now.low, now.high, now.events = live, low, high, first + op.size


class Lives:
    """The blocks of the chunks so far: 24 bytes per block number.

    size, born: of each block number, the last size asked for and the event of its birth; blocks that
    died keep theirs. lifetimes (65, 65): freed blocks by the bucket of their size and of the events
    between birth and free. passed (threads, threads): freed blocks by the threads of birth and free.
    """

    def __init__(self, max_blocks: int, threads: int) -> None:
        self._of_block = np.zeros((3, max_blocks), np.int64)
        self._now = np.zeros(1, NOW)
        self.size, self.born = self._of_block[0], self._of_block[1]
        self.lifetimes = np.zeros((BUCKETS, BUCKETS), np.int64)
        self.passed = np.zeros((min(threads, THREADS),) * 2, np.int64)

    def feed(self, chunk: Chunk) -> None:
        """Follow the next chunk."""
        _follow(
            chunk.op,
            chunk.thread,
            chunk.block,
            chunk.size,
            self._of_block,
            self.lifetimes,
            self.passed,
            self._now[0],
        )

    def asked(self) -> tuple[int, int, int]:
        """Return the bytes that live blocks asked for: the least, the most since the last call, and now."""
        now = self._now[0]
        found = int(now["low"]), int(now["high"]), int(now["bytes"])
        now["low"] = now["high"] = now["bytes"]
        return found

    def alive_by_size(self, live: npt.NDArray[np.bool_]) -> I64:
        """Return (65,) numbers of the live blocks by the bucket of their size; `live` tells them by block number."""
        sizes = self.size[: len(live)][live]
        found: I64 = np.bincount(np.frexp(sizes.astype(float))[1], minlength=BUCKETS)
        return found
