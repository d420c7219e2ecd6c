"""Run caches against docs/machine-rooms.md, 'run_cache', by hand.

Thread 0 has a heap after its first small block, at page 0 of the slab span.
"""

import pytest
from program import RUN, Program, plain_and_compiled

pytestmark = [plain_and_compiled, pytest.mark.quick]


def test_run_cache(compiled: bool) -> None:
    page = 4096
    program = Program(compiled, [16], run_cache_bytes=8 * page)
    program.malloc("a", 3 * page)
    program.free("a")  # a thread without a heap frees at once
    assert program.totals("run_free") == (1,)
    program.malloc("s", 16)
    assert program.malloc("a b c", 2 * page) == [RUN, RUN + 2, RUN + 4]  # b: page 2 and one from the top
    assert program.malloc("d", 3 * page) == RUN + 6
    program.free("a b c d")  # 6 + 3 are too many: a goes, the oldest
    assert program.totals("run_free", "run_spill", "committed") == (2, 1, 10 * page)
    assert program.malloc("e", page) == RUN  # none of exactly one page: a's, from the bin
    assert program.malloc("f g", 2 * page) == [RUN + 4, RUN + 2]  # c, b
    assert program.totals("run_hit", "run_reuse") == (2, 2)
    program.exit(0)
    assert program.totals("run_free", "run_spill") == (3, 2)  # d
    program.free("f", thread=0)  # no heap any more
    assert program.totals("run_free", "run_spill") == (4, 2)


def test_a_thread_of_large_blocks_alone(compiled: bool) -> None:
    """It gets a heap once threads without one have freed 256 runs. Its cache then opens as any other."""
    program = Program(compiled, [16], run_cache_bytes=8192)
    for number in range(256):
        program.malloc("a", 8192, thread=number % 2)
        program.free("a", thread=number % 2)
    assert program.totals("heaps", "run_free") == (0, 256)
    program.malloc("a b", 8192)
    program.free("a")
    assert program.totals("heaps", "run_free") == (1, 256)
    program.malloc("c", 8192)
    assert program.totals("run_hit") == (1,)
    program.free("b", thread=1)  # another without a heap
    assert program.totals("heaps", "run_free") == (2, 256)


def test_run_cache_holds_16(compiled: bool) -> None:
    page = 4096
    program = Program(compiled, [16], run_cache_bytes=1 << 20)
    names = [f"n{number}" for number in range(18)]
    program.malloc("s", 16)
    program.malloc(" ".join(names), 2 * page)
    program.malloc("big", (1 << 20) + 1, thread=0)
    program.free(" ".join(names))
    assert program.totals("run_free", "run_spill") == (2, 2)
    assert program.malloc("a", 2 * page) == RUN + 34  # the newest
    assert program.malloc("b", 2 * page, thread=1) == RUN  # a thread without a heap: the two spilled ones merged
    assert program.totals("run_hit", "run_reuse") == (1, 1)


def test_runs_too_long_for_the_cache(compiled: bool) -> None:
    program = Program(compiled, [16], run_cache_bytes=8192)
    program.malloc("s", 16)
    program.malloc("a", 8192)
    program.malloc("b", 8193)
    program.free("a b")
    assert program.totals("run_free", "run_spill") == (1, 0)
    program.realloc("s", 4096 * 3)  # moves to b's pages
    assert program.malloc("c", 8192) == RUN
    assert program.totals("run_hit", "run_reuse") == (1, 1)


def test_a_moved_run_is_cached_and_one_in_the_cache_does_not_merge(compiled: bool) -> None:
    page = 4096
    program = Program(compiled, [16], run_cache_bytes=4 * page)
    program.malloc("s", 16)
    program.malloc("a b c", page)
    program.free("b")
    assert program.realloc("a", 2 * page) == RUN + 3  # page 1 follows, but is cached; b goes, page 0 is cached then
    program.free("c")
    assert program.totals("run_free", "run_extend", "realloc_moved") == (1, 0, 1)
    assert program.malloc("d e f", page) == [RUN + 2, RUN, RUN + 1]
    assert program.totals("run_hit", "run_grow") == (2, 4)


