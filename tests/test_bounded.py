"""Bounded designs: what the audit claims of `steady` holds, can fail, and is so in a program (docs/compare.md)."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from preloaded import library, program, run, start

from heapsmith.bench.suite.rows import rows
from heapsmith.codegen import build as build_module
from heapsmith.codegen.bounds import BOUNDED, GATES, audit_bounds
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.claims import Row
from heapsmith.codegen.flow import Function, Mark, components, longest
from heapsmith.codegen.generate import generate
from heapsmith.codegen.layers import HEAP
from heapsmith.model.design.design import load
from heapsmith.tools.peers.peers import find_library

KILLED = 128 + 31
"""The exit status of env(1) after SIGSYS, in a shell's form; subprocess says -31."""

needs_tools = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("objdump") and shutil.which("objcopy")),
    reason="gcc, objdump or objcopy is not on PATH",
)

MUTANTS = {
    "loop": (
        "6_slabs/take.h",
        "    slab->carved += taken;\n",
        "    while (slab->huge)\n        ;\n    slab->carved += taken;\n",
    ),
    "inner loop": (
        "6_slabs/take.h",
        "        BOUND(carved, MOST_REFILL);\n",
        "        BOUND(carved, MOST_REFILL);\n"
        "        while (__atomic_load_n(&slab->freed, __ATOMIC_RELAXED) > SLAB_BYTES)\n            ;\n",
    ),
    "a way past the mark": (
        "4_blocks/freed_blocks/list.h",
        "        BOUND(taken_freed, MOST_REFILL);\n",
        "        if (newest != NULL) {\n            BOUND(taken_freed, MOST_REFILL);\n        }\n",
    ),
    "madvise": (
        "6_slabs/slabs.c",
        "    freed_end(slab);\n",
        "    freed_end(slab);\n    os_huge_pages(slab_start(slab), 1, false);\n",
    ),
    "instruction": (
        "9_api/api.c",
        "    free(block);\n    count_shared(&hs_count.realloc_moved, 1);\n",
        '    free(block);\n    __asm__ volatile("syscall" ::: "rcx", "r11", "memory");\n',
    ),
    "lock": (
        "5_slab_policies/pool/alone.h",
        "    slab->older = pool->top;\n",
        "    hs_lock_pool();\n    slab->older = pool->top;\n",
    ),
    "recursion": (
        "9_api/other_names.c",
        "void cfree(void *block)\n{\n",
        "void cfree(void *block)\n{\n    free(realloc(block, 1));\n    cfree(block);\n",
    ),
}
"""A file of the runtime, a line of it, and what stands there instead."""


def failed(rows: list[Row]) -> list[str]:
    return [f"{row.name}: {row.found}" for row in rows if not row.ok]


@pytest.mark.thorough
@needs_tools
def test_steady_is_bounded() -> None:
    rows = audit_bounds(library("steady", checked=False))
    assert failed(rows) == []
    names = {row.name for row in rows}
    assert set(BOUNDED) <= names
    loops = [row.claim for row in rows if row.claim.startswith("a loop")]
    assert any("DRAIN_MOST + 1 = 9 rounds at most" in claim for claim in loops)
    assert len(loops) >= 8
    assert {"new_slab", "hs_heap_start", "hs_malloc_large", "hs_free_large"} <= names & GATES.keys()


@needs_tools
def test_default_is_not_bounded() -> None:
    """The same walk finds the lock and the loops of a design that promises nothing."""
    found = failed(audit_bounds(library("default", checked=False)))
    assert any(line.startswith("malloc: ") for line in found)
    assert any(line.startswith("free: ") for line in found)
    assert any("states none" in line for line in found)


