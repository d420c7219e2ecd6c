"""The equations of docs/machine.md after any events, for every combination of policies; compiled against plain."""

from itertools import combinations, product
from typing import Any

import msgspec
import numpy as np
import pytest
from covering import covering_designs, not_learned, soon
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import nasty_trace
from program import NONE, SMALL, Program
from traces import random_chunk

from heapsmith.model import policy
from heapsmith.model.design.choices import Front, Hardening, Release
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.parts.age import AGES
from heapsmith.model.parts.counters import COUNTS, TOTALS
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import hot_over_list as front_hot_over_list
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import ring_over_list as front_ring_over_list
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.hardening import off as hardening_off
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.trace.reader import Chunk, Op

FRONTS: list[Front] = [
    NONE,
    front_array_stack.Params(capacity=5, refill=3, flush=2),
    front_fifo_ring.Params(capacity=4),
    front_linked_list.Params(capacity=6, refill=4, flush=6),
    front_two_level.Params(capacity=3, list_capacity=5, refill=2, spill=2, promote=3, flush=3),
    front_ring_over_list.Params(capacity=2, list_capacity=5, refill=2, spill=2, promote=2, flush=3),
    front_hot_over_list.Params(capacity=2, list_capacity=5, refill=4, flush=3),
]
RELEASES: list[Release] = [release_keep.Params(), release_budget.Params(slab_budget_bytes=8192, run_budget_bytes=40960)]
HARDENINGS: list[Hardening] = [hardening_off.Params(), hardening_full.Params(quarantine=7)]
RUN_CACHES = (65536, 0, 12288)
TRANSFERS = (0, 1024, 16384)
THPS = ("system", "always", "system", "grown")
CLASSIFIERS = [
    ("slab_map", "shared"),
    ("slab_map", "dedicated"),
    ("class_region", "dedicated"),
    ("header", "shared"),
    ("header", "dedicated"),
]
SLAB_CHOICES = [row.Params() if hasattr(row, "Params") else row.NAME for row in policy.TABLES["slab_choice"]]
CHOICES = (CLASSIFIERS, SLAB_CHOICES, policy.names("remote"), RELEASES, FRONTS)
COMBINATIONS = [
    Design(
        f"d{number}",
        [32, 48, 64, 128, 512, 1360, 4080],
        classifier=classifier,  # type: ignore[arg-type]
        empties=empties,  # type: ignore[arg-type]
        slab_choice=choice,  # type: ignore[arg-type]
        remote=remote,  # type: ignore[arg-type]
        release=release,
        front=front,
        hardening=HARDENINGS[number // 3 % 2],
        run_cache_bytes=RUN_CACHES[number % 3],
        run_cache_slack_percent=(0, 50)[number % 2],
        transfer_bytes=TRANSFERS[number % 3],
        thp=THPS[number % 4],
        thp_slabs_from_bytes=1 << 21,
        thp_runs_from_bytes=1 << 21,
        **{**SMALL, "superslab_bytes": 16384 if THPS[number % 4] == "system" else 1 << 21},
    )
    for number, ((classifier, empties), choice, remote, release, front) in enumerate(product(*CHOICES))
    if (classifier, choice) != ("class_region", "scan")  # a scan needs adjacent superslabs
]

PLACES = list(product(*(range(len(choices)) for choices in CHOICES)))
TRIPLES = [design for design in COMBINATIONS if sum(PLACES[int(design.name[1:])]) % 5 == 0]
"""The combinations of the default suite: each three choices that go together do so in one of them."""


def at(chunk: Chunk, *stops: int) -> list[Chunk]:
    """The chunk in pieces that end at these events."""
    return [chunk.part(first, stop) for first, stop in zip((0, *stops), (*stops, len(chunk.op)), strict=True)]


@pytest.mark.parametrize("design", soon(COMBINATIONS, TRIPLES), ids=lambda design: design.name)
def test_equations(design: Design) -> None:
    assert design.why_not_valid() is None
    simulator = Simulator(make_plan(design))
    chunk = random_chunk(900, seed=int(design.name[1:]), threads=4, max_size=20000, cross_thread=0.3, live=60)
    for part in at(chunk, 300, 600):
        simulator.feed(part)
        simulator.check()


def test_each_three_choices_meet() -> None:
    met, legal = (
        {three for design in designs for three in combinations(enumerate(PLACES[int(design.name[1:])]), 3)}
        for designs in (TRIPLES, COMBINATIONS)
    )
    assert met == legal


@pytest.mark.parametrize("design", covering_designs(), ids=lambda design: design.name)
def test_equations_on_nasty_traces(design: Design) -> None:
    """A trace that leaves a counter at 0 gets up to five more chances."""
    plan = make_plan(design)
    absent = {"remote", "drained"} if design.remote == "local_cache" else set()
    absent |= {"releases", "released_bytes"} if design.release == release_keep.Params() else set()
    absent |= {"run_hit", "run_spill"} if design.run_cache_bytes == 0 else set()
    absent |= {"transfer_in", "transfer_out"} if plan.numbers.get("transfer_slots", 0) == 0 else set()
    unseen = {*COUNTS, *TOTALS} - {"transfer_back", "huge_reuse"} - not_learned(plan)
    for seed in (12, 13, 14, 15, 16, 17):
        simulator = Simulator(plan)
        for part in at(nasty_trace(plan, seed=seed), 1500, 3000, 4500):
            simulator.feed(part)
            simulator.check()
        found = simulator.counters()
        unseen -= {name for name, counts in found.classes.items() if any(counts)}
        unseen -= {name for name, count in found.totals.items() if count}
        if unseen == absent:
            return
    assert unseen == absent


def state(simulator: Simulator) -> dict[str, Any]:
    """All arrays of the state, but for scratch."""
    arrays = {name: value for name, value in vars(simulator.state).items() if isinstance(value, np.ndarray)}
    return {name: value.tolist() for name, value in arrays.items() if name != "moved"}


@pytest.mark.parametrize(
    "design", soon(COMBINATIONS[::11], COMBINATIONS[::132], COMBINATIONS[::44]), ids=lambda design: design.name
)
def test_compiled_is_plain(design: Design) -> None:
    chunk = random_chunk(900, seed=7, threads=3, max_size=70000, cross_thread=0.3, live=50)
    simulators, addresses = [], []
    for compiled in (False, True):
        simulator = Simulator(make_plan(design), compiled=compiled)
        found = np.empty(len(chunk.op), np.int64)
        simulator.feed(chunk, found)
        simulators.append(simulator)
        addresses.append(found.tolist())
    assert addresses[0] == addresses[1]
    assert state(simulators[0]) == state(simulators[1])
    assert simulators[0].counters() == simulators[1].counters()
    assert simulators[0].statistics() == simulators[1].statistics()


def test_chunks_do_not_matter() -> None:
    chunk = random_chunk(20_000, seed=3, threads=3, max_size=40000, cross_thread=0.2, live=800)
    whole, pieces = (Simulator(make_plan(COMBINATIONS[37])) for _ in range(2))
    expected, found = np.empty(20_000, np.int64), np.empty(20_000, np.int64)
    whole.feed(chunk, expected)
    for first in range(0, 20_000, 37):
        pieces.feed(chunk.part(first, first + 37), found[first : first + 37])
    assert expected.tolist() == found.tolist()
    assert whole.counters() == pieces.counters()
    assert whole.statistics() == pieces.statistics()
    assert whole.counters().classes.keys() == set(COUNTS)
    assert whole.counters().totals.keys() == set(TOTALS)


def test_memory_does_not_grow_with_events() -> None:
    chunk = random_chunk(20_000, seed=9, threads=4, max_size=90_000, cross_thread=0.3, live=500)
    live: set[int] = set()
    for op, block in zip(chunk.op, chunk.block, strict=True):
        if op in (Op.MALLOC, Op.CALLOC, Op.ALIGNED):
            live.add(int(block))
        elif op in (Op.FREE, Op.FREE_SIZED):
            live.remove(int(block))
    zeros = np.zeros(len(live))
    frees = Chunk.of(zeros + Op.FREE, zeros, sorted(live), zeros, zeros, zeros)
    simulator = Simulator(make_plan(next(design for design in COMBINATIONS if design.remote == "owner_list")))
    held = []
    for _ in range(40):
        simulator.feed(chunk)
        simulator.feed(frees)
        held.append(sum(array.nbytes for array in vars(simulator).values() if isinstance(array, np.ndarray)))
    assert held[4] == held[-1]
    assert simulator.counters().totals["huge_map"] > 1000
    simulator.check()


SIZES = st.sampled_from([0, 1, 16, 40, 64, 128, 129, 500, 1360, 4000, 4096, 9000, 30000, 65536, 65537, 90000])
STEPS = st.tuples(st.sampled_from("mmmmaffffrrx"), st.integers(0, 3), st.integers(0, 50), SIZES, st.integers(0, 13))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(COMBINATIONS), st.lists(STEPS, max_size=60))
def test_equations_on_any_steps(design: Design, steps: list[tuple[str, int, int, int, int]]) -> None:
    simulator = Simulator(make_plan(design))
    live: list[int] = []
    spare = list(range(60, -1, -1))
    for what, thread, which, size, align_log2 in steps:
        if what in "ma":
            live.append(spare.pop())
            op = Op.MALLOC if what == "m" else Op.ALIGNED
            address = simulator.step(op, thread, live[-1], size, align_log2 if what == "a" else 0)
            assert what == "m" or address >= 1 << 60 or address % (1 << align_log2) == 0
        elif what == "x":
            simulator.step(Op.THREAD_EXIT, thread, 0)
        elif live and what == "r":
            simulator.step(Op.REALLOC, thread, live[which % len(live)], max(1, size))
        elif live:
            spare.append(live.pop(which % len(live)))
            simulator.step(Op.FREE, thread, spare[-1])
    simulator.check()
    for block in live:
        simulator.step(Op.FREE, 0, block)
    for thread in range(4):
        simulator.step(Op.THREAD_EXIT, thread, 0)
    simulator.check()
    assert simulator.statistics().live_bytes == simulator.statistics().live_block_bytes == 0
    top = simulator.state.top
    assert int(simulator.state.pages[0]["run"]) == top  # one free run, or none at all
    assert int(simulator.state.pages[0]["free"]) == (top > 0)


