"""Stacks that open with a later miss, grow and give back, by hand from docs/machine-rooms.md, 'opening'."""

from pathlib import Path

import msgspec
import pytest
from program import SMALL, Program, plain_and_compiled

from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.memory.layout import HEAPS, WORD
from heapsmith.model.policy.front.array_stack import Params as Stack
from heapsmith.model.policy.opening.later import Params
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import Chunk, Op
from heapsmith.model.trace.writer import TraceWriter

SIZES = [16, 64]
STACK = Stack(capacity=8, refill=4, flush=4)
COUNTED = ("refill", "refilled", "direct", "push", "hit0")


@plain_and_compiled
def test_a_stack_keeps_blocks_from_the_stated_miss_on(compiled: bool) -> None:
    program = Program(compiled, SIZES, front=STACK, opening=Params(misses=3))
    first = program.malloc("a", 64)
    assert program.counts(1, *COUNTED) == (1, 1, 0, 0, 0)
    program.free("a")
    assert program.counts(1, *COUNTED) == (1, 1, 1, 0, 0)  # the slab has it again
    assert program.malloc("b", 64) == first
    program.free("b")
    assert program.counts(1, *COUNTED) == (2, 2, 2, 0, 0)
    program.malloc("c", 64)  # the third miss: a whole refill
    assert program.counts(1, *COUNTED) == (3, 6, 2, 0, 0)
    program.free("c")
    program.malloc("d", 64)
    assert program.counts(1, *COUNTED) == (3, 6, 2, 1, 1)


@plain_and_compiled
def test_a_stack_opens_with_the_stated_free(compiled: bool) -> None:
    """Of a thread that frees what another allocates; its frees and its misses have counts of their own."""
    program = Program(compiled, SIZES, front=STACK, opening=Params(misses=3, frees=2))
    for name in "abcd":
        program.malloc(name, 64)
    program.malloc("e", 64, thread=1)
    before = program.counts(1, *COUNTED)
    program.free("a", thread=1)
    assert program.counts(1, "direct", "push", "hit0") == (before[2] + 1, before[3], before[4])
    program.free("b", thread=1)  # the second: it is kept
    program.free("c", thread=1)
    assert program.counts(1, "direct", "push", "hit0") == (before[2] + 1, before[3] + 2, before[4])
    program.malloc("f", 64, thread=1)
    assert program.counts(1, "direct", "push", "hit0") == (before[2] + 1, before[3] + 2, before[4] + 1)


@plain_and_compiled
def test_a_compact_stack_that_frees_opened_gives_all_until_a_refill_moves_it(compiled: bool) -> None:
    opening = Params(frees=1, compact_blocks=3)
    program = Program(compiled, SIZES, front=STACK, opening=opening)
    for name in "abcdefgh":
        program.malloc(name, 64)
    program.malloc("x", 16, thread=1)
    before = program.counts(1, "push", "flushed")
    for name in "abc":
        program.free(name, thread=1)
    assert program.counts(1, "push", "flushed") == (before[0] + 3, before[1])
    program.free("d", thread=1)  # the three before it go
    assert program.counts(1, "push", "flushed") == (before[0] + 4, before[1] + 3)
    program.malloc("i", 64, thread=1)
    program.malloc("j", 64, thread=1)  # a refill of four: it has room for its capacity
    for name in "efghi":
        program.free(name, thread=1)
    assert program.counts(1, "push", "flushed") == (before[0] + 9, before[1] + 3)


@plain_and_compiled
def test_misses_count_by_heap_and_the_first_class_is_never_closed(compiled: bool) -> None:
    program = Program(compiled, SIZES, front=STACK, opening=Params())
    program.malloc("a", 16)
    program.free("a")
    assert program.counts(0, *COUNTED) == (1, 4, 0, 1, 0)
    program.malloc("b", 64)
    program.malloc("c", 64, thread=1)
    program.free("b")
    program.free("c", thread=1)
    assert program.counts(1, *COUNTED) == (2, 2, 2, 0, 0)
    program.malloc("d", 64)
    assert program.counts(1, *COUNTED) == (3, 6, 2, 0, 0)
    program.malloc("e", 64, thread=1)
    assert program.counts(1, *COUNTED) == (4, 10, 2, 0, 0)


@plain_and_compiled
def test_each_refill_from_the_store_brings_twice_as_many_up_to_a_whole_one(compiled: bool) -> None:
    program = Program(compiled, SIZES, front=Stack(capacity=16, refill=6, flush=4), opening=Params(first_blocks=1))
    came = []
    for number in range(20):
        before = program.counts(0, "refilled")[0]
        program.malloc(f"x{number} y{number}", 16)
        came.append(program.counts(0, "refilled")[0] - before)
    assert [blocks for blocks in came if blocks] == [1 + 2, 4, 6, 6, 6, 6, 6, 6]
    assert program.counts(0, "refill") == (9,)
    program.malloc("a", 16, thread=1)
    assert program.counts(0, "refill", "refilled") == (10, 44)  # each heap begins with one block


