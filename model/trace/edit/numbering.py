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


class Numbering:
    """Gives the numbers that the rules of traces want to blocks, threads and sites with any numbers.

    The events must obey the rules but for these numbers. A birth takes the number that was freed last,
    so a trace whose writer did so keeps its numbers. blocks, threads, sites: limits of the numbers that come
    in. Memory: 8 bytes per block, 4 per thread and per site.
    """

    def __init__(self, blocks: int, threads: int, sites: int) -> None:
        self._block = np.zeros(blocks, np.uint32)
        self._spare = np.zeros(blocks, np.uint32)
        self._thread = np.zeros(threads, np.uint32)
        self._site = np.zeros(sites + 1, np.uint32)
        self._site[0] = 1  # site 0 is unknown and stays so
        self._blocks = np.zeros(2, np.int64)
        self._threads, self._sites = 0, 1
        self.first_ns: int | None = None
        """The time of the first event, which becomes 0; None before it."""

    def follow(self, chunk: Chunk, site: U32 | None) -> tuple[Chunk, U32 | None]:
        """Return the next events, and their sites if they have any, with new numbers and times."""
        if chunk.op.size == 0:
            return chunk, site
        if self.first_ns is None:
            self.first_ns = int(chunk.time_ns[0])
        block, thread = np.empty_like(chunk.block), np.empty_like(chunk.thread)
        _number_blocks(chunk.op, chunk.block, block, self._block, self._spare, self._blocks)
        self._threads = _number_by_first_use(chunk.thread, thread, self._thread, self._threads)
        time_ns = chunk.time_ns - self.first_ns if self.first_ns else chunk.time_ns
        made = chunk._replace(thread=thread, block=block, time_ns=time_ns)
        if site is None:
            return made, None
        numbered = np.empty_like(site)
        self._sites = _number_by_first_use(site, numbered, self._site, self._sites)
        return made, numbered

    def threads(self) -> I64:
        """Return the old numbers of the threads of the new trace."""
        return _in_order(self._thread, self._threads)

    def sites(self) -> I64:
        """Return the old numbers of the sites of the new trace, from site 1 on."""
        return _in_order(self._site, self._sites)[1:]


def _in_order(number_of: U32, used: int) -> I64:
    keys = np.flatnonzero(number_of)
    found = np.zeros(used, np.int64)
    found[number_of[keys] - 1] = keys
    return found