def wrong_states() -> Program:
    """A machine with something on every list: age queues, pools, a run cache, a quarantine."""
    program = Program(
        False,
        [32, 4080],
        front_array_stack.Params(capacity=4, refill=2, flush=2),
        hardening=hardening_full.Params(quarantine=3),
        release=release_budget.Params(slab_budget_bytes=3 * 4096, run_budget_bytes=5 * 4096),
        run_cache_bytes=3 * 4096,
    )
    program.malloc("a b c d", 20)
    program.malloc(" ".join(f"n{number}" for number in range(10)), 4072)
    program.free(" ".join(f"n{number}" for number in range(10)))
    program.free("a b")
    program.malloc("r s t u v w x y", 6000)
    program.free("r t v")
    program.free("u")
    program.simulator.check()
    return program


WRONG = [
    ("slabs", "freed", "slab 0: out"),
    ("classes", "acquire", "acquire - retire"),
    ("fronts", "held", "in two places|was carved|class"),
    ("scalars", "committed", "committed"),
    ("scalars", "aged_slab_bytes", "aged_slab_bytes"),
    ("scalars", "aged_run_bytes", "aged_run_bytes"),
    ("slab", "oldest", "age queue of slabs"),
    ("slab", "newest", "age queue of slabs"),
    ("run", "oldest", "age queue of runs"),
    ("run", "newest", "age queue of runs"),
    ("scalars", "run_free", "allocations - frees"),
    ("scalars", "run_grow", "allocations - frees"),
    ("heaps", "cached_runs", "run cache 0: runs, bytes"),
    ("heaps", "cached_bytes", "run cache 0: runs, bytes"),
    ("heaps", "newest", "run cache 0: newest"),
    ("heaps", "quarantined", "quarantine"),
]


