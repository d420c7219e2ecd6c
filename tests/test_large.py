"""Large blocks and realloc against docs/machine.md sections 8 and 9, by hand."""

from program import HUGE, RUN, Program, plain_and_compiled

from heapsmith.model.policy import release_eager
from heapsmith.model.trace import Op

pytestmark = plain_and_compiled


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
