"""Large blocks and realloc against docs/machine.md, 'large requests', 'realloc', by hand."""

import pytest
from program import HUGE, RUN, Program, plain_and_compiled

from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.trace.reader import Op

pytestmark = [plain_and_compiled, pytest.mark.quick]


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
    program.free("d g a")  # one run of 8 pages: the top stays
    assert program.malloc("h", 2 * page) == RUN
    assert program.totals("run_reuse", "run_grow", "committed", "committed_peak") == (4, 4, 8 * page, 8 * page)


def test_growth_begins_with_the_free_run_at_the_top(compiled: bool) -> None:
    program = Program(compiled, [16])
    page = 4096
    program.malloc("a b", page)
    program.malloc("c", 3 * page)
    program.free("c")  # pages 2 to 4
    assert program.malloc("d", 5 * page) == RUN + 2  # to page 6
    assert program.totals("run_reuse", "run_grow", "committed", "committed_peak") == (0, 4, 7 * page, 7 * page)
    program.free("a")
    assert program.malloc("e", 2 * page) == RUN + 7  # page 0 is free, but not at the top
    assert program.malloc("f", page) == RUN


def test_the_best_of_a_bin_is_taken(compiled: bool) -> None:
    program = Program(compiled, [16], huge_bytes=1 << 20)
    page = 4096
    for name, pages in (("a", 33), ("b", 39), ("c", 35), ("d", 40), ("e", 36)):
        program.malloc(name, pages * page)
        program.malloc(f"{name}-wall", page)  # keeps the runs apart
    program.free("d e a b c")  # 33 to 39 pages share a bin: c b a e from the head
    assert program.malloc("f", 36 * page) == RUN + 151  # e
    assert program.malloc("g", 34 * page) == RUN + 74  # c: shorter than b
    assert program.malloc("h", 35 * page) == RUN + 34  # b
    assert program.malloc("i", 34 * page) == RUN + 110  # d, from the next bin: a is too short
    assert program.totals("run_reuse", "run_grow") == (4, 10)


def test_of_equals_the_first_and_of_a_bin_the_first_32(compiled: bool) -> None:
    program = Program(compiled, [16], huge_bytes=1 << 20)
    page = 4096
    names = [f"n{number}" for number in range(34)]
    pages = [39, 34, *[35] * 32]
    for name, length in zip(names, pages, strict=True):
        program.malloc(name, length * page)
        program.malloc(f"{name}-wall", page)
    starts = [sum(pages[:number]) + number for number in range(34)]
    program.free(" ".join(names))  # from the head: 32 runs of 35 pages, that of 34, that of 39
    assert program.malloc("a", 34 * page) == RUN + starts[33]  # 34 pages are not among the first 32
    assert program.malloc("b", 34 * page) == RUN + starts[1]  # now they are
    assert program.malloc("c", 36 * page) == RUN + starts[0]
    assert program.totals("run_reuse") == (3,)


def test_the_run_at_the_top_serves_though_no_bin_shows_it(compiled: bool) -> None:
    program = Program(compiled, [16], huge_bytes=1 << 20)
    page = 4096
    names = [f"n{number}" for number in range(32)]
    for name in names:
        program.malloc(name, 34 * page)
        program.malloc(f"{name}-wall", page)
    program.malloc("last", 39 * page)
    program.free("last")
    program.free(" ".join(names))  # 32 too short ones before it in the bin
    assert program.malloc("a", 37 * page) == RUN + 32 * 35
    assert program.malloc("b", 2 * page) == RUN + 32 * 35 + 37  # the rest of it
    assert program.totals("run_reuse", "run_grow") == (2, 65)


def test_release_of_the_oldest_runs_beyond_the_budget(compiled: bool) -> None:
    page = 4096
    program = Program(compiled, [16], release=release_budget.Params(run_budget_bytes=5 * page))
    program.malloc("a", 3 * page)
    program.malloc("b c d e f", page)
    program.malloc("g", 4 * page)
    program.malloc("h", page)
    program.free("a c")
    assert program.totals("releases", "committed") == (0, 13 * page)
    assert program.malloc("i", page) == RUN + 4  # c's
    assert program.malloc("j", page) == RUN  # a's low page: its rest joins the queue again
    program.free("e")
    program.free("g")  # 2 + 1 + 4 pages, a's rest is the oldest
    assert program.totals("releases", "released_bytes", "committed") == (1, 2 * page, 11 * page)
    program.free("d")  # merges with e: the newest now, behind g
    assert program.totals("releases", "committed") == (2, 7 * page)  # 4 + 2 are too many: g goes
    assert program.malloc("k", 3 * page) == RUN + 8  # of g's, committed anew
    assert program.totals("committed", "committed_peak") == (10 * page, 13 * page)
    program.free("j")  # merges with the released rest: one dirty page of three
    assert program.totals("releases", "committed") == (2, 10 * page)
    assert program.malloc("l", 2 * page) == RUN + 5  # e's and d's
    assert program.malloc("m", 2 * page) == RUN  # the dirty page and one released
    assert program.totals("committed") == (11 * page,)


def test_a_run_budget_of_nothing(compiled: bool) -> None:
    program = Program(compiled, [16], release=release_budget.Params(run_budget_bytes=0))
    program.malloc("a b", 8192)
    program.free("b a")
    assert program.totals("releases", "released_bytes", "committed") == (2, 4 * 4096, 0)
    assert program.malloc("c", 8192) == RUN
    assert program.totals("committed", "run_reuse") == (8192, 1)


