"""The merge of spools against a plain model: random heaps, written as the recorder would, come back as they were."""

import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heapsmith.tools.record.spool
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.frames import Touched
from heapsmith.model.trace.reader import CHUNK_EVENTS, Op
from heapsmith.tools.record import spool_merge as m
from heapsmith.tools.record.spool import SPOOL_MAGIC, VERSION, WINDOW_MAGIC, Spool, Totals, add_stacks

START = (1 << 58) - 1000  # stamps lose their high bits within the recording
PLACES = [0x5555_0000_1000 + 16 * i for i in range(6)] + [1 << 50, 0xFF_FFFF_FFFF_FFF0]
SIZES = [1, 16, 16_383, 16_384, 65_535, 65_536, 1 << 40]

Event = tuple[int, int, int, int, int]
"""Operation, thread, block, size, log2 of the alignment."""


class Heap:
    """A heap in use, the records it leaves per thread, and the events that they stand for."""

    def __init__(self, *, stamped: bool = False, stacks: int = 0) -> None:
        self.stacks = stacks  # each record about a block has one of these many, or none
        self.site, self.sites = 0, list[int]()  # of the last record, and of the events
        self.stamped = stamped  # each record has a stamp, as in a process of several threads
        self.records: dict[int, list[bytes]] = {}
        self.events: list[Event] = []
        self.at: dict[int, int] = {}  # address -> block
        self.numbers: dict[int, int] = {}  # the recorder's thread -> the trace's
        self.spare: list[int] = []
        self.blocks = self.stamp = self.foreign = self.lost = self.samples = self.written = 0
        self.last = -1  # the thread of the last record

    def write(self, thread: int, operation: int, address: int = 0, size: int = 0, align: int = 0) -> int:
        """Leave a record; the thread's number in the trace."""
        if thread not in self.records:
            self.records[thread] = []
            self.numbers[thread] = len(self.numbers)
            self.write(thread, m.THREAD_START, thread)
            self.emit(Op.THREAD_START, self.numbers[thread], 0)
        is_event = operation <= m.REALLOC_TO and self.stacks > 0
        self.site = (self.stamp // 3 + 5 * self.written) % (self.stacks + 1) if is_event else 0
        self.written += 1
        is_brief = not self.stamped and self.last == thread and self.stamp % 2 == 1
        self.last = thread
        if is_brief and operation <= m.REALLOC_TO and not (address % 16 or address >> 48 or size >> 14 or align):
            word = size << m.BRIEF_SIZE_SHIFT | address >> 4 << m.STAMP_SHIFT | m.BRIEF | operation
            more = struct.pack("<Q", self.site) if self.site else b""
            self.records[thread].append(struct.pack("<Q", word | (m.LONG if more else 0)) + more)
            return self.numbers[thread]
        self.stamp += 3
        head = (START + self.stamp) << m.STAMP_SHIFT & (1 << 64) - 1 | operation
        if address >> 48 or size >> 16 or align or self.site:
            more = self.site << m.SITE_SHIFT | address >> 48 << 8 | align
            words = (head | m.LONG, address & m.ADDRESS_MASK, size, more)
        else:
            words = (head, size << 48 | address)
        self.records[thread].append(struct.pack(f"<{len(words)}Q", *words))
        return self.numbers[thread]

    def emit(self, op: int, thread: int, block: int, size: int = 0, align: int = 0) -> None:
        self.events.append((int(op), thread, block, size, align))
        self.sites.append(self.site)

    def bury(self, op: int, thread: int, block: int, size: int = 0, align: int = 0) -> None:
        self.emit(op, thread, block, size, align)
        self.spare.append(block)

    def lose(self, thread: int, address: int) -> None:
        """The block there was freed unseen: nothing tells where."""
        if address in self.at:
            site, self.site = self.site, 0
            self.lost += 1
            self.bury(Op.FREE, thread, self.at.pop(address))
            self.site = site

    def bear(self, op: int, thread: int, address: int, size: int, align: int = 0) -> None:
        self.lose(thread, address)
        if not self.spare:
            self.spare.append(self.blocks)
            self.blocks += 1
        self.at[address] = self.spare.pop()
        self.emit(op, thread, self.at[address], size, align)

    def allocate(self, thread: int, kind: int, address: int, size: int, align: int) -> None:
        align = align if kind == m.ALIGNED else 0
        self.bear(int(m.TRACE_OP[kind]), self.write(thread, kind, address, size, align), address, size, align)

    def free(self, thread: int, kind: int, address: int, size: int, align: int) -> None:
        size, align = (size, align) if kind == m.FREE_SIZED else (0, 0)
        number = self.write(thread, kind, address, size, align)
        if address in self.at:
            self.bury(int(m.TRACE_OP[kind]), number, self.at.pop(address), size, align)
        else:
            self.foreign += 1

    def realloc(self, thread: int, other: int, old: int, new: int, size: int) -> None:
        """Another thread frees something, or allocates where the block was, between the two halves."""
        number = self.write(thread, m.REALLOC_FROM, old)
        held = self.at.pop(old, None)
        if new and new != old and other != thread:
            self.allocate(other, m.MALLOC, old, 24, 0)
        self.write(thread, m.REALLOC_TO, new, size)
        if new == 0 and size:
            if held is not None:
                self.at[old] = held
        elif held is not None and size:
            self.lose(number, new)
            self.at[new] = held
            self.emit(Op.REALLOC, number, held, size)
        else:
            if held is None:
                self.foreign += 1
            else:
                self.bury(Op.FREE, number, held)
            if new:
                self.bear(Op.MALLOC, number, new, size)

    def exit(self, thread: int) -> None:
        self.emit(Op.THREAD_EXIT, self.write(thread, m.THREAD_EXIT), 0)

    def sample(self, thread: int, kind: int, value: int) -> None:
        self.write(thread, kind, value & m.ADDRESS_MASK, value >> m.ADDRESS_BITS)
        self.samples += 1


def unit(content: bytes, ordinal: int, stream: int, home: int, magic: int = WINDOW_MAGIC) -> bytes:
    trailer = struct.pack("<Q2I3QQ", ordinal, stream, home, 77, 77, 77, magic)
    return content.ljust(8 * m.WINDOW_WORDS, b"\0") + trailer


def windows(records: list[bytes], cuts: int) -> list[bytes]:
    """The records in at least `cuts` windows, none longer than a window may be."""
    size = max(1, min(len(records) // cuts + 1, 8 * m.WINDOW_WORDS // 32))
    return [b"".join(records[i : i + size]) for i in range(0, len(records), size)]


def spool_of(heap: Heap, path: Path, cuts: int, seed: int) -> Spool:
    """A spool file: the units in any order, with one that repeats a copy, and one cut short while it was copied."""
    rng = np.random.default_rng(seed)
    units: list[tuple[int, int, bytes, bool]] = []
    for stream, records in enumerate(heap.records.values()):
        contents = windows(records, cuts)
        units += [(stream, i, content, i == len(contents) - 1) for i, content in enumerate(contents)]
        if rng.random() < 0.5:
            units[-1] = (*units[-1][:3], False)
            units.append((*units[-1][:3], True))
    places = 1 + rng.permutation(len(units) + 1)
    whole = [b""] * (len(units) + 2)
    whole[0] = header(START).ljust(8 * m.UNIT_WORDS, b"\0")
    whole[places[-1]] = unit(units[0][2], 9, 0, 9999, magic=0)
    for place, (stream, ordinal, content, live) in zip(places, units, strict=False):
        whole[place] = unit(content, ordinal, stream, int(place) if live else 1 << 31)
    path.write_bytes(b"".join(whole))
    return Spool(path)


def header(start: int, magic: int = SPOOL_MAGIC, version: int = VERSION) -> bytes:
    argv = b"prog\0-x\0"
    return struct.pack("<Q6I6Q", magic, version, 41, 40, 2, 1, len(argv), start, 5, 6, 7, 8, 9).ljust(80) + argv.ljust(
        4016, b"\0"
    )


def events_of(spool: Spool) -> list[Event]:
    columns = [(c.op, c.thread, c.block, c.size, c.align_log2) for c, *_ in spool.chunks(1.0)]
    return [event for chunk in columns for event in zip(*(column.tolist() for column in chunk), strict=True)]


THREAD, ADDRESS, SIZE, ALIGN = st.integers(0, 3), st.sampled_from(PLACES), st.sampled_from(SIZES), st.integers(0, 20)
STEP = st.one_of(
    st.tuples(st.just("allocate"), THREAD, st.sampled_from([m.MALLOC, m.CALLOC, m.ALIGNED]), ADDRESS, SIZE, ALIGN),
    st.tuples(st.just("free"), THREAD, st.sampled_from([m.FREE, m.FREE_SIZED]), ADDRESS, SIZE, ALIGN),
    st.tuples(st.just("realloc"), THREAD, THREAD, ADDRESS, st.sampled_from([0, *PLACES]), st.sampled_from([0, *SIZES])),
    st.tuples(st.just("exit"), THREAD),
    st.tuples(
        st.just("sample"), THREAD, st.sampled_from([m.TOUCHED, m.RESIDENT, m.PROCESSOR]), st.integers(0, 1 << 60)
    ),
)


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=60), cuts=st.integers(1, 5), seed=st.integers(0, 1000))
def test_any_history_comes_back(
    steps: list[tuple[str, int]], cuts: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    heap = Heap()
    for name, *arguments in steps:
        getattr(heap, name)(*arguments)
    with spool_of(heap, tmp_path_factory.getbasetemp() / "any.spool", cuts, seed) as spool:
        assert events_of(spool) == heap.events
        assert spool.totals == Totals(sum(map(len, heap.records.values())) - heap.samples, heap.foreign, heap.lost, 0)


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=60), stamped=st.booleans(), seed=st.integers(0, 1000))
def test_any_history_comes_back_with_the_stacks_of_its_events(
    steps: list[tuple[str, int]], stamped: bool, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And with no other stacks: frees that are no events have some, too."""
    heap = Heap(stamped=stamped, stacks=9)
    for name, *arguments in steps:
        getattr(heap, name)(*arguments)
    path = tmp_path_factory.getbasetemp() / "stacks.spool"
    spool_of(heap, path, 1, seed)
    add_stacks(path, [(number, np.array([100, 200 + number])) for number in range(1, 10)], [])
    with Spool(path) as spool:
        sites = np.concatenate([np.zeros(0, np.uint32), *(site for _, site, _ in spool.chunks(1.0))])
        tree = spool.tree
    assert tree is not None
    offsets = [[int(tree.offset[frame]) for frame in tree.path(int(site))] for site in sites]
    assert offsets == [[99, 199 + site] if site else [] for site in heap.sites]
    assert tree.innermost.size == len({site for site in heap.sites if site}) <= len(heap.events)


def test_records_are_counted_without_their_stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To number the stacks of a Python program takes seconds."""
    heap = Heap(stacks=9)
    heap.allocate(0, m.MALLOC, PLACES[0], 16, 0)
    path = tmp_path / "stacks.spool"
    spool_of(heap, path, 1, 0)
    add_stacks(path, [(1, np.array([100, 201]))], [])
    numbered = []
    monkeypatch.setattr(heapsmith.tools.record.spool, "forest", lambda *_: numbered.append(1))
    with Spool(path) as spool:
        assert spool.count_records() > 0
        assert numbered == []
        assert spool.tree is None
    assert numbered == [1]


def test_long_history_in_many_windows(tmp_path: Path) -> None:
    """More live blocks than the first table has room for, and several chunks."""
    heap = Heap()
    rng = np.random.default_rng(1)
    for i in range(40_000):
        heap.allocate(i % 5, m.MALLOC, 0x7000_0000_0000 + 48 * i, int(rng.integers(1, 100_000)), 0)
    for i in rng.permutation(40_000).tolist():
        heap.free(int(rng.integers(0, 5)), m.FREE, 0x7000_0000_0000 + 48 * i, 0, 0)
    with spool_of(heap, tmp_path / "1.0.spool", 1, 1) as spool:
        assert spool.count_records() >= 80_005
        sizes = [chunk.op.size for chunk, *_ in spool.chunks(0.5)]
        assert sizes[0] == CHUNK_EVENTS
        assert events_of(spool) == heap.events
        times = [chunk.time_ns for chunk, *_ in spool.chunks(0.5)]
        assert (int(times[0][0]), int(times[-1][-1])) == (0, (heap.stamp - 3) // 2)


def test_samples_are_kept_apart_from_events(tmp_path: Path) -> None:
    """More samples of resident bytes than are kept: those that stay are spread over the whole time."""
    heap = Heap()
    for i in range(5_000):
        heap.sample(i % 2, m.RESIDENT, 10 + (i if i != 2_501 else 9_000))
    for thread, value in ((0, 500), (1, 70), (0, 900), (1, 75)):
        heap.sample(thread, m.PROCESSOR, value)
    for pages, touched in ((15, 4), (30, 30), (31, 31), (1 << 20, 5)):
        heap.sample(1, m.TOUCHED, pages << 32 | touched)
    with spool_of(heap, tmp_path / "1.0.spool", 1, 1) as spool:
        assert events_of(spool) == heap.events
        assert spool.count_records() == spool.totals.records == 2
        samples = spool.samples
    assert samples is not None
    assert samples.touched == [
        Touched(1 << 16, 2, 45, 34),
        Touched(1 << 17, 1, 31, 31),
        Touched(1 << 32, 1, 1 << 20, 5),
    ]
    assert samples.processor == [(6, 400), (6, 5)]
    assert samples.resident_peak == 9_010 * 4096
    times = np.array([time for time, _ in samples.resident])
    assert m.RESIDENT_SAMPLES // 2 <= times.size <= m.RESIDENT_SAMPLES
    assert times[0] < 50
    assert times[-1] > heap.stamp - 100
    assert np.diff(times).max() <= 2 * np.diff(times).min() + 6


def test_a_stream_that_goes_back_in_time_is_counted(tmp_path: Path) -> None:
    heap = Heap(stamped=True)
    heap.allocate(0, m.MALLOC, PLACES[0], 1, 0)
    heap.stamp -= 6
    heap.free(0, m.FREE, PLACES[0], 0, 0)
    with spool_of(heap, tmp_path / "1.0.spool", 1, 1) as spool:
        assert events_of(spool) == heap.events
        assert spool.totals.backsteps == 1


@pytest.mark.parametrize("seed", range(3))
def test_records_of_one_stamp_come_in_an_order_that_can_be(seed: int, tmp_path: Path) -> None:
    """A clock that ticks slowly tells a free, and the birth in the same place on another thread, the same time."""
    heap, rng = Heap(stamped=True), np.random.default_rng(seed)
    for thread in range(4):
        heap.allocate(thread, m.MALLOC, PLACES[2] + 4096 + 16 * thread, 1, 0)
    for turn in range(300):
        maker, dying, other = (int(thread) for thread in rng.permutation(4)[:3])
        heap.allocate(maker, m.MALLOC, PLACES[0], 8 + turn, 0)
        if turn % 3 == 0:
            heap.stamp -= 3  # the next is told the same time
            heap.free(dying, m.FREE, PLACES[0], 0, 0)
        elif turn % 3 == 1:
            heap.realloc(dying, dying, PLACES[0], PLACES[1], 16)
            heap.stamp -= 3
            heap.free(maker, m.FREE, PLACES[1], 0, 0)
        else:
            heap.free(dying, m.FREE, PLACES[0], 0, 0)
            heap.stamp -= 3
            heap.allocate(other, m.MALLOC, PLACES[0], 7, 0)
            heap.free(maker, m.FREE, PLACES[0], 0, 0)
    assert (heap.foreign, heap.lost) == (0, 0)
    with spool_of(heap, tmp_path / "1.0.spool", 1, 1) as spool:
        found = events_of(spool)
        assert Counter(op for op, *_ in found) == Counter(op for op, *_ in heap.events)
        assert (spool.totals.foreign_frees, spool.totals.lost_frees) == (0, 0)


def test_an_interrupt_of_the_merge_comes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(m, "fast_merge", interrupted)
    heap = Heap()
    heap.allocate(0, m.MALLOC, PLACES[0], 1, 0)
    with pytest.raises(KeyboardInterrupt), spool_of(heap, tmp_path / "1.0.spool", 1, 1) as spool:
        events_of(spool)


def test_header(tmp_path: Path) -> None:
    (tmp_path / "1.0.spool").write_bytes(header(99))
    with Spool(tmp_path / "1.0.spool") as spool:
        head = spool.header
        assert (head.pid, head.parent_pid, head.sequence, head.forked, head.start_stamp) == (41, 40, 2, True, 99)
        assert (head.drops, head.nested, head.spool_ticks, head.argv) == (5, 6, 7, ["prog", "-x"])
        assert events_of(spool) == []
    for damaged in (b"", header(1)[:100], header(1, magic=0), header(1, version=9)):
        (tmp_path / "2.0.spool").write_bytes(damaged)
        with pytest.raises(BadInput, match=r"2\.0\.spool"):
            Spool(tmp_path / "2.0.spool")
