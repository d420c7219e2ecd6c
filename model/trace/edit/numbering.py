"""Numbers for the events of a new trace: blocks, threads and sites by first use, times from the first event on."""

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.events import Chunk

I64 = npt.NDArray[np.int64]


@cached_njit
def _number_blocks(op: npt.NDArray[np.uint8], key: U32, block: U32, number_of: U32, spare: U32, counts: I64) -> None:
    """Write the number of each event's block, named by `key`, to `block`.

    `number_of`: the number of each live key. `spare`: a stack of numbers whose blocks died. `counts`: the new
    numbers so far and the height of the stack.
    """
    fresh, held = counts[0], counts[1]
    for i in range(op.size):
        o, k = op[i], key[i]
        if o > 5:
            block[i] = 0
            continue
        if o < 4 and o != 2:
            if held > 0:
                held -= 1
                number_of[k] = spare[held]
            else:
                number_of[k] = fresh
                fresh += 1
        block[i] = number_of[k]
        if o >= 4:
            spare[held] = number_of[k]
            held += 1
    counts[0], counts[1] = fresh, held


@cached_njit
def _number_by_first_use(key: U32, number: U32, number_of: U32, used: int) -> int:
    """Write the number of each key to `number`; return how many numbers are used.

    `number_of`: of each key its number and one, 0 before its first use.
    """
    for i in range(key.size):
        k = key[i]
        if number_of[k] == 0:
            used += 1
            number_of[k] = used
        number[i] = number_of[k] - 1
    return used


class ByFirstUse:
    """Numbers from 0 on for the keys below `limit`, in the order in which they come. Memory: 4 bytes per key."""

    def __init__(self, limit: int) -> None:
        self._number_of = np.zeros(limit, np.uint32)
        self._used = 0

    def of(self, keys: U32) -> U32:
        """Return the numbers of the next keys."""
        number = np.empty_like(keys)
        self._used = _number_by_first_use(keys, number, self._number_of, self._used)
        return number

    def keys(self) -> I64:
        """Return the keys in the order of their numbers."""
        came = np.flatnonzero(self._number_of)
        found = np.zeros(self._used, np.int64)
        found[self._number_of[came] - 1] = came
        return found


class SitesByUse(ByFirstUse):
    """The same of sites: site 0 is unknown and stays so, and `keys` are those of the others, from site 1 on."""

    def __init__(self, sites: int) -> None:
        super().__init__(sites + 1)
        self.of(np.zeros(1, np.uint32))

    def keys(self) -> I64:
        """Return the sites in the order of their numbers."""
        return super().keys()[1:]


class Numbering:
    """Gives the numbers that the rules of traces want to blocks, threads and sites with any numbers.

    The events must obey the rules but for these numbers. A birth takes the number that was freed last,
    so a trace whose writer did so keeps its numbers. blocks, threads, sites: limits of the numbers that come
    in. Memory: 8 bytes per block, 4 per thread and per site.
    """

    def __init__(self, blocks: int, threads: int, sites: int) -> None:
        self._block = np.zeros(blocks, np.uint32)
        self._spare = np.zeros(blocks, np.uint32)
        self._blocks = np.zeros(2, np.int64)
        self._thread, self._site = ByFirstUse(threads), SitesByUse(sites)
        self.first_ns: int | None = None
        """The time of the first event, which becomes 0; None before it."""

    def follow(self, chunk: Chunk, site: U32 | None) -> tuple[Chunk, U32 | None]:
        """Return the next events, and their sites if they have any, with new numbers and times."""
        if chunk.op.size == 0:
            return chunk, site
        if self.first_ns is None:
            self.first_ns = int(chunk.time_ns[0])
        block = np.empty_like(chunk.block)
        _number_blocks(chunk.op, chunk.block, block, self._block, self._spare, self._blocks)
        time_ns = chunk.time_ns - self.first_ns if self.first_ns else chunk.time_ns
        made = chunk._replace(thread=self._thread.of(chunk.thread), block=block, time_ns=time_ns)
        return made, None if site is None else self._site.of(site)

    def threads(self) -> I64:
        """Return the old numbers of the threads of the new trace."""
        return self._thread.keys()

    def sites(self) -> I64:
        """Return the old numbers of the sites of the new trace, from site 1 on."""
        return self._site.keys()
