"""Lives and pins by groups of sites against plain counts, block by block and page by page, at the end of any prefix."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from covering import covering_designs, of_each_row, soon
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import nasty_trace
from traces import random_chunk

from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.events import place_of
from heapsmith.model.heap.ledger import pages_for_blocks
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.layout import HUGE_CODE, RUN_CODE
from heapsmith.model.memory.listener import Listener
from heapsmith.model.predict import pins_at_moments
from heapsmith.model.predict.own_regions import apart
from heapsmith.model.predict.page_pins import Pins, pins, waste
from heapsmith.model.predict.pins_at_moments import Grouped, Moments, moments, site_lives
from heapsmith.model.trace.events import WITH_SITE, Chunk, Op, op_mask
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import GROUP_OF, SiteLives, sites_at
from heapsmith.model.trace.stacks import CallTree, Module
from heapsmith.model.trace.writer import TraceWriter

SITES, GROUPS, EVENTS = 9, 5, 2400
GROUP_OF_SITE = np.array([0, 1, 2, 3, 4, 1, 2, 2, 4])
SOON = of_each_row(3)


def sites_of(chunk: Chunk, seed: int) -> npt.NDArray[np.uint32]:
    """A site for each request of a chunk."""
    site = np.random.default_rng(seed).integers(0, SITES, chunk.op.size).astype(np.uint32)
    return np.where(op_mask(WITH_SITE)[chunk.op], site, 0).astype(np.uint32)


def tree_of(stacks: int) -> CallTree:
    """Stacks of one frame each."""
    number = np.arange(stacks)
    return CallTree([Module("/lib/x", None)], np.full(stacks, -1), np.zeros(stacks, np.int64), number, number)


def trace_of(path: Path, chunk: Chunk, site: npt.NDArray[np.uint32]) -> Grouped:
    """A trace of these events and sites."""
    with TraceWriter(path, command=["t"], source="test", chunk_events=300, sites=True) as writer:
        writer.append(chunk, site)
        writer.close({"stacks": tree_of(SITES - 1).packed()})
    return Grouped(path, GROUP_OF_SITE, GROUPS)


class Plain:
    """Blocks by group, one event at a time."""

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[int, int, int, int]] = {}  # group, size, event, time
        self.count: dict[str, Counter[int]] = defaultdict(Counter)
        self.peak: tuple[int, int, int] = (0, 0, 0)
        self.at_peak: list[tuple[int, int]] = []
        self.last = -1
        self.most: dict[int, tuple[int, int, int]] = {}

    def step(self, event: int, op: int, block: int, size: int, time: int, group: int) -> None:
        if op == Op.REALLOC or op in (Op.FREE, Op.FREE_SIZED):
            old, _, since, then = self.blocks.pop(block)
            self.count["events"][old] += event - since
            self.count["ns"][old] += time - then
            self.count["temporary"][old] += self.last == block
            self.last = -1
        if op < Op.FREE:
            self.last = block
            self.blocks[block] = group, size, event, time
            self.count["requests"][group] += 1
            self.count["bytes"][group] += size
        live = sum(size for _, size, _, _ in self.blocks.values())
        own = [size for of, size, _, _ in self.blocks.values() if of == group]
        if op < Op.FREE and sum(own) > self.most.get(group, (0, 0, 0))[0]:
            self.most[group] = sum(own), event, len(own)
        if live > self.peak[1]:
            self.peak = event, live, len(self.blocks)
            self.at_peak = [one[:2] for one in self.blocks.values()]


def test_lives_are_those_of_each_block() -> None:
    chunk = random_chunk(EVENTS, 4, 3, cross_thread=0.2, live=60)
    site = sites_of(chunk, 1)
    lives, plain = SiteLives(int(chunk.block.max()) + 1, GROUP_OF_SITE, GROUPS), Plain()
    for first in range(0, EVENTS, 217):
        lives.feed(chunk.part(first, first + 217), site[first : first + 217])
    for event, (op, _, block, size, _, time, _) in enumerate(zip(*(column.tolist() for column in chunk), strict=True)):
        plain.step(event, op, block, size, time, int(GROUP_OF_SITE[site[event]]))
    assert lives.peak() == plain.peak
    found = lives.groups
    live = Counter[int]()
    for group, size, since, then in plain.blocks.values():
        live[group] += 1
        plain.count["live"][group] += size
        plain.count["events"][group] += EVENTS - since
        plain.count["ns"][group] += int(chunk.time_ns[-1]) - then
    events, ns = lives.mean_lives()
    for group in range(GROUPS):
        requests = plain.count["requests"][group]
        assert found[group].requests == requests
        assert found[group].bytes == plain.count["bytes"][group]
        assert (found[group].live_blocks, found[group].live_bytes) == (live[group], plain.count["live"][group])
        at_peak = [size for of, size in plain.at_peak if of == group]
        assert (found[group].peak_blocks, found[group].peak_bytes) == (len(at_peak), sum(at_peak))
        assert (found[group].most_bytes, found[group].most_event, found[group].most_blocks) == plain.most[group]
        assert found[group].temporary == plain.count["temporary"][group]
        assert events[group] == pytest.approx(plain.count["events"][group] / requests)
        assert ns[group] == pytest.approx(plain.count["ns"][group] / requests)


REQUESTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.integers(0, SITES - 1)), max_size=60)


@settings(deadline=None)
@given(REQUESTS)
def test_lives_of_any_requests(requests: list[tuple[int, int, int]]) -> None:
    """Of ten blocks: a request bears one that is dead, and resizes one that is live, or frees it if of 0 bytes."""
    live, rows, site = set[int](), [], []
    number: dict[int, int] = {}
    for at, (name, size, of) in enumerate(requests):
        block = number.setdefault(name, len(number))
        op = (Op.REALLOC if size else Op.FREE) if block in live else Op.MALLOC
        live = live - {block} if op == Op.FREE else live | {block}
        rows.append((op, 0, block, size if op != Op.FREE else 0, 0, at))
        site.append(of if op != Op.FREE else 0)
    lives, plain = SiteLives(10, GROUP_OF_SITE, GROUPS), Plain()
    columns = list(zip(*rows, strict=True)) if rows else [[]] * 6
    lives.feed(Chunk.of(*columns), np.array(site, np.uint32))
    for event, ((op, _, block, size, _, time), of) in enumerate(zip(rows, site, strict=True)):
        plain.step(event, op, block, size, time, int(GROUP_OF_SITE[of]))
    assert lives.peak()[1:] == plain.peak[1:]
    for group in range(GROUPS):
        at_peak = [size for of, size in plain.at_peak if of == group]
        assert (lives.groups[group].peak_blocks, lives.groups[group].peak_bytes) == (len(at_peak), sum(at_peak))
        assert lives.groups[group].requests == plain.count["requests"][group]


def counted(simulator: Simulator, group_of_block: list[int]) -> Pins:
    """The pins of a heap, block by block and page by page."""
    state, slab_bytes = simulator.state, simulator.plan.slab_bytes
    keepers: dict[tuple[str, int], set[int]] = defaultdict(set)
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    pages: dict[int, set[int]] = defaultdict(set)
    committed: dict[tuple[str, int], int] = {}
    sums = {name: np.zeros(GROUPS, np.int64) for name in ("pinned", "blocks", "bytes", "live", "others", "alone")}
    for block, handle in enumerate(state.blocks["handle"].tolist()):
        if handle < 0:
            continue
        place = place_of(state, handle)
        if handle >= HUGE_CODE:
            asked = int(state.blocks["asked"][block])
            has_pages = asked > 0 or not state.live_map
            size = max(1, -(-asked // 4096)) * 4096 * has_pages
            unit, whole = ("huge", handle), size
        elif handle >= RUN_CODE:
            size = whole = int(state.pages["run"][handle - RUN_CODE]) * 4096
            unit = ("run", handle)
        else:
            size = int(state.classes["stride"][handle & layout.CLASS_MASK])
            unit = ("slab", place // slab_bytes)
            (slab,) = np.flatnonzero(state.slabs["place"][: state.slabs_made] == place // slab_bytes)
            whole = int(state.slabs["committed"][slab])
        if simulator.listener:
            begin = place // slab_bytes * slab_bytes if unit[0] == "slab" else place
            whole = simulator.listener.resident_between(begin, begin + (slab_bytes if unit[0] == "slab" else size))
        group = group_of_block[block]
        sums["live"][group] += 1
        keepers[unit].add(group)
        members[unit].append(size)
        committed[unit] = whole
        for page in range(place // 4096, -(-(place + size) // 4096)):
            pages[page].add(group)
    shared = 0
    for unit, groups in keepers.items():
        if len(groups) > 1:
            shared += committed[unit]
            for group in groups:
                sums["others"][group] += committed[unit]
        else:
            (group,) = groups
            sums["pinned"][group] += committed[unit]
            sums["blocks"][group] += len(members[unit])
            sums["bytes"][group] += sum(members[unit])
    total = state.committed
    if simulator.listener:
        total = pages_for_blocks(state, simulator.plan, simulator.listener)
    for page, groups in pages.items():
        if len(groups) == 1:
            at = page * 4096
            there = simulator.listener.resident_between(at, at + 4096) if simulator.listener else 4096
            sums["alone"][min(groups)] += there
    idle = total - shared - int(sums["pinned"].sum())
    return Pins(state.events - 1, state.live_bytes, total, shared, idle, *sums.values())


def same(one: Pins, other: Pins) -> bool:
    """Whether two counts of pins are equal."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Pins.__struct_fields__)


