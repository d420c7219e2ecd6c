"""Shards of nodes: by hand, and the library against the model with simulated nodes; docs/machine-rooms.md, 'shards'."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering_designs, soon
from lives import run as step_by_step
from loaded import agreement
from program import SMALL, Program, plain_and_compiled

from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.background import refill as background_refill
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.remote import owner_list as remote_owner_list
from heapsmith.model.policy.shards import nodes as shards_nodes
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

OF_NODES = shards_nodes.Params(count=4)
TWO = ("0,2", "1,3")
"""Each thread of a case is on the processor of its number, modulo 4."""


@plain_and_compiled
def test_each_node_has_superslabs_of_its_own(compiled: bool) -> None:
    """Threads 0 and 2 are on node 0, thread 1 on node 1: it maps a superslab although the first has slabs left."""
    case = Program(compiled, [16], nodes=TWO, shards=OF_NODES)
    assert case.malloc("a b", 16) == [0, 16]
    assert case.malloc("c", 16, thread=1) == 16384
    assert case.malloc("d", 16, thread=2) == 32
    case.free("b", thread=1)
    assert case.malloc("e", 16, thread=1) == 16400
    assert case.malloc("f", 16, thread=2) == 16
    assert case.totals("superslabs", "slabs", "heaps") == (2, 2, 3)


@plain_and_compiled
def test_an_empty_slab_serves_its_own_node(compiled: bool) -> None:
    """Thread 1 empties a slab of node 0: node 1 takes a new one, and node 0 gets the empty one."""
    case = Program(compiled, [2048], nodes=TWO, shards=OF_NODES)
    assert case.malloc("a b c", 2048) == [0, 2048, 4096]
    case.free("a b", thread=1)
    assert case.counts(0, "retire") == (1,)
    assert case.malloc("d", 2048, thread=1) == 16384
    assert case.malloc("e f", 2048) == [6144, 0]


@plain_and_compiled
def test_a_flush_of_several_nodes_is_no_batch(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=2, refill=2, flush=2)
    case = Program(compiled, [16], front, nodes=TWO, transfer_bytes=1024, shards=OF_NODES)
    assert case.malloc("a b c d", 16) == [0, 16, 32, 48]
    assert case.malloc("e f", 16, thread=1) == [16384, 16400]
    case.free("a e b", thread=3)  # b finds a of node 0 and e of node 1: both go to their slabs
    assert case.counts(0, "flush", "transfer_in", "reuse") == (1, 0, 0)
    case.free("c d", thread=3)  # d finds b and c, both of node 0, whose batch they are
    assert case.counts(0, "flush", "transfer_in") == (2, 2)
    assert case.malloc("g h", 16, thread=1) == [16384, 16416]
    assert case.malloc("i j", 16) == [32, 16]  # the batch, and not a, which waits in its slab
    assert case.counts(0, "transfer_out") == (2,)


def waves(seed: int, threads: int = 6, blocks: int = 500, rounds: int = 10) -> Chunk:
    """Threads allocate blocks and free them, most of them others', nearly all in each wave."""
    draw = random.Random(seed)
    rows: list[tuple[int, ...]] = [(Op.MALLOC, 0, 0, 16, 0)]
    rows += [(Op.THREAD_START, thread, 0, 0, 0) for thread in range(1, threads)]
    live, names = [0], list(range(blocks + 2, 0, -1))
    for _ in range(rounds):
        while len(live) < blocks:
            live.append(names.pop())
            rows.append((Op.MALLOC, draw.randrange(threads), live[-1], draw.choice((16, 200, 900, 2048, 2048)), 0))
        draw.shuffle(live)
        for _ in range(blocks - 3):
            names.append(live.pop())
            rows.append((Op.FREE, draw.randrange(threads), names[-1], 0, 0))
    rows += [(Op.THREAD_EXIT, thread, 0, 0, 0) for thread in range(1, threads)]
    return Chunk.of(*map(list, zip(*rows, strict=True)), list(range(len(rows))))


def moving(chunk: Chunk, processors: int, seed: int) -> Chunk:
    """The chunk, whose threads go from processor to processor."""
    draw = np.random.default_rng(seed)
    home = draw.integers(0, processors, int(chunk.thread.max()) + 1)[chunk.thread]
    away = draw.integers(0, processors, len(chunk.op))
    where = np.where(draw.random(len(chunk.op)) < 0.3, away, home)
    return chunk._replace(processor=where.astype(np.int16))


