"""Runs that become huge blocks, and what waits in proportion to the heap: by hand from docs/machine.md, 'realloc'."""

import pytest
from program import HUGE, NONE, RUN, Program, plain_and_compiled

from heapsmith.model.policy.release.budget import Params, why_not_valid

pytestmark = pytest.mark.quick

PAGE = 4096
KEEPING = Params(slab_budget_bytes=1 << 40, run_budget_bytes=1 << 40, most_budget_bytes=1 << 40)


@plain_and_compiled
def test_a_run_that_must_move_to_grow_becomes_a_huge_block(compiled: bool) -> None:
    program = Program(compiled, [16], front=NONE, huge_bytes=64 * PAGE, run_cache_bytes=0, remap_bytes=8 * PAGE)
    assert program.malloc("a", 6 * PAGE) == RUN
    assert program.malloc("b", PAGE) == RUN + 6
    assert program.realloc("a", 7 * PAGE) == RUN + 7  # shorter than remap_bytes: copied
    assert program.totals("realloc_moved", "huge_map") == (1, 0)
    assert program.malloc("c", PAGE) == RUN  # in what a left
    assert program.malloc("d", PAGE) == RUN + 1
    assert program.malloc("e", PAGE) == RUN + 2
    assert program.malloc("f", 4 * PAGE) == RUN + 14
    committed = 13 * PAGE + 5 * PAGE - 3 * PAGE + 3 * PAGE
    assert program.realloc("a", 9 * PAGE) == HUGE
    assert program.totals("realloc_in_place", "realloc_moved", "huge_map", "run_free") == (1, 1, 1, 2)
    assert program.totals("released_bytes", "releases") == (0, 0)
    assert program.totals("committed") == (committed - 7 * PAGE + 9 * PAGE,)
    assert program.realloc("a", 12 * PAGE) == HUGE  # it grows where it is
    assert program.realloc("a", 7 * PAGE) == RUN + 7  # a run again: those pages come anew
    assert program.totals("huge_remap", "huge_unmap", "realloc_moved") == (1, 1, 2)


@plain_and_compiled
def test_without_remap_a_run_moves(compiled: bool) -> None:
    program = Program(compiled, [16], front=NONE, huge_bytes=64 * PAGE, run_cache_bytes=0)
    program.malloc("a", 20 * PAGE)
    program.malloc("b", PAGE)
    assert program.realloc("a", 21 * PAGE) == RUN + 21
    assert program.totals("realloc_moved", "huge_map") == (1, 0)


def shared(compiled: bool, **numbers: int) -> Program:
    """A program whose free runs may be half as many bytes as the rest of its spans."""
    release = Params(**{**{name: getattr(KEEPING, name) for name in KEEPING.__struct_fields__}, **numbers})
    return Program(compiled, [16], front=NONE, huge_bytes=64 * PAGE, run_cache_bytes=0, release=release)


@plain_and_compiled
def test_free_runs_of_a_shrunk_heap_keep_their_share(compiled: bool) -> None:
    program = shared(compiled, share_percent=50)
    program.malloc("a b c d e f g h i j k l", 2 * PAGE)
    program.malloc("huge", 100 * PAGE)  # counts for nothing
    program.free("a c e g i")
    assert program.totals("releases") == (0,)  # 10 pages wait beside 14 in use, of 22 at the first question
    program.free("k")
    assert program.totals("releases") == (0,)  # 12 in use: not less than half
    program.free("l")
    # 10 in use: of 14 that wait the oldest five runs go, 4 may stay beside 10 in use. The last two are one run now.
    assert program.totals("releases", "released_bytes") == (5, 10 * PAGE)


@plain_and_compiled
def test_a_heap_that_stays_keeps_what_its_budget_says(compiled: bool) -> None:
    program = shared(compiled, share_percent=10)
    program.malloc("a b c d e f", 2 * PAGE)
    for _ in range(3):
        program.free("a c e")
        program.malloc("a c e", 2 * PAGE)
    assert program.totals("releases") == (0,)


@plain_and_compiled
def test_a_share_leaves_its_least(compiled: bool) -> None:
    program = shared(compiled, share_percent=10, share_run_bytes=6 * PAGE)
    program.malloc("a b c d e f g h i j k l", 2 * PAGE)
    program.free("a c e")
    program.free("g")
    assert program.totals("releases") == (0,)  # the first question, at 16 pages in use
    program.free("i k l j h")
    # 6 pages stay whatever the share is.
    assert program.totals("releases")[0] > 0
    assert program.simulator.state.aged_run_bytes <= 6 * PAGE


