"""The learner of capacities against docs/machine-rooms.md, 'learner', by hand."""

import pytest
from program import NONE, Program, plain_and_compiled

from heapsmith.model.design.choices import Front
from heapsmith.model.design.design import ClassFront, Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.learner import capacities as learner_capacities
from heapsmith.model.policy.remote import owner_list as remote_owner_list
from heapsmith.model.policy.rounding import larger as rounding_larger

pytestmark = pytest.mark.quick

STACK, LIST = (kind.Params(capacity=4, refill=1, flush=2) for kind in (front_array_stack, front_linked_list))
PAIR = pytest.mark.parametrize("front", [STACK, LIST], ids=["array_stack", "linked_list"])


def learner(window: int, often: int, **factors: float) -> learner_capacities.Params:
    return learner_capacities.Params(window=window, often=often, **factors)


@plain_and_compiled
@PAIR
def test_a_front_that_misses_and_flushes_grows(compiled: bool, front: Front) -> None:
    program = Program(compiled, [16], front, learner=learner(8, 1, most=1.75, step=0.5))
    program.malloc("a b c d e f g", 16)  # seven misses
    program.free("a b c d")
    assert program.totals("learned_up", "learned_down") == (0, 0)
    program.free("e")  # a flush of two, the eighth event: from 4 to 6, three are held
    assert program.totals("learned_up", "learned_down") == (1, 0)
    program.free("f g")
    program.malloc("a", 16)
    program.malloc("b c d e f g h i j", 16)  # four hits and five misses
    assert program.counts(0, "hit0", "refill", "flush", "flushed") == (5, 12, 1, 2)
    program.free("a b c d e f g h i")  # six are held; g, and then i, flush two: the seventh event
    assert program.counts(0, "push", "flush", "flushed") == (16, 3, 6)
    program.free("j")
    program.malloc("a b c d e f", 16)
    assert program.totals("learned_up") == (1,)
    program.malloc("g", 16)  # a miss, the eighth event: no more than 7 blocks
    assert program.totals("learned_up", "learned_down") == (2, 0)
    program.free("a b c d e f g")
    assert program.counts(0, "push", "flush", "flushed") == (24, 3, 6)


@plain_and_compiled
@pytest.mark.parametrize(
    ("front", "again"),
    [(STACK, [3 * 16, 2 * 16, 0, 16]), (LIST, [16, 0, 2 * 16, 3 * 16])],
    ids=["array_stack", "linked_list"],
)
def test_a_front_that_rests_shrinks(compiled: bool, front: Front, again: list[int]) -> None:
    fronts = [ClassFront([16], front), ClassFront([32], front_array_stack.Params(capacity=1, refill=1))]
    program = Program(compiled, [16, 32], class_front=fronts, learner=learner(4, 2, least=0.25, step=0.25))
    program.malloc("a b c d", 16)  # four misses and no flush: both stay
    program.free("a b c d")  # four are held
    assert program.totals("learned_up", "learned_down") == (0, 0)
    program.malloc("v w x y", 32)  # four misses: 16 goes from 4 to 3, and a block of it to the store
    assert program.totals("learned_up", "learned_down") == (0, 1)
    assert program.counts(0, "hit0", "flush", "flushed") == (0, 0, 1)
    program.malloc("s t u z", 32)  # from 3 to 2, which is the length of a flush
    program.malloc("k l m n", 32)
    assert program.totals("learned_up", "learned_down") == (0, 2)
    assert program.counts(0, "hit0", "flush", "flushed") == (0, 0, 2)
    assert program.malloc("e f g h", 16) == again  # two hits, then the surplus, lowest first
    program.exit(0)
    program.free("e f", thread=1)  # the same heap
    assert program.counts(0, "flush") == (0,)
    program.free("g", thread=1)
    assert program.counts(0, "flush", "flushed") == (1, 4)
    assert program.totals("heaps", "adoptions", "learned_up", "learned_down") == (1, 1, 0, 2)


@plain_and_compiled
def test_a_lender_makes_a_miss_and_other_fronts_make_no_event(compiled: bool) -> None:
    fronts = [ClassFront([80], STACK), ClassFront([96], front_two_level.Params(capacity=1, list_capacity=1))]
    program = Program(
        compiled,
        [80, 96, 112],
        class_front=[*fronts, ClassFront([112], LIST)],
        rounding=rounding_larger.Params(factor=1.3),
        learner=learner(1, 1),
    )
    program.malloc("a b", 96)  # no event: 80 and 112 keep their capacity
    program.free("a b")
    assert program.totals("learned_down") == (0,)
    program.malloc("c", 80)  # lent by 96: an event, so that 112 shrinks
    assert program.counts(0, "hit1", "refill") == (1, 0)
    assert program.totals("learned_up", "learned_down") == (0, 1)


@plain_and_compiled
def test_a_drained_block_may_flush_and_decide(compiled: bool) -> None:
    program = Program(compiled, [16], STACK, remote=remote_owner_list.NAME, learner=learner(7, 1, step=1))
    program.malloc("a b c d e f", 16)  # six misses
    program.free("a b c d e", thread=1)
    program.malloc("g", 16)  # the drain of five flushes two, the seventh event; then a hit
    assert program.counts(0, "drained", "flush", "hit0", "refill") == (5, 1, 1, 6)
    assert program.totals("learned_up") == (1,)


def test_bounds() -> None:
    front = front_array_stack.Params(capacity=10, refill=3, flush=6)
    plan = make_plan(Design("case", [16, 32], front=front, learner=learner(9, 2, least=0.1, most=2.55, step=0.01)))
    assert plan.classes[0].numbers == {"learn_least": 6, "learn_most": 25, "learn_step": 1}
    assert plan.slots_per_heap == 2 * (1 + 25)
    assert {name: plan.numbers[name] for name in learner_capacities.NUMBERS} == {"learn_window": 9, "learn_often": 2}


@pytest.mark.parametrize(
    ("front", "params", "reason"),
    [
        (STACK, learner(0, 1), "learner.window: 0; expected 1 to 1048576 events"),
        (STACK, learner(5, 6), "learner.often: 6; expected 1 to the window, 5"),
        (STACK, learner(5, 1, least=1.5), "learner.least: 1.5; expected 0 to 1 times the capacity"),
        (STACK, learner(5, 1, most=0.5), "learner.most: 0.5; expected 1 to 64 times the capacity"),
        (
            NONE,
            learner(5, 1),
            "learner: no class has a front whose capacity can change; expected 'array_stack' or 'linked_list' for one "
            "of them",
        ),
    ],
)
def test_what_is_refused(front: Front, params: learner_capacities.Params, reason: str) -> None:
    assert str(Design("case", [16], front=front, learner=params).why_not_valid()) == reason
