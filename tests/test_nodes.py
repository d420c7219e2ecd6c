"""Shards of nodes: by hand; library and model with simulated nodes; what the library reads, binds and survives."""

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering_designs, soon
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from loaded import checked_library, fast_library
from preloaded import library, program, run, shim
from program import SMALL, Program, plain_and_compiled
from sanitized import ADDRESS_UNDEFINED, THREAD, Sanitizer
from test_conformance import run as step_by_step
from test_stress import sanitize
from traces import random_trace

from heapsmith.bench.common.preload import preloadable
from heapsmith.bench.replay.script import write_script
from heapsmith.bench.replay.syscalls import memory_calls
from heapsmith.codegen.built import library_of
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.records import TOTALS
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.nodes import node_of, numbers_in, system_nodes, write_nodes
from heapsmith.model.policy.background import refill as background_refill
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.remote import owner_list as remote_owner_list
from heapsmith.model.policy.shards import nodes as shards_nodes
from heapsmith.model.trace.reader import Chunk, Op, TraceReader, TraceWriter

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
    case.free("a e b", thread=2)  # b finds a of node 0 and e of node 1: both go to their slabs
    assert case.counts(0, "flush", "transfer_in", "reuse") == (1, 0, 0)
    case.free("c d", thread=2)  # d finds b and c, both of node 0
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


@pytest.mark.parametrize("nodes", soon(TOPOLOGIES, ("two", "more than shards")))
@pytest.mark.parametrize("variant", VARIANTS)
def test_library_is_the_model(variant: str, nodes: str, tmp_path: Path) -> None:
    """Threads move among 12 processors; four shards."""
    trace = tmp_path / "t.hst"
    with TraceWriter(trace, command=["test"], source="test", processors=True) as writer:
        writer.append(moving(waves(len(variant)), 12, len(nodes)))
    report = verify(small(variant, shards={"kind": "nodes", "count": 4}), [trace], audit=False, nodes=TOPOLOGIES[nodes])
    assert [(run.build, run.difference) for run in report.runs] == [("checked", None), ("release", None)]
    assert all(run.addresses > 4_900 for run in report.runs)


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


@pytest.mark.parametrize("design", soon(covered(), covered()[:3]), ids=lambda design: design.name)
def test_step_by_step(design: Design) -> None:
    """Threads of two nodes: see test_conformance.py."""
    assert step_by_step(design, examples=8)["reuse"] > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_node_is_one_store(variant: str) -> None:
    """No address and no counter differs from those without shards; with two nodes they do."""
    chunk = moving(waves(7, threads=4, rounds=3), 4, 7)
    found = []
    for shards, nodes in ((None, TWO), ({"kind": "nodes"}, ()), ({"kind": "nodes"}, TWO)):
        simulator = Simulator(make_plan(small(variant, shards=shards)), compiled=False, nodes=nodes)
        addresses = np.full(len(chunk.op), -1, np.int64)
        simulator.feed(chunk, addresses)
        simulator.check()
        found.append((addresses.tolist(), simulator.counters()))
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


BARE = small("bare", shards={"kind": "nodes", "count": 32})
NUMBER = st.integers(0, 20) | st.sampled_from([8190, 8191, 8192, 99_999_999_999])
RANGE = st.one_of(NUMBER.map(str), st.tuples(NUMBER, NUMBER).map(lambda ends: f"{ends[0]}-{ends[1]}"))
LIST = st.lists(RANGE, min_size=1, max_size=5).map(",".join)
TEXT = st.one_of(LIST, LIST.map(lambda text: f"{text}\n"), st.text("0123456789-, \nx", max_size=12))
WATCHED = (*range(22), 8190, 8191)


def folder_of(folder: Path, nodes: dict[int, str], online: str | None = None) -> Path:
    """Files in a folder as Linux would have them for nodes of these numbers."""
    (folder / "online").write_text(online if online is not None else ",".join(map(str, nodes)))
    for node, text in nodes.items():
        (folder / f"node{node}").mkdir()
        (folder / f"node{node}/cpulist").write_text(text)
    return folder


def blocks_on(
    processors: Iterable[int | str], folder: Path | str, *before: str, design: Design = BARE, size: int = 16
) -> tuple[list[tuple[int, int]], str]:
    """Superslab and address of a block on each processor, and what was said besides. before: words of the command."""
    environment = [f"HEAPSMITH=nodes={folder}", f"LD_PRELOAD={preloadable(fast_library(design))}"]
    tool = program("run_nodes")
    command = [*before, "env", *environment, tool, str(size), *map(str, processors)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(int(superslab), int(address, 16)) for superslab, address in rows], done.stderr


