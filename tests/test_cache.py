"""Caches, TLBs, branches: every counter is that of a simulation by lists; plain, compiled, as cachegrind counts."""

from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest
from cache_reference import FRAME, PAGE, Reference
from covering import soon
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.model.compile.kernel import Ints, compiled, kernel, specialised
from heapsmith.model.memory.cold_paths import COLD, FLUSH, REFILL
from heapsmith.model.memory.hardware import Hardware, Level, Tlb, TlbLevel
from heapsmith.model.memory.layout import APPLICATION, HEAPS, LARGE_LOCK, POOL_LOCK, SLABS, SPAN, TRANSFERRED
from heapsmith.model.memory.layout import COUNTS as COUNTS_AT
from heapsmith.model.memory.listener import COUNTS, Listener
from heapsmith.model.memory.touches import CACHES, acts, branch, gone, on_huge, takes, tick, touch, touch_bytes

TINY = Hardware(
    "tiny",
    Level(64 * 8, 2),
    Level(64 * 33, 11),
    Level(64 * 16, 4),
    cores=3,
    tlb=Tlb(TlbLevel(4, 2), TlbLevel(2, 1), TlbLevel(12, 3)),
    zeroing_caches=False,
)
WITHOUT_L2 = msgspec.structs.replace(TINY, l2=None)
ZEROING = msgspec.structs.replace(TINY, zeroing_caches=True)
WIDE = msgspec.structs.replace(
    TINY, l1=Level(64 * 32, 16), llc=Level(64 * 60, 20), tlb=Tlb(TlbLevel(17, 17), TlbLevel(2, 2), TlbLevel(34, 17))
)
"""Sets of one whole vector, and of more than one, for which other code is compiled."""
FAR = 1 << 40
"""Where lines have such numbers that a place computed from one for a level that there is not lies in no array."""
OPERATIONS = ("touch", "touch_bytes", "acts", "gone", "on_huge", "branch")
EVENT = st.tuples(
    st.sampled_from(OPERATIONS), st.integers(0, 3), st.integers(0, 24), st.integers(0, 3), st.integers(0, 20_000)
)


@kernel
def play(listener: Ints, kinds: Ints, addresses: Ints, sizes: Ints, writes: Ints) -> None:
    """A stream of calls; the size of `acts` is its thread, that of `branch` its target."""
    for index in range(len(kinds)):
        if kinds[index] == 0:
            touch(listener, int(addresses[index]), int(writes[index]))
        elif kinds[index] == 1:
            touch_bytes(listener, int(addresses[index]), int(sizes[index]), int(writes[index]))
        elif kinds[index] == 2:
            acts(listener, int(sizes[index]))
        elif kinds[index] == 3:
            gone(listener, int(addresses[index]), int(sizes[index]))
        elif kinds[index] == 4:
            on_huge(listener, int(addresses[index]), int(sizes[index]))
        else:
            branch(listener, int(addresses[index]), int(sizes[index]))
        tick(listener, 1)


PLAIN = [specialised(play, SINK=CACHES, WIDE=wide) for wide in (0, 1)]
PLAIN_ACTS = specialised(acts, SINK=CACHES)
PLAIN_TOUCH = specialised(touch, SINK=CACHES)
PLAIN_BYTES = specialised(touch_bytes, SINK=CACHES)
PLAIN_TAKES = specialised(takes, SINK=CACHES)
PLAIN_TICK = specialised(tick, SINK=CACHES)


def columns(events: list[tuple[str, int, int, int, int]]) -> list[Ints]:
    """Addresses of few lines in few pages of few frames, from drawn numbers."""
    rows = []
    for name, frame, place, part, number in events:
        address = FAR + frame * FRAME + (place % 5) * PAGE + place * 64 + part * 7
        size = {"acts": part + number % 2, "gone": 8 * number * (1 + 100 * (part == 3))}.get(name, number % 600)
        if name == "on_huge":
            address, size = FAR + frame * FRAME, FRAME
        if name == "branch":
            address, size = frame, place if number % 5 == 0 else part
        rows.append((OPERATIONS.index(name), address, size, number % 2))
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)] if rows else [np.empty(0, np.int64)] * 4


def compare(machine: Hardware, played: Any, stream: list[Ints], step: int = 7) -> Listener:
    """Both count the same; cores are added when their threads first act."""
    listener, reference = Listener(machine), Reference(machine)
    kinds, _, sizes, _ = stream
    for begin in range(0, len(kinds), step):
        chunk = [column[begin : begin + step] for column in stream]
        threads = sizes[: begin + step][kinds[: begin + step] == 2]
        listener.make_room(FRAME, 1 + int(threads.max(initial=0)))
        played(listener.array, *chunk)
        replay(reference, chunk)
        counts = listener.counts()
        assert {name: getattr(counts, name) for name in COUNTS} == {name: reference.count[name] for name in COUNTS}
    assert listener.counts().resident_average == pytest.approx(reference.average())
    return listener


