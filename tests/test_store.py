"""The store against docs/machine.md: empties, classifiers, commitment, by hand."""

from typing import Any

import pytest
from program import HUGE, RUN, Program, plain_and_compiled

from heapsmith.model.policy.empties import grouped as empties_grouped
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep

pytestmark = [plain_and_compiled, pytest.mark.quick]


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


def test_a_slab_that_is_used_once(compiled: bool) -> None:
    program = Program(compiled, [2048, 4096], empties="once")
    assert program.malloc("a b", 4096) == [0, 4096]
    program.free("a b")
    assert program.malloc("c d e", 2048) == [8192, 10240, 12288]
    assert program.counts(1, "acquire", "retire") == (2, 2)


def test_grouped_empties(compiled: bool) -> None:
    groups = empties_grouped.Params([[2048, 4096], [512]])
    program = Program(compiled, [512, 1024, 2048, 4080, 4096], empties=groups)  # four slabs a superslab
    assert program.malloc("a b", 4096) == [0, 4096]
    assert program.malloc("c", 1024) == 16384  # 1,024 and 4,080 have no group: they share too
    assert program.malloc("d", 4080) == 20480
    assert program.malloc("e", 512) == 32768
    program.free("a b")
    assert program.malloc("f", 2048) == 4096  # of its group, the slab retired last
    assert program.totals("superslabs", "slabs") == (3, 5)


def test_class_region(compiled: bool) -> None:
    fields: dict[str, Any] = {"classifier": "class_region", "empties": "dedicated", "slab_span_bytes": 1 << 28}
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


def test_a_header_of_one_byte(compiled: bool) -> None:
    program = Program(compiled, [16, 32], classifier="byte_header")  # 255 blocks of 16 bytes and 127 of 32 a slab
    assert program.malloc("a b", 15) == [16, 32]
    assert program.malloc("c", 16) == 4096 + 16
    assert program.malloc("d", 31) == 4096 + 48
    assert program.malloc("e", 32) == RUN
    assert program.aligned("f", 4, 15) == 48
    assert program.malloc(" ".join(f"n{i}" for i in range(253)), 1)[-2:] == [4080, 8192 + 16]


@pytest.mark.parametrize(("classes", "magic"), [(2, 0xA0), (32, 0xA0), (33, 0x80), (64, 0x80)])
def test_a_magic_header(compiled: bool, classes: int, magic: int) -> None:
    """A byte before each block, as with a header of one: which byte it is changes no address."""
    sizes = [16 * (1 + i) for i in range(classes)]
    program = Program(compiled, sizes, classifier="magic_header")
    assert program.simulator.plan.numbers["header_magic"] == magic
    assert program.malloc("a b", 15) == [16, 32]
    assert program.malloc("c", 16) == 4096 + 16
    assert program.aligned("d", 4, 15) == 48
    program.free("a c")
    assert program.malloc("e f", 15) == [16, 64]


def test_page_map(compiled: bool) -> None:
    program = Program(compiled, [16, 4096], classifier="page_map", slab_bytes=8192)
    assert program.malloc("a b c", 4096) == [0, 4096, 8192]
    assert program.malloc("d", 16) == 16384
    program.free("b d")
    assert program.malloc("e f", 4096) == [12288, 4096]  # the hot slab first


def test_a_run_where_no_slab_is_to_be_had(compiled: bool) -> None:
    slab = 1 << 21
    span: dict[str, Any] = {
        "superslab_bytes": 1 << 26,
        "slab_span_bytes": 1 << 28,
        "run_span_bytes": 1 << 28,
        "huge_bytes": slab,
        "run_cache_bytes": slab,
    }
    program = Program(compiled, [1024, slab], slab_bytes=slab, **span)
    names = [f"n{i}" for i in range(128)]
    assert program.malloc(" ".join(names), slab) == [i * slab for i in range(128)]
    assert program.malloc("x", slab - 1000) == RUN  # 512 pages: the class's usable bytes
    assert program.malloc("y", 1000) == RUN + 512  # one page
    assert program.aligned("z", 10, 1) == RUN + 513
    assert program.counts(0, "refill", "refilled", "acquire", "hit0") == (2, 0, 0, 0)
    assert program.counts(1, "refill", "refilled") == (129, 128)
    assert program.totals("run_grow", "superslabs", "committed") == (3, 4, 128 * slab + 514 * 4096)
    assert program.realloc("y", 500) == RUN + 514  # of a run, to a small size: moved, again into a run
    assert program.totals("realloc_moved", "realloc_in_place", "run_free") == (1, 0, 0)  # the old one is cached
    program.free("n7")
    assert program.malloc("w", 100) == 7 * slab  # a slab again
    assert program.simulator.statistics().failed == 0
    program.free("y")
    assert program.malloc("u", slab) == RUN + 514  # the cache holds runs of one page only: they go, y ends at the top
    assert program.totals("run_hit", "run_spill") == (0, 2)
    live = 128 + 3  # n0 .. n127 but one, w, x, z, u
    assert program.simulator.statistics().live_blocks == live


