"""Capacities: every capacity at once against one at a time and against the machine; the budget against all choices."""

from itertools import pairwise, product
from types import ModuleType

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model import policy
from heapsmith.model.design.choices import Front, derive_front
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.search.capacities import LEVELS, CapacityPass, Curve, Shape
from heapsmith.model.search.front_budget import LEAST_ROOM, Option, allot, lower_hull, options, resized
from heapsmith.model.trace.reader import Chunk, Op

THREADS = 5
KINDS: list[Front] = [
    front_array_stack.Params(capacity=128, max_bytes=32_768),
    front_fifo_ring.Params(capacity=64, max_bytes=1_000_000),
    front_linked_list.Params(capacity=100),
    front_two_level.Params(capacity=16, list_capacity=100),
]


def made(**fields: object) -> Design:
    """The default design with these fields, one store, and stacks that are open from the start."""
    design = msgspec.structs.replace(load("default"), shards=None, opening=None, **fields)
    assert design.why_not_valid() is None
    return design


def busy(events: int, seed: int = 11, cross_thread: float = 0.3, live: int = 1500) -> Chunk:
    """Events of threads that come and go, with every operation."""
    return random_chunk(
        events, seed, THREADS, max_size=40_000, cross_thread=cross_thread, live=live, aligned=0.1, realloc=0.2
    )


def followed(plan: Plan, chunk: Chunk, *, plain: bool = False) -> list[Curve]:
    """The curves of a chunk, fed in two parts."""
    one = CapacityPass(Shape.of(plan), THREADS, THREADS, len(chunk.op))
    middle = len(chunk.op) // 2
    one.feed(chunk.part(0, middle), plain=plain)
    one.feed(chunk.part(middle, len(chunk.op)), plain=plain)
    return one.curves()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"classifier": "header"},
        {"classifier": "class_region", "empties": "dedicated"},
        {"grain": 8, "sizes": [8, 16, 32, 64, 128, 1024, 4096]},
    ],
    ids=lambda fields: str(fields.get("classifier", fields.get("grain", "default"))),
)
@pytest.mark.parametrize("kind", [front_array_stack, front_fifo_ring, front_linked_list], ids=lambda kind: kind.NAME)
def test_each_capacity_does_what_the_machine_does(fields: dict[str, object], kind: ModuleType) -> None:
    chunk = busy(3000)
    curves = followed(make_plan(made(**fields)), chunk)
    for capacity in (1, 2, 8, 64):
        front = kind.Params(capacity=capacity, max_bytes=1 << 30, refill=1, flush=1)
        simulator = Simulator(make_plan(made(**fields, front=front)))
        simulator.feed(chunk)
        of = simulator.counters().classes
        assert of["refill"] == [int(curve.misses[capacity]) for curve in curves]
        assert of["flush"] == [int(curve.overflows[capacity]) for curve in curves]
        assert sum(of["refill"]) > 0
        assert capacity > 2 or sum(of["flush"]) > 0


@pytest.mark.parametrize("classifier", ["slab_map", "header"])
def test_blocks_that_shrink_to_about_half_move_as_in_the_machine(classifier: str) -> None:
    """In place down to half of what a block holds, and not one byte below (docs/machine.md, 'realloc')."""
    front = front_array_stack.Params(capacity=1, refill=1, flush=1)
    plan = make_plan(made(classifier=classifier, front=front))
    events: list[tuple[int, int, int]] = []
    for row in plan.classes:
        for kept in (row.usable // 2 - 1, row.usable // 2, row.usable // 2 + 1):
            block = len(events)
            events += [(Op.MALLOC, block, row.usable), (Op.REALLOC, block, max(1, kept))]
    ops, blocks, sizes = zip(*events, strict=True)
    zeros = [0] * len(events)
    chunk = Chunk.of(ops, zeros, blocks, sizes, zeros, range(len(events)))
    simulator = Simulator(plan)
    simulator.feed(chunk)
    totals = simulator.counters().totals
    assert totals["realloc_moved"] >= plan.class_count / 2
    assert totals["realloc_in_place"] >= plan.class_count
    assert simulator.counters().classes["refill"] == [int(curve.misses[1]) for curve in followed(plan, chunk)]


def held_one_at_a_time(story: list[tuple[int, int]], capacity: int) -> tuple[int, int]:
    """(misses, overflows) of one front: story has (1, times) for frees and (0, times) for allocations."""
    held = misses = overflows = 0
    for is_free, times in story:
        for _ in range(times):
            if is_free and held < capacity:
                held += 1
            elif is_free:
                overflows += 1
            elif held:
                held -= 1
            else:
                misses += 1
    return misses, overflows


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 700)), min_size=1, max_size=8))
def test_large_capacities_one_at_a_time(story: list[tuple[int, int]]) -> None:
    births = sum(times for is_free, times in story if is_free)
    events = [(0, block) for block in range(births)]  # what the story frees is born first
    live, dead = list(range(births)), list[int]()
    for is_free, times in story:
        for _ in range(times):
            block = live.pop() if is_free else dead.pop() if dead else births
            births += not is_free and block == births
            (dead if is_free else live).append(block)
            events.append((4 if is_free else 0, block))
    zeros, blocks = [0] * len(events), [block for _, block in events]
    sizes = [0 if op else 16 for op, _ in events]
    chunk = Chunk.of([op for op, _ in events], zeros, blocks, sizes, zeros, range(len(events)))
    one = CapacityPass(Shape.of(make_plan(made())), 1, 1, len(events))
    one.feed(chunk)
    curve = one.curves()[0]
    born_first = sum(times for is_free, times in story if is_free)
    for capacity in (1, 31, 32, 33, 63, 64, 65, 300, 511, LEVELS):
        misses, overflows = held_one_at_a_time(story, capacity)
        assert (curve.misses[capacity], curve.overflows[capacity]) == (misses + born_first, overflows)


