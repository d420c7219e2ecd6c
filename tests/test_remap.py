"""Runs that become huge blocks, and what waits in proportion to the heap: by hand from docs/machine.md 6, 8 and 9."""

from program import HUGE, NONE, RUN, Program, plain_and_compiled

from heapsmith.model.policy.release.budget import Params

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
def test_free_runs_keep_their_share_of_the_heap(compiled: bool) -> None:
    program = shared(compiled, share_percent=50)
    program.malloc("a b c d e f", 2 * PAGE)
    program.malloc("huge", 100 * PAGE)  # counts for nothing
    program.free("a c")
    assert program.totals("releases") == (0,)  # 4 pages of 12: half of 8
    program.free("e")
    # 6 of 12, then 4 of 10: the two oldest go. 2 of 8 may stay.
    assert program.totals("releases", "released_bytes") == (2, 4 * PAGE)


@plain_and_compiled
def test_a_share_leaves_its_least(compiled: bool) -> None:
    program = shared(compiled, share_percent=50, share_run_bytes=6 * PAGE)
    program.malloc("a b c d e f g h", 2 * PAGE)
    program.free("a c e")
    assert program.totals("releases") == (0,)
    program.free("g")
    assert program.totals("releases", "released_bytes") == (1, 2 * PAGE)