def test_no_slab_and_no_run(compiled: bool) -> None:
    slab = 1 << 21
    fields: dict[str, Any] = {"slab_span_bytes": 1 << 28, "run_span_bytes": 1 << 28, "superslab_bytes": 1 << 26}
    program = Program(compiled, [1024, slab], slab_bytes=slab, huge_bytes=slab, **fields)
    names = [f"n{i}" for i in range(256)]
    program.malloc(" ".join(names), slab)
    assert program.malloc("x", slab) == -1
    assert program.realloc("x", slab // 2) == -1  # of a null pointer: malloc, which fails again
    program.free("x")
    assert program.realloc("n7", 1000) == -1  # no room to move: the block stays
    program.free("n200")
    assert program.malloc("y", slab) == RUN + (200 - 128) * 512
    program.free("n7")
    assert program.malloc("z", slab) == 7 * slab
    assert program.counts(0, "refill", "refilled", "acquire") == (1, 0, 0)
    assert program.counts(1, "refill", "refilled") == (128 + 128 + 2 + 2, 129)
    assert program.totals("superslabs", "realloc_moved", "realloc_in_place", "run_grow") == (4, 0, 0, 128)
    assert program.simulator.statistics().failed == 3


def test_region_used_up(compiled: bool) -> None:
    fields: dict[str, Any] = {"classifier": "class_region", "empties": "dedicated", "slab_span_bytes": 1 << 28}
    size = 1 << 18
    program = Program(compiled, [2048, size], slab_bytes=size, superslab_bytes=1 << 26, huge_bytes=size, **fields)
    program.malloc(" ".join(f"n{i}" for i in range(512)), size)
    assert program.malloc("x", size) == RUN
    assert program.malloc("y", 2048) == 0  # the other region is empty
    assert program.totals("superslabs", "run_grow") == (3, 1)


def test_run_span_used_up(compiled: bool) -> None:
    program = Program(compiled, [16], run_span_bytes=1 << 28, huge_bytes=1 << 27)
    assert program.malloc("a b", 3 << 25) == [RUN, RUN + 24576]
    assert program.malloc("c", (1 << 26) + 1) == HUGE
    assert program.realloc("b", (5 << 25) + 1) == HUGE + 1  # beyond huge_bytes
    assert program.malloc("d", 1 << 27) == RUN + 24576
    assert program.malloc("e", 1 << 25) == RUN + 24576 + 32768
    assert program.realloc("e", (1 << 25) + 1) == HUGE + 2
    assert program.totals("run_extend", "run_grow", "realloc_moved") == (0, 4, 2)


def test_classes_of_grain_8(compiled: bool) -> None:
    program = Program(compiled, [8, 16, 48], grain=8)
    assert program.malloc("a b c d", 0) == [0, 8, 16, 24]
    assert program.malloc("e f", 9) == [4096, 4096 + 16]  # 16: there are no others up to 48
    assert program.aligned("g", 3, 8) == 32
    assert program.aligned("h", 4, 4) == 4096 + 32  # 8 is no multiple of 16, 16 is
    assert program.malloc("i", 17) == 8192
    assert program.aligned("j", 5, 17) == RUN
    assert program.counts(2, "refill") == (1,)


def test_aligned(compiled: bool) -> None:
    program = Program(compiled, [16, 48, 64, 256])
    assert program.aligned("a", 4, 20) == 0  # malloc is 16-aligned anyway: 48
    assert program.aligned("b", 6, 20) == 4096  # 64
    assert program.aligned("c", 7, 65) == 8192  # 256
    assert program.aligned("d", 9, 20) == RUN  # no class
    assert program.aligned("e", 12, 257) == RUN + 1
    assert program.aligned("f", 13, 20) == HUGE  # beyond a page: no run, and no class, is that aligned
    assert program.aligned("g", 13, 5000) == HUGE + 1
    assert program.totals("heaps", "run_grow", "huge_map", "committed") == (1, 2, 2, 8 * 4096)


def test_committed_follows_carving(compiled: bool) -> None:
    program = Program(compiled, [1536], slab_bytes=16384)
    sizes: list[int] = []
    for name in ("a", "b", "c", "d"):
        program.malloc(name, 1536)
        sizes += program.totals("committed")
    assert sizes == [4096, 4096, 8192, 8192]


def test_alignment_beyond_a_page_is_large(compiled: bool) -> None:
    program = Program(compiled, [16, 8192], slab_bytes=16384)
    assert program.aligned("a", 12, 100) == 0  # 8192 is a multiple of the page
    assert program.aligned("b", 13, 100) == HUGE  # and of 8192, but slabs are not looked at
    assert program.totals("huge_map") == (1,)


def test_release_of_the_oldest_slabs_beyond_the_budget(compiled: bool) -> None:
    release = release_budget.Params(slab_budget_bytes=2 * 4096, most_budget_bytes=0)
    program = Program(compiled, [2048, 4096], release=release, empties="dedicated")
    program.malloc("a b c", 4096)
    program.malloc("d e f g", 2048)  # two slabs
    program.free("b a")
    assert program.totals("releases", "committed") == (0, 5 * 4096)
    program.free("d e")  # three empty slabs: b's is the oldest
    assert program.totals("releases", "released_bytes", "committed") == (1, 4096, 4 * 4096)
    assert program.malloc("h", 4096) == 0  # a's, retired last, leaves the queue with its pages
    program.free("c")  # the queue: the first of 2048, c's
    assert program.totals("releases", "committed") == (1, 4 * 4096)
    assert program.malloc("i", 4096) == 2 * 4096
    assert program.malloc("j", 4096) == 4096  # b's, committed anew
    assert program.totals("releases", "committed", "committed_peak") == (1, 5 * 4096, 5 * 4096)
    program.free("h i j")  # 2048's first is the oldest, then h's
    assert program.totals("releases", "committed") == (3, 3 * 4096)


def test_the_budget_grows_as_slabs_are_needed_again(compiled: bool) -> None:
    release = release_budget.Params(slab_budget_bytes=4096, most_budget_bytes=3 * 4096)
    program = Program(compiled, [4096], release=release)
    blocks = "a b c d e"
    for releases in (4, 6, 8):  # one slab stays, then three: as many as the budget may grow to
        program.malloc(blocks, 4096)
        program.free(blocks)
        assert program.totals("releases") == (releases,)
    assert program.totals("committed") == (3 * 4096,)


def test_a_budget_of_nothing_releases_at_once(compiled: bool) -> None:
    program = Program(compiled, [4096], release=release_budget.Params(0, 0))
    program.malloc("a b", 4096)
    program.free("a b")
    assert program.totals("releases", "committed") == (2, 0)
    assert program.malloc("c", 4096) == 4096


def test_budget_counts_committed_bytes(compiled: bool) -> None:
    release = release_budget.Params(slab_budget_bytes=4 * 4096)
    program = Program(compiled, [1024, 16384], slab_bytes=16384, superslab_bytes=65536, release=release)
    program.malloc("a", 16384)
    program.malloc("b", 1024)  # a slab with one page
    program.malloc("c", 16384)
    program.free("a")
    assert program.totals("releases", "committed") == (0, 9 * 4096)
    program.free("c")
    assert program.totals("releases", "released_bytes", "committed") == (1, 16384, 5 * 4096)


def test_huge_pages_commit_whole_superslabs(compiled: bool) -> None:
    superslab = 1 << 21
    release = release_budget.Params(slab_budget_bytes=0)
    program = Program(compiled, [4096], thp="always", superslab_bytes=superslab, release=release)
    assert program.malloc("a b", 4096) == [0, 4096]
    assert program.totals("committed", "committed_peak") == (superslab, superslab)
    program.free("a")
    assert program.totals("releases", "released_bytes", "committed") == (1, 4096, superslab - 4096)
    assert program.malloc("c d", 4096) == [0, 8192]
    assert program.totals("committed", "superslabs") == (superslab, 1)
    program.malloc(" ".join(f"n{i}" for i in range(510)), 4096)
    assert program.totals("committed", "superslabs") == (2 * superslab, 2)


def test_huge_pages_once_the_superslabs_have_grown(compiled: bool) -> None:
    superslab = 1 << 21
    program = Program(compiled, [4096], thp="grown", thp_slabs_from_bytes=superslab, superslab_bytes=superslab)
    program.malloc(" ".join(f"n{i}" for i in range(512)), 4096)
    assert program.totals("committed", "superslabs") == (superslab, 1)
    program.malloc("a", 4096)
    assert program.totals("committed", "superslabs") == (2 * superslab, 2)
    program.malloc("b", 4096)
    assert program.totals("committed", "superslabs") == (2 * superslab, 2)


def test_superslabs_for_long_blocks_keep_small_pages(compiled: bool) -> None:
    superslab = 1 << 21
    fields = {"thp": "grown", "thp_slabs_from_bytes": 0, "thp_block_bytes": 4096, "superslab_bytes": superslab}
    program = Program(compiled, [4096, 8192], slab_bytes=superslab, **fields)
    program.malloc("a", 8192)
    assert program.totals("committed", "superslabs") == (8192, 1)
    program.malloc("b", 4096)
    assert program.totals("committed", "superslabs") == (superslab + 8192, 2)
    program.malloc("c", 8192)
    assert program.totals("committed", "superslabs") == (superslab + 2 * 8192, 2)


def test_guard_slabs_are_never_handed_out(compiled: bool) -> None:
    program = Program(compiled, [4096], hardening=hardening_full.Params(quarantine=0), superslab_bytes=8192)
    assert program.malloc("a b c", 4088) == [0, 8192, 16384]
    assert program.malloc("d", 4089) == RUN
    assert program.totals("superslabs", "slabs", "committed") == (3, 3, 3 * 4096 + 2 * 4096)


def test_keep_releases_nothing(compiled: bool) -> None:
    program = Program(compiled, [4096], release=release_keep.Params())
    program.malloc("a b c", 4096)
    program.malloc("r", 60000)
    program.free("a b c r")
    assert program.totals("releases", "released_bytes", "committed") == (0, 0, (3 + 15) * 4096)
