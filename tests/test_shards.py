"""Shards of the store, by hand and in processes; docs/machine-rooms.md, 'shards'."""

from typing import Any

import numpy as np
import pytest
from preloaded import library, program
from program import Program, plain_and_compiled
from test_clocks import Event, calendar, charges_of
from test_runtime import run
from traces import random_chunk

from heapsmith.model.design.design import changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.background import refill as background_refill
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.remote import owner_list as remote_owner_list
from heapsmith.model.policy.shards import striped as shards_striped
from heapsmith.model.predict.clocks import FIRST_SHARD, Clocks
from heapsmith.model.trace.reader import Chunk, Op

pytestmark = pytest.mark.quick

TWO = shards_striped.Params(count=2, by="thread")


@plain_and_compiled
def test_each_thread_takes_from_its_shard(compiled: bool) -> None:
    """Heap 0 has shard 0, heap 1 shard 1, heap 2 shard 0 again: with it the slab at 0, in which 16 is free."""
    case = Program(compiled, [16], shards=TWO)
    assert case.malloc("a b", 16) == [0, 16]
    assert case.malloc("c", 16, thread=1) == 4096
    case.free("b", thread=1)
    assert case.malloc("d", 16, thread=1) == 4112
    assert case.malloc("e", 16, thread=2) == 16
    assert case.counts(0, "acquire", "carve", "reuse", "direct") == (2, 4, 1, 1)


@plain_and_compiled
def test_an_empty_slab_serves_the_other_shard_next(compiled: bool) -> None:
    """Thread 0 empties two slabs of shard 0, and thread 1 gets both, the last first; that is what it frees again."""
    case = Program(compiled, [2048], shards=TWO)
    assert case.malloc("a b c d e", 2048) == [0, 2048, 4096, 6144, 8192]
    case.free("a b c d", thread=0)
    assert case.malloc("f g h", 2048, thread=1) == [4096, 6144, 0]
    case.free("f g h", thread=0)
    assert case.counts(0, "acquire", "retire", "reuse") == (5, 3, 0)


@plain_and_compiled
def test_a_batch_waits_for_its_shard(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=4, refill=4, flush=2)
    case = Program(compiled, [16], front, transfer_bytes=1024, shards=TWO)
    assert case.malloc("a b c d e f", 16) == [0, 16, 32, 48, 64, 80]
    case.free("a b c d e f", thread=1)  # a and b become a batch of shard 1
    assert case.malloc("g h", 16) == [96, 112]  # the rest of the second refill
    assert case.malloc("i", 16) == 128  # no batch in shard 0
    assert case.counts(0, "transfer_in", "transfer_out", "refill") == (2, 0, 3)
    assert case.malloc("j k l m n", 16, thread=1) == [80, 64, 48, 32, 16]
    assert case.counts(0, "transfer_in", "transfer_out", "refill") == (2, 2, 4)


@plain_and_compiled
def test_a_batch_of_another_shard_goes_back_to_its_slabs(compiled: bool) -> None:
    """After 16 flushes without a refill, shard 1 gives its batch to shard 0, and thread 0 gets these blocks."""
    front = front_array_stack.Params(capacity=1, refill=1, flush=1)
    case = Program(compiled, [16], front, transfer_bytes=16, shards=TWO)
    names = [f"b{number}" for number in range(19)]
    case.malloc(" ".join(names), 16)
    case.free(" ".join(names[:17]), thread=1)
    assert case.counts(0, "flush", "transfer_in", "transfer_back", "reuse") == (16, 1, 0, 0)
    case.free(names[17], thread=1)
    assert case.counts(0, "flush", "transfer_in", "transfer_back", "reuse") == (17, 1, 1, 0)
    assert case.malloc("c d", 16) == [0, 16]


