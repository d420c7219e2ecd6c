"""Superslabs that are unmapped and mapped again, against docs/machine-rooms.md, 'unmapping', worked by hand."""

from typing import Any

import pytest
from program import Program, plain_and_compiled

from heapsmith.model.policy.empties import grouped as empties_grouped
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import delay as release_delay
from heapsmith.model.policy.slab_record import head as slab_record_head
from heapsmith.model.policy.unmapping import superslabs

pytestmark = [plain_and_compiled, pytest.mark.quick]
PAGE = 4096
SUPERSLAB = 4 * PAGE
COUNTERS = ("superslabs", "slabs", "superslabs_unmapped", "superslabs_reused", "committed")


def unmapping(compiled: bool, keep: int = 0, sizes: tuple[int, ...] = (4096,), **fields: Any) -> Program:
    """A program whose blocks of a page are slabs, four to a superslab."""
    return Program(compiled, list(sizes), unmapping=superslabs.Params(keep=keep), **fields)


def names(letter: str, count: int) -> str:
    return " ".join(f"{letter}{index}" for index in range(count))


def test_an_empty_superslab_is_unmapped_and_mapped_again(compiled: bool) -> None:
    program = unmapping(compiled)
    program.malloc(names("a", 4), PAGE)
    program.malloc(names("b", 3), PAGE)
    program.free("a1 a3 b0 a0")
    assert program.totals(*COUNTERS) == (2, 7, 0, 0, 7 * PAGE)
    program.free("a2")  # the first superslab is empty
    assert program.totals(*COUNTERS) == (2, 7, 1, 0, 3 * PAGE)
    assert program.malloc("c d", PAGE) == [SUPERSLAB, SUPERSLAB + 3 * PAGE]  # b0's, and a new slab
    assert program.malloc("e f", PAGE) == [0, PAGE]  # of the superslab that is mapped again
    assert program.totals(*COUNTERS) == (2, 8, 1, 1, 6 * PAGE)
    program.free("e f")  # two slabs of it have not been handed out again
    assert program.totals("superslabs_unmapped") == (1,)
    assert program.malloc("g h i j", PAGE) == [PAGE, 0, 2 * PAGE, 3 * PAGE]
    assert program.malloc("k", PAGE) == 2 * SUPERSLAB
    assert program.totals(*COUNTERS) == (3, 9, 1, 1, 9 * PAGE)


def test_a_superslab_with_slabs_left_stays(compiled: bool) -> None:
    program = unmapping(compiled)
    program.malloc("a b c", PAGE)
    program.free("a b c")
    assert program.totals(*COUNTERS) == (1, 3, 0, 0, 3 * PAGE)


def test_some_empty_superslabs_stay(compiled: bool) -> None:
    program = unmapping(compiled, keep=1)
    program.malloc(names("a", 4), PAGE)
    program.malloc(names("b", 4), PAGE)
    program.malloc(names("c", 4), PAGE)
    program.free(names("a", 4))
    assert program.totals("superslabs_unmapped") == (0,)
    program.free(names("c", 4))  # a's stays
    assert program.totals(*COUNTERS) == (3, 12, 1, 0, 8 * PAGE)
    assert program.malloc("d", PAGE) == 3 * PAGE  # of a's, which is not empty any more
    program.free(names("b", 4))
    assert program.totals("superslabs_unmapped") == (1,)
    program.free("d")
    assert program.totals(*COUNTERS) == (3, 12, 2, 0, 4 * PAGE)
    assert program.malloc("e f g h", PAGE) == [SUPERSLAB + 3 * PAGE, SUPERSLAB + 2 * PAGE, SUPERSLAB + PAGE, SUPERSLAB]
    assert program.malloc("i", PAGE) == 0  # unmapped last
    assert program.malloc("j k l m", PAGE) == [PAGE, 2 * PAGE, 3 * PAGE, 2 * SUPERSLAB]


def test_slabs_leave_the_middle_of_their_pool(compiled: bool) -> None:
    program = unmapping(compiled)
    program.malloc(names("a", 4), PAGE)
    program.malloc(names("b", 4), PAGE)
    program.free("a0 b0 a1 a2 b1 b2 a3")  # the pool: b2 b1 b0
    assert program.malloc("c d e", PAGE) == [SUPERSLAB + 2 * PAGE, SUPERSLAB + PAGE, SUPERSLAB]
    assert program.malloc("f", PAGE) == 0


def test_a_release_budget_does_not_count_what_is_unmapped(compiled: bool) -> None:
    program = unmapping(compiled, release=release_budget.Params(slab_budget_bytes=2 * PAGE, most_budget_bytes=0))
    program.malloc(names("a", 4), PAGE)
    program.malloc(names("b", 4), PAGE)
    program.free("b0 a0 a1")  # b0's pages go
    assert program.totals("releases", "released_bytes", "committed") == (1, PAGE, 7 * PAGE)
    program.free("a2")  # a0's go
    program.free("a3")  # the superslab goes before another slab is released
    assert program.totals("releases", "superslabs_unmapped", "committed") == (2, 1, 3 * PAGE)
    program.free("b1 b2")
    assert program.totals("releases", "committed") == (2, 3 * PAGE)


