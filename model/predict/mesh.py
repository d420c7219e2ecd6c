"""Meshing: pages whose blocks do not overlap could share one physical page; docs/lab/meshing.md.

Powers, Tench, Berger, McGregor: "Mesh: Compacting Memory Management for C/C++ Applications", PLDI
2019. SplitMesher is its section 3.3.
"""

from collections.abc import Collection, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.application import PROGRAM
from heapsmith.model.memory.layout import RUN_CODE
from heapsmith.model.memory.state import State
from heapsmith.model.predict.simulate import Progress, feed_all, feed_chunks, warmed_up
from heapsmith.model.trace.reader import Chunk, TraceReader, require_events

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

PROBES = 64
"""Partners that SplitMesher tries for each unit: the t of the paper, and its choice."""
STOPS = 20
"""Moments of which the average is taken, evenly spaced in events."""
CELL = 8
"""Bytes of a bit in the map of a page: all strides are multiples of it."""
WORD_BITS = 64


class Saved(msgspec.Struct, frozen=True):
    """Bytes that meshing would give back: SplitMesher's pairs, a greedy packing, and a bound for any packing."""

    split: int
    greedy: int
    bound: int


class Way(msgspec.Struct, frozen=True):
    """What is meshed with what.

    unit: whole slabs, as in the paper, or single pages. placement: blocks at their addresses, or at
    random ones of those that their slab has handed out. fronts: blocks outside the slab count as
    live (`held`), or only those that the program has (`flushed`).
    """

    unit: str
    placement: str
    fronts: str


WAYS = [Way(*words) for words in product(("slab", "page"), ("own", "random"), ("held", "flushed"))]


class Meshed(msgspec.Struct, frozen=True):
    """A way to mesh, on a design and a trace: shares of the committed bytes that would be given back.

    average: of the mean over the stops. peak: of the largest over the stops and the peak. end: after
    the last event. at: after each event of the table's `at`. Each is a row of shares: split, greedy, bound.
    """

    way: Way
    average: list[float]
    peak: list[float]
    end: list[float]
    at: list[list[float]]


class MeshRow(msgspec.Struct, frozen=True):
    """A design: committed bytes on average, at the peak, at the end and after each event of the table's `at`.

    ways: what each way would save of them.
    """

    design: str
    average: int
    peak: int
    end: int
    at: list[int]
    ways: list[Meshed]


class MeshTable(msgspec.Struct, frozen=True):
    """Designs on a trace. stops: events after which heaps were looked at, besides each design's peak and `at`."""

    trace: str
    events: int
    probes: int
    stops: list[int]
    at: list[int]
    rows: list[MeshRow]


class Units(NamedTuple):
    """What may share memory with others of equal key: a bit map for each slab or page, and its bytes."""

    bits: U64
    key: I64
    bytes: I64
    used: int  # bytes of the blocks in them


@cached_njit
def _overlap(bits: U64, first: int, second: int) -> Any:
    """Return whether two rows have a bit in common."""
    word = 0
    while word < bits.shape[1] and bits[first, word] & bits[second, word] == 0:
        word += 1
    return word < bits.shape[1]


@cached_njit
def split_mesher(bits: U64, weight: I64, order: I64, probes: int) -> Any:
    """Return the bytes that the pairs of SplitMesher save among units of one key, in this random order."""
    half = order.size // 2
    left, right = order[:half].copy(), order[order.size - half :].copy()
    saved = 0
    for probe in range(probes):
        for place in range(half):
            other = (place + probe) % half
            one, two = left[place], right[other]
            if one >= 0 and two >= 0 and not _overlap(bits, one, two):
                saved += min(weight[one], weight[two])
                left[place] = right[other] = -1
        kept_left, kept_right = left[left >= 0], right[right >= 0]
        left, right, half = kept_left, kept_right, kept_left.size
        if half == 0:
            break
    return saved


@cached_njit
def greedy_mesher(bits: U64, weight: I64, order: I64) -> Any:
    """Return the bytes that first fit saves among units of one key, any number of them on one; changes `bits`."""
    chosen = np.empty(order.size, np.int64)
    count = saved = 0
    for one in order:
        place = 0
        while place < count and _overlap(bits, chosen[place], one):
            place += 1
        if place == count:
            chosen[count] = one
            count += 1
            continue
        onto = chosen[place]
        saved += min(weight[onto], weight[one])
        weight[onto] = max(weight[onto], weight[one])
        for word in range(bits.shape[1]):
            bits[onto, word] |= bits[one, word]
    return saved