def designs() -> list[Design]:
    """The built-in designs that differ most in what keeps a page."""
    return [load(name) for name in ("default", "lean", "hardened")]


@pytest.mark.parametrize("machine", [None, "default"])
@pytest.mark.parametrize("design", soon(covering_designs(), SOON), ids=lambda design: design.name)
def test_pins_are_those_of_each_block_and_page(design: Design, machine: str | None) -> None:
    """By committed bytes, and by the resident bytes of a machine."""
    plan = make_plan(design)
    chunk = nasty_trace(plan, seed=6).part(0, EVENTS)
    site = sites_of(chunk, 2)
    simulator = Simulator(plan, listener=Listener(load_hardware(machine)) if machine else None)
    lives = SiteLives(int(chunk.block.max()) + 1, GROUP_OF_SITE, GROUPS)
    for first in range(0, EVENTS, 400):
        part = chunk.part(first, first + 400)
        simulator.feed(part)
        lives.feed(part, site[first : first + 400])
        found = pins(simulator, lives.of_block[GROUP_OF], GROUPS)
        assert same(found, counted(simulator, lives.of_block[GROUP_OF].tolist()))
        assert found.bytes == found.idle + found.shared + found.pinned.sum()
        assert waste(simulator) == found.bytes - found.idle - found.asked


