"""The machine against docs/machine.md sections 3, 4 and 7, statistics and input: fronts, threads, owners, by hand."""

from typing import Any

import numpy as np
import pytest
from program import NONE, Program, plain_and_compiled

from heapsmith.model.design.design import Design, Front
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import ring_over_list as front_ring_over_list
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.trace.reader import Chunk, Op

pytestmark = plain_and_compiled


# Fronts: five blocks of 16 bytes, all but one freed again, then allocated once more.

FRONT_COUNTS = ("hit0", "hit1", "refill", "refilled", "push", "spill", "flush", "flushed", "direct", "carve", "reuse")
ONE_LEVEL: dict[str, Any] = {"capacity": 4, "refill": 2, "flush": 2}


@pytest.mark.parametrize(
    ("front", "again", "counts"),
    [
        # Held oldest first after free d: 80 0 16 32 flush 80 0, then 16 32 48; a refill takes 0 and 80 back.
        (front_array_stack.Params(**ONE_LEVEL), [48, 32, 16, 0, 80], (6, 0, 4, 8, 4, 0, 1, 2, 0, 6, 2)),
        # The same flush; the oldest comes out first.
        (front_fifo_ring.Params(**ONE_LEVEL), [16, 32, 48, 0, 80], (6, 0, 4, 8, 4, 0, 1, 2, 0, 6, 2)),
        # The newest are flushed, 32 and 16; 80 0 48 stay.
        (front_linked_list.Params(**ONE_LEVEL), [48, 0, 80, 16, 32], (6, 0, 4, 8, 4, 0, 1, 2, 0, 6, 2)),
        # Every allocation a refill of one, the lowest freed block first; every free direct.
        (NONE, [0, 16, 32, 48, 80], (0, 0, 10, 10, 0, 0, 0, 0, 4, 6, 4)),
    ],
    ids=["array_stack", "fifo_ring", "linked_list", "none"],
)
def test_front(compiled: bool, front: Front, again: list[int], counts: tuple[int, ...]) -> None:
    program = Program(compiled, [16], front)
    assert program.malloc("a b c d e", 16) == [0, 16, 32, 48, 64]
    program.free("a b c d")
    assert program.malloc("f g h i j", 16) == again
    assert program.counts(0, *FRONT_COUNTS) == counts


def test_transfer_cache(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=4, refill=4, flush=2)
    program = Program(compiled, [16], front, transfer_bytes=2 * 2 * 16 + 16)  # two batches of two blocks
    program.malloc(" ".join(f"b{i}" for i in range(12)), 16)  # 0 to 176
    # Flushed: 0 16 and 32 48, then 64 80 and 96 112, which go to the store.
    program.free(" ".join(f"b{i}" for i in range(12)), thread=1)
    assert program.counts(0, "flush", "flushed", "transfer_in", "transfer_out") == (4, 8, 4, 0)
    assert program.malloc("c d e f g h", 16) == [48, 32, 16, 0, 64, 80]
    assert program.counts(0, "refill", "refilled", "transfer_in", "transfer_out", "reuse") == (6, 20, 4, 4, 4)


def test_frees_alone_fill_a_front(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=4, refill="never", flush=2)
    program = Program(compiled, [16], front, transfer_bytes=1024)
    assert program.malloc("a b c d e f", 16) == [0, 16, 32, 48, 64, 80]
    assert program.counts(0, "hit0", "refill", "refilled") == (0, 6, 6)
    program.free("a b c d e")  # e: 0 16 go to the store, no batch waits
    assert program.malloc("g h i j k", 16) == [64, 48, 32, 0, 16]
    assert program.counts(0, "hit0", "refill", "refilled", "flushed", "transfer_in") == (3, 8, 8, 2, 0)


def test_frees_alone_fill_two_levels(compiled: bool) -> None:
    front = front_two_level.Params(capacity=2, list_capacity=4, refill="never", spill=1, promote=2)
    program = Program(compiled, [16], front)
    program.malloc("a b c d e", 16)
    program.free("a b c d")  # 0 and 16 are below
    assert program.malloc("f g h i j", 16) == [48, 32, 16, 0, 80]
    assert program.counts(0, "hit0", "hit1", "refill", "refilled") == (3, 1, 6, 6)


