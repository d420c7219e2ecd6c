"""Lives of a library and its model under a design: the same operations on both, all that can be compared after each."""

import tempfile
from pathlib import Path

import numpy as np
from blocks import Blocks
from covering import not_learned
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from loaded import Loaded, RealThread, library_to_load
from numpy.typing import NDArray

from heapsmith.codegen.difference import BYTES, LOCK_NAMES, byte_row, counter_names, counter_row, lock_row, place
from heapsmith.model.constants import NS_PER_MS
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import ASSUMED_PROCESSORS, Simulator
from heapsmith.model.memory.numa_nodes import write_nodes
from heapsmith.model.trace.reader import Op

THREAD = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3])
COUNT = st.integers(1, 20)
WHICH = st.integers(0, 1 << 16)
HANDED, RUNS = 72, 24
ALLOCATING = [Op.MALLOC, Op.CALLOC, Op.ALIGNED, Op.REALLOC]
LARGEST, BEYOND = (1 << 63) - 1, st.integers(1, 1 << 63)
"""PTRDIFF_MAX, and what a request may have more."""
NODES = ("0,2", "1,3")
"""The processors of each node, for designs whose shards belong to nodes."""
MOST_TO_FILL = 100
"""Blocks of the largest class without a front that each life of a design makes to have its superslabs unmapped."""


def interesting_sizes(plan: Plan) -> st.SearchStrategy[int]:
    """Requests at the classes' edges, the pages' and the huge limit's, and between; few distinct ones are likely."""
    edges = {row.usable + by for row in plan.classes for by in (-1, 0, 1)} | {plan.live_map, 1}
    pages = {plan.page_bytes * count + by for count in (1, 2, 3, 5) for by in (0, 1)}
    huge = {plan.huge_bytes + by for by in (-4096, 0, 1, 8192)}
    huge |= {0} if plan.live_map else set()
    return (
        st.sampled_from([row.usable for row in plan.classes])
        | st.sampled_from(sorted(edges))
        | st.sampled_from(sorted(pages | huge))
        | st.integers(plan.live_map, plan.small_limit)
    )