FIELDS: dict[str, Any] = {
    **SMALL,
    "sizes": [16, 48, 256, 1024, 2048],
    "front": {"kind": "array_stack", "capacity": 8, "refill": 4, "flush": 4},
    "transfer_bytes": 65_536,
    "thp": "system",
    "thp_block_bytes": None,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bare": {"front": {"kind": "none"}, "transfer_bytes": 0},
    "processor": {"heaps": "processor"},
    "unmapped": {"unmapping": {"kind": "superslabs", "keep": 0}, "empties": "dedicated"},
    "scanned": {"slab_choice": "scan", "freed_blocks": "list", "classifier": "header"},
    "grouped": {"empties": {"kind": "grouped", "groups": [[48], [16, 256]]}, "hardening": {"kind": "full"}},
    "prewarmed": {
        "prewarm": {"kind": "fronts", "classes": [{"sizes": [16, 48], "blocks": 3, "slabs": 2}]},
        "growth": {"kind": "doubling", "initial_bytes": 1 << 21, "most_bytes": 1 << 22},
        "populate": {"kind": "batches", "pages": 4},
    },
}


def small(variant: str, **fields: Any) -> Design:
    return changed(load("nodes"), f"nodes-{variant}", {**FIELDS, **VARIANTS[variant], **fields})


TOPOLOGIES = {
    "one": (),
    "two": ("0-3,8", "4-7,9-11"),
    "four": ("0,4,8", "1,5,9", "2,6", "3,7"),
    "more than shards": ("0-1", "2", "3-4", "5", "6", "7-8"),
    "processors that no node lists": ("9", "2", "4-5"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("nodes", soon(TOPOLOGIES, ("two",)))
@pytest.mark.parametrize("variant", soon(VARIANTS, ("processor",), ("plain",)))
def test_library_is_the_model(variant: str, nodes: str, tmp_path: Path) -> None:
    """Threads move among 12 processors; four shards."""
    trace = tmp_path / "t.hst"
    with TraceWriter(trace, command=["test"], source="test", processors=True) as writer:
        writer.append(moving(waves(len(variant)), 12, len(nodes)))
    runs = agreement(small(variant, shards={"kind": "nodes", "count": 4}), trace, TOPOLOGIES[nodes])
    assert [(run.build, run.difference) for run in runs] == [("checked", None), ("release", None)]
    assert all(run.addresses > 4_900 for run in runs)


@pytest.mark.parametrize("variant", VARIANTS)
def test_waves_move_everything(variant: str) -> None:
    """What the test before this one compares has happened, on two nodes."""
    design = small(variant, shards={"kind": "nodes", "count": 4})
    simulator = Simulator(make_plan(design), nodes=TOPOLOGIES["two"])
    simulator.feed(moving(waves(len(variant)), 12, 3))
    counts, totals = simulator.counters().classes, simulator.counters().totals
    assert sum(counts["retire"]) > 30
    assert sum(counts["acquire"]) > totals["slabs"]
    assert design.transfer_bytes == 0 or 50 < sum(counts["transfer_in"]) < sum(counts["flushed"]) - 200
    assert design.unmapping is None or min(totals["superslabs_unmapped"], totals["superslabs_reused"]) > 5


def covered() -> list[Design]:
    """The covering designs that have shards, with nodes instead: so nodes meet every policy that they go with."""
    shards = {"shards": {"kind": "nodes", "count": 2}}
    return [changed(design, f"nodes-{design.name}", shards) for design in covering_designs() if design.shards]


@pytest.mark.thorough
@pytest.mark.parametrize("design", soon(covered(), covered()[:1]), ids=lambda design: design.name)
def test_step_by_step(design: Design) -> None:
    """Threads of two nodes: see test_conformance.py."""
    assert step_by_step(design, examples=8)["carve" if design.freed_blocks == "discarded" else "reuse"] > 0


@pytest.mark.thorough
@pytest.mark.parametrize("variant", soon(VARIANTS, ("plain",), ("processor",)))
def test_one_node_is_one_store(variant: str) -> None:
    """No address and no counter but the locks differs from those without shards; with two nodes they do."""
    chunk = moving(waves(7, threads=4, rounds=3), 4, 7)
    found = []
    for shards, nodes in ((None, TWO), ({"kind": "nodes"}, ()), ({"kind": "nodes"}, TWO)):
        simulator = Simulator(make_plan(small(variant, shards=shards)), compiled=False, nodes=nodes)
        addresses = np.full(len(chunk.op), -1, np.int64)
        simulator.feed(chunk, addresses)
        simulator.check()
        counters = simulator.counters()
        found.append((addresses.tolist(), counters.classes, counters.totals))
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shards": {"kind": "nodes", "count": 33}}, "shards.count: 33; expected 2 to 32"),
        ({"remote": remote_owner_list.NAME, "transfer_bytes": 0}, "'nodes' cannot go with remote 'owner_list'"),
        ({"background": {"kind": background_refill.NAME}}, "'nodes' cannot go with background 'refill'"),
    ],
)
def test_designs_that_cannot_have_nodes(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        changed(load("nodes"), "case", fields)