@cached_njit
def _set_cells(bits: U64, row: I64, begin: I64, end: I64) -> None:
    """Set the bits of spans of bytes: span i begins `begin[i]` bytes behind the start of page row[i]."""
    for i in range(row.size):
        for cell in range(begin[i] // 8, end[i] // 8):
            bits[row[i] + cell // 512, cell % 512 // 64] |= np.uint64(1) << np.uint64(cell % 64)


@cached_njit
def _set_bits(bits: U64, row: I64, bit: I64) -> None:
    for i in range(row.size):
        bits[row[i], bit[i] // 64] |= np.uint64(1) << np.uint64(bit[i] % 64)


def blocks_of(simulator: Simulator, fronts: str) -> tuple[I64, I64]:
    """Return the slab and the index of each small block: of all outside their slabs (`held`) or the program's."""
    state = simulator.state
    if fronts == "flushed":
        handles = state.blocks["handle"]
        small = handles[(handles >= 0) & (handles < RUN_CODE)]
        return small >> layout.SLAB_SHIFT, (small >> layout.INDEX_SHIFT) & layout.INDEX_MASK
    members = simulator.plan.design.row("freed_blocks").members
    slabs = np.flatnonzero(state.slabs["out"][: state.slabs_made] > 0)
    indices = [
        np.setdiff1d(np.arange(state.slabs["carved"][slab]), np.array(members(state, slab), np.int64))
        for slab in slabs.tolist()
    ]
    slab = np.repeat(slabs, [len(some) for some in indices])
    return slab, np.concatenate([*indices, np.empty(0, np.int64)])


def at_random(simulator: Simulator, slab: I64, index: I64, seed: int) -> I64:
    """Return other indices: in each slab the blocks lie at random places of those that it has handed out."""
    random = np.random.default_rng(seed)
    carved = simulator.state.slabs["carved"][: simulator.state.slabs_made]
    base = np.cumsum(carved) - carved
    owner = np.repeat(np.arange(len(carved)), carved)
    shuffled = np.lexsort((random.random(len(owner)), owner)) - base[owner]
    found: I64 = shuffled[base[slab] + index]
    return found


def units(simulator: Simulator, unit: str, slab: I64, index: I64) -> Units:
    """Return the slabs or pages that have one of these blocks."""
    state = simulator.state
    slabs, row = np.unique(slab, return_inverse=True)
    cls = state.slabs["class"][slabs]
    used = int(state.classes["stride"][cls][row].sum())
    if unit == "page":
        return _pages(state, slabs, row, index, used)
    words = -(-int(state.classes["blocks"].max()) // WORD_BITS)
    bits = np.zeros((len(slabs), words), np.uint64)
    _set_bits(bits, row, index)
    return Units(bits, cls, state.slabs["committed"][slabs], used)


def _pages(state: State, slabs: I64, row: I64, index: I64, used: int) -> Units:
    """Return the pages that have a block; block i has this index in slab slabs[row[i]]."""
    cls = state.slabs["class"][slabs]
    stride, first = state.classes["stride"][cls], state.classes["first"][cls]
    pages = state.slab_bytes // PAGE
    begin = first[row] + index * stride[row]
    bits = np.zeros((len(slabs) * pages, PAGE // CELL // WORD_BITS), np.uint64)
    _set_cells(bits, row * pages, begin, begin + stride[row])
    page = np.arange(pages)
    phase = (page * PAGE - first[:, None]) % stride[:, None]
    key = (cls[:, None] << layout.SLAB_SHIFT | phase).reshape(-1)
    some = np.flatnonzero(bits.any(axis=1))
    return Units(bits[some], key[some], np.full(len(some), PAGE), used)


def saved(found: Units, probes: int, seed: int) -> Saved:
    """Return what the three ways to choose would save."""
    random = np.random.default_rng(seed).permutation(len(found.key))
    fullest = np.argsort(-np.bitwise_count(found.bits).sum(axis=1, dtype=np.int64), kind="stable")
    split = greedy = 0
    packed, weight = found.bits.copy(), found.bytes.copy()
    for key in np.unique(found.key).tolist():
        split += split_mesher(found.bits, found.bytes, random[found.key[random] == key], probes)
        greedy += greedy_mesher(packed, weight, fullest[found.key[fullest] == key])
    return Saved(int(split), int(greedy), int(found.bytes.sum()) - -(-found.used // PAGE) * PAGE)


class _Meshing:
    """A simulator that looks at what meshing would save after given events."""

    def __init__(self, simulator: Simulator, events: Collection[int], probes: int, seed: int) -> None:
        self.simulator, self.probes, self.seed = simulator, probes, seed
        self.events = sorted(events, reverse=True)
        self.found: dict[int, tuple[int, list[Saved]]] = {}
        self.done = 0

    def feed(self, chunk: Chunk) -> None:
        """Do the events of a chunk."""
        first = 0
        while self.events and self.events[-1] < self.done + len(chunk.op):
            event = self.events.pop()
            self.simulator.feed(chunk.part(first, event + 1 - self.done))
            first = event + 1 - self.done
            self.found[event] = self.simulator.state.committed, [self._saved(way) for way in WAYS]
        self.simulator.feed(chunk.part(first, len(chunk.op)))
        self.done += len(chunk.op)

    def _saved(self, way: Way) -> Saved:
        slab, index = blocks_of(self.simulator, way.fronts)
        if way.placement == "random":
            index = at_random(self.simulator, slab, index, self.seed)
        return saved(units(self.simulator, way.unit, slab, index), self.probes, self.seed)


def mesh(
    trace: Path,
    designs: Sequence[Design],
    *,
    stops: int = STOPS,
    probes: int = PROBES,
    seed: int = 1,
    at: Sequence[int] = (),
    progress: Progress | None = None,
) -> MeshTable:
    """Return what meshing would save of each design's committed bytes: two passes over the trace.

    Each stop is looked at as if nothing had been meshed before. at: events after which to look too. Raises
    BadInput for an event beyond the trace, and if the trace is empty or damaged.
    """
    asked = ask_sites(designs)
    with TraceReader(trace, sited=asked) as reader:
        events = reader.footer.events
        if not events:
            raise BadInput(f"{trace}: no events, so there is nothing to mesh")
        require_events(trace, events, at)
        simulators = [warmed_up(make_plan(design), None, PROGRAM, True) for design in designs]
        feed_all(reader, simulators, "looking for the peak", progress)
    even = sorted({number * events // stops - 1 for number in range(1, stops + 1)} - {-1})
    peaks = [one.statistics().peak_committed.event for one in simulators]
    followers = [
        _Meshing(warmed_up(one.plan, None, PROGRAM, True), {*even, peak, *at}, probes, seed)
        for one, peak in zip(simulators, peaks, strict=True)
    ]
    with TraceReader(trace, sited=asked) as reader:
        feed_chunks(reader, followers, "meshing", progress, events)
    rows = [_row(one, even, peak, at) for one, peak in zip(followers, peaks, strict=True)]
    return MeshTable(str(trace), events, probes, even, list(at), rows)


def _row(one: _Meshing, even: Sequence[int], peak_event: int, at: Sequence[int]) -> MeshRow:
    committed = {event: found for event, (found, _) in one.found.items()}
    given = {event: np.array([*map(msgspec.structs.astuple, ways)]) for event, (_, ways) in one.found.items()}
    looks = {*even, peak_event}
    largest, mean = max(committed[event] for event in looks), float(np.mean([committed[event] for event in even]))
    average = np.mean([given[event] for event in even], axis=0) / max(1.0, mean)
    peak = 1 - np.max([committed[event] - given[event] for event in looks], axis=0) / max(1, largest)
    end, *asked = (given[event] / max(1, committed[event]) for event in (even[-1], *at))
    ways = []
    for row, way in enumerate(WAYS):
        of_average, of_peak, of_end, *of_asked = (part[row].round(6).tolist() for part in (average, peak, end, *asked))
        ways.append(Meshed(way, of_average, of_peak, of_end, of_asked))
    last, name = committed[even[-1]], one.simulator.plan.design.name
    return MeshRow(name, round(mean), largest, last, [committed[event] for event in at], ways)