def test_the_run_budget_grows_as_pages_are_needed_again(compiled: bool) -> None:
    page = 4096
    release = release_budget.Params(run_budget_bytes=page, most_budget_bytes=20 * page)
    program = Program(compiled, [16], release=release)
    for committed in (page, 5 * page, 5 * page):  # the first round's two releases of two pages are not repeated
        program.malloc("a b", 2 * page)
        program.malloc("c", page)
        program.free("a b c")
        assert program.totals("releases", "committed") == (2, committed)


def test_huge_pages_commit_up_to_the_next_one(compiled: bool) -> None:
    page, huge_page = 4096, 1 << 21
    program = Program(compiled, [16], thp="always", superslab_bytes=huge_page, huge_bytes=1 << 22)
    program.malloc("a", 3 * page)
    assert program.totals("committed") == (huge_page,)
    program.malloc("b", 509 * page)
    assert program.totals("committed") == (huge_page,)
    program.malloc("c", page)
    assert program.totals("committed") == (2 * huge_page,)
    assert program.realloc("c", 514 * page) == RUN + 512
    assert program.totals("run_extend", "committed", "committed_peak") == (1, 3 * huge_page, 3 * huge_page)


def test_released_pages_of_a_huge_page_come_back_one_by_one(compiled: bool) -> None:
    page, huge_page = 4096, 1 << 21
    release = release_budget.Params(run_budget_bytes=0)
    program = Program(compiled, [16], thp="always", superslab_bytes=huge_page, release=release)
    program.malloc("a", 3 * page)
    program.free("a")
    assert program.totals("releases", "released_bytes", "committed") == (1, 3 * page, huge_page - 3 * page)
    assert program.malloc("b", 2 * page) == RUN
    assert program.totals("committed") == (huge_page - page,)


def test_huge_pages_once_the_runs_have_grown(compiled: bool) -> None:
    page, huge_page = 4096, 1 << 21
    fields = {"thp": "grown", "thp_runs_from_bytes": huge_page, "superslab_bytes": huge_page, "huge_bytes": 1 << 22}
    program = Program(compiled, [16], **fields)
    program.malloc("a", 512 * page)
    assert program.totals("committed") == (512 * page,)
    program.malloc("b", page)
    assert program.totals("committed") == (2 * huge_page,)
    program = Program(compiled, [16], **fields)
    program.malloc("a", 513 * page)
    assert program.totals("committed") == (2 * huge_page,)


def test_canary_behind_large_blocks(compiled: bool) -> None:
    program = Program(compiled, [16], hardening=hardening_full.Params())
    assert program.malloc("a", 4088) == RUN
    assert program.malloc("b", 4089) == RUN + 1
    assert program.malloc("c", 65536) == RUN + 3  # 17 pages, though huge_bytes is 16
    assert program.malloc("d", 65537) == HUGE
    assert program.totals("committed") == ((1 + 2 + 17 + 17) * 4096,)
    assert program.realloc("d", 17 * 4096) == HUGE  # it has no canary
    assert program.totals("huge_remap", "committed") == (0, (1 + 2 + 17 + 17) * 4096)
    assert program.realloc("d", 17 * 4096 + 1) == HUGE
    assert program.totals("huge_remap", "committed") == (1, (1 + 2 + 17 + 18) * 4096)
    assert program.realloc("a", 4089) == RUN + 20  # two pages


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
    assert program.simulator.step(Op.REALLOC, 0, program.live["a"], 0) == -1
    assert program.simulator.statistics().live_blocks == 0
    assert program.totals("realloc_moved", "run_free") == (3, 0)  # the run is in the heap's cache
    assert program.malloc("b", 8192) == RUN


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


def test_a_run_grows_over_the_free_one_at_the_top(compiled: bool) -> None:
    program = Program(compiled, [16])
    page = 4096
    program.malloc("a", 2 * page)
    program.malloc("b", 3 * page)
    program.free("b")
    assert program.realloc("a", 4 * page) == RUN  # the free run is long enough: its rest stays
    assert program.realloc("a", 8 * page) == RUN  # one page and three from the top
    assert program.totals("run_extend", "run_free", "committed") == (2, 1, 8 * page)


def test_a_run_cannot_grow_beyond_the_span(compiled: bool) -> None:
    program = Program(compiled, [16], run_span_bytes=1 << 28, huge_bytes=1 << 27)
    page, half = 4096, 1 << 15
    program.malloc("a", (half - 2) * page)
    assert program.malloc("b", (half - 2) * page) == RUN + half - 2
    program.malloc("c", 3 * page)
    program.free("c")  # at the top, one page below the end of the span
    assert program.realloc("b", half * page) == RUN + half - 2
    assert program.malloc("d e", page) == [RUN + 2 * half - 2, RUN + 2 * half - 1]
    program.free("d")
    program.free("e")
    assert program.malloc("f", 3 * page) == HUGE  # no run is that long: a mapping serves
    assert program.malloc("g", 2 * page) == RUN + 2 * half - 2
    assert program.malloc("h", 16) == 0
    assert program.totals("huge_map", "run_grow") == (1, 4)


def test_move_allocates_before_it_frees(compiled: bool) -> None:
    program = Program(compiled, [16, 4096])
    program.malloc("a", 4096)
    assert program.realloc("a", 8192) == RUN
    assert program.totals("committed", "committed_peak") == (3 * 4096, 3 * 4096)
    assert program.counts(1, "retire") == (1,)
