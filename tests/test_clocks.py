"""Clocks: two threads and a lock by hand, calendars that lose no time, and the histogram's quantiles."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model.parts.charge import CHARGE, PATHS, UNIT
from heapsmith.model.predict.calendars import book, end_of
from heapsmith.model.predict.clock_state import CALENDAR, LARGE, LOCKS, PARTS, POOL, WaitCosts
from heapsmith.model.predict.clocks import WAIT_PATHS, Clocks, Timing
from heapsmith.model.predict.histogram import BUCKETS, TICKS, bucket_of, latency_of
from heapsmith.model.trace.reader import Chunk, Op

M, F, START, EXIT = Op.MALLOC, Op.FREE, Op.THREAD_START, Op.THREAD_EXIT

Array = npt.NDArray[Any]
Event = tuple[int, int, int, int, int]
"""Operation, thread, block, nanoseconds, of these under the pool lock."""


def charges_of(own: Array, pool: Array, large: Array | int = 0) -> Array:
    charges = np.zeros(len(own), CHARGE)
    charges["own"], charges["pool"], charges["large"] = own * UNIT, pool * UNIT, large * UNIT
    charges["alone"] = charges["own"]
    return charges


def clocks_of(
    events: list[Event], cores: int = 8, stamps: list[int] | None = None, **costs: float
) -> tuple[Timing, Clocks]:
    op, thread, block, own, pool = (list(column) for column in zip(*events, strict=True))
    nothing = [0] * len(events)
    clocks = Clocks(max(thread) + 1, max(block) + 1, cores, paced=stamps is not None, costs=WaitCosts(**costs))
    clocks.follow(
        Chunk.of(op, thread, block, nothing, nothing, stamps or nothing), charges_of(np.array(own), np.array(pool))
    )
    return clocks.timing(sum(kind < START for kind in op)), clocks


def shown(clocks: Clocks) -> list[float]:
    """What the threads' clocks show, in nanoseconds."""
    return [clock / PARTS for clock in clocks.state.runners["clock"].tolist()]


def calendar(clocks: Clocks, row: int) -> list[tuple[float, float]]:
    """The entries of a calendar, in nanoseconds."""
    first, state = row * CALENDAR, clocks.state
    entries = slice(first, first + int(state.used[row]))
    return [(begin / PARTS, end / PARTS) for begin, end in zip(state.begins[entries], state.ends[entries], strict=True)]


def test_two_threads_and_a_lock_by_hand() -> None:
    """Thread 0: 10, and 20 under the lock (10 to 30), then 40 and 10 (70 to 80).

    Thread 1 wants the lock at 5 for 10: it is free, but thread 0 would have waited for 5, so thread 1 ends at 20. At 70
    both want the lock. Thread 1 has it for 15, as its event began first, and thread 0 waits.
    """
    events: list[Event] = [
        (START, 0, 0, 0, 0),
        (START, 1, 0, 0, 0),
        (M, 0, 0, 30, 20),
        (M, 1, 1, 15, 10),
        (M, 0, 2, 50, 10),
        (M, 1, 3, 65, 15),
    ]
    timing, clocks = clocks_of(events, spin=500)
    assert shown(clocks) == [95, 85]
    assert timing.wall_ns == 95
    assert timing.cpu_ns == 30 + 15 + 50 + 65 + 5 + 15  # who waits shortly spins
    assert calendar(clocks, POOL) == [(5, 35), (70, 95)]  # thread 0 would have held it from 15 to 35
    assert timing.locks["pool"].waits == 2
    assert timing.locks["pool"].held_ns == 55
    assert timing.locks["pool"].wait_ns == 20
    assert (timing.locks["pool"].share, timing.locks["large"].share) == (1, 0)
    assert timing.lock_wait_ns_per_op == 20 / 4
    assert timing.latency.worst == 65
    assert timing.latency.mean == (30 + 20 + 65 + 65) / 4
    assert timing.latency.worst_path == PATHS[0]


def test_a_thread_that_is_behind_does_not_wait_for_what_comes_later() -> None:
    """Thread 0 is at 1000 when thread 1, at 0, takes the lock: nobody held it then."""
    events: list[Event] = [(START, 0, 0, 0, 0), (START, 1, 0, 0, 0)]
    events += [(M, 0, block, 100, 10) for block in range(10)] + [(M, 1, 20, 50, 50)]
    timing, clocks = clocks_of(events)
    assert shown(clocks) == [1000, 50]
    assert timing.locks["pool"].wait_ns == 0


