"""The machine against docs/machine.md, 'threads and heaps', statistics and input: threads and owners, by hand."""

import numpy as np
import pytest
from program import Program, plain_and_compiled

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.trace.reader import Chunk, Op

pytestmark = [plain_and_compiled, pytest.mark.quick]


# Threads.


def test_heap_comes_with_a_small_block(compiled: bool) -> None:
    program = Program(compiled, [16], front_array_stack.Params(capacity=4, refill=1))
    program.malloc("a", 5000, thread=1)
    program.exit(1)
    assert program.totals("heaps", "adoptions") == (0, 0)
    program.malloc("b", 16, thread=0)
    program.free("b", thread=2)  # thread 2 has no heap yet
    assert program.counts(0, "push", "direct") == (1, 0)
    assert program.totals("heaps") == (2,)


# Quarantine.


def full(quarantine: int) -> hardening_full.Params:
    return hardening_full.Params(quarantine=quarantine)


def test_quarantine(compiled: bool) -> None:
    program = Program(compiled, [16], front_array_stack.Params(capacity=4, refill=1), hardening=full(2))
    assert program.malloc("a b c d", 8) == [0, 16, 32, 48]
    program.free("a b")
    assert program.counts(0, "push") == (0,)
    assert program.simulator.statistics().live_blocks == 2
    assert program.malloc("e", 8) == 64  # nothing came back yet
    program.free("c d")  # a and b go to the front
    assert program.counts(0, "push") == (2,)
    assert program.malloc("f g h", 8) == [16, 0, 80]
    program.free("e")
    assert program.malloc("i", 8) == 32
    assert program.counts(0, "hit0", "refill", "push") == (3, 6, 3)


def test_realloc_moves_through_the_quarantine(compiled: bool) -> None:
    program = Program(compiled, [16, 64], hardening=full(1))
    program.malloc("a b", 8)
    assert program.realloc("a", 56) == 4096
    assert program.counts(0, "direct") == (0,)
    program.free("b")
    assert program.counts(0, "direct") == (1,)
    assert program.malloc("c", 1) == 0


def test_quarantine_at_thread_exit(compiled: bool) -> None:
    front = front_linked_list.Params(capacity=4, refill=1, flush=1)
    program = Program(compiled, [4096], front, hardening=full(3))
    assert program.malloc("a b c d", 4088) == [0, 4096, 8192, 16384]  # the fourth slab is a guard
    program.free("a b c")
    program.free("d", thread=1)  # which gets a heap, and with it a quarantine
    assert program.counts(0, "push", "retire") == (0, 0)
    program.exit(1)  # d into the front, then to the store
    assert program.counts(0, "push", "retire") == (1, 1)
    program.exit(0)  # a b c into the front, then c b a to the store
    assert program.counts(0, "push", "direct", "retire", "flushed") == (4, 0, 4, 0)
    assert program.malloc("e f", 4088, thread=2) == [0, 4096]
    program.free("e f", thread=2)
    assert program.counts(0, "push", "hit0") == (4, 0)


def test_quarantine_holds_the_blocks_of_other_heaps(compiled: bool) -> None:
    program = Program(
        compiled, [16], front_array_stack.Params(capacity=4, refill=1), hardening=full(1), remote="owner_list"
    )
    assert program.malloc("a b", 8, thread=0) == [0, 16]
    program.malloc("c", 8, thread=1)
    program.free("a", thread=1)
    assert program.counts(0, "remote") == (0,)
    program.free("b", thread=1)
    assert program.counts(0, "remote") == (1,)  # a
    program.exit(1)
    assert program.counts(0, "remote", "push", "drained") == (2, 0, 0)
    assert program.malloc("d", 8, thread=0) == 0  # b was pushed last and freed first
    assert program.counts(0, "remote", "push", "drained") == (2, 2, 2)


def test_many_quarantined_blocks_go_home_at_once(compiled: bool) -> None:
    program = Program(compiled, [16], hardening=full(400), remote="owner_list")
    names = " ".join(f"n{number}" for number in range(400))
    program.malloc(names, 8, thread=0)
    program.malloc("x", 8, thread=1)
    program.free(names, thread=1)
    program.exit(1)
    assert program.counts(0, "remote", "drained") == (400, 0)
    program.exit(0)
    assert program.counts(0, "remote", "drained", "direct") == (400, 400, 400)


def test_the_run_cache_goes_last_at_thread_exit(compiled: bool) -> None:
    program = Program(compiled, [16], hardening=full(4), release=release_budget.Params(run_budget_bytes=4096))
    program.malloc("s", 8)
    program.malloc("a b", 4000)
    program.free("s a b")
    program.exit(0)  # a, then b: one run of two pages, too many; what stays is the page of the slab
    assert program.totals("run_spill", "run_free", "releases", "committed") == (2, 2, 1, 4096)


# Statistics and input.


def test_statistics(compiled: bool) -> None:
    program = Program(compiled, [32, 4096], release=release_budget.Params(slab_budget_bytes=0))
    program.malloc("a b", 20)  # 40 of 64 bytes, a page
    program.malloc("c", 4000)
    program.free("a c")
    program.malloc("d e", 4096 * 2 - 1)
    program.free("d e")
    found = program.simulator.statistics()
    assert (found.events, found.live_blocks, found.live_bytes, found.live_block_bytes) == (9, 1, 20, 32)
    peak = found.peak_live
    assert (peak.event, peak.live_bytes, peak.block_bytes, peak.committed) == (6, 20 + 2 * 8191, 32 + 16384, 5 * 4096)
    assert peak.internal_fragmentation == (32 + 16384 - 20 - 2 * 8191) / (32 + 16384)
    assert peak.external_fragmentation == (5 * 4096 - 32 - 16384) / (5 * 4096)
    assert found.peak_committed == peak
    committed = [4096, 4096, 8192, 8192, 4096, 4096 * 3, 4096 * 5, 4096 * 5, 4096 * 5]
    assert [point[2] for point in found.timeline] == committed
    assert [point[0] for point in found.timeline] == list(range(9))
    assert found.timeline[6][1] == 20 + 2 * 8191


@pytest.mark.slow
def test_timeline_of_many_events(compiled: bool) -> None:
    events = 5000
    zeros = np.zeros(events)
    op = np.where(np.arange(events) % 2, Op.FREE, Op.MALLOC)
    simulator = Simulator(make_plan(Design("case", [16])), compiled=compiled)
    simulator.feed(Chunk.of(op, zeros, zeros, np.where(op == Op.MALLOC, 10, 0), zeros, zeros))
    timeline = simulator.statistics().timeline
    assert [point[0] for point in timeline] == list(range(0, events, 8))
    assert {point[1] for point in timeline} == {10}
    assert {point[3] for point in timeline} == {0}


@pytest.mark.parametrize(
    ("op", "block", "size", "reason"),
    [
        (Op.MALLOC, 0, 8, "event 1: block 0 is born a second time: it is live"),
        (Op.FREE, 1, 0, "event 1: block 1 is not live"),
        (Op.REALLOC, 1, 8, "event 1: block 1 is not live"),
        (Op.MALLOC, 1, -1, "event 1: size -1 is negative"),
        (8, 1, 0, "event 1: operation 8 is not one of 0 to 7"),
    ],
)
def test_events_that_cannot_be(compiled: bool, op: int, block: int, size: int, reason: str) -> None:
    simulator = Simulator(make_plan(Design("case", [16])), compiled=compiled)
    simulator.step(Op.MALLOC, 0, 0, 8)
    with pytest.raises(BadInput, match=reason):
        simulator.step(op, 0, block, size)