@pytest.mark.thorough
@needs_tools
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "inner loop" else pytest.mark.big) for name in MUTANTS]
)
def test_a_mutant_fails(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, old, new = MUTANTS[name]
    shutil.copytree(HEAP, tmp_path / "heap")
    changed = tmp_path / "heap" / file
    text = changed.read_text()
    assert text.count(old) == 1
    changed.write_text(text.replace(old, new))
    monkeypatch.setattr(build_module, "HEAP", tmp_path / "heap")
    generate(load("steady"), tmp_path / "emitted")
    assert failed(audit_bounds(build_emitted(tmp_path / "emitted", tmp_path / "mutant.so")))


def test_each_bound_has_a_name_of_its_own() -> None:
    """Marks of one name are of one loop: the compiler's copies of it."""
    sources = [path.read_text() for path in HEAP.rglob("*.[ch]") if path.name != "bound.h"]
    names = Counter(name for text in sources for name in re.findall(r"ROUNDS\((\w+)\)", text))
    used = Counter(name for text in sources for name in re.findall(r"BOUND\((\w+),", text))
    assert names == used
    assert set(names.values()) == {1}


def graph(edges: dict[int, list[int]], marks: dict[int, int]) -> tuple[int, list[tuple[int, int]]]:
    """The worst sum and the heads and bounds (-1: none) of the loops of a graph of unit weights, entered at 0."""
    named = {node: Mark(f"loop {node}", str(most), most) for node, most in marks.items()}
    total, loops = longest(Function("f", 0, edges, {}), named, dict.fromkeys(edges, 1))
    return total, sorted((loop.head, loop.most if loop.marks else -1) for loop in loops)


def test_worst_counts_by_hand() -> None:
    assert graph({0: [1, 2], 1: [3], 2: [4], 3: [], 4: [3]}, {}) == (4, [])
    assert graph({0: [1], 1: [1, 2], 2: []}, {1: 5}) == (1 + 6 + 1, [(1, 5)])
    nested = {0: [1], 1: [2, 5], 2: [3], 3: [3, 4], 4: [1], 5: []}
    assert graph(nested, {2: 2, 3: 4}) == (1 + 3 * (1 + 1 + 5 + 1) + 1, [(1, 2), (3, 4)])
    past = {0: [1], 1: [2, 3], 2: [1], 3: [1, 4], 4: []}
    assert graph(past, {2: 7})[1] == [(1, -1)]
    assert graph(past, {2: 7, 3: 2})[1] == [(1, 14)]


def test_components_by_hand() -> None:
    found = components({0, 1, 2, 3}, {0: [1], 1: [2], 2: [1, 3], 3: []})
    assert [sorted(part) for part in found] == [[3], [1, 2], [0]]


def no_calls(operations: int, threads: int, seed: int, tmp_path: Path, *, checked: bool) -> dict[str, int]:
    """Run the program under `steady`; return what it says, and the counter of superslabs that were not prepared."""
    report = tmp_path / "stats.json"
    command = [program("no_calls"), operations, threads, seed]
    said = run(command, library("steady", checked=checked), environment={"HEAPSMITH": f"stats={report}"}, timeout=300)
    found: dict[str, int] = json.loads(said)
    counters = json.loads(report.read_text())
    assert threads == 1 or sum(row["remote"] for row in counters["classes"]) > operations / 100
    assert sum(row["retire"] for row in counters["classes"]) > 0
    return {**found, "late": counters["counters"]["superslabs_late"]}


@pytest.mark.parametrize("threads", [1, 4])
def test_no_system_call_after_prewarm(threads: int, tmp_path: Path) -> None:
    """The kernel would kill the program. The checked build asserts each bound on the way."""
    found = no_calls(60_000, threads, 1, tmp_path, checked=True)
    assert (found["faults"], found["late"]) == (0, 0)
    print(f"{threads} threads: worst operation {found['worst_ns']:,} ns")


@pytest.mark.big
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("seed", range(2, 6))
def test_no_system_call_after_prewarm_at_length(threads: int, seed: int, tmp_path: Path) -> None:
    found = no_calls(4_000_000, threads, seed, tmp_path, checked=False)
    assert found["late"] == 0
    print(f"{threads} threads, seed {seed}: worst operation {found['worst_ns']:,} ns")


def test_the_kernel_kills_a_program_of_another_design() -> None:
    done = start([program("no_calls"), 60_000, 1], library("default", checked=False))
    assert done.returncode in (-31, KILLED)


def test_calls_are_stamped(tmp_path: Path) -> None:
    """The rows of single calls run under it: quantiles in order, and the worst is no less."""
    for row in rows(["micro"], ["calls", "calls-cold"], tmp_path, quick=True):
        assert row.stamp is not None
        for call in row.stamp(tmp_path)(find_library("steady"), 60.0):
            assert 0 <= call.p50 <= call.p99 <= call.p999 <= call.worst * 1.01
