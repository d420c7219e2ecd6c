"""Blocks that died in the call of the function that asked for them (docs/report.md, 'freed where they were made')."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.events import Chunk

I64 = npt.NDArray[np.int64]

GROUP = record_type(
    "requests",  # births and reallocs
    "known",  # of these, those whose function is known
    "blocks",  # scoped lives
    "directly",  # of these, those that the function ended itself
    "resized",  # those that a realloc ended
    "uncertain",  # those that ended at a place that is not behind the request's
    "lived_events",  # of the scoped lives
)

_OWN, _ENTERED, _GROUP, _SIZE, _EVENT, _TIME, _PLACE = range(7)
"""Rows of `of_block`: the call that asked for the block, -1 if it is unknown; the event at which its thread entered its
function, and one, by which it is told from all other calls; group and size of the request; when that was; the offset of
the request in its function's file."""

_SIZE_BITS = 44


class Calls(NamedTuple):
    """The calls that stacks are made of: of each the call above it, and the function that makes it.

    A call is a place in the code under the calls above it; an inlined function is called too. function: two calls have
    the same number if the same function makes them under the same calls. depth: how many calls are above. offset: of
    the instruction in its file; -1 of the call of an inlined function. innermost: of each site its innermost call, -1
    if it is unknown or its stack is cut. asking: of each site the call by the function that asks for the block, -1 if
    unknown. freeing: of each site the depth of the function that frees.
    """

    above: I64
    function: I64
    depth: I64
    offset: I64
    innermost: I64
    asking: I64
    freeing: I64


@cached_njit
def _enter(above: I64, function: I64, depth: I64, last: int, at: int, entered: I64, event: int) -> None:
    """A thread that was last seen in call `last` is seen in call `at`: note which functions it has entered since."""
    if at == last:
        return
    new, old = at, last
    while old >= 0 and depth[old] > depth[new]:
        old = above[old]
    while new >= 0 and (old < 0 or depth[new] > depth[old] or function[new] != function[old]):
        entered[depth[new]] = event + 1
        if old >= 0 and depth[old] == depth[new]:
            old = above[old]
        new = above[new]


@cached_njit
def _place_in(above: I64, depth: I64, offset: I64, at: int, level: int) -> int:
    """The offset of the instruction of stack `at` that the function at this depth has reached."""
    place = offset[at]
    while depth[at] > level:
        at = above[at]
        if offset[at] >= 0:
            place = offset[at]
    return int(place)


@cached_njit
def _follow(
    chunk: tuple[npt.NDArray[np.uint8], U32, U32, I64, I64],
    site: U32,
    calls: Calls,
    group_of_site: I64,
    tables: tuple[I64, I64, I64, npt.NDArray[np.float64]],
    groups: Any,
    first: int,
    ended: I64,
) -> int:
    """Follow a chunk's columns op, thread, block, size and time_ns, whose first event has number `first`.

    tables: of_block; of each thread its last call, and when it entered the function at each depth; of each group the
    time of its scoped lives. ended: becomes group and size of the lives that were scoped; the result says how many.
    """
    op, thread, block, size, time_ns = chunk
    above, function, depth, offset, innermost, asking, freeing = calls
    of_block, last_of, entered, lived_ns = tables
    ends = 0
    for i in range(op.size):
        o, t, b, s = op[i], thread[i], block[i], site[i]
        if o > 5:
            continue
        at, own = innermost[s], of_block[0, b]
        is_end = o == 2 or o >= 4
        level = depth[own] if own >= 0 else 0
        may = is_end and own >= 0 and at >= 0
        # a jump to free in place of a call: the function's own frame is gone
        is_jump = may and at == above[own] and depth[last_of[t]] >= level and entered[t, level] == of_block[1, b]
        if at >= 0:
            _enter(above, function, depth, last_of[t], at, entered[t], first + i)
            last_of[t] = at
        if is_jump or (may and depth[at] >= level and entered[t, level] == of_block[1, b]):
            group = groups[of_block[2, b]]
            group.blocks += 1
            group.directly += is_jump or freeing[s] == level
            group.resized += o == 2
            group.uncertain += not is_jump and _place_in(above, depth, offset, at, level) <= of_block[6, b]
            group.lived_events += first + i - of_block[4, b]
            lived_ns[of_block[2, b]] += time_ns[i] - of_block[5, b]
            ended[0, ends], ended[1, ends] = of_block[2, b], of_block[3, b]
            ends += 1
        of_block[0, b] = -1
        if o < 4:
            group = groups[group_of_site[s]]
            group.requests += 1
            own = asking[s]
            if own >= 0:
                group.known += 1
                of_block[0, b], of_block[1, b] = own, entered[t, depth[own]]
                of_block[2, b], of_block[3, b] = group_of_site[s], size[i]
                of_block[4, b], of_block[5, b] = first + i, time_ns[i]
                of_block[6, b] = _place_in(above, depth, offset, at, depth[own])
    return ends


class ScopedLives:
    """The scoped lives of the chunks so far, by groups of sites. A realloc ends a life and begins another.

    A life is *scoped* if it ended on the thread that began it, under the function that asked for the block, and if each
    event of this thread in between that has a stack was under that function too: in the same function, under the same
    calls. 56 bytes per block number; per thread 8 bytes for each depth of a stack.
    """

    def __init__(self, calls: Calls, group_of_site: I64, groups: int, max_blocks: int, threads: int) -> None:
        self._calls, self._group_of_site = calls, group_of_site
        self._of_block = np.zeros((7, max_blocks), np.int64)
        self._of_block[_OWN] = -1
        self._last_of = np.full(threads, -1)
        self._entered = np.zeros((threads, int(calls.depth.max(initial=0)) + 1), np.int64)
        self._events = 0
        self.groups = np.zeros(groups, GROUP).view(np.recarray)
        self.lived_ns = np.zeros(groups)
        self._sizes: dict[int, int] = defaultdict(int)

    def feed(self, chunk: Chunk, site: U32) -> None:
        """Follow the next chunk, whose events have these sites, those of frees too."""
        ended = np.empty((2, chunk.op.size), np.int64)
        columns = (chunk.op, chunk.thread, chunk.block, chunk.size, chunk.time_ns)
        tables = (self._of_block, self._last_of, self._entered, self.lived_ns)
        count = _follow(columns, site, self._calls, self._group_of_site, tables, self.groups, self._events, ended)
        self._events += chunk.op.size
        group, size = ended[:, :count]
        keys, times = np.unique(group << _SIZE_BITS | np.minimum(size, (1 << _SIZE_BITS) - 1), return_counts=True)
        for key, more in zip(keys.tolist(), times.tolist(), strict=True):
            self._sizes[key] += more

    def sizes(self) -> dict[int, tuple[int, int, int]]:
        """Return of each group with scoped lives the least, the median and the largest of their sizes."""
        of_group: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for key, times in sorted(self._sizes.items()):
            of_group[key >> _SIZE_BITS].append((key & (1 << _SIZE_BITS) - 1, times))
        found = {}
        for group, rows in of_group.items():
            size, times = np.array(rows).T
            middle = np.searchsorted(np.cumsum(times), (times.sum() + 1) // 2)
            found[group] = int(size[0]), int(size[middle]), int(size[-1])
        return found