def test_a_transfer_cache_that_nobody_looks_at_is_emptied(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=1, refill=1, flush=1)
    program = Program(compiled, [16], front, transfer_bytes=3 * 16)
    program.malloc(" ".join(f"b{i}" for i in range(24)), 16)
    program.free(" ".join(f"b{i}" for i in range(17)))  # sixteen flushes: three kept, the others given
    assert program.counts(0, "flush", "transfer_in", "transfer_back") == (16, 3, 0)
    program.free("b17")  # the seventeenth
    assert program.counts(0, "flush", "transfer_in", "transfer_back") == (17, 3, 3)
    program.free("b18")
    assert program.counts(0, "flush", "transfer_in", "transfer_back") == (18, 3, 3)
    program.malloc("c d", 16)  # a hit and a refill, which finds no batch
    program.free("b19 b20")
    assert program.counts(0, "flush", "transfer_in", "transfer_out", "transfer_back") == (19, 4, 0, 3)


def test_front_two_level(compiled: bool) -> None:
    front = front_two_level.Params(capacity=2, list_capacity=3, refill=2, spill=1, promote=2, flush=2)
    program = Program(compiled, [16], front)
    assert program.malloc("a b c d e", 16) == [0, 16, 32, 48, 64]  # level 0 holds 80
    # a: 80 0. b: 80 spills. c: 0 spills. d: 16 spills, level 1 is 80 0 16. e: 16 and 0 are flushed, 32 spills.
    program.free("a b c d e")
    # Level 0 is 48 64, level 1 is 80 32: two hits, a promotion of both, one hit, then a refill of the flushed ones.
    assert program.malloc("f g h i j k", 16) == [64, 48, 32, 80, 0, 16]
    assert program.counts(0, *FRONT_COUNTS) == (6, 1, 4, 8, 5, 4, 1, 2, 0, 6, 2)


def test_front_ring_over_list(compiled: bool) -> None:
    front = front_ring_over_list.Params(
        capacity=3, list_capacity=3, refill=2, spill=1, promote=2, flush=2
    )  # a ring of 2
    program = Program(compiled, [16], front)
    assert program.malloc("a b c d e", 16) == [0, 16, 32, 48, 64]  # level 0 holds 80
    # a: 80 0. b: 80 spills. c: 0 spills. d: 16 spills, level 1 is 80 0 16. e: 16 and 0 are flushed, 32 spills.
    program.free("a b c d e")
    # Level 0 is 48 64, level 1 is 80 32: two hits, a promotion of both, one hit, then a refill of the flushed ones.
    assert program.malloc("f g h i j k", 16) == [48, 64, 32, 80, 0, 16]
    assert program.counts(0, *FRONT_COUNTS) == (6, 1, 4, 8, 5, 4, 1, 2, 0, 6, 2)


def test_a_promotion_fills_the_ring_in_order(compiled: bool) -> None:
    front = front_ring_over_list.Params(capacity=4, list_capacity=8, refill=1, spill=4, promote=3, flush=4)
    program = Program(compiled, [16], front)
    program.malloc("a b c d e f", 16)
    program.free("a b c d e")  # e: 0 16 32 48 spill
    # 64 is a hit. Level 1 gives 48, and 32 and 16 to the ring; a freed block comes out after them, then 0 moves up.
    assert program.malloc("g h", 16) == [64, 48]
    program.free("f")
    assert program.malloc("i j k l", 16) == [32, 16, 80, 0]
    assert program.counts(0, *FRONT_COUNTS) == (4, 2, 6, 6, 6, 1, 0, 0, 0, 6, 0)


def test_two_level_flushes_no_more_than_level_1_holds(compiled: bool) -> None:
    front = front_two_level.Params(capacity=3, list_capacity=3, refill=1, spill=2, promote=1, flush=3)
    program = Program(compiled, [16], front)
    program.malloc("a b c d e f", 16)
    program.free("a b c d e f")  # d: 0 16 spill; f: 2 + 2 > 3, so both are flushed, then 32 48 spill
    assert program.counts(0, "spill", "flush", "flushed") == (2, 1, 2)
    assert program.malloc("g h i j k l", 16) == [80, 64, 48, 32, 0, 16]


def test_refill_across_slabs(compiled: bool) -> None:
    program = Program(compiled, [2048], front_array_stack.Params(capacity=8, refill=5, max_bytes=1 << 20))
    assert program.malloc("a b c d e f", 2048) == [0, 2048, 4096, 6144, 8192, 10240]
    assert program.counts(0, "refill", "refilled", "acquire", "carve") == (2, 10, 5, 10)
    assert program.totals("superslabs", "slabs", "committed") == (2, 5, 5 * 4096)


