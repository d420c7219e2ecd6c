"""What is kept for a while before it goes back to the OS, against docs/machine-rooms.md, 'release', by hand."""

from typing import Any

import pytest
from program import HUGE, NONE, RUN, Program, plain_and_compiled

from heapsmith.model.design.choices import Front
from heapsmith.model.errors import BadInput
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.huge_cache import delayed as huge_cache_delayed
from heapsmith.model.policy.release import delay as release_delay
from heapsmith.model.trace.reader import Chunk, Op

pytestmark = [plain_and_compiled, pytest.mark.quick]
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


def test_freed_mappings_wait(compiled: bool) -> None:
    cache = huge_cache_delayed.Params(kept_bytes=60 * PAGE, delay=3, slack_percent=25)
    program = Program(compiled, [16], huge_cache=cache)  # huge beyond 16 pages
    assert program.malloc("a b c", 20 * PAGE) == [HUGE, HUGE + 1, HUGE + 2]
    program.free("a b")
    assert program.totals("huge_map", "huge_unmap", "committed") == (3, 0, 60 * PAGE)
    assert program.aligned("d", 12, 20 * PAGE) == HUGE + 1  # the newest: each begins a page
    assert program.malloc("e", 25 * PAGE) == HUGE + 3  # a's is too short
    assert program.malloc("f", 17 * PAGE) == HUGE  # a's, by 3 pages too long, which go back
    assert program.totals("huge_map", "huge_reuse", "huge_remap", "committed") == (4, 2, 1, 82 * PAGE)
    program.free("d c")  # stamps 3 and 4
    assert program.aligned("g", 13, 20 * PAGE) == HUGE + 4  # aligned to two pages
    program.free("g")  # stamp 5: three of 20 pages wait, 60 together
    assert program.totals("huge_unmap", "committed") == (0, 102 * PAGE)
    program.free("f")  # stamp 6, 17 pages: d's goes, which waited for 3, and 57 stay
    assert program.totals("huge_unmap", "committed") == (1, 82 * PAGE)
    assert program.malloc("h", 15 * PAGE, op=Op.CALLOC) == RUN  # no huge block
    program.free("e")  # 25: c's goes for its age
    assert program.totals("huge_unmap", "committed") == (3, (17 + 25 + 15) * PAGE)  # and g's: 62 were too many
    assert program.malloc("i", 21 * PAGE) == HUGE + 3  # 26 is the most
    assert program.totals("huge_reuse", "huge_remap", "committed") == (3, 2, (17 + 21 + 15) * PAGE)


def test_the_slack_is_rounded_down(compiled: bool) -> None:
    cache = huge_cache_delayed.Params(kept_bytes=30 * PAGE, delay=99, slack_percent=25)
    program = Program(compiled, [16], huge_cache=cache)
    program.malloc("a", 27 * PAGE)
    program.free("a")
    assert program.malloc("b", 21 * PAGE) == HUGE + 1  # 26 is the most
    program.free("b")  # 48 pages: a's goes
    assert program.totals("huge_unmap", "committed") == (1, 21 * PAGE)
    program.malloc("c", 31 * PAGE)
    program.free("c")  # too long to wait
    assert program.totals("huge_unmap", "committed") == (2, 21 * PAGE)


def test_sixteen_mappings_wait(compiled: bool) -> None:
    program = Program(compiled, [16], huge_cache=huge_cache_delayed.Params(delay=99, slack_percent=0))
    names = [f"n{number}" for number in range(18)]
    program.malloc(" ".join(names), 17 * PAGE)
    program.free(" ".join(names[:16]))
    assert program.totals("huge_unmap") == (0,)
    program.free(" ".join(names[16:]))
    assert program.totals("huge_unmap", "committed") == (2, 16 * 17 * PAGE)


def test_a_realloc_lets_a_mapping_wait(compiled: bool) -> None:
    program = Program(compiled, [16], huge_cache=huge_cache_delayed.Params(slack_percent=0))
    program.malloc("a", 20 * PAGE)
    program.malloc("b", 20 * PAGE)
    program.free("b")
    assert program.realloc("a", 30 * PAGE) == HUGE  # resized: what waits is of no use
    assert program.realloc("a", 2 * PAGE) == RUN  # moves
    assert program.malloc("c", 30 * PAGE) == HUGE
    assert program.totals("huge_remap", "huge_reuse", "committed") == (1, 1, (20 + 30 + 2) * PAGE)


