"""Fronts and the transfer cache against docs/machine-rooms.md, 'front', 'transfer', by hand."""

from typing import Any

import pytest
from program import NONE, Program, plain_and_compiled

from heapsmith.model.design.choices import Front
from heapsmith.model.design.design import ClassFront
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import hot_over_list as front_hot_over_list
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import owned_slab as front_owned_slab
from heapsmith.model.policy.front import ring_over_list as front_ring_over_list
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.rounding import larger as rounding_larger

pytestmark = [plain_and_compiled, pytest.mark.quick]


FRONTS_OF_ONE: list[Front] = [
    kind.Params(capacity=4, refill=1)
    for kind in (front_array_stack, front_fifo_ring, front_linked_list, front_two_level, front_ring_over_list)
] + [front_hot_over_list.Params(capacity=4)]


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


def test_one_heap_has_no_transfer_cache(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=4, refill=4, flush=2)
    program = Program(compiled, [16], front, transfer_bytes=2 * 2 * 16 + 16, transfer_from_heaps=2)
    program.malloc(" ".join(f"b{i}" for i in range(12)), 16)  # 0 to 176
    program.free("b0 b1 b2 b3 b4")  # 0 16 go to the store
    assert program.counts(0, "flush", "flushed", "transfer_in", "reuse") == (1, 2, 0, 0)
    assert program.malloc("c d e f", 16) == [64, 48, 32, 0]
    assert program.counts(0, "refill", "transfer_out", "reuse") == (4, 0, 2)
    program.malloc("x", 16, thread=1)  # a second heap: what either flushes now waits for the other
    program.free("c d e f b5", thread=0)
    assert program.counts(0, "flush", "transfer_in") == (3, 4)


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


def test_front_hot_over_list(compiled: bool) -> None:
    front = front_hot_over_list.Params(capacity=2, list_capacity=3, refill=3, flush=2)
    program = Program(compiled, [16], front)
    assert program.malloc("a b c d e f g", 16) == [0, 16, 32, 48, 64, 80, 96]  # level 1 holds 112 and 128
    # a b: level 0. c: level 1 is 128 112 32. d flushes 32 and 112. f flushes 64 and 48, and level 1 is 128 80.
    program.free("a b c d e f")
    # Two hits, two thefts, then a refill of 32, 48 and 64.
    assert program.malloc("h i j k l m n", 16) == [16, 0, 80, 128, 32, 48, 64]
    assert program.counts(0, *FRONT_COUNTS) == (2, 8, 4, 12, 6, 4, 2, 4, 0, 9, 3)


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
        # Level 0 holds a b, level 1 holds c, given last.
        (front_hot_over_list.Params(capacity=2, list_capacity=4, refill=1), 8192),
    ],
    ids=["array_stack", "fifo_ring", "linked_list", "two_level", "ring_over_list", "hot_over_list"],
)
def test_drain_order_at_thread_exit(compiled: bool, front: Front, next_address: int) -> None:
    program = Program(compiled, [4096], front)
    assert program.malloc("a b c", 4096) == [0, 4096, 8192]
    program.free("a b c")
    program.exit(0)
    assert program.counts(0, "push", "flush", "flushed", "direct", "retire") == (3, 0, 0, 0, 3)
    assert program.malloc("d", 4096) == next_address
    assert program.totals("heaps", "adoptions") == (1, 1)


def test_a_larger_class_lends_a_block(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=4, refill=1)
    program = Program(compiled, [64, 80, 96, 112, 128], front, rounding=rounding_larger.Params(factor=1.4))
    assert program.malloc("a", 96) == 0
    assert program.malloc("b", 112) == 4096
    assert program.malloc("c", 128) == 8192
    program.free("c b a")
    assert program.malloc("d e f", 80) == [0, 4096, 12288]  # 96 and 112 lend; 128 is 1.6 times larger
    program.free("d")
    assert program.malloc("g", 96) == 0  # a block of 96 still
    assert program.realloc("e", 60) == 4096  # of 112: more than half of it is in use
    program.free("f g")
    assert program.malloc("h", 112) == 8192  # its own front is empty, 128 lends
    assert program.aligned("i", 6, 64) == 4 * 4096  # 80 is not 64-aligned, so that it does not lend to 64
    assert program.counts(1, "hit0", "hit1", "refill", "push") == (0, 2, 1, 1)
    assert program.counts(2, "hit0", "hit1", "refill", "push") == (1, 0, 1, 3)


def test_slabs_that_are_a_front_lend_nothing(compiled: bool) -> None:
    fronts = [ClassFront([80], NONE), ClassFront([96], front_owned_slab.Params())]
    owners: dict[str, Any] = {"remote": "owner_list", "freed_blocks": "list", "slab_choice": "hot_index"}
    program = Program(compiled, [80, 96], class_front=fronts, rounding=rounding_larger.Params(), **owners)
    assert program.malloc("a b", 96) == [0, 96]
    program.free("a")
    assert program.malloc("c", 80) == 4096
    assert program.counts(0, "hit1", "refill") == (0, 1)


@pytest.mark.parametrize("lender", FRONTS_OF_ONE, ids=lambda front: str(front.__struct_config__.tag))
def test_every_front_lends_what_it_would_give(compiled: bool, lender: Front) -> None:
    fronts = [ClassFront([80], NONE), ClassFront([96], lender)]
    program = Program(compiled, [80, 96], class_front=fronts, rounding=rounding_larger.Params())
    program.malloc("a b c", 96)
    program.free("a b")
    twin = Program(compiled, [80, 96], class_front=fronts)
    twin.malloc("a b c", 96)
    twin.free("a b")
    assert program.malloc("d e", 80) == twin.malloc("d e", 96)
    assert program.counts(0, "hit1", "refill") == (2, 0)