def test_plain_and_compiled_agree() -> None:
    chunk = busy(1500)
    for remote in ("local_cache", "owner_list"):
        plan = make_plan(made(remote=remote))
        for plain, fast in zip(followed(plan, chunk, plain=True), followed(plan, chunk), strict=True):
            for one, other in zip(plain, fast, strict=True):
                assert np.array_equal(one, other)


def test_owner_list_without_foreign_frees_is_the_local_cache() -> None:
    chunk = busy(3000, cross_thread=0.0)
    local, owned = (followed(make_plan(made(remote=remote)), chunk) for remote in ("local_cache", "owner_list"))
    assert [curve.misses.tolist() for curve in local] == [curve.misses.tolist() for curve in owned]


@pytest.mark.parametrize("front", KINDS, ids=lambda front: str(front.__struct_config__.tag))
def test_idle_blocks_stay_below_the_bound(front: Front) -> None:
    """Neither capacity nor what a boundless front would hold is ever exceeded, batches included."""
    chunk = busy(3000, live=400)
    plan = make_plan(made(sizes=[64, 256, 1024, 4096, 32_768], front=front))
    simulator = Simulator(plan)
    most = np.zeros((THREADS, plan.class_count), np.int64)
    for event in range(len(chunk.op)):
        simulator.feed(chunk.part(event, event + 1))
        fronts = simulator.state.fronts
        held = (fronts["held"] + fronts["listed"]).reshape(-1, plan.class_count)[:THREADS]
        most[: len(held)] = np.maximum(most[: len(held)], held)
    assert most.any()
    for row, curve in zip(plan.classes, followed(plan, chunk), strict=True):
        room = row.front.capacity + row.front.list_capacity
        assert most[:, row.index].sum() <= np.minimum(room, curve.most + row.front.refill - 1).sum()


@pytest.mark.parametrize("front", KINDS, ids=lambda front: str(front.__struct_config__.tag))
@pytest.mark.parametrize("stride", [16, 1360, 32_768])
def test_resized_states_what_the_policy_derives(front: Front, stride: int) -> None:
    for blocks in (1, 2, 3, 17, 100, 512):
        new = resized(front, blocks, stride)
        assert type(new) is type(front)
        assert made(sizes=[stride], front=new).why_not_valid() is None
        plan = derive_front(new, stride)
        assert plan.capacity + plan.list_capacity <= max(blocks, 2 if plan.list_capacity else 1)
        assert all(
            getattr(plan, name) == getattr(new, name)
            for name in ("capacity", "list_capacity", "refill", "flush", "spill", "promote")
            if hasattr(new, name)
        )
        assert new.max_bytes == front.max_bytes  # type: ignore[union-attr]
    assert resized(front, 0, stride) == front_none.Params()


def test_a_base_without_fronts_gets_none() -> None:
    plan = make_plan(made(front=front_none.Params()))
    assert allot(followed(plan, busy(1000)), plan, 1 << 30) == {}


