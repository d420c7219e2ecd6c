"""Size classes: the search against every choice, prices against the machine, the histogram against a recount."""

from collections import Counter
from itertools import combinations
from time import thread_time

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model.constants import first_bytes
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.search.size_classes import (
    PRICE_UNIT,
    STEP,
    UNREACHED,
    Candidates,
    Demand,
    Rules,
    best_count,
    block_price,
    block_sizes,
    candidates,
    fewest_classes,
    search,
)
from heapsmith.model.trace.reader import Chunk, Op


@st.composite
def small_searches(draw: st.DrawFn) -> Candidates:
    """Few candidates with any weights, any prices that never fall and any widths that never shrink."""
    steps = draw(st.integers(1, 9))
    weight = draw(st.lists(st.integers(0, 9), min_size=steps, max_size=steps))
    price = sorted(draw(st.lists(st.integers(1, 40), min_size=steps, max_size=steps)))
    reach = sorted(draw(st.lists(st.integers(1, steps), min_size=steps + 1, max_size=steps + 1)))
    return Candidates(
        sizes=np.arange(steps + 1, dtype=np.int64) * STEP,
        served=np.cumsum([0, *weight], dtype=np.int64),
        price=np.array([0, *price], np.int64),
        widest=np.array([min(steps, max(at + 1, far)) for at, far in enumerate(reach)], np.int64),
    )


def cost_of(given: Candidates, chosen: tuple[int, ...]) -> int | None:
    """What classes of these candidates cost, by the definition; None if they are not allowed."""
    cost, below = 0, 0
    for at in chosen:
        if at > given.widest[below]:
            return None
        cost += int(given.served[at] - given.served[below]) * int(given.price[at])
        below = at
    return cost