@plain_and_compiled
def test_a_batch_of_the_transfer_cache_comes_whole(compiled: bool) -> None:
    program = Program(compiled, SIZES, front=STACK, transfer_bytes=4096, opening=Params(first_blocks=1))
    program.malloc("a b c d e f g h i", 16)
    program.free("a b c d e f g h i")  # the ninth flushes four, which wait as a batch
    assert program.counts(0, "flush", "transfer_in") == (1, 4)
    program.malloc("z", 16, thread=1)
    assert program.counts(0, "transfer_out") == (4,)


@plain_and_compiled
def test_a_heap_that_grows_takes_back_what_its_stacks_do_not_use(compiled: bool) -> None:
    program = Program(compiled, [16, 64, 4096], front=STACK, opening=Params(idle_percent=50))
    program.malloc("a b c", 64)  # the second miss opens the stack, which holds two blocks then; the mark is 10,192
    program.malloc("p q r s t", 4096)  # the second miss takes four slabs, at 8,192 committed bytes
    assert program.counts(1, "refilled", "flushed") == (5, 0)
    program.malloc("u v w x", 4096)  # a look at 24,576: the stack held none at the look before; the mark is 40,922
    assert program.counts(1, "refilled", "flushed") == (5, 0)
    program.malloc("y", 4096)  # a look at 40,960: the stack is idle
    assert program.counts(1, "flush", "flushed") == (0, 2)
    program.malloc("d e", 64)
    assert program.counts(1, "reuse") == (2,)
    assert program.counts(2, "flushed") == (0,)


def slots_of(program: Program) -> list[int]:
    """Where the slots of the first heap's stacks begin, in words behind the first slot of all."""
    begins = program.simulator.state.fronts["slots_at"][: program.plan.class_count]
    return [(int(at) - HEAPS - program.plan.layout.slot) // WORD for at in begins]


@plain_and_compiled
def test_stacks_of_few_blocks_lie_together_until_they_hold_more(compiled: bool) -> None:
    stack = Stack(capacity=8, refill=2, flush=4)
    program = Program(compiled, [16, 64, 128], front=stack, opening=Params(compact_blocks=3))
    program.malloc("a b c d", 128)  # the second miss opens the stack, which holds one block in the end
    program.free("a b")
    assert slots_of(program) == [1, 5, 9]  # of each class one that stays NULL, and three behind it
    program.free("c")
    assert slots_of(program) == [1, 5, program.plan.classes[2].slot_base]
    assert program.counts(2, "push", "flush") == (3, 0)
    program.malloc("e f g h", 128)
    assert slots_of(program) == [1, 5, program.plan.classes[2].slot_base]  # it moves once


@plain_and_compiled
def test_a_refill_of_many_blocks_moves_a_compact_stack(compiled: bool) -> None:
    program = Program(compiled, SIZES, front=STACK, opening=Params(compact_blocks=3))
    program.malloc("a", 16)
    assert slots_of(program) == [program.plan.classes[0].slot_base, 5]
    program = Program(compiled, SIZES, front=STACK, opening=Params(compact_blocks=4))
    program.malloc("a", 16)
    assert slots_of(program) == [1, 6]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"misses": 1}, "misses: 1; expected 2 to 255"),
        ({"misses": 256}, "misses: 256; expected 2 to 255"),
        ({"first_blocks": -1}, "first_blocks: -1; expected 0 to 65536 blocks"),
        ({"idle_percent": 1001}, "idle_percent: 1001; expected 0 to 1000"),
        ({"compact_blocks": 65}, "compact_blocks: 65; expected 0 to 64 blocks"),
        ({"frees": 256}, "frees: 256; expected 0 to 255"),
    ],
)
def test_what_no_design_may_state(stated: dict[str, int], words: str) -> None:
    refusal = Design("case", SIZES, front=STACK, opening=Params(**stated), **SMALL).why_not_valid()
    assert refusal is not None
    assert words in refusal.words


@pytest.mark.quick
def test_stacks_of_processors_are_never_closed() -> None:
    design = changed(load("processor"), "case", {"opening": {"kind": "later", "first_blocks": 1}})
    assert {row.numbers["opens_after"] for row in make_plan(design).classes} == {0}


def test_idle_threads_hold_no_block_of_a_class_that_they_used_once(tmp_path: Path) -> None:
    sizes = [size for size in load("default").sizes if size > 1024]
    uses = [(thread, size) for thread in range(100) for size in sizes]
    threads, asked = zip(*((thread, size) for thread, used in uses for size in (used, 0)), strict=True)
    zeros = [0] * len(threads)
    with TraceWriter(tmp_path / "t.hst", command=["idle"], source="test") as writer:
        writer.append(Chunk.of([Op.MALLOC, Op.FREE] * len(uses), threads, zeros, asked, zeros, zeros))
    design = load("default")
    at_once = msgspec.structs.replace(design, name="at-once", opening=None)
    peaks = [row.committed_peak for row in simulate(tmp_path / "t.hst", [design, at_once]).rows]
    assert peaks[0] < 1 << 21
    assert peaks[1] > 100 * sum(sizes) // 2