def in_milliseconds(compiled: bool, sizes: list[int], front: Front = NONE, **numbers: Any) -> Program:
    release = release_delay.Params(unit="milliseconds", **numbers)
    return Program(compiled, sizes, front, release=release, run_cache_bytes=0)


def test_slabs_go_back_after_milliseconds(compiled: bool) -> None:
    program = in_milliseconds(compiled, [4096], delay=10, most=8)
    program.malloc("a b c d", PAGE)
    program.ms = 5
    program.free("a b")  # stamp 5
    program.ms = 14
    program.free("c")  # they are 9 old
    assert program.totals("releases", "committed") == (0, 4 * PAGE)
    program.ms = 15
    program.free("d")
    assert program.totals("releases", "released_bytes", "committed") == (2, 2 * PAGE, 2 * PAGE)


def test_an_allocation_looks_once_a_millisecond(compiled: bool) -> None:
    program = in_milliseconds(compiled, [4096], delay=10, most=2)
    program.malloc("a b c d e f g", PAGE)
    program.malloc("run", 2 * PAGE)
    program.malloc("last", PAGE)
    program.free("a b c d run")  # stamp 0
    program.ms = 9
    program.malloc("h", PAGE)  # d's, retired last
    assert program.totals("releases", "committed") == (0, 10 * PAGE)
    program.ms = 10
    program.malloc("i", PAGE)  # a's and b's are due, then the run; c's serves
    assert program.totals("releases", "released_bytes", "committed") == (3, 4 * PAGE, 6 * PAGE)
    program.malloc("j", PAGE)  # b's, without a look
    assert program.totals("releases", "committed") == (3, 7 * PAGE)


def test_a_hit_does_not_look(compiled: bool) -> None:
    stack = front_array_stack.Params(capacity=4, refill=2, flush=1)
    program = in_milliseconds(compiled, [2048], stack, delay=1, most=8)
    program.malloc("run", 2 * PAGE)
    program.malloc("next", PAGE)
    program.free("run")
    program.ms = 10
    program.malloc("a", 2048)  # a refill of two blocks
    assert program.totals("releases") == (1,)
    program.malloc("other", 2 * PAGE)
    program.free("other")
    program.ms = 20
    program.malloc("b", 2048)  # a hit
    assert program.totals("releases") == (1,)
    program.malloc("c", 2048)
    assert program.totals("releases") == (2,)


def test_what_is_left_of_a_run_has_a_new_stamp_in_milliseconds(compiled: bool) -> None:
    program = in_milliseconds(compiled, [16], delay=10, most=8)
    program.malloc("a", 3 * PAGE)
    program.malloc("b c", PAGE)
    program.free("a")  # stamp 0
    program.ms = 8
    program.malloc("d", PAGE)  # the rest of a's has stamp 8
    program.ms = 17
    program.free("c")
    assert program.totals("releases", "committed") == (0, 5 * PAGE)
    program.ms = 18
    program.malloc("e", 16)  # the rest of a's; c's is 1 old
    assert program.totals("releases", "released_bytes") == (1, 2 * PAGE)


def test_a_clock_counts_its_reads(compiled: bool) -> None:
    program = in_milliseconds(compiled, [4096], delay=10, most=8)
    program.malloc("a", PAGE)  # it looks
    program.free("a")  # joins the queue, and is too young
    assert program.simulator.statistics().work["clock_reads"] == 3


def test_a_trace_without_times_is_refused(compiled: bool) -> None:
    program = in_milliseconds(compiled, [4096], delay=10, most=8)
    timeless = Chunk.of([0, 0], [0, 0], [0, 1], [8, 8], [0, 0], [0, 0])
    with pytest.raises(BadInput, match=r"release\.unit: milliseconds .* no time stamps"):
        program.simulator.feed(timeless)
