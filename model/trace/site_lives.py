"""The lives of a trace's blocks by groups of sites: requests, bytes, lifetimes, and what lives at the peak."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stacks import CallTree

I64 = npt.NDArray[np.int64]

NO_GROUP = -1
"""The group of a dead block."""

GROUP = record_type(
    "requests",  # births and reallocs
    "bytes",  # that they asked for
    "live_blocks",
    "live_bytes",
    "most_bytes",  # the most live bytes of this group at one time
    "most_blocks",  # live then
    "most_event",  # the first event that reached them
    "peak_blocks",  # live when all live bytes were most
    "peak_bytes",
    "lived_events",  # of all lives that ended
    "temporary",  # lives that the next event of a block ended
)

NOW = record_type(
    "events", "bytes", "blocks", "peak_bytes", "peak_blocks", "peak_event", "peak_in_chunk", "time_ns", "next_of"
)

GROUP_OF, BYTES, EVENT, TIME = range(4)
"""Rows of `of_block`: of each block number the group and size of its last request, and when that was."""


@cached_njit
def _follow(
    chunk: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint32], I64, I64],
    group: I64,
    of_block: I64,
    gone: I64,
    groups: Any,
    lived_ns: npt.NDArray[np.float64],
    now: Any,
) -> None:
    """Follow a chunk's columns op, block, size and time_ns; `group` has the group of each event's site.

    gone[0, i] and gone[1, i] become the group and the size that the block of event i had before.
    """
    op, block, size, time_ns = chunk
    now.peak_in_chunk = -1
    for i in range(op.size):
        o, b, event = op[i], block[i], now.events + i
        gone[0, i] = -1
        if o > 5:
            continue
        if o == 2 or o >= 4:
            old = of_block[0, b]
            gone[0, i], gone[1, i] = old, of_block[1, b]
            groups[old].live_blocks -= 1
            groups[old].live_bytes -= of_block[1, b]
            groups[old].lived_events += event - of_block[2, b]
            lived_ns[old] += time_ns[i] - of_block[3, b]
            now.bytes -= of_block[1, b]
            now.blocks -= 1
            of_block[0, b] = -1
            groups[old].temporary += now.next_of == b + 1
            now.next_of = 0
        if o < 4:
            new = group[i]
            of_block[0, b], of_block[1, b], of_block[2, b], of_block[3, b] = new, size[i], event, time_ns[i]
            groups[new].requests += 1
            groups[new].bytes += size[i]
            groups[new].live_blocks += 1
            now.next_of = b + 1
            groups[new].live_bytes += size[i]
            if groups[new].live_bytes > groups[new].most_bytes:
                groups[new].most_bytes, groups[new].most_event = groups[new].live_bytes, event
                groups[new].most_blocks = groups[new].live_blocks
            now.bytes += size[i]
            now.blocks += 1
            if now.bytes > now.peak_bytes:
                now.peak_bytes, now.peak_blocks, now.peak_event = now.bytes, now.blocks, event
                now.peak_in_chunk = i
    if op.size > 0:
        now.time_ns = time_ns[op.size - 1]
    now.events += op.size


class Step(NamedTuple):
    """What a chunk's events do: the group that makes the request; of the block before the event group and bytes.

    Events without such a block have NO_GROUP and any bytes.
    """

    group: I64
    before: I64
    bytes_before: I64


class SiteLives:
    """The blocks of the chunks so far by group: 32 bytes per block number, 96 per group.

    group_of_site: the group of each site; site 0 is unknown. of_block: rows GROUP_OF, BYTES, EVENT
    and TIME; a dead block has NO_GROUP. A block belongs to the group of its last request: a realloc
    ends a life and begins one.
    """

    def __init__(self, max_blocks: int, group_of_site: I64, groups: int) -> None:
        self.group_of_site = group_of_site
        self.of_block = np.zeros((4, max_blocks), np.int64)
        self.of_block[GROUP_OF] = NO_GROUP
        self.groups = np.zeros(groups, GROUP).view(np.recarray)
        self.lived_ns = np.zeros(groups)
        self._now = np.zeros(1, NOW)

    def feed(self, chunk: Chunk, site: U32) -> Step:
        """Follow the next chunk, whose events have these sites."""
        group = self.group_of_site[site]
        gone = np.empty((2, len(site)), np.int64)
        columns = (chunk.op, chunk.block, chunk.size, chunk.time_ns)
        _follow(columns, group, self.of_block, gone, self.groups, self.lived_ns, self._now[0])
        peak = int(self._now[0]["peak_in_chunk"])
        if peak >= 0:
            self._note_peak(chunk.part(peak + 1, len(site)), group[peak + 1 :], gone[:, peak + 1 :])
        return Step(group, gone[0], gone[1])

    def _note_peak(self, after: Chunk, group: I64, gone: I64) -> None:
        """Note what was live before these events, the last ones so far."""
        came, left = after.op < 4, gone[0] >= 0
        ones = np.ones_like(after.size)
        for field, live, new, old in (
            ("peak_blocks", "live_blocks", ones, ones),
            ("peak_bytes", "live_bytes", after.size, gone[1]),
        ):
            at_peak = self.groups[live].copy()
            np.subtract.at(at_peak, group[came], new[came])
            np.add.at(at_peak, gone[0][left], old[left])
            self.groups[field] = at_peak

    @property
    def events(self) -> int:
        """The events so far."""
        return int(self._now[0]["events"])

    @property
    def time_ns(self) -> int:
        """The time of the last event."""
        return int(self._now[0]["time_ns"])

    def peak(self) -> tuple[int, int, int]:
        """Return the event after which live bytes were first most, these bytes and the live blocks then."""
        now = self._now[0]
        return int(now["peak_event"]), int(now["peak_bytes"]), int(now["peak_blocks"])

    def live(self) -> I64:
        """Return the numbers of the live blocks."""
        return np.flatnonzero(self.of_block[GROUP_OF] >= 0)

    def mean_lives(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return each group's mean life in events and in nanoseconds; of a live block what it has lived so far."""
        of, events, time_ns = self.of_block[:, self.live()], self.groups["lived_events"].astype(float), self.lived_ns
        count = np.maximum(1, self.groups["requests"])
        more = np.bincount(of[GROUP_OF], weights=self.events - of[EVENT], minlength=len(count))
        more_ns = np.bincount(of[GROUP_OF], weights=self.time_ns - of[TIME], minlength=len(count))
        return (events + more) / count, (time_ns + more_ns) / count


def call_tree(reader: TraceReader) -> CallTree:
    """Return the stacks of a trace; BadInput, which says how to record them, if it has none."""
    reader.require_blocks()
    tree = reader.stacks()
    if tree is None:
        raise BadInput(f"{reader.path}: has no call stacks; expected a trace of `heapsmith record --stacks`")
    return tree


def sites_at(reader: TraceReader, events: I64) -> I64:
    """Return the site of each of these events, by number from 0: a pass over the trace."""
    order = np.argsort(events)
    found = np.zeros(len(events), np.int64)
    done = 0
    for chunk, site in reader.sited():
        first, stop = np.searchsorted(events, [done, done + chunk.op.size], sorter=order)
        found[order[first:stop]] = site[events[order[first:stop]] - done]
        done += chunk.op.size
    return found