@plain_and_compiled
def test_an_adopted_heap_keeps_its_shard(compiled: bool) -> None:
    case = Program(compiled, [16], shards=TWO)
    assert case.malloc("a", 16) == 0
    assert case.malloc("b", 16, thread=1) == 4096
    case.exit(1)
    assert case.malloc("c", 16, thread=2) == 4112
    assert case.totals("heaps", "adoptions") == (2, 1)


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["class", "thread"])
@pytest.mark.slow
def test_classes_that_take_turns_move_no_block(by: Any) -> None:
    """By thread they do: three shards have slabs of their own."""
    chunk = random_chunk(4000, seed=5, threads=4, cross_thread=0.3, live=400)
    found = []
    for shards in (None, {"kind": "striped", "count": 3, "by": by}):
        simulator = Simulator(make_plan(changed(load("sharded"), "case", {"shards": shards})), compiled=False)
        addresses = np.full(len(chunk.op), -1, np.int64)
        simulator.feed(chunk, addresses)
        simulator.check()
        counters = simulator.counters()
        found.append((addresses.tolist(), counters.classes, counters.totals))
    assert (found[0] == found[1]) == (by == "class")


@pytest.mark.slow
def test_shards_have_locks_of_their_own() -> None:
    """Three threads at once, 10 of 10 ns under a store's lock: threads 0 and 1 in shards 0 and 1, thread 2 in 0 too."""
    events: list[Event] = [(Op.THREAD_START, thread, 0, 0, 0) for thread in range(3)]
    events += [(Op.MALLOC, thread, thread, 10, 0) for thread in range(3)]
    op, thread, block, own, pool = (list(column) for column in zip(*events, strict=True))
    nothing = [0] * len(events)
    charges = charges_of(np.array(own), np.array(pool))
    charges["store"] = charges["own"]
    charges["stores"] = [0, 0, 0, 1, 2, 1]
    clocks = Clocks(3, 3, 8, shards=2)
    clocks.follow(Chunk.of(op, thread, block, nothing, nothing, nothing), charges)
    timing = clocks.timing(3)
    assert (timing.locks["stores"].waits, timing.locks["stores"].wait_ns, timing.locks["pool"].waits) == (1, 10, 0)
    assert timing.wall_ns == 20
    assert [calendar(clocks, FIRST_SHARD + row) for row in range(4)] == [[], [], [(0, 20)], [(0, 10)]]


@pytest.mark.slow
def test_a_flush_into_two_shards_holds_one_lock_at_a_time() -> None:
    """20 ns in shards 0 and 1 by thread 0, first in shard 0; meanwhile thread 1 has shard 1 for 5."""
    charges = charges_of(np.array([0, 0, 20, 5]), np.zeros(4, np.int64))
    charges["store"], charges["stores"] = charges["own"], [0, 0, 3, 2]
    clocks = Clocks(2, 2, 8, shards=2)
    op, thread, block = [Op.THREAD_START] * 2 + [Op.MALLOC] * 2, [0, 1, 0, 1], [0, 0, 0, 1]
    clocks.follow(Chunk.of(op, thread, block, [0] * 4, [0] * 4, [0] * 4), charges)
    clocks.timing(2)
    assert [calendar(clocks, FIRST_SHARD + 2 + row) for row in range(2)] == [[(0, 10)], [(0, 5), (10, 20)]]
    assert clocks.timing(2).locks["stores"].waits == 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shards": {"kind": "striped", "count": 1}}, "shards.count: 1; expected 2 to 32"),
        (
            {"remote": remote_owner_list.NAME, "transfer_bytes": 0},
            "shards: 'striped' cannot go with remote 'owner_list'",
        ),
        ({"background": {"kind": background_refill.NAME}}, "shards: 'striped' cannot go with background 'refill'"),
    ],
)
def test_designs_that_cannot_have_shards(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        changed(load("sharded"), "case", fields)


@pytest.mark.thorough
@pytest.mark.slow
def test_forks_under_load_and_in_handlers() -> None:
    assert run([program("run_fork"), "load", 20], library("sharded")) == "done\n"
    assert run([program("run_fork"), "handler", 20], library("sharded")) == "done\n"