def test_all_cached_runs_leave_before_the_top_rises(compiled: bool) -> None:
    page = 4096
    program = Program(compiled, [16], run_cache_bytes=8 * page)
    program.malloc("s", 16)
    program.malloc("a b c", 2 * page)
    program.free("a c b")
    assert program.malloc("d", 5 * page) == RUN  # merged
    assert program.totals("run_spill", "run_reuse", "run_grow") == (3, 1, 3)
    assert program.malloc("e", 2 * page) == RUN + 5  # nothing is cached: the last page, and one from the top
    assert program.totals("run_hit", "run_spill", "run_grow") == (0, 3, 4)


def test_a_cached_run_may_be_longer_than_asked(compiled: bool) -> None:
    page = 4096
    program = Program(compiled, [16], run_cache_bytes=16 * page, run_cache_slack_percent=50)
    program.malloc("s", 16)
    program.malloc("a b", 3 * page)
    program.malloc("c", 2 * page)
    program.free("a b c")
    assert program.malloc("d", page) == RUN  # 2 and 3 pages are too long: of all that was cached
    assert program.totals("run_hit", "run_spill") == (0, 3)
    program = Program(compiled, [16], run_cache_bytes=16 * page, run_cache_slack_percent=50)
    program.malloc("s", 16)
    program.malloc("a b", 3 * page)
    program.free("a b")
    assert program.malloc("d", 2 * page) == RUN + 3  # b, whole
    program.free("d")
    assert program.malloc("e", 3 * page) == RUN + 3
    assert program.malloc("f", 2 * page + 1) == RUN
    assert program.totals("run_hit", "run_spill", "run_grow") == (3, 0, 2)


def test_the_share_of_run_caches(compiled: bool) -> None:
    page = 4096
    program = Program(
        compiled, [16], run_cache_bytes=1 << 22, run_cache_share_percent=1, run_cache_after=512, huge_bytes=1 << 25
    )
    program.malloc("s", 16)
    for _ in range(256):  # each call looks: none is kept yet
        program.malloc("a", page)
        program.free("a")
    assert program.totals("run_free", "run_hit") == (256, 0)
    for _ in range(3):
        program.malloc("a", page)
        program.free("a")
    assert program.totals("run_free", "run_hit") == (256, 2)
    program.malloc("b", 257 * page)
    program.free("b")  # more than a MiB, and 1 % of the heap is less
    assert program.totals("run_free", "run_spill") == (258, 1)  # a went before the top rose
    program.malloc("c", 200 * page)
    program.free("c")
    assert program.totals("run_free", "run_spill") == (258, 1)
    program.malloc("t", 16, thread=1)  # a heap more: each has half a MiB
    program.malloc("d", page, thread=0)
    assert program.totals("run_free", "run_spill") == (259, 2)


def test_a_larger_heap_has_larger_run_caches(compiled: bool) -> None:
    page = 4096
    program = Program(compiled, [16], run_cache_bytes=1 << 24, run_cache_share_percent=10, huge_bytes=1 << 25)
    program.malloc("s", 16)
    program.malloc("b", 1000 * page)
    program.malloc("c d", 4000 * page)
    program.free("b")  # of 9,001 pages and one of the slab a tenth is less
    assert program.totals("run_free", "run_spill") == (1, 0)
    program.malloc("e", 2000 * page)
    program.malloc("f", 1000 * page)
    program.free("f")
    assert program.totals("run_free", "run_spill") == (1, 0)


def test_caches_are_of_heaps(compiled: bool) -> None:
    program = Program(compiled, [16], run_cache_bytes=1 << 20)
    program.malloc("s", 16, thread=0)
    program.malloc("t", 16, thread=1)
    program.malloc("a", 8192, thread=0)
    program.free("a", thread=1)
    assert program.malloc("b", 8192, thread=0) == RUN + 2
    assert program.malloc("c", 8192, thread=1) == RUN
    assert program.totals("run_hit", "run_grow", "committed") == (1, 2, 5 * 4096)