def replay(reference: Reference, chunk: list[Ints]) -> None:
    """The same calls of the lists."""
    for kind, address, size, write in zip(*(column.tolist() for column in chunk), strict=True):
        match OPERATIONS[kind]:
            case "touch":
                reference.touch_bytes(address, 1, write)
            case "touch_bytes":
                reference.touch_bytes(address, size, write)
            case "acts":
                reference.acts(size)
            case "gone":
                reference.gone(address, size)
            case "on_huge":
                reference.on_huge(address, size)
            case _:
                reference.branch(address, size)
        reference.tick()


@settings(max_examples=200, deadline=None)
@given(st.lists(EVENT, max_size=150), st.sampled_from((TINY, WIDE, WITHOUT_L2)))
def test_every_count_is_that_of_the_lists(events: list[tuple[str, int, int, int, int]], machine: Hardware) -> None:
    compare(machine, PLAIN[machine is WIDE], columns(events))


@pytest.mark.parametrize("machine", soon((TINY, WIDE, ZEROING, WITHOUT_L2), (ZEROING, WITHOUT_L2)))
def test_compiled_counts_as_lists_do_in_a_long_run(machine: Hardware) -> None:
    random = np.random.default_rng(1)
    kinds = random.choice(6, 10_000, p=(0.4, 0.2, 0.12, 0.02, 0.01, 0.25))
    numbers = random.integers((3, 25, 3, 20_000), size=(len(kinds), 4)).tolist()
    rows = [(OPERATIONS[kind], *row) for kind, row in zip(kinds, numbers, strict=True)]
    listener = compare(machine, compiled(play, **Listener(machine).constants()), columns(rows), 3333)
    assert listener.counts().transfers > 66
    assert 166 < listener.counts().mispredicted < 2333
    assert listener.counts().faults_2m > 1


def test_machines_are_wide_by_any_of_their_levels() -> None:
    cache, entries = Level(64 * 17, 17), TlbLevel(17, 17)
    wide = [msgspec.structs.replace(TINY, **{name: cache}) for name in ("l1", "l2", "llc")]
    wide += [
        msgspec.structs.replace(TINY, tlb=msgspec.structs.replace(TINY.tlb, **{name: entries}))
        for name in ("small", "huge", "second")
    ]
    assert [Listener(machine).constants()["WIDE"] for machine in wide] == [1] * 6
    for machine in (TINY, WITHOUT_L2):
        assert Listener(machine).constants() == {"SINK": CACHES, "WIDE": 0}


def test_a_fault_leaves_the_lines_of_its_page_in_the_caches() -> None:
    machine = msgspec.structs.replace(ZEROING, l1=Level(2 * PAGE, 2), llc=Level(2 * FRAME, 4))
    listener = Listener(machine)
    listener.make_room(2 * FRAME)
    PLAIN_BYTES(listener.array, 5 * PAGE, PAGE, 0)
    # The read got the zeros that all share, so that the first write faults again.
    assert (listener.counts().faults_4k, listener.counts().l1_misses, listener.counts().accesses) == (2, 0, 64)
    compiled(play, **listener.constants())(
        listener.array,
        *(np.array(column) for column in ((4, 0, 0), (FRAME, FRAME + PAGE, FRAME), (FRAME, 1, 1), (0, 1, 0))),
    )
    counts = listener.counts()
    # The page that faulted is written last; the other one fell out of L1 and L2, not out of the last level.
    assert (counts.faults_2m, counts.l1_misses, counts.llc_misses) == (1, 1, 0)


def test_without_l2_it_counts_as_cachegrind() -> None:
    """cg_sim.c: two LRU caches, the last level sees what the first one missed, reads and writes alike."""
    machine = msgspec.structs.replace(TINY, l2=None, llc=Level(64 * 32, 4))
    lines = (np.random.default_rng(2).zipf(1.3, 20_000) * 7 % 100).astype(np.int64)
    writes = lines % 3 % 2
    listener = Listener(machine)
    compiled(play, **listener.constants())(listener.array, np.zeros(20_000, np.int64), lines * 64, lines, writes)
    first: list[list[int]] = [[] for _ in range(4)]
    last: list[list[int]] = [[] for _ in range(8)]
    misses = last_misses = 0
    for line in lines.tolist():
        if missed(first[line % 4], line, 2):
            misses += 1
            last_misses += missed(last[line % 8], line, 4)
    counts = listener.counts()
    assert (counts.l1_misses, counts.l2_misses, counts.llc_misses) == (misses, misses, last_misses)