def prefixes(chunk: Chunk, site: npt.NDArray[np.uint32], design: Design) -> Iterator[Pins]:
    """The pins after each event."""
    simulator, lives = Simulator(make_plan(design)), SiteLives(int(chunk.block.max()) + 1, GROUP_OF_SITE, GROUPS)
    for event in range(chunk.op.size):
        part = chunk.part(event, event + 1)
        simulator.feed(part)
        lives.feed(part, site[event : event + 1])
        yield pins(simulator, lives.of_block[GROUP_OF], GROUPS)


def test_moments_are_those_of_each_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins_at_moments, "STOPS", 17)
    chunk = random_chunk(1200, 9, 2, live=80, max_size=60_000)
    site = sites_of(chunk, 3)
    grouped = trace_of(tmp_path / "t.hst", chunk, site)
    peak = site_lives(grouped).peak()[0]
    assert 0 < peak < 1199
    for design, found in zip(designs(), moments(grouped, designs(), peak, at=[7, 700]), strict=True):
        assert isinstance(found, Moments)
        every = list(prefixes(chunk, site, design))
        stops = {peak + (1199 - peak) * number // 16 for number in range(17)}
        lost = {event: every[event].bytes - every[event].idle - every[event].asked for event in stops}
        worst = min(event for event in stops if lost[event] == max(lost.values()))
        for one, event in ((found.peak, peak), (found.after, worst), (found.end, 1199), (found.at[0], 7)):
            assert same(one, every[event])
        assert same(found.at[1], every[700])


def test_sites_of_events(tmp_path: Path) -> None:
    chunk = random_chunk(1000, 9)
    site = sites_of(chunk, 3)
    events = np.random.default_rng(5).permutation(1000)[:70]
    with TraceReader(trace_of(tmp_path / "t.hst", chunk, site).trace) as reader:
        assert sites_at(reader, events).tolist() == site[events].tolist()


def test_events_beyond_the_trace_are_refused(tmp_path: Path) -> None:
    chunk = random_chunk(100, 9)
    grouped = trace_of(tmp_path / "t.hst", chunk, sites_of(chunk, 3))
    with pytest.raises(BadInput, match="has no event 100; expected an event of the trace, 0 to 99"):
        moments(grouped, designs(), 5, at=[100])


def test_regions_of_their_own_are_two_heaps(tmp_path: Path) -> None:
    """Each heap is fed the events of its blocks alone, one at a time, by a plain count of who owns which block."""
    chunk = random_chunk(1500, 11, 3, cross_thread=0.2, live=90, max_size=60_000, realloc=0.2)
    site = sites_of(chunk, 4)
    grouped = trace_of(tmp_path / "t.hst", chunk, site)
    own = frozenset({1, 4})
    for design in designs():
        [region] = apart(grouped, design, [own], [400, 1499])
        heaps = [Simulator(make_plan(design)) for _ in range(2)]
        of: dict[int, int] = {}
        expected = []
        for event, row in enumerate(zip(*(column.tolist() for column in chunk), strict=True)):
            op, thread, block, size, align, time, _ = row
            side = int(int(GROUP_OF_SITE[site[event]]) not in own)
            if op >= Op.THREAD_START:
                for heap in heaps:
                    heap.step(op, thread, block, size, align, time)
            elif op == Op.REALLOC and of[block] != side:
                heaps[side].step(Op.MALLOC, thread, block, size, 0, time)
                heaps[of[block]].step(Op.FREE, thread, block, 0, 0, time)
                of[block] = side
            else:
                of[block] = side if op < Op.FREE else of[block]
                heaps[of[block]].step(op, thread, block, size if op != Op.FREE else 0, align, time)
            if event in (400, 1499):
                expected.append((event, *(sum(one) for one in zip(*map(totals, heaps), strict=True))))
        assert [(one.event, one.bytes, one.kept) for one in region.held] == expected
        assert region.looks == looks(design, chunk, [int(GROUP_OF_SITE[at]) in own for at in site])


def looks(design: Design, chunk: Chunk, is_own: list[bool]) -> int:
    """The requests of the classes that blocks of their own are of."""
    plan = make_plan(design)
    births = [
        (next(row.name for row in plan.classes if row.usable >= size), own)
        for op, size, own in zip(chunk.op.tolist(), chunk.size.tolist(), is_own, strict=True)
        if op < Op.FREE and size <= plan.small_limit
    ]
    theirs = {row for row, own in births if own}
    return sum(row in theirs for row, _ in births)


def totals(simulator: Simulator) -> tuple[int, int]:
    """Committed bytes, and of them those that live blocks keep."""
    found = counted(simulator, [0] * len(simulator.state.blocks))
    return found.bytes, found.bytes - found.idle