def curve_of(numbers: list[int], heaps: list[int]) -> Curve:
    """Misses and overflows that fall by these numbers, in the first few capacities."""
    falling = np.zeros(LEVELS + 1, np.int64)
    falling[: len(numbers)] = np.cumsum(numbers[::-1])[::-1]
    return Curve(falling, falling, np.array(heaps, np.int64))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 30), max_size=8), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
        min_size=3,
        max_size=3,
    ),
    st.integers(0, 3000),
)
def test_budget_is_spent_within_one_step_of_the_best(
    classes: list[tuple[list[int], list[int]]], budget_bytes: int
) -> None:
    design = made(sizes=[16, 64, 256], front=front_array_stack.Params(max_bytes=2048))
    plan = make_plan(design)
    curves = [curve_of(*of) for of in classes]
    shares = allot(curves, plan, budget_bytes)
    assert set(shares) == {0, 1, 2}
    assert sum(share.chosen.bytes for share in shares.values()) <= budget_bytes
    slow = sum(share.chosen.slow for share in shares.values())
    few = [[size for size in share.options if size.blocks <= 8 or size.blocks % 16 == 0] for share in shares.values()]
    fitting = (choice for choice in product(*few) if sum(size.bytes for size in choice) <= budget_bytes)
    best = min(sum(size.slow for size in choice) for choice in fitting)
    hulls = [lower_hull(share.options) for share in shares.values()]
    steps = [before.slow - after.slow for hull in hulls for before, after in pairwise(hull)]
    assert slow <= best + max(steps, default=0) + 1e-6
    for cls, share in shares.items():
        front, blocks = resized(design.front, share.chosen.blocks, plan.classes[cls].stride), share.chosen.blocks
        if 0 < blocks < LEAST_ROOM and not curves[cls].overflows[blocks]:
            roomy = resized(design.front, LEAST_ROOM, plan.classes[cls].stride)
            front = msgspec.structs.replace(roomy, refill=front.refill)  # type: ignore[attr-defined]
        assert share.front == front


def test_a_front_that_never_overflows_keeps_room_for_another_input() -> None:
    """Six blocks of 64 are all that the trace frees at once: room for more costs nothing, and refills stay small."""
    plan = make_plan(made())
    cls = plan.size_class[64 // plan.grain]
    curves = [curve_of([], [1]) for _ in plan.classes]
    misses = np.array([max(0, 600 - 100 * held) for held in range(LEVELS + 1)])
    curves[cls] = Curve(misses, misses, np.array([6], np.int64))
    share = allot(curves, plan, 1 << 20)[cls]
    tight = resized(plan.design.front_of(64), 6, 64)
    assert share.chosen.blocks == 6
    assert getattr(share.front, "capacity") == LEAST_ROOM > tight.capacity  # type: ignore[attr-defined] # noqa: B009
    assert share.front.refill == tight.refill  # type: ignore[attr-defined]
    overflowing = Curve(misses, misses + 50, np.array([6], np.int64))
    assert allot([overflowing if one is curves[cls] else one for one in curves], plan, 200)[cls].front != share.front


def test_boundless_budget_leaves_nothing_to_save() -> None:
    plan = make_plan(made())
    shares = allot(followed(plan, busy(3000)), plan, 1 << 40)
    assert shares
    for share in shares.values():
        assert share.chosen.slow == min(size.slow for size in share.options)


def test_no_budget_is_no_front_where_blocks_would_idle() -> None:
    plan = make_plan(made())
    shares = allot(followed(plan, busy(3000)), plan, 0)
    assert {type(share.front) for share in shares.values()} >= {front_none.Params}
    assert all(share.chosen.bytes == 0 for share in shares.values())


def test_options_price_batches() -> None:
    curve = curve_of([100] * 9, [600])
    by_blocks = {size.blocks: size for size in options(front_array_stack.Params(), 512, curve)}
    assert by_blocks[0] == Option(0, 0, 1800.0)
    assert by_blocks[1] == Option(1, 512, 1600.0)
    assert by_blocks[4] == Option(4, 4 * 512, 500 / 2 + 500 / 2)
    assert by_blocks[128] == Option(128, 128 * 512, 0.0)
    assert max(by_blocks) == 128  # max_bytes = 65536


def test_lower_hull_prefers_a_front_that_costs_nothing() -> None:
    free = [Option(0, 0, 10.0), Option(1, 0, 10.0), Option(2, 0, 10.0), Option(3, 100, 10.0)]
    assert lower_hull(free) == [Option(1, 0, 10.0)]
    bent = [Option(0, 0, 10.0), Option(1, 10, 9.0), Option(2, 20, 2.0), Option(3, 30, 1.0), Option(4, 40, 1.0)]
    assert lower_hull(bent) == [bent[0], bent[2], bent[3]]


@pytest.mark.parametrize("row", policy.choosable("front"), ids=lambda row: row.NAME)
def test_each_kind_of_front_has_a_price_of_its_sizes(row: ModuleType) -> None:
    """Also those without batches, whose frees go to the store one by one."""
    front = row.Params() if row.NAME != "levels" else load("levels").class_front[0].front
    found = options(front, 64, curve_of([100] * 9, [600]))
    assert np.isfinite([size.slow for size in found]).all()
    assert [size.bytes for size in lower_hull(found)] == sorted({size.bytes for size in lower_hull(found)})
