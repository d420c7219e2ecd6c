"""What waits on its way to its owner is bounded by what the program held: docs/machine-rooms.md, 'what waits'."""

import json
import random
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest
from covering import soon
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preloaded import library, program, run

from heapsmith.model.design.choices import Front
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.layout import CLASS_MASK
from heapsmith.model.policy.front import array_stack, hot_over_list, linked_list, none, owned_slab, two_level
from heapsmith.model.policy.remote import owner_batch, owner_list, owner_mutex, owner_queue
from heapsmith.model.trace.reader import Op

SIZES = [16, 32, 64, 128, 256]
STACK = array_stack.Params(capacity=4, refill=2)
FRONTS: list[Front] = [
    STACK,
    none.Params(),
    linked_list.Params(capacity=4, refill=2, flush=2),
    two_level.Params(capacity=2, list_capacity=4, refill=1, spill=2, promote=2),
    hot_over_list.Params(capacity=1, list_capacity=4, refill=2, flush=2),
    owned_slab.Params(),
]
REMOTES: list[Any] = [
    "local_cache",
    "owner_list",
    "owner_mutex",
    "owner_queue",
    owner_list.Params(drain_interval=2),
    owner_mutex.Params(drain_interval=2),
    owner_queue.Params(drain_interval=2),
    owner_list.Params(drain_interval=3, drain_counts="frees"),
    owner_queue.Params(drain_interval=2, drain_most=1, drain_counts="frees"),
    owner_queue.Params(drain_most=1),
    owner_queue.Params(drain_most=3),
    owner_queue.Params(drain_most=2, drain_interval=1),
    owner_batch.Params(batch_bytes=64),
    owner_batch.Params(batch_bytes=1024),
]


def design_of(remote: Any, front: Front) -> Design:
    geometry: dict[str, Any] = {"slab_bytes": 4096, "superslab_bytes": 16384, "huge_bytes": 65536}
    return Design("case", SIZES, front=front, remote=remote, freed_blocks="list", **geometry)


def named(design: Design) -> str:
    return f"{design.front.__struct_config__.tag}-{design.remote}"


CASES = [
    design
    for front in FRONTS
    for remote in REMOTES
    if (design := design_of(remote, front)).why_not_valid() is None and (front == STACK or remote != "local_cache")
]


