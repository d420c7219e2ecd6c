"""Slab choice against docs/machine-rooms.md, 'choice', by hand."""

import pytest
from program import Program, plain_and_compiled

from heapsmith.model.policy.choice import hot_superslabs as choice_hot_superslabs

pytestmark = [plain_and_compiled, pytest.mark.quick]


@pytest.mark.parametrize(("choice", "next_addresses"), [("hot_index", [8192, 0]), ("address_ordered", [0, 8192])])
def test_slab_choice(compiled: bool, choice: str, next_addresses: list[int]) -> None:
    program = Program(compiled, [2048], slab_choice=choice)
    assert program.malloc("a b c d e f", 2048) == [0, 2048, 4096, 6144, 8192, 10240]
    program.free("a e")  # slab 2 is put before slab 0 on the list
    assert program.malloc("g h", 2048) == next_addresses


def test_hot_slab_stays(compiled: bool) -> None:
    program = Program(compiled, [1024], slab_choice="hot_index")
    program.malloc("a b c d e", 1024)  # slab 1 is hot
    program.free("e")
    assert program.counts(0, "retire") == (0,)  # empty, but hot
    program.free("a b c d")
    assert program.counts(0, "retire", "acquire") == (1, 2)  # slab 0, from the list
    assert program.malloc("f", 1024) == 4096


def test_last_available_slab_stays(compiled: bool) -> None:
    program = Program(compiled, [1024], slab_choice="address_ordered")
    program.malloc("a b c d e f g h", 1024)  # two full slabs
    program.free("e f g h")
    assert program.counts(0, "retire") == (0,)  # slab 1 is the only one
    program.free("a b c d")
    assert program.counts(0, "retire") == (1,)  # slab 0: slab 1 is there
    assert program.malloc("i", 1024) == 4096


def test_fullest_slab_serves(compiled: bool) -> None:
    program = Program(compiled, [1024], slab_choice="fullest_first")
    program.malloc("a b c d e f g h i j k l", 1024)  # three full slabs
    program.free("a b e f g i")  # 2, 1 and 3 blocks of theirs stay out; slab 2 is the last that joined the list
    assert program.malloc("m", 1024) == 8192  # slab 2 is full again
    assert program.malloc("n o", 1024) == [0, 1024]  # then slab 0, until it is full
    assert program.malloc("p", 1024) == 4096
    program.free("c d n o j k l")  # slab 0 empties, and goes: others are available; slab 2 has one block out
    assert program.counts(0, "retire") == (1,)
    program.free("h p m")
    assert program.counts(0, "retire") == (2,)  # the last available one stays


def test_scan_goes_round_from_the_superslab_that_served_last(compiled: bool) -> None:
    program = Program(compiled, [1024], slab_choice="scan", superslab_bytes=8192)  # two slabs of four blocks each
    program.malloc(" ".join(f"n{i}" for i in range(16)), 1024)  # slab 3 served last
    program.free("n0 n4 n8 n12")
    assert program.malloc("a b", 1024) == [8192, 12288]  # slabs 2 and 3, of that superslab
    assert program.malloc("c d", 1024) == [0, 4096]  # then round
    program.free("n9 n1")
    assert program.malloc("e f", 1024) == [1024, 9216]  # the first superslab served last
    program.free("b n13 n14 n15")  # slab 3 empties; slab 2 served last
    assert program.counts(0, "retire") == (1,)


def test_address_order_of_many_slabs(compiled: bool) -> None:
    program = Program(compiled, [2048], slab_choice="address_ordered")
    names = [f"n{i}" for i in range(60)]
    program.malloc(" ".join(names), 2048)
    order = [7, 3, 28, 0, 19, 4, 11, 29, 2, 23]
    program.free(" ".join(names[2 * slab] for slab in order))
    again = program.malloc(" ".join(f"m{i}" for i in range(10)), 2048)
    assert again == [slab * 4096 for slab in sorted(order)]


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