def patient(compiled: bool, wait: int, least: int = 0) -> Program:
    """A program whose heap waits until `wait` pages were freed since it shrank, and then keeps `least` pages."""
    return shared(compiled, share_percent=10, share_wait_bytes=wait * PAGE, share_run_bytes=least * PAGE)


@plain_and_compiled
def test_a_heap_that_shrank_is_patient(compiled: bool) -> None:
    program = patient(compiled, wait=8)
    program.malloc("a b c d e f g h i j k l", 2 * PAGE)
    program.free("a b c d e f")  # 12 pages in use, of 22 at the first question: not less than half
    program.free("g h i")  # 10, 8, 6 in use; the first of them counts as what was freed before it
    assert program.totals("releases", "released_bytes") == (0, 0)
    program.malloc("a b c d e f g h i", 2 * PAGE)
    program.free("a")  # 22 in use: patience begins anew
    program.malloc("a", 2 * PAGE)
    program.free("a b c d e f g h i")
    assert program.totals("releases", "released_bytes") == (0, 0)
    program.free("j")  # 8 pages were freed since less than half is in use
    assert program.totals("released_bytes")[0] > 0


def goes_after(program: Program) -> str:
    """The first of 13 blocks of two pages at whose free pages go back."""
    program.malloc("a b c d e f g h i j k l m", 2 * PAGE)
    for name in "abcdefghijklm":
        program.free(name)
        if program.totals("releases")[0] > 0:
            return name
    return "none"


@plain_and_compiled
@pytest.mark.parametrize(("percent", "wait"), [(1, 2), (29, 7), (41, 10), (0, 16), (100, 16)])
def test_the_patience_of_a_small_heap_goes_by_its_size(compiled: bool, percent: int, wait: int) -> None:
    """Of the 24 pages that were in use at most, but of 16 an eighth at least: as one that always waits so long."""
    small = shared(compiled, share_percent=10, share_wait_bytes=16 * PAGE, share_wait_percent=percent)
    assert goes_after(small) == goes_after(patient(compiled, wait))


def test_a_longer_patience_ends_later() -> None:
    assert [goes_after(patient(False, wait)) for wait in (5, 7, 10, 20)] == ["j", "k", "l", "none"]


@plain_and_compiled
def test_the_next_peak_is_measured_by_itself(compiled: bool) -> None:
    program = patient(compiled, wait=4, least=2)
    program.malloc("a b c d e f g h i j k l", 2 * PAGE)
    program.free("a b c d e f g h i j")
    assert program.simulator.state.share_peak == 22 * PAGE
    for _ in range(4):
        program.malloc("m", PAGE)
        program.free("m")
    assert program.simulator.state.share_peak < 22 * PAGE


@plain_and_compiled
def test_a_program_that_goes_on_with_little_gives_back(compiled: bool) -> None:
    program = patient(compiled, wait=250)
    program.malloc("a b c d e f g h i j k l", 32 * PAGE)
    program.free("a b c d e f g h i j k")
    waits = program.simulator.state.share_waited
    assert program.totals("releases") == (0,)
    expected = -(-(250 * PAGE - waits) // program.simulator.plan.share_miss_bytes)
    for miss in range(expected):  # without a front each is a miss
        assert program.totals("releases") == (0,)
        program.malloc(f"s{miss}", 16)
    assert program.totals("releases")[0] > 0


@plain_and_compiled
def test_a_heap_that_rises_and_falls_learns_patience(compiled: bool) -> None:
    """A fall frees 12 pages with less than half of 22 in use: no more than 8 and half a page of patience 8 times."""
    program = patient(compiled, wait=8)
    went = []
    for _ in range(20):
        before = program.totals("releases")[0]
        program.malloc("a b c d e f g h i j k l", 2 * PAGE)
        program.free("a b c d e f g h i j k l")
        went.append(program.totals("releases")[0] > before)
    state = program.simulator.state
    assert went == [True] * 9 + [False] * 11
    assert state.share_learned == 9 * program.simulator.plan.share_lesson_bytes


def test_patience_needs_a_bound() -> None:
    assert "share_percent" in str(why_not_valid(Params(share_wait_bytes=PAGE)))
    assert "share_wait_bytes" in str(why_not_valid(Params(share_percent=1, share_wait_percent=1)))
    words = "share_wait_percent: 101 is out of range"
    assert words in str(why_not_valid(Params(share_percent=1, share_wait_bytes=PAGE, share_wait_percent=101)))
