"""What a slab does with its freed blocks, and two active slabs, against docs/machine.md section 5, by hand."""

import pytest
from program import Program, plain_and_compiled

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