class Conformance(RuleBasedStateMachine):
    """Steps of several threads on one library and one model. `prepare` makes one for a design."""

    plan: Plan
    library: Loaded
    names: list[str]
    sizes: st.SearchStrategy[int]
    seen: NDArray[np.int64]

    def __init__(self) -> None:
        super().__init__()
        self.simulator = Simulator(self.plan, compiled=False, nodes=NODES)
        self.threads: dict[int, RealThread] = {}
        self.address: dict[int, int] = {}
        self.blocks = Blocks(self.library, self.plan.grain)
        self.dead: list[int] = []
        self.unused = 0
        self.ms = 0

    def teardown(self) -> None:
        self.seen += self.library.counters()
        for thread in self.threads.values():
            thread.join()
        self.library.reset()

    def step(self, op: Op, thread: int, block: int, size: int = 0, align_log2: int = 0) -> None:
        """One operation on both sides, then everything that can be compared."""
        library = self.library
        before = self.address.get(block, 0)
        old = self.blocks.died(before) if before and op in (Op.FREE, Op.FREE_SIZED, Op.REALLOC) else None
        after = self.perform(op, thread, before, size, align_log2)
        if after:
            if old:
                self.blocks.kept(after, old, size)
            self.blocks.born(after, size, 1 << align_log2)
        elif old and op == Op.REALLOC and size > 0:
            self.blocks.born(before, old.asked)  # a realloc that fails leaves the block
        if op == Op.THREAD_EXIT:
            self.threads.pop(thread).join()
        expected = self.simulator.step(op, thread, block, size, align_log2, self.ms * NS_PER_MS)
        library.background(self.simulator.state.events)
        got = library.locate(after) if after else -1
        assert got == expected, f"{place(self.plan, expected, size)} expected, got {place(self.plan, got, size)}"
        if after or op in (Op.FREE, Op.FREE_SIZED) or (op == Op.REALLOC and size == 0):
            self.address[block] = after
        self.compare_counters()

    def perform(self, op: Op, thread: int, block: int, size: int, align_log2: int) -> int:
        """One operation of the library on the block at an address, by a real thread."""
        if thread not in self.threads:
            self.threads[thread] = RealThread()
        self.library.clock(self.ms)
        self.library.processor(thread % ASSUMED_PROCESSORS)
        return self.threads[thread].do(lambda: self.library.perform(op, block, size, align_log2))

    def compare_counters(self) -> None:
        found, names = self.simulator.counters(), [*self.names, *LOCK_NAMES]
        expected = np.concatenate((counter_row(found), lock_row(found)))
        got = np.concatenate((self.library.counters(), self.library.locks()))
        differing = np.flatnonzero(expected != got)
        assert not len(differing), ", ".join(f"{names[i]}: {expected[i]} expected, got {got[i]}" for i in differing)

    def compare_bytes(self) -> None:
        """The library's invariants, and what it says of its bytes held against the model's ledger."""
        self.library.check()
        said = self.library.mallinfo2()
        got = [said["uordblks"] + said["hblkhd"], said["fsmblks"], said["arena"] + said["hblkhd"], said["keepcost"]]
        assert dict(zip(BYTES, byte_row(self.simulator).tolist(), strict=True)) == dict(zip(BYTES, got, strict=True))

    def name(self) -> int:
        if self.dead:
            return self.dead.pop()
        self.unused += 1
        return self.unused - 1

    def birth(self, op: Op, thread: int, size: int, align_log2: int = 0) -> int:
        block = self.name()
        self.address[block] = 0
        self.step(op, thread, block, size, align_log2)
        return block

    def any_block(self, which: int) -> int:
        return sorted(self.address)[which % len(self.address)]

    def death(self, op: Op, thread: int, block: int, size: int = 0) -> None:
        self.step(op, thread, block, size)
        del self.address[block]
        self.dead.append(block)

    @initialize(palette=st.lists(st.integers(0, 1 << 16), min_size=1, max_size=3))
    def choose_classes(self, palette: list[int]) -> None:
        """Most requests of one life are of a few classes, so that those see everything; one has two levels.

        What a free of a class without a front counts, each life counts; so is a release by the clock.
        """
        usual = [self.plan.classes[index % self.plan.class_count] for index in palette]
        deep = [row for row in self.plan.classes if row.front.slots_below] or self.plan.classes
        self.usual = [row.usable for row in (*usual, deep[palette[0] % len(deep)])]
        self.birth(Op.MALLOC, 3, self.usual[0])
        self.step(Op.THREAD_EXIT, 3, 0)
        self.birth(Op.MALLOC, 2, self.usual[0])  # in the heap that the other left
        for block in [self.birth(Op.MALLOC, 2, self.usual[-1]) for _ in range(24)]:
            self.death(Op.FREE, 2, block)  # down to level 1
        for _ in range(12):
            self.birth(Op.MALLOC, 2, self.usual[-1])
        bare = next((row for row in self.plan.classes if row.front.kind == "none"), self.plan.classes[0])
        for block in [self.birth(Op.MALLOC, 2, bare.usable) for _ in range(12)]:
            self.death(Op.FREE, 2, block)  # to the store, beyond any quarantine
        self.fill_superslabs()
        self.hand_to_others()
        self.resize()
        if self.plan.numbers.get("release_delay_in_milliseconds"):
            runs = self.plan.design.run_cache_bytes // self.plan.huge_bytes + 2
            for block in [self.birth(Op.MALLOC, 2, self.plan.huge_bytes) for _ in range(runs)]:
                self.death(Op.FREE, 2, block)  # more than the run cache holds
            self.ms += self.plan.numbers["release_delay"]
            self.birth(Op.MALLOC, 2, bare.usable)  # it looks at the run that is due

    def fill_superslabs(self) -> None:
        """Where a few blocks fill more superslabs than stay when they are empty: some go, and come back."""
        row = max(
            (row for row in self.plan.classes if row.front.kind == "none"), key=lambda row: row.usable, default=None
        )
        if row is None or self.plan.design.unmapping is None:
            return
        count = row.blocks * self.plan.slabs_per_superslab * (self.plan.numbers["unmap_from"] + 1)
        if count <= MOST_TO_FILL:
            for block in [self.birth(Op.MALLOC, 2, row.usable) for _ in range(count)]:
                self.death(Op.FREE, 2, block)
            for _ in range(count):
                self.birth(Op.MALLOC, 2, row.usable)

    def hand_to_others(self) -> None:
        """More blocks than a front or an outbox holds: their thread frees them, or another; then they come back."""
        for thread in (2, 1):
            for block in [self.birth(Op.MALLOC, 2, self.usual[0]) for _ in range(HANDED)]:
                self.death(Op.FREE, thread, block)
        for _ in range(HANDED):
            self.birth(Op.MALLOC, 2, self.usual[0])

    def resize(self) -> None:
        """Blocks of each kind stay or move, runs come back and grow into what is free, huge blocks wait and move."""
        page, huge, limit = self.plan.page_bytes, self.plan.huge_bytes, self.plan.small_limit
        block = self.birth(Op.MALLOC, 2, 1)
        for size in (2, self.usual[-1], self.plan.live_map + 1, limit):
            self.step(Op.REALLOC, 2, block, size)
        if limit < huge:
            runs = [self.birth(Op.MALLOC, 2, limit + 1) for _ in range(RUNS)]
            for block in runs[1:]:
                self.death(Op.FREE, 2, block)
            for pages in (2, 3, 1):
                self.step(Op.REALLOC, 2, runs[0], min(limit + pages * page, huge))
            for _ in range(RUNS):
                self.birth(Op.MALLOC, 2, limit + 1)
        blocks = [self.birth(Op.MALLOC, 2, huge + 1) for _ in range(5)]
        for block in blocks[1:]:
            self.death(Op.FREE, 2, block)  # more than wait at once
        for size in (huge + page + 1, huge + 9 * page, huge + 2 * page):
            self.step(Op.REALLOC, 2, blocks[0], size)
        self.death(Op.FREE, 2, blocks[0])
        self.compare_bytes()

    def draw_size(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(self.usual) | st.sampled_from(self.usual) | self.sizes)

    @rule(data=st.data(), thread=THREAD, count=COUNT)
    def malloc(self, data: st.DataObject, thread: int, count: int) -> None:
        size = self.draw_size(data)
        for _ in range(count):
            self.birth(Op.MALLOC, thread, size)
        self.library.check()

    @rule(data=st.data(), thread=THREAD)
    def calloc(self, data: st.DataObject, thread: int) -> None:
        self.birth(Op.CALLOC, thread, self.draw_size(data))

    @rule(data=st.data(), thread=THREAD, align_log2=st.integers(0, 14))
    def aligned(self, data: st.DataObject, thread: int, align_log2: int) -> None:
        self.birth(Op.ALIGNED, thread, self.draw_size(data), align_log2)

    @precondition(lambda self: self.address)
    @rule(data=st.data(), thread=THREAD, which=WHICH)
    def realloc(self, data: st.DataObject, thread: int, which: int) -> None:
        self.step(Op.REALLOC, thread, self.any_block(which), max(1, self.draw_size(data)))

    @rule(data=st.data(), thread=THREAD)
    def large(self, data: st.DataObject, thread: int) -> None:
        """A block that moves among runs and huge blocks."""
        page, huge = self.plan.page_bytes, self.plan.huge_bytes
        pages = data.draw(st.integers(self.plan.small_limit // page + 1, huge // page - 1))
        block = self.birth(Op.CALLOC, thread, pages * page)
        self.step(Op.REALLOC, thread, block, (pages + 1) * page)
        between = data.draw(st.lists(st.integers(1, huge) | st.sampled_from([huge + 1, huge + 30_000]), max_size=4))
        for size in (*between, huge + 1, huge + 30_000):
            self.step(Op.REALLOC, thread, block, size)
        if data.draw(st.booleans()):
            self.death(Op.FREE, thread, block)
        self.compare_bytes()

    @precondition(lambda self: self.address)
    @rule(op=st.sampled_from(ALLOCATING), thread=THREAD, which=WHICH, more=BEYOND, align_log2=st.integers(0, 14))
    def refuse(self, op: Op, thread: int, which: int, more: int, align_log2: int) -> None:
        """A request beyond PTRDIFF_MAX, by a thread that has a heap, changes nothing."""
        self.birth(Op.MALLOC, thread, self.usual[0])
        block = self.address[self.any_block(which)] if op == Op.REALLOC else 0
        assert self.perform(op, thread, block, LARGEST + more, align_log2) == 0
        self.compare_counters()

    @rule(thread=THREAD, pages=st.integers(0, 2), count=st.integers(1, 10))
    def runs(self, thread: int, pages: int, count: int) -> None:
        """Runs of one length come, go and come back: through the thread's run cache, if there is one."""
        self.birth(Op.MALLOC, thread, self.usual[0])  # the thread has a heap
        size = min(self.plan.small_limit + 1 + pages * self.plan.page_bytes, self.plan.huge_bytes)
        for _ in range(2):
            for block in [self.birth(Op.MALLOC, thread, size) for _ in range(count)]:
                self.death(Op.FREE, thread, block)
        self.library.check()

    @rule(thread=THREAD, count=st.integers(20, 40))
    def flood(self, thread: int, count: int) -> None:
        """More blocks of a class come, go and come back than front and quarantine hold."""
        for block in [self.birth(Op.MALLOC, thread, self.usual[0]) for _ in range(count)]:
            self.death(Op.FREE, thread, block)
        for _ in range(count):
            self.birth(Op.MALLOC, thread, self.usual[0])

    @precondition(lambda self: self.address)
    @rule(thread=THREAD, which=WHICH, count=COUNT)
    def free(self, thread: int, which: int, count: int) -> None:
        self.ms += which % 4  # time passes
        for _ in range(min(count, len(self.address))):
            self.death(Op.FREE, thread, self.any_block(which))
        self.compare_bytes()

    @precondition(lambda self: self.address)
    @rule(thread=THREAD, which=WHICH, size=st.integers(0, 5000))
    def free_sized(self, thread: int, which: int, size: int) -> None:
        self.death(Op.FREE_SIZED, thread, self.any_block(which), size)

    @rule(data=st.data(), thread=THREAD, other=THREAD, count=COUNT, oldest_first=st.booleans())
    def hand_over(self, data: st.DataObject, thread: int, other: int, count: int, oldest_first: bool) -> None:
        """One thread allocates, another frees, the first allocates again."""
        size = self.draw_size(data)
        blocks = [self.birth(Op.MALLOC, thread, size) for _ in range(count)]
        for block in blocks if oldest_first else reversed(blocks):
            self.death(Op.FREE, other, block)
        for _ in range(count):
            self.birth(Op.MALLOC, thread, size)
        self.library.check()

    @precondition(lambda self: self.threads)
    @rule(which=WHICH, really=st.integers(0, 3))
    def thread_exit(self, which: int, really: int) -> None:
        if really == 0:
            self.step(Op.THREAD_EXIT, sorted(self.threads)[which % len(self.threads)], 0)
            self.compare_bytes()


def prepare(design: Design) -> type[Conformance]:
    plan = make_plan(design)
    with tempfile.TemporaryDirectory() as folder:
        write_nodes(Path(folder), NODES)
        library = Loaded(library_to_load(design), folder)
    names = counter_names(plan)
    seen = np.zeros(len(names), np.int64)
    state = {"plan": plan, "library": library, "names": names, "sizes": interesting_sizes(plan), "seen": seen}
    return type("Conformance", (Conformance,), state)


def run(design: Design, examples: int, number: int | None = None) -> dict[str, int]:
    """Many short lives of a library and its model; every counter by name, summed over classes and lives.

    number: what the lives are drawn from; without one they are the same each time.
    """
    machine = prepare(design)
    how = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        derandomize=number is None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    run_state_machine_as_test(machine if number is None else seed(number)(machine), settings=how)
    total: dict[str, int] = {}
    for name, count in zip(machine.names, machine.seen, strict=True):
        total[name.split()[0]] = total.get(name.split()[0], 0) + int(count)
    return total


def unused(design: Design, total: dict[str, int]) -> set[str]:
    """Counters that stayed 0 though the design has what they count."""
    absent = {"transfer_back", "huge_reuse"} | ({"remote", "drained"} if design.remote == "local_cache" else set())
    absent |= {"run_hit", "run_spill"} if design.run_cache_bytes == 0 else set()
    absent |= {"transfer_in", "transfer_out"} if make_plan(design).numbers.get("transfer_slots", 0) == 0 else set()
    absent |= not_learned(make_plan(design))
    absent |= {"huge_unmap"} if design.huge_cache else set()  # all may wait
    absent |= {"releases", "released_bytes"} if design.release.__struct_config__.tag == "keep" else set()
    return {name for name, count in total.items() if count == 0} - absent