class Watched:
    """A simulator, the blocks that the program holds, and by heap and class how many it held at most."""

    def __init__(self, design: Design) -> None:
        self.plan = make_plan(design)
        self.simulator = Simulator(self.plan, compiled=False)
        self.spare = list(range(9999, -1, -1))
        self.of: dict[int, tuple[int, int]] = {}
        self.held: Counter[tuple[int, int]] = Counter()
        self.most: Counter[tuple[int, int]] = Counter()

    def malloc(self, thread: int, size: int) -> int:
        block, state = self.spare.pop(), self.simulator.state
        address = self.simulator.step(Op.MALLOC, thread, block, size)
        key = int(state.slabs[address // self.plan.slab_bytes]["owner"]), SIZES.index(size)
        self.of[block] = key
        self.held[key] += 1
        self.most[key] = max(self.most[key], self.held[key])
        return block

    def free(self, thread: int, block: int) -> None:
        self.simulator.step(Op.FREE, thread, block)
        self.held[self.of.pop(block)] -= 1
        self.spare.append(block)

    def exit(self, thread: int) -> None:
        self.simulator.step(Op.THREAD_EXIT, thread, 0)

    def waiting(self) -> Counter[tuple[int, int]]:
        """By heap and class, the blocks that other threads freed and that did not come back yet."""
        state, found = self.simulator.state, Counter[tuple[int, int]]()
        for heap in range(state.heaps_made):
            for owner, first in self.plan.design.row("remote").chains(state, heap):
                node = first
                while node >= 0:
                    found[owner, int(state.nodes[node]["block"]) & CLASS_MASK] += 1
                    node = int(state.nodes[node]["next"])
        return found

    def bound(self, heap: int, cls: int) -> int:
        """What the page says: held at once, and a front's blocks; of batches, what others keep back."""
        row = self.plan.classes[cls]
        front = row.front
        level = row.blocks if front.kind == owned_slab.NAME else front.capacity + front.list_capacity
        others = self.simulator.state.heaps_made - 1
        return self.most[heap, cls] + max(level, front.refill) + others * max(0, row.numbers.get("batch", 1) - 1)

    def look(self) -> None:
        for (heap, cls), blocks in self.waiting().items():
            assert blocks <= self.bound(heap, cls), f"{blocks} blocks of class {cls} wait for heap {heap}"


def pass_on(watched: Watched, seed: int, in_flight: int, makers: int, ends: float, events: int) -> None:
    """Makers pass blocks of random sizes on, which the next thread frees in order; some makers end."""
    draw = random.Random(seed)
    favourites = draw.choices(range(len(SIZES)), k=draw.choice([1, 2, 8]))
    flying: deque[int] = deque()
    for _ in range(events):
        maker = draw.randrange(makers)
        size = SIZES[draw.choice(favourites)]
        flying.append(watched.malloc(maker, size))
        if draw.random() < 0.2:
            watched.free(maker, watched.malloc(maker, size))
        if len(flying) > in_flight:
            burst = draw.choice([1, 1, 1, in_flight])
            for _ in range(burst):
                watched.free(makers, flying.popleft())
        if draw.random() < ends:
            watched.exit(maker)
        watched.look()


@pytest.mark.parametrize("design", soon(CASES, CASES[:6], CASES[:12]), ids=named)
@settings(max_examples=3, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 1 << 30),
    in_flight=st.sampled_from([7, 1, 24]),
    makers=st.integers(1, 3),
    ends=st.sampled_from([0, 0.02]),
)
def test_what_waits_is_no_more_than_the_page_says(
    design: Design, seed: int, in_flight: int, makers: int, ends: float
) -> None:
    pass_on(Watched(design), seed, in_flight, makers, ends, 200)


def test_what_nobody_asks_for_comes_back_as_others_are_taken() -> None:
    """With short drains a class waits for its turn: `drain_most` blocks for each refill of another class."""
    watched = Watched(design_of(owner_queue.Params(drain_most=3), STACK))
    for block in [watched.malloc(0, SIZES[2]) for _ in range(60)]:
        watched.free(1, block)
    assert watched.waiting()[0, 2] == 60
    for _ in range(2 * (len(SIZES) + 20)):
        watched.malloc(0, SIZES[0])
    assert watched.waiting()[0, 2] == 0


@pytest.mark.parametrize("remote", REMOTES[1:-2], ids=str)
def test_nothing_waits_for_a_heap_that_a_thread_gave_up_or_adopted(remote: Any) -> None:
    """But for what others free between the two."""
    watched = Watched(design_of(remote, STACK))
    blocks = [watched.malloc(0, size) for size in SIZES for _ in range(10)]
    for block in blocks[::2]:
        watched.free(1, block)
    watched.exit(0)
    assert not watched.waiting()
    for block in blocks[1::2]:
        watched.free(1, block)
    assert sum(watched.waiting().values()) == len(blocks) // 2
    watched.malloc(2, SIZES[0])
    assert not watched.waiting()


OWNING = [
    "owner",
    "owner-drains",
    "owner-mutex",
    "owner-queue",
    "owner-batch",
    "owner-lean",
    "owned-slab",
    "own-superslabs",
]
WAYS = {"mixed": (300_000, 1024), "ends": (100_000, 1024), "both": (200_000, 1024), "phases": (70_000, 50_000)}
MAKERS, TAKERS = 3, 2


def counted(design: str, way: str, folder: Path, *, checked: bool) -> dict[str, Any]:
    """Run the program that passes blocks on; return the library's counters."""
    report = folder / "stats.json"
    command: list[str | Path | int] = [program("pass_on"), way, *WAYS[way], 1]
    run(command, library(design, checked=checked), environment={"HEAPSMITH": f"stats={report}"}, timeout=300)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_prepared_heap_suffices_however_many_blocks_are_passed_on(way: str, tmp_path: Path) -> None:
    """What is live at once fits a hundredth of what passes: no heap of `steady` maps a superslab."""
    counters = counted("steady", way, tmp_path, checked=False)["counters"]
    assert (counters["superslabs_late"], counters["run_grow"], counters["huge_map"]) == (0, 0, 0)


CASES_IN_C = [("steady", "mixed"), ("owner-batch", "mixed"), ("owner-queue", "ends")]
CASES_IN_C += [(design, way) for design in ("steady", *OWNING) for way in WAYS if (design, way) not in CASES_IN_C]


@pytest.mark.thorough
@pytest.mark.parametrize("case", soon(CASES_IN_C, CASES_IN_C[1:2], CASES_IN_C[:3]), ids="-".join)
def test_what_waits_at_the_end_is_bounded_too(case: tuple[str, str], tmp_path: Path) -> None:
    """The program's blocks in flight are the most that it holds of a class."""
    design, way = case
    plan = make_plan(load(design))
    for row, counts in zip(plan.classes, counted(design, way, tmp_path, checked=True)["classes"], strict=True):
        level = row.blocks if row.front.kind == owned_slab.NAME else row.front.capacity + row.front.list_capacity
        of_a_pair = max(0, row.numbers.get("batch", 1) - 1)
        most = WAYS[way][1] + TAKERS + MAKERS * max(level, row.front.refill) + MAKERS * TAKERS * of_a_pair
        assert counts["remote"] - counts["drained"] <= most, f"of {row.usable} bytes"
