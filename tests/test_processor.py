"""Heaps of processors against docs/machine-rooms.md, 'heaps', by hand; and threads that share them in real programs."""

import ctypes
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lives import run
from loaded import checked_library
from preloaded import program, start
from program import Program, plain_and_compiled
from sanitized import ADDRESS_UNDEFINED, build_sanitized, run_sanitized

from heapsmith.codegen.build import FLAGS
from heapsmith.codegen.built import library_of
from heapsmith.codegen.generate import UNIT, generate
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.heap.simulator import ASSUMED_PROCESSORS
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.remote import owner_list as remote_owner_list

STACK = front_array_stack.Params(capacity=4, refill=2, flush=2)
OF_PROCESSORS: dict[str, Any] = {"heaps": "processor", "run_cache_bytes": 0}
NO_SEQUENCES = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}


@plain_and_compiled
def test_threads_of_a_processor_share_its_heap(compiled: bool) -> None:
    case = Program(compiled, [16], STACK, **OF_PROCESSORS)
    assert case.malloc("a", 16, thread=1) == 0  # 16 lies in the stack of processor 1
    assert case.malloc("b", 16, thread=1 + ASSUMED_PROCESSORS) == 16
    assert case.malloc("c", 16, thread=2) == 32  # another processor: a heap of its own
    assert case.totals("heaps", "adoptions") == (2, 0)
    case.free("c", thread=1)
    assert case.malloc("d", 16, thread=1 + ASSUMED_PROCESSORS) == 32
    case.exit(1)
    case.exit(2)
    assert case.malloc("e", 16, thread=2) == 48  # neither exit has emptied a stack
    assert case.counts(0, "hit0", "push", "refill") == (3, 1, 2)
    assert case.totals("heaps", "adoptions") == (2, 0)


@plain_and_compiled
def test_a_flush_gives_the_newest_blocks(compiled: bool) -> None:
    case = Program(compiled, [16], STACK, **OF_PROCESSORS)
    assert case.malloc("a b c d e f", 16) == [0, 16, 32, 48, 64, 80]
    case.free("a b c d e")  # e finds a full stack: d and c go to the store
    assert case.counts(0, "flush", "flushed", "push") == (1, 2, 5)
    assert case.malloc("g h i j", 16) == [64, 16, 0, 32]  # e, b and a of the stack, then the lowest of the store


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"run_cache_bytes": 4096}, "run_cache_bytes: 4096 cannot go with heaps 'processor'; expected 0"),
        ({"remote": remote_owner_list.NAME}, f"remote: '{remote_owner_list.NAME}' cannot go with heaps 'processor'"),
        ({"counting": "everything"}, "counting: 'everything' cannot go with heaps 'processor'"),
        ({"front": front_linked_list.Params()}, "heaps: 'processor' needs a stack of one level"),
        ({"front": front_array_stack.Params(capacity=4096, flush=2000)}, "refills or flushes of 2000 blocks"),
    ],
    ids=["runs", "owner", "counting", "list", "batch"],
)
def test_designs_that_cannot_have_them(fields: dict[str, Any], reason: str) -> None:
    design = Design("case", [16], **{**OF_PROCESSORS, "front": STACK, **fields})
    assert reason in str(design.why_not_valid())


def storm(library: Path, environment: Mapping[str, str]) -> str | None:
    """What a storm of more threads than processors found wrong with a library; None if it found nothing."""
    done = start([program("run_processors", "-pthread"), 24, 40_000], library, environment=environment)
    return None if (done.returncode, done.stderr) == (0, "") else f"status {done.returncode}: {done.stderr}"


@pytest.mark.thorough
@pytest.mark.parametrize("environment", [{}, NO_SEQUENCES], ids=["sequences", "locks"])
def test_no_block_is_handed_out_twice(environment: Mapping[str, str]) -> None:
    design = load("processor")
    assert storm(library_of(design), environment) is None
    assert storm(checked_library(design), {"HEAPSMITH": "check", **environment}) is None