def first_alike(found: Sequence[int], of: Sequence[int]) -> list[int]:
    """For each item the first that has the same number."""
    return [of[list(found).index(number)] for number in found]


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(online=TEXT, lists=st.dictionaries(st.integers(0, 20) | st.just(1023), TEXT, max_size=6))
@example(online="1-1,3", lists={1: "2-2", 3: "8191"})
@example(online="0-2\n", lists={0: "8191", 1: "8190", 2: "7,7-7"})
def test_any_content_of_the_files_is_read_as_the_model_reads_it(
    online: str, lists: dict[int, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = folder_of(tmp_path_factory.mktemp("nodes"), lists, online)
    nodes = system_nodes(folder)
    found, said = blocks_on(WATCHED, folder)
    table = node_of(nodes)[list(WATCHED)] % 32
    assert first_alike([superslab for superslab, _ in found], WATCHED) == first_alike(table.tolist(), WATCHED)
    assert (said == "") == bool(nodes)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,8\n", [0, 1, 2, 3, 8]),
        ("007", [7]),
        ("5-5", [5]),
        *((text, []) for text in ("", "\n", "3-1", "1,", ",1", "1--2", "-1", "1 2", "0x3", "8192", "0-8192", "1\n\n")),
    ],
)
def test_lists(text: str, numbers: list[int]) -> None:
    assert numbers_in(text) == numbers


def test_a_folder_without_nodes_is_told(tmp_path: Path) -> None:
    found, said = blocks_on([0, 1], tmp_path / "none")
    assert [superslab for superslab, _ in found] == [0, 0]
    assert said == f'heapsmith: HEAPSMITH: bad value in "nodes={tmp_path}/none"\n'
    assert blocks_on([0, 1], "")[1] == ""


def test_the_last_folder_counts(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "last")]
    for folder, nodes in zip(folders, ({0: "0", 1: "1-3"}, {0: "0", 1: "3"}), strict=True):
        folder.mkdir()
        folder_of(folder, nodes)
    found, _ = blocks_on([0, 1, 2, 3], f"{folders[0]},nodes={folders[1]}")
    assert [superslab for superslab, _ in found] == [0, 0, 0, 1]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_a_thread_takes_from_the_node_on_which_it_runs(tmp_path: Path) -> None:
    one, other = sorted(os.sched_getaffinity(0))[:2]
    folder = folder_of(tmp_path, {0: str(one), 5: str(other)})
    found, _ = blocks_on([f"@{one}", f"@{other}", f"@{one}", f"@{other}"], folder)
    assert [superslab for superslab, _ in found] == [0, 1, 0, 1]


MBIND = re.compile(r"mbind\((0x[0-9a-f]+), (\d+), MPOL_PREFERRED, \[(.*?)\], (\d+), 0\) += (.*)")
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def bound(
    folder: Path, nodes: dict[int, str], processors: Sequence[int], *inject: str, design: Design = BARE
) -> tuple[list[Any], list[str]]:
    """For each processor the node to which its block's superslab was bound, or None; and what the calls said."""
    log = folder / "log"
    strace = ["strace", "-qq", "-f", "-e", "trace=mbind", *inject, "-o", str(log)]
    found, _ = blocks_on(processors, folder_of(folder, nodes), *strace, design=design)
    calls = [match.groups() for match in MBIND.finditer(log.read_text())]
    spans = []
    for start, size, mask, most, _ in calls:
        assert (int(size), int(most)) == (SMALL["superslab_bytes"], 1025)
        words = [int(word, 16) for word in mask.split(", ")]
        (node,) = (bit for bit in range(64 * len(words)) if words[bit // 64] >> bit % 64 & 1)
        spans.append((range(int(start, 16), int(start, 16) + int(size)), node))
    homes = [next((node for span, node in spans if address in span), None) for _, address in found]
    return homes, [said for *_, said in calls]


@needs_strace
@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({0: "0-3"}, [None, None, None, None]),
        ({0: "0-1", 1: "2-3"}, [0, 0, 1, 1]),
        ({0: "1", 3: "0", 64: "3", 1023: "2"}, [3, 0, 1023, 64]),
        ({1: "", 2: "1", 7: "2-3"}, [2, 2, 7, 7]),  # no node lists processor 0; node 1 has no processors
        ({2: "x", 7: "0-3"}, [None, None, None, None]),
    ],
)
def test_superslabs_are_bound_to_the_node(nodes: dict[int, str], expected: list[int | None], tmp_path: Path) -> None:
    homes, _ = bound(tmp_path, nodes, [0, 1, 2, 3])
    assert homes == expected