@pytest.mark.parametrize(
    ("front", "next_address"),
    [
        # One block per slab, so each give retires one and the last given comes first from the pool.
        (front_array_stack.Params(capacity=4, refill=1), 8192),
        (front_fifo_ring.Params(capacity=4, refill=1), 8192),
        (front_linked_list.Params(capacity=4, refill=1), 0),
        # Level 0 holds b c, level 1 holds a, given last.
        (front_two_level.Params(capacity=2, list_capacity=4, refill=1, spill=1), 0),
        (front_ring_over_list.Params(capacity=2, list_capacity=4, refill=1, spill=1), 0),
    ],
    ids=["array_stack", "fifo_ring", "linked_list", "two_level", "ring_over_list"],
)
def test_drain_order_at_thread_exit(compiled: bool, front: Front, next_address: int) -> None:
    program = Program(compiled, [4096], front)
    assert program.malloc("a b c", 4096) == [0, 4096, 8192]
    program.free("a b c")
    program.exit(0)
    assert program.counts(0, "push", "flush", "flushed", "direct", "retire") == (3, 0, 0, 0, 3)
    assert program.malloc("d", 4096) == next_address
    assert program.totals("heaps", "adoptions") == (1, 1)


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


def test_local_cache(compiled: bool) -> None:
    program = Program(compiled, [16], front_array_stack.Params(capacity=4, refill=2))
    assert program.malloc("a b", 16, thread=0) == [0, 16]
    assert program.malloc("c", 16, thread=1) == 32
    program.free("a", thread=1)
    assert program.malloc("d", 16, thread=1) == 0
    assert program.malloc("e", 16, thread=1) == 48
    assert program.counts(0, "push", "remote", "drained", "direct") == (1, 0, 0, 0)


def test_abandoned_heaps_are_adopted_last_first(compiled: bool) -> None:
    program = Program(compiled, [16], remote="owner_list")
    for thread in range(3):
        assert program.malloc(f"a{thread}", 16, thread=thread) == 4096 * thread
    program.exit(0)
    program.exit(2)
    assert program.malloc("b", 16, thread=5) == 2 * 4096 + 16
    assert program.malloc("c", 16, thread=6) == 16
    assert program.malloc("d", 16, thread=7) == 3 * 4096
    assert program.totals("heaps", "adoptions") == (4, 2)


def test_owner_list(compiled: bool) -> None:
    program = Program(compiled, [16, 32], front_array_stack.Params(capacity=4, refill=1), remote="owner_list")
    assert program.malloc("a b", 16, thread=0) == [0, 16]
    assert program.malloc("c", 32, thread=0) == 4096
    assert program.malloc("d", 16, thread=1) == 8192
    program.free("a", thread=1)
    program.free("c", thread=1)
    program.free("b", thread=9)  # without a heap
    program.free("d", thread=1)
    assert program.counts(0, "remote", "drained", "push") == (2, 0, 1)
    # Level 0 is empty: b, c, a are freed in this order, and the allocation hits a.
    assert program.malloc("e", 16, thread=0) == 0
    assert program.malloc("f", 32, thread=0) == 4096
    assert program.counts(0, "remote", "drained", "push", "hit0", "refill") == (2, 2, 3, 1, 3)
    assert program.counts(1, "remote", "drained", "push", "hit0", "refill") == (1, 1, 1, 1, 1)


def test_owner_list_without_front(compiled: bool) -> None:
    program = Program(compiled, [16], remote="owner_list")
    assert program.malloc("a b c", 16, thread=0) == [0, 16, 32]
    program.free("c b", thread=1)
    program.free("a", thread=0)
    assert program.counts(0, "direct", "drained") == (1, 0)
    assert program.malloc("d", 16, thread=0) == 0
    assert program.counts(0, "direct", "drained", "refill") == (3, 2, 4)


def test_owner_list_drains_before_promotion(compiled: bool) -> None:
    front = front_two_level.Params(capacity=2, list_capacity=4, refill=1, spill=2, promote=2)
    program = Program(compiled, [16], front, remote="owner_list")
    program.malloc("a b c d", 16, thread=0)
    program.free("a b c", thread=0)  # a and b spill
    program.free("d", thread=1)
    assert program.malloc("e", 16, thread=0) == 32
    assert program.malloc("f g h", 16, thread=0) == [48, 16, 0]
    assert program.counts(0, "hit0", "hit1", "drained", "refill") == (3, 1, 1, 4)


def test_abandoned_heap_keeps_its_remote_list(compiled: bool) -> None:
    program = Program(compiled, [16], front_array_stack.Params(capacity=4, refill=1), remote="owner_list")
    assert program.malloc("a b c", 16, thread=0) == [0, 16, 32]
    program.free("c", thread=1)
    program.exit(0)  # drains c and gives it to the store
    assert program.counts(0, "drained", "push", "flushed") == (1, 1, 0)
    program.free("a", thread=1)
    program.free("b", thread=1)
    assert program.malloc("d", 16, thread=2) == 0  # drained b, then a
    assert program.malloc("e f", 16, thread=2) == [16, 32]
    assert program.counts(0, "remote", "drained", "hit0", "refill", "reuse") == (3, 3, 2, 4, 1)


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