@pytest.mark.parametrize(("array", "field", "reason"), WRONG, ids=[f"{array}-{field}" for array, field, _ in WRONG])
def test_check_finds_a_wrong_state(array: str, field: str, reason: str) -> None:
    simulator = wrong_states().simulator
    record = simulator.state.scalars[AGES[array]] if array in AGES else getattr(simulator.state, array)[0]
    record[field] += 1
    with pytest.raises(CheckFailed, match=reason):
        simulator.check()
    record[field] -= 1
    simulator.check()


def test_check_finds_a_block_in_two_places() -> None:
    """A slot of a front has the block of the next."""
    simulator = wrong_states().simulator
    held = simulator.state.fronts["held"]
    base = int(simulator.state.fronts[int(np.argmax(held))]["base"])
    assert held.max() >= 2
    first, second = simulator.state.slots[base : base + 2].tolist()
    simulator.state.slots[base] = second
    with pytest.raises(CheckFailed, match="blocks in two places: 1, expected 0"):
        simulator.check()
    simulator.state.slots[base] = first
    simulator.check()


def test_check_finds_a_budget_that_is_not_kept() -> None:
    simulator = wrong_states().simulator
    for kind in ("slab", "run"):
        assert simulator.state.scalars[0][f"aged_{kind}_bytes"] > 0
        kept = int(simulator.state.scalars[0][f"{kind}_budget_bytes"])
        simulator.state.scalars[0][f"{kind}_budget_bytes"] = int(simulator.state.scalars[0][f"aged_{kind}_bytes"]) - 1
        with pytest.raises(CheckFailed, match=f"aged_{kind}_bytes within the budget"):
            simulator.check()
        simulator.state.scalars[0][f"{kind}_budget_bytes"] = kept