@needs_strace
def test_a_shard_of_several_nodes_is_bound_to_the_first(tmp_path: Path) -> None:
    design = small("bare", shards={"kind": "nodes", "count": 2})
    assert bound(tmp_path, {4: "0", 5: "1", 6: "2"}, [2, 1, 0], design=design)[0] == [4, 5, 4]


@needs_strace
def test_a_system_that_binds_nothing_does_no_harm(tmp_path: Path) -> None:
    homes, said = bound(tmp_path, {0: "0", 1: "1"}, [0, 1, 0, 1], "-e", "inject=mbind:error=EPERM")
    assert homes == [0, 1, 0, 1]
    assert len(said) == 2
    assert all("EPERM" in answer for answer in said)


@needs_strace
def test_the_model_counts_calls_that_bind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each superslab, where there is a second node."""
    trace = random_trace(tmp_path / "t.hst", 6000, 7)
    write_script(trace, tmp_path / "script")
    simulator = Simulator(make_plan(small("plain")), compiled=False, nodes=("0-63", "64"))
    alone = Simulator(make_plan(small("plain")), compiled=False, nodes=("0-64",))
    with TraceReader(trace) as reader:
        for chunk in reader:
            simulator.feed(chunk)
            alone.feed(chunk)
    superslabs = simulator.counters().totals["superslabs"]
    assert simulator.state.memory_calls - alone.state.memory_calls == superslabs > 50
    calls = []
    for nodes in ({0: "0-64"}, {0: "0-63", 1: "64"}):
        folder = tmp_path / str(len(nodes))
        folder.mkdir()
        monkeypatch.setenv("HEAPSMITH", f"nodes={folder_of(folder, nodes)}")
        calls.append(memory_calls(tmp_path / "script", library_of(small("plain"))))
    assert calls[1] - calls[0] == superslabs


def two_nodes(folder: Path) -> dict[str, str]:
    """The environment with a node for every other processor."""
    evens, odds = (",".join(map(str, range(first, 64, 2))) for first in (0, 1))
    return {"HEAPSMITH": f"check,nodes={folder_of(folder, {0: evens, 1: odds})}"}


@pytest.mark.parametrize("design", ["nodes", "nodes-processor"])
def test_threads_and_forks_under_load(design: str, tmp_path: Path) -> None:
    built = changed(load("nodes"), design, VARIANTS[design.partition("-")[2] or "plain"])
    environment = two_nodes(tmp_path)
    for mode in ("load", "handler"):
        assert run([program("run_fork"), mode, 40], checked_library(built), environment=environment) == "done\n"


@pytest.mark.parametrize("fault", ["mmap:2", "mmap:8-", "mprotect:2", "mprotect:3-", "madvise:1-", "munmap:1-"])
def test_calls_that_fail_do_no_harm(fault: str, tmp_path: Path) -> None:
    """The program of test_faults.py, on two nodes."""
    command: list[str | Path | int] = [program("run_faults"), TOTALS.index("committed")]
    assert run(command, shim("shim_faults"), library("nodes"), environment={"FAULT": fault, **two_nodes(tmp_path)})


@pytest.mark.parametrize(
    "sanitizer", soon((THREAD, ADDRESS_UNDEFINED), (THREAD,)), ids=lambda sanitizer: sanitizer.name
)
def test_threads_of_several_nodes_have_no_race(
    sanitizer: Sanitizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in two_nodes(tmp_path).items():
        monkeypatch.setenv(name, value)
    sanitize(load("nodes"), sanitizer, tmp_path, "--operations", "8000", "--threads", "4")


def test_the_machine_tells_its_nodes(tmp_path: Path) -> None:
    assert system_nodes(folder_of(tmp_path, {0: "0-1", 2: "", 3: "4,6"})) == ("0-1", "4,6")
    again = tmp_path / "again"
    again.mkdir()
    write_nodes(again, ("0-1", "4,6"))
    assert system_nodes(again) == ("0-1", "4,6")