def missed(row: list[int], line: int, ways: int) -> bool:
    """One reference to a set."""
    was_missing = line not in row
    row[:] = [line, *(other for other in row if other != line)][:ways]
    return was_missing


def test_a_written_line_moves_between_cores() -> None:
    listener = Listener(TINY)
    listener.make_room(0, 3)
    for thread, write in ((0, 1), (0, 1), (1, 0), (0, 0), (1, 1), (0, 0), (2, 0)):
        PLAIN_ACTS(listener.array, thread)
        PLAIN_TOUCH(listener.array, 4096, write)
    counts = listener.counts()
    # Thread 1 reads what 0 wrote; 0 still has it; 1 takes it from 0 to write it; 0 reads it, then 2: no longer M.
    assert (counts.l1_misses, counts.transfers, counts.llc_misses) == (4, 2, 1)


def test_links_locks_and_records_of_another_core_are_awaited() -> None:
    """And neither written blocks nor arrays and counters are."""
    listener = Listener(TINY)
    listener.make_room(0, 2)
    awaited = []
    for address, write in product((SPAN, HEAPS, SLABS, TRANSFERRED, COUNTS_AT, POOL_LOCK, LARGE_LOCK), (0, 1)):
        before = listener.counts().awaited
        for thread, writes in ((0, 1), (1, write)):
            PLAIN_ACTS(listener.array, thread)
            PLAIN_TOUCH(listener.array, address + 64 * write, writes)
        awaited.append(listener.counts().awaited - before)
    assert listener.counts().transfers == len(awaited)
    assert awaited == [1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]


def test_awaited_lines_of_the_last_level_and_of_memory_are_counted_apart() -> None:
    """A block's line that is read and a slab's record; no written block, no array of pointers."""
    listener = Listener(msgspec.structs.replace(TINY, l1=Level(64, 1), l2=Level(64, 1)))
    listener.make_room(0, 1)
    found = []
    for address, write in product((SPAN, HEAPS, SLABS, TRANSFERRED), (0, 1)):
        waits = [listener.counts()]
        for line in (address + 64 * write, APPLICATION, address + 64 * write):
            PLAIN_TOUCH(listener.array, line, write)
            waits.append(listener.counts())
        found.append((waits[1].llc_awaited - waits[0].llc_awaited, waits[3].l2_awaited - waits[2].l2_awaited))
    assert found == [(1, 1), (0, 0), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0)]


def test_the_system_awaits_nothing_while_it_zeroes_a_page_of_records() -> None:
    """The line that the library writes is the last that was zeroed, so it is still in L1."""
    listener = Listener(ZEROING)
    listener.make_room(0, 1)
    for page in range(40):
        PLAIN_TOUCH(listener.array, SLABS + (page + 1) * PAGE - 1, 1)
    counts = listener.counts()
    assert counts.faults_4k == 40
    assert (counts.llc_awaited, counts.l2_awaited, counts.awaited) == (0, 0, 0)


def test_a_path_is_cold_at_first_and_after_many_events_without_it() -> None:
    """On each core, and each path apart."""
    listener = Listener(TINY)
    listener.make_room(0, 2)
    cold = []
    for thread, path, events in (
        *((0, FLUSH, 0), (0, FLUSH, COLD - 1), (0, FLUSH, COLD), (0, REFILL, 0), (0, FLUSH, 0)),
        *((1, FLUSH, 0), (1, FLUSH, 1), (0, FLUSH, COLD), (1, REFILL, 0)),
    ):
        for _ in range(events):
            PLAIN_TICK(listener.array, 1)
        PLAIN_ACTS(listener.array, thread)
        PLAIN_TAKES(listener.array, path)
        cold.append(listener.counts().cold_calls)
    assert cold == [1, 1, 2, 3, 3, 4, 4, 5, 6]


def test_more_threads_than_room_are_noticed() -> None:
    listener = Listener(TINY)
    PLAIN_ACTS(listener.array, 1)
    with pytest.raises(RuntimeError, match="more than it was given room for"):
        listener.counts()


def test_many_bytes_are_touched_line_by_line() -> None:
    listener = Listener(TINY)
    listener.make_room(64 << 20)
    compiled(play, **listener.constants())(listener.array, *(np.array([value]) for value in (1, 100, 64 << 20, 1)))
    counts = listener.counts()
    assert counts.accesses == counts.l1_misses == counts.llc_misses == (64 << 20) // 64 + 1
    assert counts.tlb1_misses == counts.tlb2_misses == counts.faults_4k == (64 << 20) // PAGE + 1