def test_stacks_serve_without_sequences(tmp_path: Path) -> None:
    """Under locks, a block that was freed is the next one, so that few calls refill."""
    environment = {"HEAPSMITH": f"stats={tmp_path / 's.json'}", **NO_SEQUENCES}
    assert storm(checked_library(load("processor")), environment) is None
    rows = json.loads((tmp_path / "s.json").read_text())["classes"]
    assert sum(row["hit0"] for row in rows) > sum(row["refill"] for row in rows) > 0


def other_locks(environment: Mapping[str, str], folder: Path) -> int:
    """The locks that a storm takes for stacks of a processor's heap."""
    out = folder / "locks.json"
    assert storm(checked_library(load("processor")), {"HEAPSMITH": f"stats={out}", **environment}) is None
    return int(json.loads(out.read_text())["locks"]["other"])


def test_sequences_take_no_locks(tmp_path: Path) -> None:
    """A call takes one where its thread has no sequence yet, or is moved to another processor again and again."""
    try:
        registered = ctypes.c_uint.in_dll(ctypes.CDLL(None), "__rseq_size").value > 0
    except ValueError:
        registered = False
    if not registered:
        pytest.skip("the C library or the kernel has no restartable sequences (rseq(2))")
    assert 10 * other_locks({}, tmp_path) < other_locks(NO_SEQUENCES, tmp_path)


def slow_library(folder: Path, *, described: bool) -> Path:
    """The library, whose sequences take long, and of which the kernel is told or not."""
    shutil.copytree(HEAP, folder / "runtime")
    header = folder / "runtime/8_threads/heaps/processor.h"
    tells, before_the_last = '"movq %[at], 8(%[here])\\n"', '"cmoveq '
    text = header.read_text()
    assert (text.count(tells), text.count(before_the_last)) == (1, 2)
    text = text.replace(before_the_last, '"pause; pause; pause; pause; cmoveq ')
    header.write_text(text if described else text.replace(tells, '"nop\\n"'))
    generate(load("processor"), folder)
    sources = [folder / "fast.c", folder / UNIT]
    return compile_c(sources, folder / "slow.so", flags=FLAGS, include=[folder, folder / "runtime"])


@pytest.mark.big
def test_a_storm_finds_sequences_that_do_not_begin_anew(tmp_path: Path) -> None:
    """Without its description the kernel does not know of a sequence, and lets an interrupted one go on."""
    assert storm(slow_library(tmp_path / "told", described=True), {}) is None
    wrong = slow_library(tmp_path / "untold", described=False)
    assert any(storm(wrong, {}) for _ in range(100))  # ends with the first that finds it


SMALL: dict[str, Any] = {
    "thp": "system",
    "slab_bytes": 4096,
    "superslab_bytes": 8192,
    "huge_bytes": 65_536,
    **OF_PROCESSORS,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"transfer_bytes": 4096},
    "header": {"classifier": "header"},
    "checks": {"hardening": {"kind": "checks"}, "foreign": "abort"},
    "list": {"freed_blocks": "list", "slab_choice": "scan", "empties": "dedicated"},
}


@pytest.mark.big
@pytest.mark.parametrize("variant", VARIANTS)
def test_library_is_the_model(variant: str) -> None:
    fields = {"sizes": [32, 48, 256, 1024, 2048], "front": STACK, **SMALL, **VARIANTS[variant]}
    run(changed(load("processor"), f"processor-{variant}", fields), 20)


@pytest.mark.big
def test_under_sanitizers(tmp_path: Path) -> None:
    """They see the slow paths; ThreadSanitizer would not see the sequences."""
    built = build_sanitized(load("processor"), ADDRESS_UNDEFINED, tmp_path)
    run_sanitized(built, ADDRESS_UNDEFINED, ["--operations", "8000", "--threads", "4"])
