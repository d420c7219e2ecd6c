"""Optimal size classes: the block sizes that waste the fewest bytes on a histogram of requests.

Candidates are all multiples of 16 bytes up to the small limit and, with `grain` 8, the block of 8
bytes. A class that begins above candidate i and has the block size of candidate j costs (W[j] -
W[i]) * price[j]. This is the number of its requests times the committed bytes per block, with the
waste at the slab's end. The price never falls with j, so the cost is Monge. It stays Monge without
classes that are too wide to be safe. Hence the best predecessor moves in one direction only, and
divide and conquer finds the best k classes of n candidates in O(k n log n): Galil and Park,
"Dynamic programming with convexity, concavity and sparsity", Theoretical Computer Science 92, 1992.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Ints, Records, compiled, kernel, one_record, record_type
from heapsmith.model.constants import PAGE, first_bytes
from heapsmith.model.design.design import Design
from heapsmith.model.trace.events import Columns
from heapsmith.model.trace.reader import Chunk, Op

REALLOC, ALIGNED, FREE = int(Op.REALLOC), int(Op.ALIGNED), int(Op.FREE)
THREAD_START, THREAD_EXIT = int(Op.THREAD_START), int(Op.THREAD_EXIT)

STEP = 16
"""Every block for a 16-aligned object is a multiple of this: all candidates except 8 bytes."""

PRICE_UNIT = 256
"""Prices are integers in 1/256 byte, so that the search compares them exactly."""

WIDEST = (4, 3)
"""A class's block is at most 4/3 of the smallest block for its smallest request. So any size, seen
or not, loses at most a quarter of its block beyond the rounding to 16 bytes.
"""

UNREACHED = 1 << 62

_compiled = cache(compiled)


class Rules(NamedTuple):
    """What decides which block a request needs: the grain, and bytes before and behind a block."""

    grain: int
    header_bytes: int
    tail_bytes: int

    @staticmethod
    def of(design: Design) -> "Rules":
        """Return the rules of a design."""
        return Rules(design.grain, design.row("classifier").HEADER_BYTES, design.row("hardening").TAIL_BYTES)


class Histogram(NamedTuple):
    """The requests of a trace. Entry e of the arrays is for requests that need a block of e * grain
    bytes; the last entry is for all requests above the largest class.

    live, asked: blocks and requested bytes at the peak of requested bytes; most: the most live
    blocks of an entry; allocations: in the whole trace, with reallocs to another entry; heaps: the
    most threads at once with small blocks of their own.
    """

    live: Ints
    asked: Ints
    most: Ints
    allocations: Ints
    peak_live_bytes: int
    heaps: int


ENTRY = record_type(
    "live",  # live blocks, and their requested bytes
    "asked",
    "live_since",  # the changes since the peak
    "asked_since",
    "changed",  # 1: there are such changes
    "most",  # the most live blocks
    "allocations",
)


class _State(Columns):
    """The state of a Demand.

    blocks: entry and requested bytes of each live block. active: 1 for a thread with a heap.
    changed: the entries that changed since the peak.
    """

    entries: Records
    changed: Ints
    blocks: Records
    active: Ints
    scalars: Records


@kernel
def _change(state: _State, entry: int, blocks: int, asked: int) -> None:
    """Add or remove blocks of an entry."""
    state.entries[entry]["live"] += blocks
    state.entries[entry]["asked"] += asked
    state.entries[entry]["live_since"] += blocks
    state.entries[entry]["asked_since"] += asked
    state.live_bytes += asked
    if state.entries[entry]["changed"] == 0:
        state.entries[entry]["changed"] = 1
        state.changed[state.changes] = entry
        state.changes += 1


@kernel
def _note_peak(state: _State) -> None:
    """Forget the changes since the last peak at a new peak."""
    if state.live_bytes >= state.peak_bytes:
        state.peak_bytes = state.live_bytes
        for index in range(state.changes):
            entry = int(state.changed[index])
            state.entries[entry]["live_since"] = 0
            state.entries[entry]["asked_since"] = 0
            state.entries[entry]["changed"] = 0
        state.changes = 0


@kernel
def _entry(state: _State, size: int, align: int) -> int:
    """Return the entry of a request; a high alignment needs a multiple of it and no header."""
    size += state.tail_bytes
    if align > state.grain:
        is_large = state.header_bytes > 0 or align > PAGE or size > state.large * state.grain
        size = state.large * state.grain if is_large else (max(size, 1) + align - 1) & -align
    return min(state.large, max(1, (size + state.header_bytes + state.grain - 1) // state.grain))


@kernel
def _count(state: _State) -> None:
    """Count the events of a chunk."""
    for event in range(len(state.op)):
        what, who, which = int(state.op[event]), int(state.thread[event]), int(state.block[event])
        if what == THREAD_START:
            continue
        if what == THREAD_EXIT:
            state.heaps -= int(state.active[who])
            state.active[who] = 0
            continue
        before, small = 0, False
        if what >= REALLOC and what != ALIGNED:
            before = int(state.blocks[which]["entry"])
            small = 0 < before < state.large
            _change(state, before, -1, -int(state.blocks[which]["asked"]))
        if what < FREE:
            entry = _entry(state, int(state.size[event]), 1 << int(state.align_log2[event]))
            _change(state, entry, 1, int(state.size[event]))
            state.entries[entry]["most"] = max(state.entries[entry]["most"], state.entries[entry]["live"])
            state.blocks[which]["entry"] = entry
            state.blocks[which]["asked"] = state.size[event]
            if entry != before:
                state.entries[entry]["allocations"] += 1
            small = small or entry < state.large
            _note_peak(state)
        if small and state.active[who] == 0:
            state.active[who] = 1
            state.heaps += 1
            state.peak_heaps = max(state.peak_heaps, state.heaps)


class Demand:
    """Counts the requests of a trace in one pass, under a design's rules, for blocks up to `largest`.

    The state at the peak is the current state without the changes since the peak. So Demand
    remembers only the entries that changed since the last peak, and forgets them at the next peak.
    """

    def __init__(self, of: Rules, largest: int, threads: int, max_blocks: int) -> None:
        large = largest // of.grain + 1
        counters = ("live_bytes", "peak_bytes", "heaps", "peak_heaps", "changes")
        rules = of._asdict() | {"large": large}
        self._state = _State(
            entries=np.zeros(large + 1, ENTRY),
            changed=np.zeros(large + 1, np.int64),
            blocks=np.zeros(max_blocks, record_type("entry", "asked")),
            active=np.zeros(threads, np.int64),
            scalars=one_record(**rules, **dict.fromkeys(counters, 0)),
        )

    def feed(self, chunk: Chunk) -> None:
        """Count the events of the next chunk."""
        self._state.follow(chunk)
        _compiled(_count)(self._state)

    def histogram(self) -> Histogram:
        """Return the requests of all chunks so far."""
        state, entries = self._state, self._state.entries
        return Histogram(
            live=entries["live"] - entries["live_since"],
            asked=entries["asked"] - entries["asked_since"],
            most=entries["most"].copy(),
            allocations=entries["allocations"].copy(),
            peak_live_bytes=state.peak_bytes,
            heaps=state.peak_heaps,
        )


class Candidates(Arrays):
    """The input of the search. The arrays have n + 1 entries for n candidates, ascending; entry 0
    is below all candidates.

    sizes: block sizes, bytes; served: requests that need no larger block (a running sum of
    weights); price: 1/256 bytes that a block costs; widest: the largest candidate of a class that
    begins above this candidate.
    """

    sizes: Ints
    served: Ints
    price: Ints
    widest: Ints


class Search(NamedTuple):
    """The best classes of each number m.

    totals[m]: their cost, weight times price; UNREACHED if m is impossible. picks[m, j]: the
    candidate above which the last of the best m classes up to j begins. sizes: of the candidates.
    """

    totals: Ints
    picks: Ints
    sizes: Ints


def block_price(stride: int, slab_bytes: int, header_bytes: int) -> int:
    """Return the 1/256 bytes that a full slab of this stride commits per block (docs/machine.md).

    They include a share of the slab's tail if it lies on a page that blocks touch.
    """
    first = first_bytes(header_bytes)
    blocks = (slab_bytes - first + header_bytes) // stride
    touched = first + blocks * stride
    return PRICE_UNIT * min(slab_bytes, -(-touched // PAGE) * PAGE) // blocks


def candidates(weight: Ints, grain: int, slab_bytes: int, header_bytes: int) -> Candidates:
    """Return the candidates; weight[e] counts requests that need a block of e * grain bytes."""
    largest = (len(weight) - 1) * grain
    sizes = np.array([0, *([8] if grain < STEP else []), *range(STEP, largest + 1, STEP)], np.int64)
    rounded = np.array([-(-size // STEP) * STEP for size in sizes[1:].tolist()])
    return Candidates(
        sizes=sizes,
        served=np.cumsum(weight, dtype=np.int64)[sizes // grain],
        price=np.array([0, *(block_price(size, slab_bytes, header_bytes) for size in sizes[1:].tolist())], np.int64),
        widest=np.searchsorted(sizes, [*(rounded * WIDEST[0] // WIDEST[1]), largest], side="right") - 1,
    )


class _Layers(Candidates):
    """The results of the search: least and picks, a row per number of classes, from least[0].

    earliest[j]: where a class up to j may begin. chosen: scratch.
    """

    earliest: Ints
    chosen: Ints
    least: Ints
    picks: Ints


@kernel
def _layer(state: _Layers, before: Ints, least: Ints, pick: Ints) -> None:
    """Set least[j] to the best before[i] + (served[j] - served[i]) * price[j] of all i below j.

    The leftmost best i never moves left as j grows. So the rows are solved in the order of a binary
    search, each between the choices of the solved rows on its two sides. Candidates reached before
    are consecutive; so are the rows they reach.
    """
    steps = len(state.served) - 1
    first = 0
    while first < steps and before[first] >= UNREACHED:
        first += 1
    last = steps
    while last > first and before[last] >= UNREACHED:
        last -= 1
    rows = int(state.widest[last]) - first if first < steps else 0
    stride = 1
    while 2 * stride <= rows:
        stride *= 2
    while stride > 0:
        for row in range(stride, rows + 1, 2 * stride):
            j = first + row
            low = max(int(state.earliest[j]), first if row == stride else int(state.chosen[row - stride]))
            high = min(j - 1, last if row + stride > rows else int(state.chosen[row + stride]))
            for i in range(low, high + 1):
                cost = int(before[i]) + int(state.served[j] - state.served[i]) * int(state.price[j])
                if cost < least[j]:
                    least[j] = cost
                    state.chosen[row] = pick[j] = i
        stride //= 2


@kernel
def _search(state: _Layers) -> None:
    """Fill least and picks."""
    for count in range(1, len(state.least)):
        _layer(state, state.least[count - 1], state.least[count], state.picks[count])


def search(given: Candidates, most: int, *, plain: bool = False) -> Search:
    """Find the best 1, 2, ... `most` classes at once; the last class ends at the last candidate.

    It is exact if the sum of weights times the last price is below 2^62. `plain` runs Python.
    """
    entries = len(given.served)
    least = np.full((most + 1, entries), UNREACHED, np.int64)
    least[0, 0] = 0
    state = _Layers(
        **vars(given),
        earliest=np.searchsorted(given.widest, np.arange(entries)).astype(np.int64),
        chosen=np.zeros(entries, np.int64),
        least=least,
        picks=np.full((most + 1, entries), -1, np.int64),
    )
    (_search if plain else _compiled(_search))(state)
    return Search(least[:, -1], state.picks, given.sizes)


def block_sizes(found: Search, count: int) -> list[int]:
    """Return the block sizes of the best `count` classes; totals[count] must be reached."""
    sizes: list[int] = []
    at = len(found.sizes) - 1
    for fewer in range(count, 0, -1):
        sizes.append(int(found.sizes[at]))
        at = int(found.picks[fewer, at])
    return sizes[::-1]


def best_count(totals: Ints, class_cost: float) -> int | None:
    """Return the number of classes with the least waste plus `class_cost` per class, or None."""
    reached = [count for count in range(1, len(totals)) if totals[count] < UNREACHED]
    return min(reached, key=lambda count: float(totals[count]) + count * class_cost, default=None)


def fewest_classes(given: Candidates) -> int:
    """Return the fewest classes that put no size in a block wider than WIDEST allows."""
    count, step = 0, 0
    while step < len(given.served) - 1:
        step = int(given.widest[step])
        count += 1
    return count
