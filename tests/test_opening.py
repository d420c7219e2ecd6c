"""Stacks that open with a later miss, by hand from docs/machine-rooms.md, 'opening', and what idle threads hold."""

from pathlib import Path

import msgspec
import pytest
from program import SMALL, Program, plain_and_compiled

from heapsmith.model.design.design import Design, load
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


@pytest.mark.quick
@pytest.mark.parametrize("misses", [1, 256])
def test_misses_are_two_or_more(misses: int) -> None:
    refusal = Design("case", SIZES, front=STACK, opening=Params(misses=misses), **SMALL).why_not_valid()
    assert refusal is not None
    assert "expected 2 to 255" in refusal.words


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
