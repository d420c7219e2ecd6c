"""What is kept for a while before it goes back to the OS, against docs/machine.md sections 6 and 8, by hand."""

from program import RUN, Program, plain_and_compiled

from heapsmith.model.policy.release import delay as release_delay

pytestmark = plain_and_compiled
PAGE = 4096


def test_slabs_go_back_after_so_many_events(compiled: bool) -> None:
    program = Program(compiled, [4096], release=release_delay.Params(delay=2, most=1))  # a block is a slab
    program.malloc("a b c d", PAGE)
    program.free("a b")  # clock 2; stamps 1 and 2
    assert program.totals("releases", "committed") == (0, 4 * PAGE)
    program.free("c")  # clock 3: a's is due
    assert program.totals("releases", "released_bytes", "committed") == (1, PAGE, 3 * PAGE)
    assert program.malloc("e", PAGE) == 2 * PAGE  # c's, retired last, leaves the queue with its pages
    assert program.totals("committed") == (3 * PAGE,)
    program.free("e")  # clock 4: b's is due; e's has a new stamp, 4
    assert program.totals("releases", "committed") == (2, 2 * PAGE)
    program.free("d")  # clock 5: e's is 1 old
    assert program.totals("releases", "committed") == (2, 2 * PAGE)


def test_an_event_releases_a_few(compiled: bool) -> None:
    program = Program(compiled, [4096], huge_bytes=8192, release=release_delay.Params(delay=3, most=2))
    program.malloc("a b c d", PAGE)
    program.malloc("huge other third", 3 * PAGE)
    program.free("a b c")  # stamps 1, 2, 3
    program.free("huge other third")  # the clock is 6, but no slab was retired
    assert program.totals("huge_unmap", "releases", "committed") == (3, 0, 4 * PAGE)
    program.free("d")  # clock 7: a, b and c are due; two go
    assert program.totals("releases", "committed") == (2, 2 * PAGE)
    program.malloc("e", PAGE)  # d's
    program.free("e")  # clock 8: c's goes
    assert program.totals("releases", "committed") == (3, PAGE)


def test_runs_go_back_after_so_many_events(compiled: bool) -> None:
    program = Program(compiled, [16], release=release_delay.Params(delay=2, most=1))
    program.malloc("a", 2 * PAGE)
    program.malloc("b", PAGE)
    program.malloc("c", 4 * PAGE)
    program.malloc("d e f g", PAGE)
    program.free("a c")  # stamps 1 and 2
    assert program.totals("releases", "committed") == (0, 11 * PAGE)
    assert program.malloc("h", PAGE) == RUN  # the rest of a's, a page, has stamp 2 and is behind c's
    program.free("e")  # clock 3: c's is 1 old
    assert program.totals("releases", "committed") == (0, 11 * PAGE)
    program.free("g")  # clock 4: c's goes, and one a free is all
    assert program.totals("releases", "released_bytes", "committed") == (1, 4 * PAGE, 7 * PAGE)
    program.free("b")  # clock 5: merges with the rest of a's and with c's; e's stamp is 3
    assert program.totals("releases", "committed") == (2, 6 * PAGE)


def test_a_delay_in_bytes(compiled: bool) -> None:
    release = release_delay.Params(delay=5 * PAGE, unit="bytes", most=8)
    program = Program(compiled, [2048], release=release, run_cache_bytes=0)
    program.malloc("a b", 2048)  # a slab of a page
    program.malloc("c", 3 * PAGE)
    program.malloc("d e f g", PAGE)
    program.free("a b")  # the clock is 1 page, the slab's stamp
    program.free("e g c")  # 2, 3, and 6 pages: e's stamp, 2, is 4 below
    program.free("f")  # 7, and the stamp of e to g
    assert program.totals("releases", "committed") == (0, 8 * PAGE)
    program.malloc("h", 8 * PAGE)
    program.free("h")  # 15, the stamp of e to h; c's is 6
    assert program.totals("releases", "released_bytes", "committed") == (1, 3 * PAGE, 10 * PAGE)
    program.malloc("i", 2048)  # the slab
    program.free("i")  # 16, its stamp
    assert program.totals("releases") == (1,)