def test_check_finds_a_wrong_run() -> None:
    simulator = wrong_states().simulator
    free = int(simulator.state.scalars[AGES["run"]]["oldest"])
    cached = int(simulator.state.heaps[0]["oldest"])
    assert free >= 0 <= cached
    for page, field, reason in (
        (free, "dirty", "dirty"),
        (free, "run", "run"),
        (free, "extent", "extent"),
        (free, "holds", "extent"),
        (free, "older", "older"),
        (cached, "older", "older"),
        (cached, "free", "live"),
    ):
        simulator.state.pages[page][field] += 1
        with pytest.raises(CheckFailed, match=reason):
            simulator.check()
        simulator.state.pages[page][field] -= 1
    simulator.check()


def test_check_finds_a_used_guard_slab_and_a_full_cache() -> None:
    simulator = wrong_states().simulator
    place = int(simulator.state.slabs[0]["place"])
    simulator.state.slabs[0]["place"] = 3  # the last of four
    with pytest.raises(CheckFailed, match="slabs in use that are not for blocks"):
        simulator.check()
    simulator.state.slabs[0]["place"] = place
    limit, simulator.state.run_cache_bytes = simulator.state.run_cache_bytes, 4096
    with pytest.raises(CheckFailed, match="run cache 0 within its bounds"):
        simulator.check()
    simulator.state.run_cache_bytes = limit
    simulator.plan = msgspec.structs.replace(simulator.plan, quarantine=2)
    with pytest.raises(CheckFailed, match="quarantined <= quarantine"):
        simulator.check()
