"""The machine against docs/machine.md: cases worked by hand, its equations on any events, compiled against plain."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model import policy
from heapsmith.model.design import Design, Front
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.machine import Machine
from heapsmith.model.plan import make_plan
from heapsmith.model.policy import (
    front_array_stack,
    front_fifo_ring,
    front_linked_list,
    front_none,
    front_two_level,
    release_eager,
    release_keep,
)
from heapsmith.model.trace import Chunk, Op

NONE = front_none.Params()
RUN, HUGE = 1 << 60, 1 << 61
SMALL: dict[str, Any] = {"slab_bytes": 4096, "superslab_bytes": 16384, "huge_bytes": 65536}


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def compiled(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class Program:
    """A program on one machine: blocks go by the names that the case gives them, allocations return addresses."""

    def __init__(self, compiled: bool, sizes: list[int], front: Front = NONE, **fields: Any) -> None:
        design = Design("case", sizes, front=front, **{**SMALL, **fields})
        assert design.why_not_valid() is None
        self.machine = Machine(make_plan(design), compiled=compiled)
        self.live: dict[str, int] = {}
        self.spare = list(range(999, -1, -1))

    def malloc(self, names: str, size: int, thread: int = 0, op: Op = Op.MALLOC, align_log2: int = 0) -> Any:
        """Allocate one block per name (letters, or words apart); the address, or the list of them."""
        found = []
        for name in names.split() if " " in names else [names]:
            self.live[name] = self.spare.pop()
            found.append(self.machine.step(op, thread, self.live[name], size, align_log2))
        return found if " " in names else found[0]

    def aligned(self, name: str, align_log2: int, size: int) -> Any:
        return self.malloc(name, size, op=Op.ALIGNED, align_log2=align_log2)

    def realloc(self, name: str, size: int, thread: int = 0) -> int:
        return self.machine.step(Op.REALLOC, thread, self.live[name], size)

    def free(self, names: str, thread: int = 0) -> None:
        for name in names.split():
            block = self.live.pop(name)
            assert self.machine.step(Op.FREE, thread, block) == -1
            self.spare.append(block)

    def exit(self, thread: int) -> None:
        assert self.machine.step(Op.THREAD_EXIT, thread, 0) == -1

    def counts(self, cls: int, *names: str) -> tuple[int, ...]:
        self.machine.check()
        return tuple(self.machine.counters().classes[name][cls] for name in names)

    def totals(self, *names: str) -> tuple[int, ...]:
        self.machine.check()
        return tuple(self.machine.counters().totals[name] for name in names)


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


def test_front_two_level(compiled: bool) -> None:
    front = front_two_level.Params(capacity=2, list_capacity=3, refill=2, spill=1, promote=2, flush=2)
    program = Program(compiled, [16], front)
    assert program.malloc("a b c d e", 16) == [0, 16, 32, 48, 64]  # level 0 holds 80
    # a: 80 0. b: 80 spills. c: 0 spills. d: 16 spills, level 1 is 80 0 16. e: 16 and 0 are flushed, 32 spills.
    program.free("a b c d e")
    # Level 0 is 48 64, level 1 is 80 32: two hits, a promotion of both, one hit, then a refill of the flushed ones.
    assert program.malloc("f g h i j k", 16) == [64, 48, 32, 80, 0, 16]
    assert program.counts(0, *FRONT_COUNTS) == (6, 1, 4, 8, 5, 4, 1, 2, 0, 6, 2)


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
    ],
    ids=["array_stack", "fifo_ring", "linked_list", "two_level"],
)
def test_drain_order_at_thread_exit(compiled: bool, front: Front, next_address: int) -> None:
    program = Program(compiled, [4096], front)
    assert program.malloc("a b c", 4096) == [0, 4096, 8192]
    program.free("a b c")
    program.exit(0)
    assert program.counts(0, "push", "flush", "flushed", "direct", "retire") == (3, 0, 0, 0, 3)
    assert program.malloc("d", 4096) == next_address
    assert program.totals("heaps", "adoptions") == (1, 1)


# Store, slab choice, empties.


def test_take_prefers_freed_blocks_lowest_first(compiled: bool) -> None:
    program = Program(compiled, [64])
    program.malloc("a b c d", 64)
    program.free("c a")
    assert program.malloc("e f g", 64) == [0, 128, 256]
    assert program.counts(0, "carve", "reuse", "refill") == (5, 2, 7)


def test_marks_beyond_one_word(compiled: bool) -> None:
    program = Program(compiled, [16])
    program.malloc(" ".join(f"n{i}" for i in range(256)), 16)
    program.free("n255 n33 n31 n32 n100 n0")
    assert program.malloc("a b c d e f", 16) == [0, 31 * 16, 32 * 16, 33 * 16, 100 * 16, 255 * 16]
    assert program.malloc("g", 16) == 4096


@pytest.mark.parametrize(("choice", "next_addresses"), [("hot_index", [8192, 0]), ("address_ordered", [0, 8192])])
def test_slab_choice(compiled: bool, choice: str, next_addresses: list[int]) -> None:
    program = Program(compiled, [2048], slab_choice=choice)
    assert program.malloc("a b c d e f", 2048) == [0, 2048, 4096, 6144, 8192, 10240]
    program.free("a e")  # slab 2 is put before slab 0 on the list
    assert program.malloc("g h", 2048) == next_addresses


def test_hot_slab_stays(compiled: bool) -> None:
    program = Program(compiled, [1024], slab_choice="hot_index")
    program.malloc("a b c d e", 1024)  # slab 1 is hot
    program.free("e")
    assert program.counts(0, "retire") == (0,)  # empty, but hot
    program.free("a b c d")
    assert program.counts(0, "retire", "acquire") == (1, 2)  # slab 0, from the list
    assert program.malloc("f", 1024) == 4096


def test_last_available_slab_stays(compiled: bool) -> None:
    program = Program(compiled, [1024], slab_choice="address_ordered")
    program.malloc("a b c d e f g h", 1024)  # two full slabs
    program.free("e f g h")
    assert program.counts(0, "retire") == (0,)  # slab 1 is the only one
    program.free("a b c d")
    assert program.counts(0, "retire") == (1,)  # slab 0: slab 1 is there
    assert program.malloc("i", 1024) == 4096


def test_address_order_of_many_slabs(compiled: bool) -> None:
    program = Program(compiled, [2048], slab_choice="address_ordered")
    names = [f"n{i}" for i in range(60)]
    program.malloc(" ".join(names), 2048)
    order = [7, 3, 28, 0, 19, 4, 11, 29, 2, 23]
    program.free(" ".join(names[2 * slab] for slab in order))
    again = program.malloc(" ".join(f"m{i}" for i in range(10)), 2048)
    assert again == [slab * 4096 for slab in sorted(order)]


def test_shared_empties(compiled: bool) -> None:
    program = Program(compiled, [2048, 4096])
    assert program.malloc("a b", 4096) == [0, 4096]
    program.free("a b")
    assert program.malloc("c d", 2048) == [4096, 6144]  # the slab retired last
    assert program.malloc("e", 4096) == 0
    assert program.totals("superslabs", "slabs", "committed", "committed_peak") == (1, 2, 8192, 8192)
    assert program.counts(1, "acquire", "retire") == (3, 2)


def test_dedicated_empties(compiled: bool) -> None:
    program = Program(compiled, [2048, 4096], empties="dedicated")
    assert program.malloc("a b", 4096) == [0, 4096]
    program.free("a b")
    assert program.malloc("c", 2048) == 16384  # a superslab of its own
    assert program.malloc("d e f", 4096) == [4096, 0, 8192]
    assert program.totals("superslabs", "slabs") == (2, 4)


def test_class_region(compiled: bool) -> None:
    fields = {"classifier": "class_region", "empties": "dedicated", "slab_span_bytes": 1 << 28}
    program = Program(compiled, [1024, 2048, 4096], **fields)
    region = 1 << 26  # the largest power of two that fits three times
    assert program.malloc("a b c d e", 4096) == [2 * region + slab * 4096 for slab in range(5)]
    assert program.malloc("f", 1024) == 0
    assert program.malloc("g", 2048) == region
    assert program.totals("superslabs") == (4,)


def test_header(compiled: bool) -> None:
    program = Program(compiled, [32, 64], classifier="header")
    assert program.malloc("a b", 24) == [16, 48]
    assert program.malloc("c", 25) == 4096 + 16
    assert program.malloc("d", 56) == 4096 + 80
    assert program.malloc("e", 57) == RUN
    assert program.aligned("f", 4, 24) == 80
    assert program.aligned("g", 5, 24) == RUN + 1  # no block of a slab is 32-aligned
    assert program.totals("committed") == (4 * 4096,)


def test_span_used_up(compiled: bool) -> None:
    slab = 1 << 21
    span = {"slab_bytes": slab, "superslab_bytes": 1 << 26, "slab_span_bytes": 1 << 28, "huge_bytes": slab}
    program = Program(compiled, [1024, slab], **span)
    names = [f"n{i}" for i in range(128)]
    assert program.malloc(" ".join(names), slab) == [i * slab for i in range(128)]
    assert program.malloc("x", slab) == -1
    assert program.realloc("x", slab // 2) == -1  # of a null pointer: malloc, which fails again
    program.free("x")
    assert program.realloc("n7", 1000) == -1  # no room to move: the block stays
    program.free("n7")
    assert program.malloc("y", slab) == 7 * slab
    assert program.counts(0, "refill", "refilled", "acquire") == (1, 0, 0)
    assert program.counts(1, "refill", "refilled", "direct") == (131, 129, 1)
    assert program.totals("superslabs", "realloc_moved", "realloc_in_place") == (4, 0, 0)
    assert program.machine.statistics().failed == 3


def test_region_used_up(compiled: bool) -> None:
    fields = {"classifier": "class_region", "empties": "dedicated", "slab_span_bytes": 1 << 28}
    program = Program(
        compiled, [2048, 1 << 20], slab_bytes=1 << 20, superslab_bytes=1 << 26, huge_bytes=1 << 20, **fields
    )  # type: ignore[arg-type]
    program.malloc(" ".join(f"n{i}" for i in range(128)), 1 << 20)
    assert program.malloc("x", 1 << 20) == -1
    assert program.malloc("y", 2048) == 0  # the other region is empty
    assert program.totals("superslabs") == (3,)


def test_run_span_used_up(compiled: bool) -> None:
    program = Program(compiled, [16], run_span_bytes=1 << 28, huge_bytes=1 << 27)
    assert program.malloc("a b", 3 << 25) == [RUN, RUN + 24576]
    assert program.malloc("c", (1 << 26) + 1) == -1
    assert program.realloc("b", (5 << 25) + 1) == HUGE  # beyond huge_bytes
    assert program.malloc("d", 1 << 27) == RUN + 24576
    assert program.malloc("e", 1 << 25) == RUN + 24576 + 32768
    assert program.realloc("e", (1 << 25) + 1) == -1
    assert program.totals("run_extend", "run_grow", "realloc_moved") == (0, 4, 1)
    assert program.machine.statistics().failed == 2


# Classes.


def test_classes_of_grain_8(compiled: bool) -> None:
    program = Program(compiled, [8, 24, 48], grain=8)
    assert program.malloc("a b c d", 0) == [0, 8, 16, 24]
    assert program.malloc("e", 9) == 4096
    assert program.aligned("f", 3, 9) == 4096 + 24
    assert program.aligned("g", 4, 9) == 8192  # 24 is no multiple of 16, 48 is
    assert program.aligned("h", 5, 9) == RUN
    assert program.counts(2, "refill") == (1,)


def test_aligned(compiled: bool) -> None:
    program = Program(compiled, [16, 48, 64, 256])
    assert program.aligned("a", 4, 20) == 0  # malloc is 16-aligned anyway: 48
    assert program.aligned("b", 6, 20) == 4096  # 64
    assert program.aligned("c", 7, 65) == 8192  # 256
    assert program.aligned("d", 9, 20) == RUN  # no class
    assert program.aligned("e", 12, 257) == RUN + 1
    assert program.aligned("f", 13, 20) == HUGE  # beyond a page
    assert program.aligned("g", 13, 5000) == HUGE + 1
    assert program.totals("heaps", "run_grow", "huge_map", "committed") == (1, 2, 2, 8 * 4096)


# Threads.


def test_heap_comes_with_a_small_allocation(compiled: bool) -> None:
    program = Program(compiled, [16], front_array_stack.Params(capacity=4, refill=1))
    program.malloc("a", 5000, thread=1)
    program.exit(1)
    assert program.totals("heaps", "adoptions") == (0, 0)
    program.malloc("b", 16, thread=0)
    program.free("b", thread=2)  # thread 2 has no heap
    assert program.counts(0, "push", "direct") == (0, 1)
    assert program.totals("heaps") == (1,)


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


# Release and commitment.


def test_committed_follows_carving(compiled: bool) -> None:
    program = Program(compiled, [1536], slab_bytes=16384)
    sizes = []
    for name in ("a", "b", "c", "d"):
        program.malloc(name, 1536)
        sizes += program.totals("committed")
    assert sizes == [4096, 4096, 8192, 8192]


def test_eager_release_of_slabs(compiled: bool) -> None:
    release = release_eager.Params(keep_slabs=1, run_bytes=1 << 20)
    program = Program(compiled, [2048, 4096], release=release, empties="dedicated")
    program.malloc("a b", 4096)
    program.malloc("c d e f", 2048)  # two slabs
    program.free("a")
    assert program.totals("releases", "committed") == (0, 4 * 4096)
    program.free("c d")  # the other class's pool holds one: released
    assert program.totals("releases", "released_bytes", "committed") == (1, 4096, 3 * 4096)
    assert program.malloc("g", 4096) == 0  # the pools hold none with pages now
    program.free("e f")
    assert program.totals("releases", "committed") == (1, 3 * 4096)
    assert program.malloc("h", 2048) == 16384 + 4096  # retired last, its pages kept
    assert program.totals("committed", "committed_peak") == (3 * 4096, 4 * 4096)
    assert program.malloc("i j", 2048)[1] == 16384  # its one carved block commits it anew
    assert program.totals("committed") == (4 * 4096,)


def test_keep_releases_nothing(compiled: bool) -> None:
    program = Program(compiled, [4096], release=release_keep.Params())
    program.malloc("a b c", 4096)
    program.malloc("r", 60000)
    program.free("a b c r")
    assert program.totals("releases", "released_bytes", "committed") == (0, 0, (3 + 15) * 4096)


# Large blocks.


def test_runs(compiled: bool) -> None:
    program = Program(compiled, [16])
    page = 4096
    assert program.malloc("a", 17) == RUN
    assert program.malloc("b c", 3 * page) == [RUN + 1, RUN + 4]
    assert program.malloc("d", page) == RUN + 7
    program.free("b")
    assert program.malloc("e", page) == RUN + 1  # the low page of b's, which is in the bin of 3
    assert program.malloc("f", 2 * page) == RUN + 2
    program.free("e c")  # pages 1 and 4 to 6
    program.free("f")  # merges with both: 1 to 6
    assert program.malloc("g", 6 * page) == RUN + 1
    assert program.totals("run_reuse", "run_grow", "run_free", "committed") == (3, 4, 4, 8 * page)
    program.free("d g a")  # d gives the top back to 7, g to 1, a to 0
    assert program.malloc("h", 2 * page) == RUN
    assert program.totals("run_grow", "committed", "committed_peak") == (5, 8 * page, 8 * page)


def test_runs_of_one_bin_are_searched_from_the_head(compiled: bool) -> None:
    program = Program(compiled, [16], huge_bytes=1 << 20)
    page = 4096
    for name, pages in (("a", 33), ("b", 39), ("c", 35), ("d", 40)):
        program.malloc(name, pages * page)
        program.malloc(f"{name}-wall", page)  # keeps the runs apart
    program.free("d a b c")  # 33 to 39 pages share a bin: c b a from the head
    assert program.malloc("e", 36 * page) == RUN + 34  # b: c is too short
    assert program.malloc("f", 34 * page) == RUN + 74  # c
    assert program.malloc("g", 35 * page) == RUN + 110  # d, from the next bin
    assert program.totals("run_reuse", "run_grow") == (3, 8)


def test_release_of_runs(compiled: bool) -> None:
    release = release_eager.Params(run_bytes=3 * 4096)
    program = Program(compiled, [16], release=release)
    page = 4096
    program.malloc("a", 3 * page)
    program.malloc("b", 2 * page)
    program.malloc("c", page)
    program.free("a b")
    assert program.totals("releases", "released_bytes", "committed") == (1, 3 * page, 3 * page)
    assert program.malloc("d", 4 * page) == RUN  # three pages anew, one of b's
    assert program.totals("committed", "committed_peak") == (6 * page, 6 * page)


def test_huge(compiled: bool) -> None:
    program = Program(compiled, [16])
    assert program.malloc("a b", 65537) == [HUGE, HUGE + 1]
    assert program.totals("huge_map", "committed") == (2, 2 * 17 * 4096)
    assert program.realloc("a", 69632) == HUGE  # 17 pages as before
    assert program.realloc("a", 100_000) == HUGE
    assert program.totals("huge_remap", "realloc_in_place", "committed") == (1, 2, (25 + 17) * 4096)
    assert program.realloc("a", 70_000) == HUGE
    assert program.realloc("a", 65536) == RUN
    assert program.totals("huge_remap", "huge_unmap", "realloc_moved", "committed") == (2, 1, 1, (16 + 17) * 4096)
    assert program.totals("committed_peak") == ((18 + 17 + 16) * 4096,)  # moved before it was freed
    program.free("b")
    assert program.malloc("c", 1 << 20) == HUGE + 2


def test_realloc_of_small_blocks(compiled: bool) -> None:
    program = Program(compiled, [32, 64, 128])
    assert program.malloc("a", 100) == 0
    assert [program.realloc("a", size) for size in (128, 64, 65)] == [0, 0, 0]  # 64 is half of 128
    assert program.realloc("a", 63) == 4096
    assert program.realloc("a", 1) == 8192
    assert program.realloc("a", 5000) == RUN
    assert program.totals("realloc_in_place", "realloc_moved") == (3, 3)
    assert program.machine.step(Op.REALLOC, 0, program.live["a"], 0) == -1
    assert program.machine.statistics().live_blocks == 0
    assert program.totals("realloc_moved", "run_free") == (3, 1)


def test_realloc_of_runs(compiled: bool) -> None:
    program = Program(compiled, [32])
    page = 4096
    assert program.malloc("a", 4 * page) == RUN
    assert program.realloc("a", 6 * page) == RUN  # at the top
    assert program.malloc("b c d", page) == [RUN + 6, RUN + 7, RUN + 8]
    program.free("c")
    program.free("b")  # pages 6 and 7
    assert program.realloc("a", 7 * page) == RUN
    assert program.realloc("a", 9 * page) == RUN + 9  # only page 7 follows
    assert program.totals("run_extend", "realloc_in_place", "realloc_moved") == (2, 2, 1)
    assert program.realloc("a", 5 * page) == RUN + 9  # half or more: it keeps its 9 pages
    assert program.realloc("a", 4 * page) == RUN
    assert program.realloc("a", 32) == 0
    assert program.totals("realloc_in_place", "realloc_moved", "run_grow") == (3, 3, 5)


def test_move_allocates_before_it_frees(compiled: bool) -> None:
    program = Program(compiled, [16, 4096])
    program.malloc("a", 4096)
    assert program.realloc("a", 8192) == RUN
    assert program.totals("committed", "committed_peak") == (3 * 4096, 3 * 4096)
    assert program.counts(1, "retire") == (1,)


# Statistics and input.


def test_statistics(compiled: bool) -> None:
    program = Program(compiled, [32, 4096], release=release_eager.Params(keep_slabs=0))
    program.malloc("a b", 20)  # 40 of 64 bytes, a page
    program.malloc("c", 4000)
    program.free("a c")
    program.malloc("d e", 4096 * 2 - 1)
    program.free("d e")
    found = program.machine.statistics()
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
    machine = Machine(make_plan(Design("case", [16])), compiled=compiled)
    machine.feed(Chunk.of(op, zeros, zeros, np.where(op == Op.MALLOC, 10, 0), zeros, zeros))
    timeline = machine.statistics().timeline
    assert [event for event, _, _ in timeline] == list(range(0, events, 8))
    assert {live for _, live, _ in timeline} == {10}


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
    machine = Machine(make_plan(Design("case", [16])), compiled=compiled)
    machine.step(Op.MALLOC, 0, 0, 8)
    with pytest.raises(BadInput, match=reason):
        machine.step(op, 0, block, size)


def test_check_finds_a_wrong_state() -> None:
    program = Program(False, [16], front_array_stack.Params(capacity=4, refill=2))
    program.malloc("a b c", 16)
    program.machine.check()
    for array, index, field in (
        ("slabs", 0, "freed"),
        ("classes", 0, "acquire"),
        ("fronts", 0, "held"),
        ("machine", 0, "committed"),
    ):
        record = getattr(program.machine, array)[index]
        record[field] += 1
        with pytest.raises(CheckFailed):
            program.machine.check()
        record[field] -= 1
    program.machine.check()


# Any events, every combination of policies.

FRONTS: list[Front] = [
    NONE,
    front_array_stack.Params(capacity=5, refill=3, flush=2),
    front_fifo_ring.Params(capacity=4),
    front_linked_list.Params(capacity=6, refill=4, flush=6),
    front_two_level.Params(capacity=3, list_capacity=5, refill=2, spill=2, promote=3, flush=3),
]
RELEASES = [release_keep.Params(), release_eager.Params(keep_slabs=2, run_bytes=12288)]
CLASSIFIERS = [
    ("slab_map", "shared"),
    ("slab_map", "dedicated"),
    ("class_region", "dedicated"),
    ("header", "shared"),
    ("header", "dedicated"),
]
COMBINATIONS = [
    Design(
        f"d{number}",
        [16, 32, 48, 64, 128, 512, 1360, 4080],
        classifier=classifier,  # type: ignore[arg-type]
        empties=empties,  # type: ignore[arg-type]
        slab_choice=choice,  # type: ignore[arg-type]
        remote=remote,  # type: ignore[arg-type]
        release=release,
        front=front,
        **SMALL,
    )
    for number, ((classifier, empties), choice, remote, release, front) in enumerate(
        product(CLASSIFIERS, policy.names(policy.SLAB_CHOICES), policy.names(policy.REMOTES), RELEASES, FRONTS)
    )
]


def at(chunk: Chunk, *stops: int) -> list[Chunk]:
    """The chunk in pieces that end at these events."""
    return [chunk.part(first, stop) for first, stop in zip((0, *stops), (*stops, len(chunk.op)), strict=True)]


@pytest.mark.parametrize("design", COMBINATIONS, ids=lambda design: design.name)
def test_equations(design: Design) -> None:
    assert design.why_not_valid() is None
    machine = Machine(make_plan(design))
    chunk = random_chunk(1500, seed=int(design.name[1:]), threads=4, max_size=20000, cross_thread=0.3, live=60)
    for part in at(chunk, 400, 900):
        machine.feed(part)
        machine.check()


def state(machine: Machine) -> dict[str, Any]:
    """All arrays, but for scratch and what is unused for lack of growth in either."""
    return {
        name: value.tolist()
        for name, value in vars(machine).items()
        if isinstance(value, np.ndarray) and name != "moved"
    }


@pytest.mark.parametrize("design", COMBINATIONS[::13] + COMBINATIONS[1::17], ids=lambda design: design.name)
def test_compiled_is_plain(design: Design) -> None:
    chunk = random_chunk(900, seed=7, threads=3, max_size=70000, cross_thread=0.3, live=50)
    machines, addresses = [], []
    for compiled in (False, True):
        machine = Machine(make_plan(design), compiled=compiled)
        found = np.empty(len(chunk.op), np.int64)
        machine.feed(chunk, found)
        machines.append(machine)
        addresses.append(found.tolist())
    assert addresses[0] == addresses[1]
    assert state(machines[0]) == state(machines[1])
    assert machines[0].counters() == machines[1].counters()
    assert machines[0].statistics() == machines[1].statistics()


def test_chunks_do_not_matter() -> None:
    chunk = random_chunk(20_000, seed=3, threads=3, max_size=40000, cross_thread=0.2, live=800)
    whole, pieces = (Machine(make_plan(COMBINATIONS[37])) for _ in range(2))
    expected, found = np.empty(20_000, np.int64), np.empty(20_000, np.int64)
    whole.feed(chunk, expected)
    for first in range(0, 20_000, 37):
        pieces.feed(chunk.part(first, first + 37), found[first : first + 37])
    assert expected.tolist() == found.tolist()
    assert whole.counters() == pieces.counters()
    assert whole.statistics() == pieces.statistics()
    assert len(whole.counters().classes) == 15
    assert len(whole.counters().totals) == 17


SIZES = st.sampled_from([0, 1, 16, 40, 64, 128, 129, 500, 1360, 4000, 4096, 9000, 30000, 65536, 65537, 90000])
STEPS = st.tuples(st.sampled_from("mmmmaffffrrx"), st.integers(0, 3), st.integers(0, 50), SIZES, st.integers(0, 13))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(COMBINATIONS), st.lists(STEPS, max_size=60))
def test_equations_on_any_steps(design: Design, steps: list[tuple[str, int, int, int, int]]) -> None:
    machine = Machine(make_plan(design))
    live: list[int] = []
    spare = list(range(60, -1, -1))
    for what, thread, which, size, align_log2 in steps:
        if what in "ma":
            live.append(spare.pop())
            op = Op.MALLOC if what == "m" else Op.ALIGNED
            address = machine.step(op, thread, live[-1], size, align_log2 if what == "a" else 0)
            assert what == "m" or address >= 1 << 60 or address % (1 << align_log2) == 0
        elif what == "x":
            machine.step(Op.THREAD_EXIT, thread, 0)
        elif live and what == "r":
            machine.step(Op.REALLOC, thread, live[which % len(live)], max(1, size))
        elif live:
            spare.append(live.pop(which % len(live)))
            machine.step(Op.FREE, thread, spare[-1])
    machine.check()
    for block in live:
        machine.step(Op.FREE, 0, block)
    for thread in range(4):
        machine.step(Op.THREAD_EXIT, thread, 0)
    machine.check()
    assert machine.statistics().live_bytes == machine.statistics().live_block_bytes == 0
    assert int(machine.machine[0]["top"]) == 0