@settings(max_examples=100, deadline=None)
@given(small_searches())
def test_search_finds_the_best_of_all_choices(given: Candidates) -> None:
    steps = len(given.sizes) - 1
    found = search(given, steps + 1)
    assert search(given, steps + 1, plain=True).totals.tolist() == found.totals.tolist()
    for count in range(1, steps + 2):
        every = (cost_of(given, (*rest, steps)) for rest in combinations(range(1, steps), count - 1))
        best = min((cost for cost in every if cost is not None), default=UNREACHED)
        assert found.totals[count] == best
        if best < UNREACHED:
            chosen = tuple(size // STEP for size in block_sizes(found, count))
            assert len(chosen) == count
            assert cost_of(given, chosen) == best


@settings(max_examples=50, deadline=None)
@given(small_searches(), st.floats(0, 50))
def test_best_count_and_fewest(given: Candidates, class_cost: float) -> None:
    totals = search(given, 10).totals
    reached = {count: int(total) for count, total in enumerate(totals) if count and total < UNREACHED}
    assert min(reached) == fewest_classes(given)
    count = best_count(totals, class_cost)
    assert count is not None
    assert all(reached[count] + count * class_cost <= reached[other] + other * class_cost + 1e-9 for other in reached)


def test_best_count_when_none_is_reached() -> None:
    assert best_count(np.full(4, UNREACHED), 1.0) is None


@pytest.mark.parametrize("header_bytes", [0, 1, 8])
@pytest.mark.parametrize("slab_bytes", [4096, 16_384, 65_536])
def test_prices_never_fall(slab_bytes: int, header_bytes: int) -> None:
    prices = [
        block_price(stride, slab_bytes, header_bytes)
        for stride in range(8, slab_bytes - first_bytes(header_bytes) + 1, 8)
    ]
    assert prices == sorted(prices)


@pytest.mark.parametrize("classifier", ["slab_map", "header"])
@pytest.mark.parametrize("size", [16, 48, 1360, 5120, 10_928])
def test_price_is_what_the_machine_commits(classifier: str, size: int) -> None:
    kind = {"sizes": [size], "classifier": classifier, "slab_bytes": 16_384, "front": front_none.Params()}
    design = msgspec.structs.replace(load("default"), **kind)
    plan = make_plan(design)
    blocks = plan.classes[0].blocks
    simulator = Simulator(plan)
    sizes = [plan.small_limit] * blocks
    simulator.feed(Chunk.of([Op.MALLOC] * blocks, [0] * blocks, range(blocks), sizes, [0] * blocks, range(blocks)))
    committed = simulator.counters().totals["committed"]
    assert simulator.counters().totals["slabs"] == 1
    assert block_price(size, 16_384, plan.header_bytes) == PRICE_UNIT * committed // blocks


@pytest.mark.parametrize(("grain", "header_bytes"), [(16, 0), (16, 8), (8, 0)])
def test_no_size_loses_over_a_quarter_beyond_rounding(grain: int, header_bytes: int) -> None:
    weight = np.zeros(32_768 // grain + 1, np.int64)
    weight[[3, 40 // (grain // 8), 1000]] = 1000
    given = candidates(weight, grain, 65_536, header_bytes)
    sizes = block_sizes(search(given, fewest_classes(given)), fewest_classes(given))
    for request in range(0, 32_768 - header_bytes + 1):
        rounded = max(STEP, -(-(request + header_bytes) // STEP) * STEP)
        block = next(size for size in sizes if size >= request + header_bytes)
        assert block - rounded <= block / 4


def test_the_class_of_8_bytes_is_the_only_odd_multiple_of_8() -> None:
    weight = np.random.default_rng(3).integers(0, 1000, 4097)
    weight[[3, 5, 9, 21, 2049]] = 100_000_000
    given = candidates(weight, 8, 65_536, 0)
    assert given.sizes.tolist() == [0, 8, *range(16, 32_769, 16)]
    assert given.served[:5].tolist() == np.cumsum(weight)[[0, 1, 2, 4, 6]].tolist()
    assert given.widest[:5].tolist() == [2, 2, 3, 5, 6]  # up to 16, 16, 32, 64, 80
    rare = block_sizes(search(given, 64), 64)
    assert {32, 48, 80, 176} <= set(rare)
    assert 8 not in rare
    weight[1] = 100_000_000
    tiny = block_sizes(search(candidates(weight, 8, 65_536, 0), 64), 64)
    assert tiny[:2] == [8, 16]
    assert all(size % STEP == 0 for size in (*rare, *tiny[1:]))


def test_search_is_fast_enough_for_every_slab_size() -> None:
    weight = np.random.default_rng(1).integers(0, 1000, 4097)
    given = candidates(weight, 16, 65_536, 0)
    search(given, 64)
    seconds = []
    for _ in range(3):
        begin = thread_time()
        search(given, 64)
        seconds.append(thread_time() - begin)
    assert min(seconds) < 0.1  # 8 ms where it was written


def recount(
    chunk: Chunk, grain: int, header_bytes: int, largest: int
) -> tuple[Counter[int], Counter[int], Counter[int], int, int]:
    """(blocks by entry at the peak, the most ever, allocations, peak live bytes, most heaps), event by event."""
    most: Counter[int] = Counter()
    live: dict[int, tuple[int, int]] = {}
    allocations: Counter[int] = Counter()
    at_peak, peak, heaps, most_heaps = Counter[int](), 0, set[int](), 0
    for op, thread, block, size, align_log2, *_ in zip(*(column.tolist() for column in chunk), strict=True):
        if op == Op.THREAD_EXIT:
            heaps.discard(thread)
        elif op in (Op.FREE, Op.FREE_SIZED):
            del live[block]
        elif op != Op.THREAD_START:
            align = 1 << align_log2
            need = max(1, size + header_bytes)
            if align > grain:
                need = largest + 1 if header_bytes else -(-max(1, size) // align) * align
            entry = min(-(-need // grain), largest // grain + 1)
            if op != Op.REALLOC or live[block][0] != entry:
                allocations[entry] += 1
            live[block] = (entry, size)
            if entry <= largest // grain:
                heaps.add(thread)
                most_heaps = max(most_heaps, len(heaps))
        most |= Counter(entry for entry, _ in live.values())
        total = sum(size for _, size in live.values())
        if total > peak:
            peak, at_peak = total, Counter(entry for entry, _ in live.values())
    return at_peak, most, allocations, peak, most_heaps


@pytest.mark.parametrize(("grain", "header_bytes"), [(16, 0), (16, 8), (8, 0)])
def test_histogram_is_a_recount(grain: int, header_bytes: int) -> None:
    chunk = random_chunk(2000, seed=5, threads=4, max_size=6000, cross_thread=0.3, live=300, aligned=0.2, realloc=0.2)
    classifier = "header" if header_bytes else "slab_map"
    demand = Demand(Rules.of(Design("counted", [4096], grain=grain, classifier=classifier)), 4096, 4, 2000)
    for first in range(0, 2000, 700):
        demand.feed(chunk.part(first, first + 700))
    histogram = demand.histogram()
    at_peak, most, allocations, peak, heaps = recount(chunk, grain, header_bytes, 4096)
    assert dict(at_peak) == {int(entry): int(histogram.live[entry]) for entry in histogram.live.nonzero()[0]}
    assert dict(most) == {int(entry): int(histogram.most[entry]) for entry in histogram.most.nonzero()[0]}
    assert dict(allocations) == {
        int(entry): int(histogram.allocations[entry]) for entry in histogram.allocations.nonzero()[0]
    }
    assert (histogram.peak_live_bytes, int(histogram.asked.sum()), histogram.heaps) == (peak, peak, heaps)
