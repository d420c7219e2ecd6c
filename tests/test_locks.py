"""Locks, against docs/machine-rooms.md, 'locks': cases by hand, the library's counts, planted faults."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering_designs
from loaded import agreement, checked_library, unchecked_library
from nasty import exhausting_trace, nasty_trace
from program import Program, plain_and_compiled
from test_cli import Call
from traces import random_trace
from workshop import SHORT_SPAN, Workshop, short_of_space

from heapsmith.bench.gates.mutating import Mutant
from heapsmith.codegen.difference import counted, counter_names, lock_row
from heapsmith.codegen.driver import Driver
from heapsmith.codegen.verify import Library, replay
from heapsmith.model import policy
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.parts.counters import LOCKS
from heapsmith.model.policy.front import array_stack
from heapsmith.model.policy.huge_cache import delayed
from heapsmith.model.policy.prewarm import fronts as prewarm_fronts
from heapsmith.model.policy.release import delay as release_delay
from heapsmith.model.policy.release import keep as release_keep

PAIRS: dict[str, Any] = {"superslab_bytes": 8192, "transfer_bytes": 0, "release": release_keep.Params()}
"""Superslabs of two slabs, of two blocks of 2,048 bytes each."""


ACQUIRES = {
    "locked": {"same": 1, "other": 1, "claim": 1, "superslab": 2},
    "lock_free_lists": {"claim": 1, "superslab": 2},
    "lock_free_claims": {"superslab": 2},
    "one_thread": {"claim": 1, "superslab": 2},
}
"""The acquires of every_stage() that take a lock."""


def taken(program: Program) -> dict[str, int]:
    """The counters of locks that are not 0."""
    program.simulator.check()
    return {name: count for name, count in program.simulator.counters().locks.items() if count}


def every_stage(compiled: bool, **fields: Any) -> dict[str, int]:
    """The locks of a program without fronts whose acquires have every stage, but for the first lock, of its heap."""
    program = Program(compiled, [1024, 2048], **{**PAIRS, **fields})
    program.malloc("a b c d e", 2048)  # superslab, own, claim, own, superslab
    program.free("a b c d e")  # the slab of e is hot and stays
    program.malloc("f g h", 2048)  # own, own, same
    program.malloc("i", 1024)  # other
    found = taken(program)
    assert found.pop("heap_start") == 1
    return found


@plain_and_compiled
def test_takes_under_the_lock_of_the_only_store(compiled: bool) -> None:
    """An acquire takes no lock: the thread has it."""
    stages = {"take.own": 4, "take.same": 1, "take.other": 1, "take.claim": 1, "take.superslab": 2}
    assert every_stage(compiled) == stages | {"give": 5}


@plain_and_compiled
def test_takes_from_shards_and_acquires_from_pools(compiled: bool) -> None:
    shards = policy.row("shards", "striped").Params(count=2)
    stages = {"same": 1, "other": 1, "claim": 1, "superslab": 2}
    takes = {f"take.{stage}": count for stage, count in stages.items()} | {"take.own": 4}
    acquires = {f"acquire.{stage}": count for stage, count in stages.items()}
    assert every_stage(compiled, shards=shards) == takes | acquires | {"give": 5, "retire": 2}


@plain_and_compiled
@pytest.mark.parametrize("pool", policy.names("pool"))
def test_acquires_of_heaps_that_own_slabs(compiled: bool, pool: str) -> None:
    owns = "superslab" if pool == "one_thread" else "slab"
    found = every_stage(compiled, remote="owner_list", pool=pool, ownership=owns)
    retires = {"retire": 2} if pool == "locked" else {}
    assert found == {f"acquire.{stage}": count for stage, count in ACQUIRES[pool].items()} | retires


@plain_and_compiled
@pytest.mark.parametrize("remote", ["local_cache", "owner_list"])
def test_an_acquire_that_finds_nothing(compiled: bool, remote: str) -> None:
    program = Program(compiled, [2048], **PAIRS, remote=remote)
    program.simulator.state.region_superslabs = 1
    program.malloc("a b c d", 2048)
    program.malloc("e", 2048)  # a run
    found = taken(program)
    assert found.pop("take.none" if remote == "local_cache" else "acquire.none") == 1
    assert found.pop("run_take") == 1


@plain_and_compiled
def test_a_level_of_a_front_is_given_under_one_lock(compiled: bool) -> None:
    levels = [{"kind": "array_stack", "capacity": 2, "spill": 1}, {"kind": "fifo_ring", "capacity": 2, "spill": 1}]
    levels.append({"kind": "linked_list", "capacity": 2})
    front = changed(load("levels"), "l", {"front": {"kind": "levels", "refill": 1, "flush": 2, "levels": levels}}).front
    program = Program(compiled, [64, 128], front=front, transfer_bytes=0)
    program.malloc("a b c d e f g", 64)
    program.free("a b c d e f")
    before = taken(program)
    program.exit(0)
    found = taken(program)
    assert (before.get("give", 0), found["give"], found["heap_end"]) == (0, 3, 1)
    assert before["take.own"] + before["take.superslab"] == 7


@plain_and_compiled
def test_a_batch_under_the_lock_of_the_transfer_cache(compiled: bool) -> None:
    """Room for one batch: the flush after it gives under the same lock, or with shards under that of its store."""
    front = array_stack.Params(capacity=4, refill=2, flush=4)
    for shards, gives in ((None, 0), (policy.row("shards", "striped").Params(count=2), 1)):
        fields = {"shards": shards} if shards else {}
        program = Program(compiled, [64], front=front, transfer_bytes=4 * 64, **fields)
        program.malloc("a b c d e f g h i j", 64)
        program.free("a b c d e f g h i")
        assert (taken(program)["batch_keep"], taken(program).get("give", 0)) == (2, gives)
        program.malloc("k l m n o p", 64)
        assert taken(program)["batch_take"] == 1


@plain_and_compiled
def test_a_give_to_shards_changes_the_lock_with_the_shard(compiled: bool) -> None:
    """Heaps take turns: the flush has two blocks of one shard, then one of the other, then one of the first."""
    front = array_stack.Params(capacity=4, refill=1, flush=4)
    shards = policy.row("shards", "striped").Params(count=2, by="thread")
    program = Program(compiled, [64], front=front, transfer_bytes=0, shards=shards)
    program.malloc("a b c x", 64, thread=0)
    program.malloc("d", 64, thread=1)
    for name in ("a", "b", "d", "c", "x"):
        program.free(name, thread=0)
    assert taken(program)["give"] == 3


@plain_and_compiled
def test_lists_of_owners(compiled: bool) -> None:
    program = Program(compiled, [64], remote="owner_mutex", release=release_keep.Params())
    program.malloc("a b c", 64, thread=0)
    program.malloc("d", 64, thread=1)
    program.free("a b", thread=1)
    program.malloc("e f", 64, thread=0)
    assert (taken(program)["remote_put"], taken(program)["remote_drain"]) == (2, 1)


@plain_and_compiled
def test_runs_and_huge_blocks(compiled: bool) -> None:
    program = Program(compiled, [64], run_cache_bytes=0, remap_bytes=1 << 20)
    program.malloc("a b", 8192)
    program.realloc("b", 16384)  # in place: at the top
    program.realloc("a", 12000)  # does not fit, so it moves
    program.free("a b")
    found = taken(program)
    assert (found["run_take"], found["run_extend"], found["run_give"]) == (3, 2, 3)
    program.malloc("h", 1 << 17)
    program.aligned("w", 20, 1 << 17)
    assert taken(program)["huge_take"] == 3
    program.realloc("h", 1 << 18)
    program.free("h w")
    assert (taken(program)["huge_resize"], taken(program)["huge_give"]) == (2, 2)


@plain_and_compiled
def test_a_huge_cache_and_a_run_cache(compiled: bool) -> None:
    """Two mappings wait, so the third of them unmaps one."""
    program = Program(compiled, [64], run_cache_bytes=16384, huge_cache=delayed.Params(kept_bytes=2 << 17))
    program.malloc("s", 64)
    program.malloc("h i j", 1 << 17)
    program.free("h i")
    assert (taken(program)["huge_take"], taken(program)["huge_give"]) == (6, 4)
    program.free("j")
    assert taken(program)["huge_give"] == 7
    program.malloc("k", 1 << 17)
    assert taken(program)["huge_take"] == 8
    program.malloc("a b c", 8192)
    program.free("a b c")
    assert (taken(program)["run_spill"], "run_give" in taken(program)) == (1, False)
    program.exit(0)
    assert taken(program)["run_spill"] == 2


@plain_and_compiled
def test_looks_and_prewarm(compiled: bool) -> None:
    release = release_delay.Params(delay=1000, unit="milliseconds")
    prewarm = prewarm_fronts.Params([prewarm_fronts.Prepared([64], blocks=1, slabs=1)])
    program = Program(compiled, [64, 128], release=release, prewarm=prewarm)
    program.malloc("a", 64)
    program.ms = 5
    program.malloc("b c", 64)  # one of them after the clock has moved
    assert (taken(program)["look"], taken(program)["prewarm"]) == (2, 1)


SMALL_FRONT = {"front": {"kind": "array_stack", "capacity": 4}, "slab_bytes": 4096, "superslab_bytes": 8192}
OWNED = changed(load("counting"), "owned", {"remote": "owner_mutex", "release": {"kind": "keep"}})
SHARDED = changed(load("counting"), "sharded", {"shards": {"kind": "striped", "count": 2, "by": "thread"}})


@pytest.mark.thorough
@pytest.mark.parametrize("design", [load("counting"), OWNED, SHARDED], ids=lambda design: design.name)
def test_the_release_build_counts_the_same_locks(design: Design, tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.hst", 3000, 7, 4, cross_thread=0.3, max_size=1 << 21, live=300)
    runs = agreement(design, trace)
    assert [run.difference for run in runs] == [None, None]
    assert runs[0].counters == runs[1].counters


def test_a_library_that_does_not_count_has_nothing_of_it() -> None:
    assert b"heapsmith_locks" in unchecked_library(load("counting")).read_bytes()
    assert b"heapsmith_locks" not in unchecked_library(load("default")).read_bytes()


@pytest.mark.thorough
def test_small_designs_take_locks_on_every_path() -> None:
    """So conformance, which performs such events on their libraries, compares each counter."""
    seen = set[str]()
    for design in covering_designs():
        plan = make_plan(design)
        simulator = Simulator(plan, rare=True)
        simulator.feed(nasty_trace(plan))
        seen |= {name for name, count in simulator.counters().locks.items() if count}
    assert set(LOCKS) - seen == {"take.none", "acquire.none"}


@pytest.mark.parametrize("remote", ["local_cache", "owner_list"])
def test_a_library_whose_span_is_full_counts_the_same(remote: str) -> None:
    fields = {**SMALL_FRONT, "sizes": [64, 512, 2048], "remote": remote, "release": {"kind": "keep"}}
    plan = make_plan(changed(load("counting"), "full", fields))
    short = short_of_space(plan)
    chunk, simulator = exhausting_trace(short), Simulator(short)
    simulator.feed(chunk, addresses := np.empty(len(chunk.op), np.int64))
    locks = lock_row(simulator.counters())
    assert locks[LOCKS.index("take.none" if remote == "local_cache" else "acquire.none")] > 0
    with Driver(checked_library(plan.design), plan.grain, len(counter_names(plan))) as driver:
        driver.reset(SHORT_SPAN)
        driver.send(chunk)
        assert np.array_equal(driver.receive(len(chunk.op))[0], addresses)
        assert np.array_equal(driver.locks[: len(LOCKS)], locks)


FAULTS = {
    "a lock counts twice": ("1_base/counting/locks.h", "hs_new_locks++;", "hs_new_locks += 2;"),
    "a lock does not count": ("6_slabs/store.c", "LOCKS_TAKE + stage_now(), locks);", "LOCKS_TAKE + stage_now(), 0);"),
    "nobody says what for": ("8_threads/heaps/thread.c", "count_locks(LOCKS_HEAP_END);", ""),
    "what for is wrong": ("8_threads/large.c", "count_locks(LOCKS_RUN_EXTEND);", "count_locks(LOCKS_RUN_TAKE);"),
    "a stage is wrong": ("6_slabs/slabs.c", "set_stage(slab->class == class ?", "set_stage(slab->class != class ?"),
    "a lock more": (
        "8_threads/large.c",
        "    bool extended",
        "    hs_unlock_large(); hs_lock_large(); count_locks(LOCKS_RUN_EXTEND);    bool extended",
    ),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    design = changed(load("counting"), "small", {"sizes": [64, 512, 2048], "run_cache_bytes": 16384, **SMALL_FRONT})
    return Workshop(design, tmp_path_factory.mktemp("shop")).opened()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "t.hst"
    return random_trace(path, 3000, 3, 3, cross_thread=0.3, max_size=40_000, live=200, realloc=0.2)


def difference(shop: Workshop, trace: Path, library: Path) -> str | None:
    """The name of the counter by which the library differs from the model."""
    plan = make_plan(shop.design)
    (row,) = replay(plan, [Library("l", library, 0, counted(plan, checked=True))], trace, lambda *_: None)
    return row.difference and row.difference.what


@pytest.mark.thorough
def test_the_library_as_it_is_agrees(shop: Workshop, trace: Path) -> None:
    assert difference(shop, trace, shop.pristine()) is None


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(shop: Workshop, trace: Path, fault: str) -> None:
    file, before, after = FAULTS[fault]
    lines = shop.texts()[file].split("\n")
    (number,) = [index for index, line in enumerate(lines, 1) if before in line]
    line = lines[number - 1]
    found = difference(shop, trace, shop.keep(Mutant(file, number, "", line, line.replace(before, after)), number))
    assert found is not None
    assert found.startswith("locks.")


def test_simulate_prints_locks_per_million_operations(call: Call, tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.hst", 2000, 3)
    (row,) = json.loads(call("simulate", trace, "--design", "default", "--json").out)["rows"]
    counts = row["counters"]["locks"]
    assert tuple(counts) == LOCKS
    assert row["locks_per_million"] == {name: count * 1e6 / 2000 for name, count in counts.items()}
    printed = call("simulate", trace, "--design", "default").out
    assert "per million operations, without waits" in printed
    assert "locks.take.own" in printed
    assert f"{row['locks_per_million']['take.own']:,.1f}" in printed
