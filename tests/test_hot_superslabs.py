"""Hot superslabs of a class against docs/machine-rooms.md, 'choice', by hand."""

import pytest
from program import Program, plain_and_compiled

from heapsmith.model.policy.choice import hot_superslabs as choice_hot_superslabs

pytestmark = [plain_and_compiled, pytest.mark.quick]


def test_slabs_of_the_hot_superslab_serve_first(compiled: bool) -> None:
    choice = choice_hot_superslabs.Params(most=1)
    program = Program(compiled, [2048], slab_choice=choice, superslab_bytes=8192)  # two slabs of two blocks each
    program.malloc("a b c d e f g h", 2048)  # slabs 0 to 3; superslab 1 is hot, and has no free block
    program.free("e a c g")  # on the list: 3, 1, 0, 2
    assert program.malloc("i", 2048) == 12288  # slab 3 of superslab 1, the head
    assert program.malloc("j", 2048) == 8192  # slab 2 of superslab 1, behind slabs 1 and 0
    assert program.reported("superslabs_hot", "superslabs_heated") == (1, 2)
    assert program.malloc("k", 2048) == 4096  # no slab of it is left: the head, and superslab 0 is hot
    program.free("i")
    assert program.malloc("l m", 2048) == [0, 12288]  # slab 0 serves before the newer slab 3
    assert program.reported("superslabs_hot", "superslabs_heated") == (1, 4)


def test_the_oldest_of_two_hot_superslabs_is_replaced(compiled: bool) -> None:
    choice = choice_hot_superslabs.Params(most=2)
    program = Program(compiled, [2048], slab_choice=choice, superslab_bytes=8192)
    program.malloc("a b c d e f g h i j k l", 2048)  # slabs 0 to 5; superslabs 1 and 2 are hot
    assert program.reported("superslabs_hot", "superslabs_heated") == (2, 3)
    program.free("e i a")  # on the list: 0, 4, 2
    assert program.malloc("m n", 2048) == [16384, 8192]  # slabs 4 and 2, of superslabs 2 and 1
    assert program.malloc("o", 2048) == 0  # superslab 0 is hot in place of 1, that became hot before 2
    program.free("j f")  # on the list: 2, 4
    assert program.malloc("p q", 2048) == [18432, 10240]  # of superslab 2; then 1 is hot in place of 2
    assert program.reported("superslabs_hot", "superslabs_heated") == (2, 5)
    program.free("m p q n")
    assert program.counts(0, "retire") == (1,)  # slab 2 went; slab 4 had been the only one on the list
