"""What a slab does with its freed blocks, and two active slabs, by hand: docs/machine-rooms.md, 'freed_blocks'."""

import pytest
from program import Program, plain_and_compiled

from heapsmith.model.policy.front import array_stack

pytestmark = [plain_and_compiled, pytest.mark.quick]


def test_two_slabs_stay(compiled: bool) -> None:
    program = Program(compiled, [1024], slab_choice="two_active")
    program.malloc("a b c d e f g h i j k l", 1024)  # three full slabs
    program.free("a e i")  # slab 0 is the second; slab 2 is put before slab 1, and behind slab 0
    assert program.malloc("m n o", 1024) == [0, 8192, 4096]  # each hot in its turn, and full again
    program.free("m b c d")
    assert program.counts(0, "retire") == (0,)  # slab 0 is empty, and the second
    program.free("o f g h")
    assert program.counts(0, "retire") == (1,)  # slab 1, behind it
    assert program.malloc("p", 1024) == 0  # slab 0 is hot
    program.free("n j k l p")
    assert program.counts(0, "retire", "acquire") == (1, 3)  # slab 2 is the second


def test_freed_blocks_on_a_list(compiled: bool) -> None:
    program = Program(compiled, [64], freed_blocks="list")
    program.malloc("a b c d", 64)
    program.free("c a d")
    assert program.malloc("e f g h", 64) == [192, 0, 128, 256]  # the newest first, then a block never out
    assert program.counts(0, "carve", "reuse", "refill") == (5, 3, 8)
    program.free("f b")
    assert program.malloc("i", 64) == 64
    program.free("e")
    assert program.malloc("j k", 64) == [192, 0]  # the list goes on behind what was taken


def test_a_slab_that_comes_back_has_an_empty_list(compiled: bool) -> None:
    program = Program(compiled, [1024], freed_blocks="list")
    program.malloc("a b c d e f g h i", 1024)
    program.free("c a d b g e f h")  # slabs 0 and 1 empty, and go
    assert program.counts(0, "retire") == (2,)
    assert program.malloc("j k l m n o p q", 1024) == [9216, 10240, 11264, 4096, 5120, 6144, 7168, 0]


def test_a_freed_block_never_serves_again(compiled: bool) -> None:
    program = Program(compiled, [1024], freed_blocks="discarded")  # four blocks a slab
    program.malloc("a b c", 1024)
    program.free("a b")
    assert program.malloc("d e", 1024) == [3072, 4096]  # the last fresh block, and a slab more
    assert program.counts(0, "carve", "reuse", "acquire", "retire") == (5, 0, 2, 0)
    program.free("c d")  # slab 0 has handed out all its blocks, and has them back
    assert program.counts(0, "retire") == (1,)
    program.free("e")
    assert program.counts(0, "retire") == (1,)  # slab 1 is available, and hot
    assert program.malloc("f g h i", 1024) == [5120, 6144, 7168, 0]  # slab 0 was acquired anew


def test_a_full_slab_of_which_no_block_serves_is_retired_unasked(compiled: bool) -> None:
    program = Program(compiled, [1024], freed_blocks="discarded", slab_choice="scan")
    program.malloc("a b c d", 1024)  # slab 0 is full, and served last
    program.free("a b c")
    assert program.counts(0, "retire") == (0,)
    program.free("d")
    assert program.counts(0, "acquire", "retire") == (1, 1)
    program = Program(compiled, [1024], freed_blocks="discarded", slab_choice="address_ordered")
    program.malloc("a b c d e f g h i", 1024)  # two full slabs, and slab 2
    program.free("g h e f i")  # no slab leaves slab choice for those of slab 1
    assert program.counts(0, "acquire", "retire") == (3, 1)
    assert program.malloc("j", 1024) == 9216  # slab 2 is the only one available, and stayed


def test_no_place_serves_twice_where_slabs_serve_once(compiled: bool) -> None:
    program = Program(compiled, [1024, 2048], freed_blocks="discarded", empties="once")
    found: list[int] = []
    for turn in range(12):
        names = f"a{turn} b{turn} c{turn}"
        found += [*program.malloc(names, 1024), program.malloc(f"d{turn}", 2048)]
        program.free(f"{names} d{turn}")
    assert len(set(found)) == 48
    assert program.counts(0, "carve", "reuse") == (36, 0)
    assert program.counts(1, "carve", "reuse") == (12, 0)


def test_blocks_of_a_front_serve_again_before_they_are_back(compiled: bool) -> None:
    front = array_stack.Params(capacity=2, refill=1, flush=1)
    program = Program(compiled, [1024], front, freed_blocks="discarded")
    program.malloc("a b c", 1024)
    program.free("a b")
    assert program.malloc("d e", 1024) == [1024, 0]
    program.free("c d e")  # the oldest, c, goes back to its slab
    assert program.malloc("f g h", 1024) == [0, 1024, 3072]
