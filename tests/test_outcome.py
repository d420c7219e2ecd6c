"""Outcomes: averages over the trace's time, ratios to the base, and what a look without caches knows of them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from covering import of_each_row, soon, with_every_row
from replay_events import random_events, write_trace
from traces import crowded_trace, random_trace, trace_of

from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.predict.times import timed
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.outcome import PROCESS_BYTES, Glance, Outcome, combined, ratios
from heapsmith.model.search.source import Source
from heapsmith.model.search.tune import tune
from heapsmith.model.search.workers import Bench, Kind, Task, measured
from heapsmith.model.trace.frames import Samples
from heapsmith.model.trace.reader import Chunk, Op, TraceReader, TraceWriter
from heapsmith.model.trace.stats import Lives
from heapsmith.tools.report.searched import on_traces

DEFAULT = load("default")
AT_ONCE = release_budget.Params(slab_budget_bytes=0, run_budget_bytes=0, most_budget_bytes=0)
KEEPS = msgspec.structs.replace(DEFAULT, name="keeps", run_cache_bytes=0, release=release_keep.Params(), unmapping=None)
GIVES_BACK = msgspec.structs.replace(KEEPS, name="gives-back", release=AT_ONCE)


def rising_and_falling(
    path: Path, high_ns: int, low_ns: int, samples: Sequence[tuple[int, int]] = (), threads: int = 1
) -> Path:
    """A run of 64 pages lives for high_ns; then nothing is live for low_ns; 4,000 events in all.

    The first thread has all events but the others' first and last ones. samples: of their processor time.
    """
    events = 4000
    op = [Op.MALLOC, *[Op.MALLOC, Op.FREE] * (events // 4 - 1), Op.FREE, *[Op.MALLOC, Op.FREE] * (events // 4)]
    half = len(op) // 2
    block = [0, *[1, 1] * (events // 4 - 1), 0, *[1, 1] * (events // 4)]
    size = [64 * PAGE, *[16, 0] * (events // 4 - 1), 0, *[16, 0] * (events // 4)]
    times = [
        *np.linspace(0, high_ns, half).astype(int),
        *(high_ns + np.linspace(0, low_ns, len(op) - half).astype(int)),
    ]
    none = [0] * len(op)
    thread = [0] * len(op)
    for number in range(1, threads):
        thread[2 * number - 1 : 2 * number + 1] = thread[-2 * number : len(op) - 2 * number + 2] = [number] * 2
    with TraceWriter(path, command=["test"], source="test") as writer:
        writer.append(Chunk.of(op, thread, block, size, none, times))
        writer.close({"samples": Samples([], [], 0, list(samples))})
    return path


@pytest.mark.parametrize(("high_ns", "low_ns"), [(10**6, 10**6), (9 * 10**6, 10**6), (10**6, 9 * 10**6), (0, 0)])
def test_averages_are_over_time(tmp_path: Path, high_ns: int, low_ns: int) -> None:
    source = Source(rising_and_falling(tmp_path / "t.hst", high_ns, low_ns))
    found = measured(Bench([source], load_hardware()), Task(GIVES_BACK, 0, "outcome"))
    assert isinstance(found, Outcome)
    share = high_ns / (high_ns + low_ns) if high_ns else 0.5
    rest = found.committed_peak - 64 * PAGE
    assert found.committed_average == pytest.approx(rest + 64 * PAGE * share, rel=0.02)
    assert found.committed_end < 64 * PAGE <= found.committed_peak
    assert found.run_ns == high_ns + low_ns


def test_what_lives_for_few_events_and_long_counts_by_its_time(tmp_path: Path) -> None:
    """A point of the time line is 8 events here; the large block lives for one, and for nine tenths of the time."""
    small, pages, late, high_ns = 4000, 1000, 3001, 9 * 10**9
    op = [*[Op.MALLOC, Op.FREE] * (small // 2), Op.MALLOC, Op.FREE, *[Op.MALLOC, Op.FREE] * (small // 2)]
    size = [*[16, 0] * (small // 2), pages * PAGE, 0, *[16, 0] * (small // 2)]
    number = np.arange(len(op))
    times = number * (10**9 // len(op)) + high_ns * (number > small)
    none = np.zeros(len(op), np.int64)
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of(op[:late], none[:late], none[:late], size[:late], none[:late], times[:late]))
        writer.append(Chunk.of(op[late:], none[late:], none[late:], size[late:], none[late:], times[late:]))
        writer.close()
    plain = changed(GIVES_BACK, "plain", {"transfer_bytes": 0})
    found = simulate(tmp_path / "t.hst", [plain], hardware=load_hardware()).rows[0]
    assert found.touches is not None
    share = high_ns / float(times[-1])
    rest = found.committed_peak - pages * PAGE
    assert rest < 0.1 * found.committed_peak
    for average in (found.touches.resident_average, found.statistics.committed_average):
        assert average == pytest.approx(rest + pages * PAGE * share, rel=0.05)


@pytest.mark.parametrize(
    "design", soon(with_every_row(), of_each_row(3), with_every_row()), ids=lambda design: design.name
)
def test_an_average_does_not_depend_on_chunks(tmp_path: Path, design: Design) -> None:
    """Chunks of one event have no time of their own: the pages behind each event stand in the sum by themselves."""
    events = random_events(7, 300, 3, live=30, sizes=40)
    averages = set()
    for chunk_events in (1, 40, 1000):
        simulator = Simulator(make_plan(design), compiled=False)
        for chunk in TraceReader(write_trace(tmp_path / f"{chunk_events}.hst", events, chunk_events)):
            simulator.feed(chunk._replace(time_ns=chunk.time_ns**3 % 10**6 + 10**6 * chunk.time_ns + 1))
        averages.add(simulator.statistics().committed_average)
    assert len(averages) == 1


@pytest.mark.parametrize(("ran", "run_ns"), [([4], 4 * 10**6), ([1], 10**6), ([4, 2], 6 * 10**6), ([0], 4 * 10**6)])
def test_the_run_is_the_processor_time_of_all_threads(tmp_path: Path, ran: list[int], run_ns: int) -> None:
    """A program that waits for three quarters of its time ran for one; where samples tell nothing, for all of it."""
    half_ns = 2 * 10**6
    trace = rising_and_falling(tmp_path / "t.hst", half_ns, half_ns, [(4, one) for one in ran], len(ran))
    assert Source(trace).run_ns == pytest.approx(run_ns, rel=0.02)
    assert Source(rising_and_falling(tmp_path / "n.hst", 0, 0, [(4, one) for one in ran], len(ran))).run_ns == 0


def test_giving_pages_back_takes_time_and_saves_memory(tmp_path: Path) -> None:
    source = Source(rising_and_falling(tmp_path / "t.hst", 10**6, 10**6))
    bench = Bench([source], load_hardware())
    kinds: tuple[Kind, ...] = ("outcome", "glance")
    for kind in kinds:
        keeps, gives = (measured(bench, Task(one, 0, kind)) for one in (KEEPS, GIVES_BACK))
        assert not isinstance(keeps, float)
        assert not isinstance(gives, float)
        mine, base = ((one.figures() if isinstance(one, Outcome) else one.figures) for one in (gives, keeps))
        time, peak, average, end = ratios(mine, base)
        assert (time > 1, peak, average < 1, end < 1) == (True, 1, True, True)


@pytest.mark.parametrize(
    ("ran", "others"), [([4, 0], 0.0), ([4, 4], 1.0), ([4, 2], (4 * 2 + 2 * 4) / 6 / 4), ([4] * 8, 7.0)]
)
@pytest.mark.parametrize("half_ns", [2 * 10**6, 0])
def test_a_release_costs_more_where_other_threads_run(
    tmp_path: Path, ran: list[int], others: float, half_ns: int
) -> None:
    """Others ran on average for this part of the time while a thread ran; in a trace with times or without."""
    alone = Source(rising_and_falling(tmp_path / "alone.hst", half_ns, half_ns, (), len(ran)))
    samples = [(4, one) for one in ran]
    source = Source(rising_and_falling(tmp_path / "t.hst", half_ns, half_ns, samples, len(ran)))
    assert (alone.others, source.others) == (0, pytest.approx(others, rel=0.02))
    hardware = msgspec.structs.replace(load_hardware(), cores=4)
    costs, most = hardware.costs, min(source.others, 3)
    per_call = costs["shootdown"] * min(1, most) + costs["shootdown.target"] * most
    bench = Bench([alone, source], hardware)
    for design, calls in ((KEEPS, 0), (GIVES_BACK, 1)):
        outcomes = [measured(bench, Task(design, number, "outcome")) for number in (0, 1)]
        glances = [measured(bench, Task(design, number, "glance")) for number in (0, 1)]
        before, after = (one.allocator_ns_per_op for one in outcomes if isinstance(one, Outcome))
        assert after - before == pytest.approx(calls * per_call / source.operations)
        before, after = (one.figures[0] for one in glances if isinstance(one, Glance))
        assert after - before == pytest.approx(calls * per_call / source.operations)


@pytest.mark.thorough
@pytest.mark.parametrize("step_ns", soon([0, 1, 10**5], [1], [0, 10**5]))
def test_waits_for_locks_are_part_of_the_time_on_the_cores_asked_for(tmp_path: Path, step_ns: int) -> None:
    """They are those of `simulate --cores`; with time stamps a thread has its own time between its events."""
    trace, hardware = crowded_trace(tmp_path / "t.hst", step_ns=step_ns), load_hardware()
    source, plan = Source(trace), make_plan(KEEPS)
    for cores in (1, 8):
        alone, found = (measured(Bench([source], hardware, n), Task(KEEPS, 0, "outcome")) for n in (None, cores))
        assert isinstance(alone, Outcome)
        assert isinstance(found, Outcome)
        table = simulate(trace, [KEEPS], hardware=hardware, application=source.application)
        told = timed(table, [plan], hardware, source.application, cores=[cores], paced=step_ns > 0).rows[0].timings[0]
        assert found.lock_wait_ns_per_op == told.lock_wait_ns_per_op
        assert found.allocator_ns_per_op == alone.allocator_ns_per_op + told.lock_wait_ns_per_op
        assert alone.lock_wait_ns_per_op == 0
        late = measured(Bench([source], hardware, cores), Task(KEEPS, 0, "p999", found.resident_peak))
        assert late == told.latency.p999
    # Who seldom allocates seldom waits.
    assert (told.lock_wait_ns_per_op > 10) == (step_ns < 10**5)


def test_a_thread_alone_waits_for_nobody(tmp_path: Path) -> None:
    source = Source(random_trace(tmp_path / "t.hst", 4000, 3, max_size=500))
    alone, found = (measured(Bench([source], load_hardware(), n), Task(DEFAULT, 0, "outcome")) for n in (None, 8))
    assert alone == found


@pytest.mark.big
@pytest.mark.usefixtures("own_outcomes")
def test_where_threads_wait_for_locks_the_choice_waits_less(tmp_path: Path) -> None:
    """And the table says how much of the time they wait. Without cores no wait counts."""
    trace, base = (
        crowded_trace(tmp_path / "crowded.hst", step_ns=1, threads=4, blocks=150, repeats=2),
        msgspec.structs.replace(DEFAULT, shards=None),
    )
    found, plain = (
        tune(trace, base=base, name="made", asked=Asked(simulations=16, jobs=1, cores=cores), hold_out=[trace])
        for cores in (8, None)
    )
    assert found.before.lock_wait_ns_per_op > 10
    assert found.design.row("remote").NAME != "owner_mutex"
    assert found.after.lock_wait_ns_per_op < found.before.lock_wait_ns_per_op / 2
    assert {one.after.lock_wait_ns_per_op for one in found.traces} == {found.after.lock_wait_ns_per_op}
    assert "waits on 8 cores" in on_traces(found).columns
    assert "for locks" in found.reasons[0].why
    assert {one.before.lock_wait_ns_per_op for one in plain.traces} == {0.0}
    assert not any("waits" in name for name in on_traces(plain).columns)
    assert "for locks" not in plain.reasons[0].why


def test_others_are_those_whose_lives_overlap() -> None:
    def others(lives: Sequence[tuple[int, int]], shares: Sequence[float]) -> float:
        found = Lives(len(lives))
        for thread, (first, last) in enumerate(lives):
            found.feed(np.array([thread, thread, thread], np.uint32), np.array([first, (first + last) // 2, last]))
        return found.others(np.array(shares))

    assert others([(0, 10), (10, 20), (20, 30)], [1, 1, 1]) == 0  # one after the other
    assert others([(0, 10), (0, 10)], [1, 0.5]) == pytest.approx((1 * 0.5 + 0.5 * 1) / 1.5)
    assert others([(0, 90), *[(90, 100)] * 8], [1] * 9) == pytest.approx(8 * 7 * 10 / (90 + 80))
    assert others([(5, 5), (5, 5)], [1, 1]) == 0  # no time passes
    assert others([(0, 10), (0, 10)], [1]) == 0  # nothing is known of the other
    assert others([], []) == 0


def test_ratios_count_the_process_and_means_the_weights() -> None:
    base = (10.0, 3 * PROCESS_BYTES, 1 * PROCESS_BYTES, 0)
    found = ratios((5.0, PROCESS_BYTES, PROCESS_BYTES, PROCESS_BYTES), base)
    assert found == pytest.approx([0.5, 0.5, 1.0, 2.0])
    assert combined([found, np.ones(4)], [3, 1]) == pytest.approx(np.array([0.5, 0.5, 1.0, 2.0]) ** 0.75)


def test_a_look_without_caches_knows_the_bytes_and_the_order_of_instructions(tmp_path: Path) -> None:
    source = Source(random_trace(tmp_path / "t.hst", 20_000, 3, max_size=500))
    bench = Bench([source], load_hardware())
    none = msgspec.structs.replace(DEFAULT, front=load("bare").front)
    times = []
    for design in (DEFAULT, none):
        whole, glance = measured(bench, Task(design, 0, "outcome")), measured(bench, Task(design, 0, "glance"))
        assert isinstance(whole, Outcome)
        assert isinstance(glance, Glance)
        assert glance.figures[1:] == (whole.committed_peak, whole.committed_average, whole.committed_end)
        assert sum(glance.fronts.values()) == pytest.approx(1)
        times.append((glance.figures[0], whole.allocator_ns_per_op))
    assert times[0][0] < times[1][0]
    assert times[0][1] < times[1][1]


def test_the_last_huge_page_counts_as_half_empty(tmp_path: Path) -> None:
    """Half a huge page for slabs, and half for runs, where these reach the bytes from which they have huge pages."""
    trace = random_trace(tmp_path / "t.hst", 4000, 5, threads=1, max_size=100_000, live=100)
    bench = Bench([Source(trace)], load_hardware())
    slabs = msgspec.structs.replace(DEFAULT, thp_slabs_from_bytes=0)
    both = msgspec.structs.replace(slabs, thp_runs_from_bytes=0)
    for design, huge_pages in ((DEFAULT, 0), (slabs, 1), (both, 2), (msgspec.structs.replace(both, thp="never"), 0)):
        outcome = measured(bench, Task(design, 0, "outcome"))
        assert isinstance(outcome, Outcome)
        assert outcome.huge_ahead == huge_pages << 20
        assert outcome.figures()[1] == outcome.resident_peak + outcome.huge_ahead


def in_part(path: Path, event_ns: int) -> Path:
    """A FIFO of blocks of 40,000 bytes, each on fresh pages: to write all of them takes longer than 3,000 ns each."""
    return trace_of(path, [40_000] * 1500, freed=True, event_ns=event_ns)


RUNS = [(3000, "ends"), (1_000_000, "all"), (1, "all"), (0, "all")]


@pytest.mark.thorough
@pytest.mark.parametrize("run", soon(RUNS, RUNS[:1], RUNS))
def test_blocks_that_the_run_had_no_time_to_write_are_written_in_part(
    tmp_path: Path, run: tuple[int, str], own_outcomes: None
) -> None:
    """A run of 1 ns an event is no evidence: no program is so fast."""
    event_ns, births = run
    path = in_part(tmp_path / "t.hst", event_ns)
    found = tune(path, base=DEFAULT, name="made", asked=Asked(simulations=2, jobs=1), hold_out=[path])
    assert {one.births for one in found.traces} == {births}
    shares = [of.run_share() for one in found.traces for of in (one.before, one.after)]
    assert all(share is None or share <= 1 for share in shares)
    if births != "all":
        assert all(share is not None for share in shares)
        assert found.before.resident_peak < found.before.peak_live_bytes / 2
    (cells,) = {row[0] for row in on_traces(found).rows if row[0].startswith("t.hst, HELD")}
    assert cells == "t.hst, HELD OUT" + (f", births: {births}" if births != "all" else "")


def test_more_time_than_the_run_took_is_no_share_of_it(tmp_path: Path) -> None:
    source = Source(in_part(tmp_path / "t.hst", 3000))
    found = measured(Bench([source], load_hardware()), Task(DEFAULT, 0, "outcome"))
    assert isinstance(found, Outcome)
    assert found.allocator_ns_per_op * found.operations > found.run_ns
    assert found.run_share() is None