def test_a_delay_ticks_once(compiled: bool) -> None:
    program = unmapping(compiled, release=release_delay.Params(delay=4, most=1))
    program.malloc(names("a", 4), PAGE)
    program.malloc(names("b", 4), PAGE)
    program.free("b0 a0 a1 a2")  # the clock is 4, b0's stamp 1
    program.free("a3")  # 5: b0's is due
    assert program.totals("releases", "superslabs_unmapped", "committed") == (1, 1, 3 * PAGE)


def test_superslabs_of_a_class_serve_another(compiled: bool) -> None:
    """A superslab without its class's pool goes to whichever class maps the next."""
    program = unmapping(compiled, sizes=(2048, 4096), empties="dedicated")
    program.malloc(names("a", 4), PAGE)
    program.free(names("a", 4))
    assert program.malloc("b", 2048) == 0
    assert program.totals(*COUNTERS) == (1, 4, 1, 1, PAGE)


def test_groups(compiled: bool) -> None:
    program = unmapping(compiled, sizes=(1024, 2048, 4096), empties=empties_grouped.Params([[2048, 4096]]))
    program.malloc("a b", PAGE)
    program.malloc("c d e f", 2048)
    program.free("c d e f a b")
    assert program.totals("superslabs_unmapped") == (1,)
    assert program.malloc("g", 1024) == 0


def test_a_region_keeps_its_superslabs(compiled: bool) -> None:
    fields: dict[str, Any] = {"classifier": "class_region", "empties": "dedicated", "slab_span_bytes": 1 << 28}
    program = unmapping(compiled, sizes=(2048, 4096), **fields)
    region = 1 << 27
    assert program.malloc(names("a", 5), PAGE)[4] == region + SUPERSLAB
    program.free("a0 a1 a2 a3")
    assert program.malloc("b", 2048) == 0
    assert program.malloc("c d e f", PAGE) == [region + SUPERSLAB + index * PAGE for index in (1, 2, 3)] + [region]
    assert program.totals("superslabs", "superslabs_reused") == (3, 1)


def test_a_slab_that_is_used_once_comes_back_with_its_superslab(compiled: bool) -> None:
    program = unmapping(compiled, empties="once")
    program.malloc("a b c d", PAGE)
    program.free("a b c")
    assert program.malloc("e", PAGE) == SUPERSLAB
    program.free("d")
    assert program.malloc("f g h", PAGE) == [SUPERSLAB + index * PAGE for index in (1, 2, 3)]
    assert program.malloc("i", PAGE) == 0


def test_heads_and_guards_stay(compiled: bool) -> None:
    """Of four slabs, the first holds records and the last is a guard."""
    hardening = hardening_full.Params(quarantine=0)
    program = unmapping(compiled, slab_record=slab_record_head.Params(), hardening=hardening)
    assert program.malloc("a b c", PAGE - 8) == [PAGE, 2 * PAGE, SUPERSLAB + PAGE]
    program.free("a b")
    assert program.totals(*COUNTERS) == (2, 3, 1, 0, PAGE)
    assert program.malloc("d e f", PAGE - 8) == [SUPERSLAB + 2 * PAGE, PAGE, 2 * PAGE]


def test_a_superslab_lies_on_huge_pages_again(compiled: bool) -> None:
    superslab = 1 << 21
    sizes: dict[str, Any] = {
        "superslab_bytes": superslab,
        "huge_bytes": superslab,
        "slab_bytes": superslab // 2,
        "sizes": (superslab // 2,),
    }
    program = unmapping(compiled, thp="grown", thp_slabs_from_bytes=superslab, thp_block_bytes=superslab, **sizes)
    program.malloc(names("a", 5), superslab // 2)
    assert program.totals("superslabs", "committed") == (3, 3 * superslab)
    program.free("a0 a1 a2 a3")
    assert program.totals("superslabs_unmapped", "committed") == (2, superslab)
    program.malloc("b c", superslab // 2)  # the last of the third superslab, the first of the second
    assert program.totals("superslabs_reused", "committed") == (1, 2 * superslab)
    program.malloc("d e", superslab // 2)  # the other, and the first of the first: on small pages
    assert program.totals("superslabs_reused", "committed") == (2, 2 * superslab + superslab // 2)


def test_heaps_take_each_others_superslabs(compiled: bool) -> None:
    program = unmapping(compiled, remote="owner_list", ownership="superslab")
    assert program.malloc("a b c d", PAGE) == [0, PAGE, 2 * PAGE, 3 * PAGE]
    assert program.malloc("e", PAGE, thread=1) == SUPERSLAB
    program.free("a b")
    program.free("c d", thread=1)  # they wait for their owner
    assert program.totals("superslabs_unmapped") == (0,)
    assert program.malloc("f g h i", PAGE) == [0, PAGE, 2 * PAGE, 3 * PAGE]  # the drain emptied the superslab
    assert program.totals(*COUNTERS) == (2, 5, 1, 1, 5 * PAGE)
    program.free("f g h i")
    assert program.malloc("j k l m", PAGE, thread=1)[3] == 0
    assert program.totals(*COUNTERS) == (2, 8, 2, 2, 5 * PAGE)
    assert program.malloc("n", PAGE) == 2 * SUPERSLAB
    program.free("m")  # by thread 0: the superslab has another owner now
    assert program.counts(0, "remote", "drained") == (3, 2)
