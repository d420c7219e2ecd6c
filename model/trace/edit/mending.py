"""Events that break rules of traces, because others are missing: drop them, or put in what was not seen."""

from typing import Any

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.edit.inputs import Events
from heapsmith.model.trace.events import MAX_ALIGN_LOG2, MAX_PROCESSORS, SIZED, UNKNOWN, WITH_ALIGNMENT, Op, op_mask

I64 = npt.NDArray[np.int64]

_UNKNOWN, _UNSEEN, _REBORN, _LATE, _INVALID = range(5)
_MAX_SIZE = np.where(op_mask(SIZED), np.iinfo(np.int64).max, 0)
_MAX_ALIGN = np.where(op_mask(WITH_ALIGNMENT), MAX_ALIGN_LOG2, 0)


@cached_njit
def _mend(
    chunk: tuple[npt.NDArray[np.uint8], U32, U32, I64, npt.NDArray[np.uint8]],
    live: npt.NDArray[np.bool_],
    seen: npt.NDArray[np.bool_],
    source: I64,
    op_of: npt.NDArray[np.uint8],
    counts: I64,
) -> int:
    """Write the source and the operation of each event that stays or is put in; return how many there are.

    `live`, `seen`: flags of blocks and threads. An event with a number beyond them is invalid.
    """
    op, thread, block, size, align_log2 = chunk
    count = 0
    for i in range(op.size):
        o, t, b = op[i], thread[i], block[i]
        if (
            t >= seen.size
            or b >= (live.size if o < 6 else 1)
            or size[i] < (o == 2)
            or size[i] > _MAX_SIZE[o]
            or align_log2[i] > _MAX_ALIGN[o]
        ):
            counts[4] += 1
            continue
        if o == 6 and seen[t]:
            counts[3] += 1
            continue
        if o == 4 or o == 5:
            if not live[b]:
                counts[0] += 1
                continue
            live[b] = False
        elif o == 2:
            if not live[b]:  # born where events are missing
                counts[2] += 1
                o = 0
            live[b] = True
        elif o < 4:
            if live[b]:  # its free is missing
                counts[1] += 1
                source[count], op_of[count] = i, 4
                count += 1
            live[b] = True
        seen[t] = True
        source[count], op_of[count] = i, o
        count += 1
    return count


class Mending:
    """Makes any events obey the rules but for numbers of blocks and threads. A byte per number."""

    def __init__(self, blocks: int, threads: int) -> None:
        self._live, self._seen = np.zeros(blocks, np.bool_), np.zeros(threads, np.bool_)
        self._counts = np.zeros(5, np.int64)
        self._last_ns = 0
        self.backsteps = 0

    def mended(self, events: Events) -> Events:
        """Return the next events without those that no program can have made here, and with what was not seen.

        A free of a dead block goes, a realloc of one becomes a malloc. A live block that is born again was
        freed before. Times that go back stand still. A processor that cannot be is unknown.
        """
        chunk = events.chunk
        source, op = np.zeros(2 * chunk.op.size, np.int64), np.zeros(2 * chunk.op.size, np.uint8)
        columns = (chunk.op, chunk.thread, chunk.block, chunk.size, chunk.align_log2)
        count = _mend(columns, self._live, self._seen, source, op, self._counts)
        found, op = events.where(source[:count]), op[:count]
        put_in = (op == Op.FREE) & (found.chunk.op != Op.FREE)
        zero: Any = np.where(put_in, 0, 1)
        time_ns = np.maximum.accumulate(np.append(self._last_ns, found.chunk.time_ns))
        self.backsteps += int(np.count_nonzero(time_ns[1:] != found.chunk.time_ns))
        self._last_ns = int(time_ns[-1])
        size, align_log2 = found.chunk.size * zero, (found.chunk.align_log2 * zero).astype(np.uint8)
        there = found.chunk.processor
        place = np.where((there >= UNKNOWN) & (there < MAX_PROCESSORS), there, UNKNOWN).astype(np.int16)
        rest = {"align_log2": align_log2, "time_ns": time_ns[1:], "processor": place}
        made = found.chunk._replace(op=op, size=size, **rest).checked()
        return Events(made, None if found.site is None else (found.site * zero).astype(np.uint32))

    def counts(self) -> dict[str, int]:
        """Return how many events broke which rule."""
        names = ("frees_of_unknown", "frees_put_in", "reallocs_of_unknown", "late_starts", "invalid")
        return dict(zip(names, self._counts.tolist(), strict=True)) | {"backsteps": self.backsteps}
