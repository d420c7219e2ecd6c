"""The blocks and threads that are alive at a moment of a trace, as events that make them or end them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.edit.inputs import Events, Inputs
from heapsmith.model.trace.events import Chunk, Op

I64 = npt.NDArray[np.int64]

_BORN, _OP, _THREAD, _SIZE, _ALIGN, _SITE, _PROCESSOR = range(7)
"""Rows of `of_block`: event of birth and one, 0 of a dead block; the last request, by the thread of birth."""
_FIRST, _START, _EXIT, _LAST = range(4)
"""Rows of `of_thread`: first event, start and exit, each an event and one, 0 if there was none; last processor."""

Column = npt.NDArray[Any]


@cached_njit
def _follow(
    columns: tuple[npt.NDArray[np.uint8], U32, U32, I64, npt.NDArray[np.uint8], npt.NDArray[np.int16]],
    site: U32,
    first: int,
    of_block: I64,
    of_thread: I64,
) -> None:
    """Follow op, thread, block, size, align_log2 and processor of events from number `first` on.

    `site` is empty in a trace without stacks.
    """
    op, thread, block, size, align_log2, processor = columns
    for i in range(op.size):
        o, t, b, number = op[i], thread[i], block[i], first + i + 1
        if of_thread[0, t] == 0:
            of_thread[0, t] = number
        of_thread[3, t] = processor[i]
        if o >= 6:
            of_thread[1 if o == 6 else 2, t] = number
        elif o >= 4:
            of_block[0, b] = 0
        else:
            if o == 2:  # what was resized is as a malloc of the new size would have made it
                of_block[1, b] = 0
            else:
                of_block[0, b], of_block[1, b], of_block[2, b] = number, o, t
            of_block[3, b], of_block[4, b] = size[i], align_log2[i]
            of_block[5, b] = site[i] if site.size > 0 else 0
            of_block[6, b] = processor[i]


class Alive:
    """Follows events: 56 bytes per block number, 32 per thread."""

    def __init__(self, inputs: Inputs) -> None:
        self.events = 0
        self._sited = inputs.tree is not None
        self._block = np.zeros((7, inputs.blocks), np.int64)
        self._thread = np.zeros((4, inputs.threads), np.int64)

    def follow(self, events: Events) -> None:
        """Follow the next events."""
        chunk, site = events
        columns = (chunk.op, chunk.thread, chunk.block, chunk.size, chunk.align_log2, chunk.processor)
        none = np.zeros(0, np.uint32)
        _follow(columns, none if site is None else site, self.events, self._block, self._thread)
        self.events += chunk.op.size

    def births(self, time_ns: int) -> Events:
        """Return events at this time that make what is alive, in the order in which it came.

        Each live block is born, by the thread of its birth, with size, site and processor of its last request.
        Threads that are alive, or that left live blocks, start if their start was seen, and exit if they have
        exited, on their last processor.
        """
        live = self._live()
        block = self._block[:, live]
        threads = np.zeros(self._thread.shape[1], np.bool_)
        threads[block[_THREAD]] = True
        threads |= (self._thread[_FIRST] > 0) & (self._thread[_EXIT] == 0)
        starts, exits = (np.flatnonzero(threads & (self._thread[row] > 0)) for row in (_START, _EXIT))
        number = np.concatenate((block[_BORN], self._thread[_START][starts], self._thread[_EXIT][exits]))
        order = np.argsort(number)
        others = starts.size + exits.size
        zeros = np.zeros(others, np.int64)
        ends = np.repeat([int(Op.THREAD_START), int(Op.THREAD_EXIT)], [starts.size, exits.size])
        rows = (
            np.concatenate((block[_OP], ends)),
            np.concatenate((block[_THREAD], starts, exits)),
            *(np.concatenate((row, zeros)) for row in (live, block[_SIZE], block[_ALIGN])),
        )
        site = np.concatenate((block[_SITE], zeros))[order].astype(np.uint32) if self._sited else None
        last = self._thread[_LAST]
        processor = np.concatenate((block[_PROCESSOR], last[starts], last[exits]))[order]
        return Events(Chunk.of(*(row[order] for row in rows), np.full(order.size, time_ns), processor), site)

    def ends(self, time_ns: int) -> Events:
        """Return events at this time that end what is alive.

        Blocks die, each on the thread of its birth, in order of birth. Then threads exit. Each thread is on
        its last processor.
        """
        live = self._live()
        threads = np.flatnonzero((self._thread[_FIRST] > 0) & (self._thread[_EXIT] == 0))
        count = live.size + threads.size
        zeros = np.zeros(count, np.int64)
        who = np.concatenate((self._block[_THREAD][live], threads))
        chunk = Chunk.of(
            np.repeat([int(Op.FREE), int(Op.THREAD_EXIT)], [live.size, threads.size]),
            who,
            np.concatenate((live, np.zeros(threads.size, np.int64))),
            zeros,
            zeros,
            np.full(count, time_ns),
            self._thread[_LAST][who],
        )
        return Events(chunk, np.zeros(count, np.uint32) if self._sited else None)

    def _live(self) -> I64:
        """Return the numbers of the live blocks in the order of their births."""
        live = np.flatnonzero(self._block[_BORN])
        found: I64 = live[np.argsort(self._block[_BORN][live])]
        return found