def in_turn(sequences: list[list[Event]], turns: list[int]) -> list[Event]:
    """The events of each thread in its order; `turns` says whose is next, and the rest come thread by thread."""
    left = [list(events) for events in sequences]
    chosen = [left[thread].pop(0) for thread in turns if left[thread]]
    return chosen + [event for events in left for event in events]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_how_threads_take_turns_in_the_trace_does_not_matter(data: st.DataObject) -> None:
    """Only what each does does: threads wait for the same locks, though a trace tells one after the other."""
    threads = data.draw(st.integers(2, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    sequences: list[list[Event]] = []
    for thread in range(threads):
        own = rng.integers(50, 90, 25).tolist()
        sequences.append([(M, thread, 100 * thread + at, ns, ns // 2) for at, ns in enumerate(own)])
    begin: list[Event] = [(START, thread, 0, 0, 0) for thread in range(threads)]
    turns = data.draw(st.lists(st.integers(0, threads - 1), max_size=60))
    one_by_one, _ = clocks_of(begin + in_turn(sequences, []), spin=500)
    mixed, _ = clocks_of(begin + in_turn(sequences, turns), spin=500)
    assert mixed == one_by_one
    assert mixed.locks["pool"].wait_ns > 0


def test_threads_that_a_trace_tells_far_apart_wait_for_each_other() -> None:
    """More holds than a calendar has entries: thread 1 is told after all of thread 0's, and runs beside them."""
    turns = CALENDAR + 500
    events: list[Event] = [(START, 0, 0, 0, 0), (START, 1, 0, 0, 0)]
    events += [(M, thread, thread * turns + turn, 20, 15) for thread in (0, 1) for turn in range(turns)]
    timing, _ = clocks_of(events, spin=500)
    assert timing.locks["pool"].waits > turns
    assert timing.wall_ns >= 2 * turns * 15


def test_releases_interrupt_the_cores_of_others() -> None:
    """Thread 0 releases pages twice in its event, which takes 2 * 100 longer; thread 1, which runs, loses 2 * 30."""
    events: list[Event] = [(START, 0, 0, 0, 0), (START, 1, 0, 0, 0), (M, 0, 0, 10, 0), (M, 1, 1, 500, 0)]
    op, thread, block, own, pool = (list(column) for column in zip(*events, strict=True))
    charges = charges_of(np.array(own), np.array(pool))
    charges["releases"][2] = 2
    answers = ((2, False, [210, 560], 770), (1, False, [10, 510], 510), (2, True, [110, 500], 640))
    for cores, paced, shown_ns, cpu_ns in answers:
        clocks = Clocks(2, 2, cores, paced=paced, costs=WaitCosts(shootdown=100, target=30))
        clocks.let_run([1, 0.5])  # with recorded times, thread 1 runs half of the time
        clocks.follow(Chunk.of(op, thread, block, [0] * 4, [0] * 4, [0] * 4), charges)
        timing = clocks.timing(2)
        assert shown(clocks) == shown_ns
        assert timing.cpu_ns == cpu_ns


@pytest.mark.parametrize(("lock", "held"), [("pool", 1), ("large", 1), ("large", 0)])
def test_a_release_under_a_lock_holds_it_longer(lock: str, held: int) -> None:
    """Thread 0 holds a lock for 100, and 100 longer if it releases pages meanwhile; thread 1 wants it at 0 for 10."""
    events: list[Event] = [(START, 0, 0, 0, 0), (START, 1, 0, 0, 0), (M, 0, 0, 100, 0), (M, 1, 1, 10, 0)]
    op, thread, block, own, pool = (list(column) for column in zip(*events, strict=True))
    charges = charges_of(np.array(own), np.array(pool))
    charges[lock] = charges["own"]
    charges["releases"][2], charges["held"][2] = 1, held
    clocks = Clocks(2, 2, 2, costs=WaitCosts(spin=500, shootdown=100))
    clocks.follow(Chunk.of(op, thread, block, [0] * 4, [0] * 4, [0] * 4), charges)
    timing = clocks.timing(2)
    waits = 200 * held
    assert (timing.locks[lock].held_ns, timing.locks[lock].wait_ns) == (110 + 100 * held, waits)
    assert timing.cpu_ns == 210 + waits
    assert timing.latency.worst == 200 + 10 * held


def test_a_lock_costs_more_where_another_core_had_it() -> None:
    """The threads have the lock in turn by their clocks: 40 each time, but not where the trace has them in turn too."""
    mine: list[Event] = [(M, 0, turn, 100, 10) for turn in range(5)]
    others: list[Event] = [(M, 1, 10 + turn, 100, 10) for turn in range(5)]
    begin: list[Event] = [(START, 0, 0, 0, 0), (START, 1, 0, 0, 0), (M, 1, 30, 50, 0)]
    apart, _ = clocks_of(begin + mine + others, moved=40)
    assert apart.cpu_ns == 1050 + 9 * 40 - 40  # thread 0 is the first; in the trace the lock moves once
    in_trace = [event for pair in zip(mine, others, strict=True) for event in pair]
    together, _ = clocks_of(begin + in_trace, moved=40)
    assert together.cpu_ns == 1050
    alone, _ = clocks_of(begin + mine + others, cores=1, moved=40)
    assert alone.cpu_ns == 1050


def test_a_replay_begins_no_chunk_before_the_last_but_one_is_done() -> None:
    clocks = Clocks(2, 4, 2)
    for thread, own in ((1, 1000), (1, 10), (0, 5)):
        chunk = Chunk.of([M], [thread], [thread], [0], [0], [0])
        clocks.follow(chunk, charges_of(np.array([own]), np.array([0])))
    clocks.timing(3)
    assert shown(clocks) == [1005, 1010]


def test_a_long_wait_is_slept() -> None:
    events: list[Event] = [(START, 0, 0, 0, 0), (START, 1, 0, 0, 0), (M, 0, 0, 9000, 9000), (M, 1, 1, 100, 100)]
    timing, clocks = clocks_of(events, spin=500, wake=2000)
    assert shown(clocks) == [9000, 11_100]
    assert timing.cpu_ns == 9100 + 500 + 2000
    assert (timing.latency.worst, timing.latency.worst_path) == (11_100, WAIT_PATHS[-1])


def test_blocks_are_handed_over_and_threads_are_joined() -> None:
    """Thread 1 frees thread 0's block, which comes at 100, and ends at 130. Thread 2 begins when it was joined."""
    events: list[Event] = [
        (START, 0, 0, 0, 0),
        (START, 1, 0, 0, 0),
        (M, 0, 0, 100, 0),
        (F, 1, 0, 30, 0),
        (EXIT, 1, 0, 0, 0),
        (START, 2, 0, 0, 0),
        (M, 2, 0, 7, 0),
    ]
    timing, clocks = clocks_of(events)
    assert shown(clocks) == [130, 130, 137]
    assert timing.handover_wait_ns == 100
    assert timing.cpu_ns == 137
    assert timing.latency.worst == 100
    timing, clocks = clocks_of(events, spawn=40)  # thread 0: 20, then 100; thread 1 until 150; then another 20
    assert shown(clocks) == [170, 150, 197]
    assert (timing.cpu_ns, timing.handover_wait_ns) == (217, 80)


def test_recorded_times_pass_between_events() -> None:
    """The trace tells 500 ns from the first event to the second; its call takes 30 of them."""
    events: list[Event] = [(M, 0, 0, 30, 0), (M, 0, 1, 20, 0), (START, 1, 0, 0, 0), (M, 1, 2, 5, 0)]
    timing, clocks = clocks_of(events, stamps=[0, 500, 700, 1700])
    assert shown(clocks) == [520, 520 + 200 + 1000 + 5]
    assert timing.cpu_ns == 55


def test_the_share_of_recorded_time_that_ran_takes_a_core() -> None:
    """Two threads let 1000 ns pass; thread 0 runs in half of them, thread 1 in all."""
    chunk = Chunk.of([M, M, M, M], [0, 1, 0, 1], [0, 1, 2, 3], [0] * 4, [0] * 4, [0, 0, 1000, 1000])
    walls = []
    for shares in ([], [0.5, 1.0]):
        clocks = Clocks(2, 4, 1, paced=True)
        clocks.let_run(shares)
        clocks.follow(chunk, charges_of(np.zeros(4), np.zeros(4)))
        walls.append(clocks.timing(4).wall_ns)
    assert walls == [1000, 1500]  # thread 0 from 500 to 1000, thread 1 before and after


@pytest.mark.parametrize(("cores", "wall"), [(1, 400), (2, 200), (4, 100), (64, 100)])
def test_threads_share_cores(cores: int, wall: int) -> None:
    events: list[Event] = [(START, thread, 0, 0, 0) for thread in range(4)]
    events += [(M, thread, 10 * thread + turn, 10, 0) for thread in range(4) for turn in range(10)]
    timing, _ = clocks_of(events, cores)
    assert timing.wall_ns == wall
    assert timing.cpu_ns == 400
    assert timing.latency.worst == 10


def test_a_calendar_loses_no_time() -> None:
    """Uses of random begin and length fill a calendar as they fill an array of moments."""
    rng = np.random.default_rng(1)
    clocks, taken = Clocks(1, 1, 1), np.zeros(4000, bool)
    for begin, length in zip(rng.integers(0, 2000, 300).tolist(), rng.integers(1, 9, 300).tolist(), strict=True):
        free = begin + np.flatnonzero(~taken[begin:])[:length]
        taken[free] = True
        assert end_of(clocks.state, POOL, begin * PARTS, length * PARTS) == (free[-1] + 1) * PARTS
        book(clocks.state, POOL, begin * PARTS, length * PARTS)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], taken, [False]]).astype(int)))
    assert calendar(clocks, POOL) == list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def test_a_full_calendar_forgets_its_older_half() -> None:
    clocks = Clocks(1, 1, 1)
    for begin in range(CALENDAR + 1):
        book(clocks.state, LARGE, 10 * begin * PARTS, 5 * PARTS)
    kept = calendar(clocks, LARGE)
    assert kept[0] == (5 * CALENDAR, 5 * CALENDAR + 5)
    assert (len(kept), kept[-1]) == (CALENDAR // 2 + 1, (10 * CALENDAR, 10 * CALENDAR + 5))
    assert clocks.state.used[POOL] == 0


def test_quantiles_are_those_of_the_values() -> None:
    values = np.exp(np.random.default_rng(2).uniform(-1, 20, 5001))
    counts = np.zeros((2, BUCKETS), np.int64)
    for place, value in enumerate(values):
        counts[place % 2, bucket_of(int(value * TICKS))] += 1
    latency = latency_of(counts, ("even", "odd"), values.sum(), values.max(), 1)
    for found, share in ((latency.p50, 0.5), (latency.p99, 0.99), (latency.p999, 0.999)):
        assert found == pytest.approx(np.quantile(values, share, method="inverted_cdf"), rel=1 / 128, abs=1 / TICKS)
    assert latency.mean == pytest.approx(values.mean())
    assert (latency.worst, latency.worst_path) == (values.max(), "odd")
    assert sum(latency.tail.values()) == pytest.approx(1)
    assert sum(count for _, count in latency.buckets) == len(values)
    nothing = latency_of(np.zeros((1, BUCKETS), np.int64), ("none",), 0, 0, 0)
    assert (nothing.p999, nothing.as_stamped(0.5, 20, 10)) == (0, 0)


@given(
    st.lists(st.integers(1, 2000), min_size=1, max_size=30), st.sampled_from([1.0, 3.5, 10.0]), st.floats(0.01, 0.999)
)
@settings(max_examples=30)
def test_what_a_clock_with_steps_shows(times: list[int], step: float, share: float) -> None:
    """Against operations that begin at any place of a step."""
    counts, cost = np.zeros((1, BUCKETS), np.int64), 23.0
    for time in times:
        counts[0, bucket_of(time * TICKS)] += 1
    latency = latency_of(counts, ("any",), 0, 4000, 0)
    places = (np.arange(4000) + 0.5) / 4000
    shown = np.concatenate(
        [np.repeat(np.floor((time + cost) / step + places), count) for time, count in latency.buckets]
    )
    quantile = np.sort(shown)[int(np.ceil(share * len(shown))) - 1] * step - cost
    assert latency.as_stamped(share, cost, step) == pytest.approx(max(0.0, quantile), abs=0.51 * step + 0.01)


def test_no_lock_is_held_twice_at_a_time() -> None:
    """And on any number of cores a random trace takes no less time than its longest thread and its cores need."""
    chunk = random_chunk(3000, 4, threads=5, cross_thread=0.2)
    rng = np.random.default_rng(5)
    own = rng.integers(20, 200, 3000)
    charges = charges_of(own, own * rng.integers(0, 2, 3000) // 2, own * rng.integers(0, 2, 3000) // 4)
    walls = []
    for cores in (1, 2, 3, 8):
        clocks = Clocks(5, int(chunk.block.max()) + 1, cores)
        for first in range(0, 3000, 700):  # chunks of any length
            clocks.follow(chunk.part(first, first + 700), charges[first : first + 700])
        timing = clocks.timing(3000)
        walls.append(timing.wall_ns)
        alone = max(own[chunk.thread == thread].sum() for thread in range(5))
        assert timing.wall_ns >= max(alone, own.sum() / cores)
        for row, lock in enumerate(LOCKS):
            held = charges[lock].sum() / UNIT
            assert timing.locks[lock].held_ns == held
            assert sum(end - begin for begin, end in calendar(clocks, row)) == held
        assert timing.cpu_ns >= own.sum()
    assert walls[0] == pytest.approx(own.sum())
    assert walls[0] > walls[1] > walls[3]
