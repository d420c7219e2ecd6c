"""Locks and lock-free parts over every interleaving and every stale read: tests/interleave/explore.h says how."""

import json
import re
import shutil
import subprocess
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from covering import soon
from interleave_mutants import MUTANTS, Mutant

from heapsmith.codegen.generate import render
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.sampling import ready
from heapsmith.model.policy.shards import striped

HERE = Path(__file__).resolve().parent / "interleave"
EXPLORER = ("explore.c", "early.c", "threads.c", "memory.c", "shared.c", "hooks.c")
PROGRAMS = {
    "litmus": ("litmus.c",),
    "lock": ("lock_cases.c", "2_system/lock.c"),
    "list": (
        "list_cases.c",
        "2_system/lock.c",
        "5_slab_policies/remote/owner_list.c",
        "4_blocks/classifier/slab_map.c",
    ),
    "mutex": (
        "list_cases.c",
        "2_system/lock.c",
        "5_slab_policies/remote/owner_mutex.c",
        "4_blocks/classifier/slab_map.c",
    ),
    "queue": (
        "list_cases.c",
        "2_system/lock.c",
        "5_slab_policies/remote/owner_queue.c",
        "4_blocks/classifier/slab_map.c",
    ),
    "batch": ("batch_cases.c",),
    "life": ("life_cases.c", "2_system/lock.c"),
    "run": ("run_cases.c", "2_system/lock.c", "7_large/runs.c", "7_large/run_pages.c"),
    "peak": ("peak_cases.c", "2_system/counters.c"),
    "pool": ("pool_cases.c", "2_system/lock.c", "5_slab_policies/empties/shared.c"),
    "shards": ("shard_cases.c", "2_system/lock.c"),
    "class_shards": ("shard_cases.c", "2_system/lock.c"),
    "mutex_fork": ("mutex_cases.c", "2_system/lock.c", "4_blocks/classifier/slab_map.c"),
    "helper": ("helper_cases.c", "2_system/lock.c"),
    "processor": ("processor_cases.c", "2_system/lock.c"),
    "elsewhere": ("elsewhere_cases.c",),
    "handler": ("handler_cases.c",),
    "record": ("record_cases.c",),
    "sampling": ("sampling_cases.c",),
}
"""The sources under exploration; of `tests/interleave`, or else of the runtime."""

DESIGNS: dict[str, dict[str, Any]] = {
    "mutex": {"remote": "owner_mutex"},
    "mutex_fork": {"remote": "owner_mutex"},
    "queue": {"remote": "owner_queue"},
    "batch": {"remote": "owner_batch"},
    "pool": {"pool": "lock_free_claims"},
    "helper": {"remote": "local_cache", "transfer_bytes": 1 << 17, "background": load("background").background},
    "processor": {"remote": "local_cache", "heaps": "processor", "run_cache_bytes": 0},
    "shards": {"remote": "local_cache", "shards": striped.Params(count=2, by="thread")},
    "class_shards": {"remote": "local_cache", "shards": striped.Params(count=2, by="class")},
    "sampling": {"remote": "local_cache", "sampling": ready.Params(), "sizes": [16, 32]},
}
"""In what the design of a program differs from `owner`."""

FEWER = [
    (r"REMOTE_LOCKS = 64", "REMOTE_LOCKS = 1"),
    (r"NUMBERED_LOCKS = 64", "NUMBERED_LOCKS = 1"),
    (r"OUTBOX_PLACES = 4", "OUTBOX_PLACES = 1"),
    (r"REMOTE_WORDS = \d{3,}", "REMOTE_WORDS = 9 * CLASS_COUNT"),
    (r"DIRECT_LIMIT = 32", "DIRECT_LIMIT = 0"),
]
"""Numbers of a plan that would make too many states, and what stands for each."""

DEFINES = {"mutex": ("-DLOCKED=1",), "queue": ("-DFIFO=1",), "shards": ("-DBY_THREAD=1",)}
"""What the cases are told of their design."""

BOUNDS = {
    "2_system/lock.c": ("LOCK_SPINS = 100", "LOCK_SPINS = 1"),
    "2_system/locks.c": ("PATIENCE = 1000", "PATIENCE = 2"),
    "9_api/sampling/record.h": ("    uint32_t lock;", "    _Alignas(8) uint32_t lock;"),
    "8_threads/rows.c": (
        "heap->row_of[bytes] = (uint8_t)hs_row_of_size(size_to_class(bytes));",
        "__atomic_store_n(&heap->row_of[bytes], (uint8_t)hs_row_of_size(size_to_class(bytes)), __ATOMIC_RELAXED);",
    ),
}
"""Loops that only bide time, cut short: each of their rounds does the same. A word of atomics holds one alone."""

FLAGS = ("-std=gnu17", "-O2", "-Wall", "-Wextra", "-fno-stack-protector")
EXPLORED = (*FLAGS, "-fsanitize=thread", "-ffunction-sections", "-fdata-sections", "-include", "interpose.h")
LINK = ("-Wl,--gc-sections",)


class Workshop:
    """Objects of the explorer and of the sources, compiled once; programs of changed sources beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gcc = find_gcc().path
        self.sources = folder / "sources"
        shutil.copytree(HEAP, self.sources)
        shutil.copytree(HERE, self.sources, dirs_exist_ok=True)
        for file, (old, new) in BOUNDS.items():
            self.change(file, old, new)
        self.compile((*FLAGS, self.emitted("lock")), EXPLORER, self.sources)

    def emitted(self, program: str) -> str:
        """The option by which a program finds the headers of its design."""
        folder = self.folder / "designs" / program
        if not folder.exists():
            folder.mkdir(parents=True)
            design = msgspec.structs.replace(load("owner"), **DESIGNS.get(program, {}))
            for name, text in render(make_plan(design)).items():
                (folder / name).write_text(reduce(lambda of, number: re.sub(*number, of), FEWER, text))
        return f"-I{folder}"

    def change(self, file: str, old: str, new: str, root: Path | None = None) -> None:
        path = (root or self.sources) / file
        text = path.read_text()
        assert text.count(old) == 1, f"{file}: {old!r} stands there {text.count(old)} times"
        path.write_text(text.replace(old, new))

    def compile(self, flags: tuple[str, ...], names: tuple[str, ...], root: Path) -> None:
        for name in names:
            command = [self.gcc, *flags, "-I.", f"-I{root}", "-c", name, "-o", f"{name}.o"]
            done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    def program(self, name: str) -> Path:
        out = self.folder / name
        if not out.exists():
            self.link(name, self.sources, out, PROGRAMS[name])
        return out

    def mutant(self, mutant: Mutant) -> Path:
        self.program(mutant.program)
        root = self.folder / "mutant"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.sources, root)
        self.change(mutant.file, mutant.old, mutant.new, root)
        parts = PROGRAMS[mutant.program]
        alone = mutant.file in parts and [row[0] for row in PROGRAMS.values()].count(parts[0]) == 1
        self.link(mutant.program, root, root / "program", (mutant.file,) if alone else parts)
        return root / "program"

    def link(self, name: str, root: Path, out: Path, changed: tuple[str, ...]) -> None:
        self.compile((*EXPLORED, *DEFINES.get(name, ()), self.emitted(name)), changed, root)
        objects = [str(root / f"{file}.o") for file in (*PROGRAMS[name], *EXPLORER)]
        done = subprocess.run([self.gcc, *LINK, *objects, "-o", out], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class Found(NamedTuple):
    """What an exploration says: `executions` is -1 where loops make them countless."""

    states: int
    transitions: int
    executions: int
    loops: int
    outcomes: list[int]


def explore(program: Path, case: str, *model: str) -> Found:
    done = subprocess.run([program, case, *model], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return Found(**json.loads(done.stdout))


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("interleave"))


@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("store_buffering", [0, 1, 4, 5]),
        ("store_buffering_fenced", [1, 4, 5]),
        ("store_buffering_one_fence", [0, 1, 4, 5]),
        ("two_plus_two_fenced", [6, 9, 10]),
        ("pass_fenced", [0, 8, 12]),
        ("load_buffering", [0, 1, 4]),  # C11 has 5 too: both read the other's later store
        ("load_buffering_release", [0, 1, 4]),
        ("thin_air", [0]),
        ("two_plus_two", [6, 9, 10]),  # C11 has 5 too: both words end with the first store
        ("pass_relaxed", [0, 4, 8, 12]),
        ("pass_release_only", [0, 4, 8, 12]),
        ("pass_acquire_only", [0, 4, 8, 12]),
        ("pass_ordered", [0, 8, 12]),
        ("plain_ordered", [0, 8]),
        ("release_sequence", [0, 32]),
        ("read_twice", [0, 8, 12]),
        ("read_in_turn", [0, 4, 16, 32, 36]),
        ("swap_weak", [0, 1]),
        ("swap_strong", [1, 4]),
    ],
)
def test_the_explorer_finds_every_outcome_that_is_allowed(workshop: Workshop, case: str, outcomes: list[int]) -> None:
    assert explore(workshop.program("litmus"), case).outcomes == outcomes


@pytest.mark.parametrize(("case", "executions"), [("three_adds", 20), ("two_adds", 90)])  # 6!/(3! 3!), 6!/(2! 2! 2!)
def test_the_explorer_goes_every_way(workshop: Workshop, case: str, executions: int) -> None:
    assert explore(workshop.program("litmus"), case).executions == executions


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("plain_no_release", "data race: another thread's write"),
        ("plain_no_acquire", "data race: another thread's write"),
        ("broken_sequence", "data race: another thread's write"),
        ("read_then_write", "data race: another thread's read"),
        ("sleeps", "deadlock"),
        ("spins", "livelock"),
        ("strays", "memory that the case does not share"),
    ],
)
def test_the_explorer_reports_a_mistake(workshop: Workshop, case: str, words: str) -> None:
    fails(workshop.program("litmus"), case, words)


def fails(program: Path, case: str, words: str, *model: str) -> None:
    done = subprocess.run([program, case, *model], check=False, capture_output=True, text=True)
    assert f"{case}: FAILED: {words}" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


CASES = [
    ("lock", "lock_2x1", [2], 300),
    ("lock", "lock_2x2", [4], 6_000),
    ("lock", "lock_3x1", [3], 130_000),
    ("lock", "lock_try_2x1", [1, 2], 250),
    ("lock", "lock_try_3x1", [2, 3], 24_000),
    ("list", "list_1x1", [0, 1], 16),
    ("list", "list_2x1", [0, 1, 2], 480),
    ("list", "list_1x2", [0, 1, 2], 140),
    ("list", "list_2x2", [0, 1, 2, 3, 4], 44_000),
    ("list", "list_own", [1, 2, 3], 5_000),
    ("list", "list_told", [0, 2], 1_000),
    ("list", "recycle", [1, 2, 3], 3_600),
    ("list", "share_store", [0, 1, 2], 1_400),
    ("mutex_fork", "mutex_fork", [0x11, 0x20], 4_000),
    ("mutex_fork", "mutex_child", [0x10, 0x20], 2_000),
    ("mutex_fork", "mutex_handler", [0x10], 3_000),
    ("mutex", "list_1x1", [0, 1], 100),
    ("mutex", "list_2x1", [0, 1, 2], 140_000),
    ("mutex", "list_1x2", [0, 1, 2], 3_900),
    ("mutex", "list_told", [0, 2], 11_000),
    ("mutex", "recycle", [1, 2, 3], 20_000),
    ("queue", "list_1x1", [0, 1], 28),
    ("queue", "list_2x1", [0, 1, 2], 8_700),
    ("queue", "list_1x2", [0, 1, 2], 1_300),
    ("queue", "list_told", [0, 1], 36),
    ("queue", "recycle", [1, 2, 3], 5_000),
    ("batch", "batch_2", [0, 2], 12),
    ("batch", "batch_3", [0, 2, 4], 300),
    ("batch", "batch_alone", [0, 1, 2], 1_800),
    ("pool", "swap_2", [1, 2], 160),
    ("pool", "swap_3", [1, 2], 3_200),
    ("pool", "swap_push", [2], 950),
    ("pool", "swap_all", [0, 1], 9_200),
    ("pool", "claim_2", [1 << 4 | 2], 900),
    ("pool", "claim_3", [1 << 4 | 3], 270_000),
    ("pool", "claim_walk", [1 << 4 | 2], 47_000),
    ("pool", "claim_close", [1 << 4 | 2], 120_000),
    ("peak", "peak_2x1", [3 << 16 | 3], 320),
    ("peak", "peak_3x1", [7 << 16 | 7], 23_000),
    ("peak", "peak_2x2", [2 << 16 | peak for peak in (4, 5, 6)], 1_100),
    ("run", "run_handed_on", [0, 1], 11_000),
    ("run", "run_freed_twice", [1], 420),
    ("run", "run_looked_behind", [0], 43),
    ("life", "start_2", [1], 160),
    ("life", "start_3", [1], 29_000),
    ("life", "start_failing", [2], 40_000),
    ("life", "live_2", [1, 2], 1_900),
    ("life", "live_seen", [0x10, 0x11, 0x20, 0x21, 0x22], 48_000),
    ("life", "fork_both", [0x22], 3_200),
    ("life", "fork_one", [0x22], 24_000),
    ("life", "fork_twice", [0x33], 3_700),
    ("life", "fork_to_child", [0x22, 0x23, 0x32, 0x33], 20_000),
    ("life", "handler_large", [0x21], 400_000),
    ("life", "handlers_exchanged", [0], 900),
    ("life", "child_of_handler", [0x11], 900),
    ("helper", "helper_2", [1, 2], 50_000),
    ("processor", "processor_2", [1, 2], 44_000),
    ("elsewhere", "elsewhere_2", [2], 2_000),
    ("handler", "handler_once", [1], 10),
    ("record", "record_3", [0, 1, 2], 430_000),
    ("sampling", "sampling_on", [2, 3], 1_600),
    ("sampling", "sampling_off", [0, 1, 2, 3], 19_000),
    ("sampling", "sampling_again", [2, 3], 5_000),
    ("sampling", "sampling_signals", [2], 11_000),
    ("sampling", "sampling_other", [0], 45),
]
"""Program, case, every outcome (the case's own number), and transitions: a search that has fewer has lost its way."""

BIG_CASES = [
    ("lock", "lock_3x2", [6], 12_000_000),
    ("queue", "list_own", [0, 1, 2, 3], 2_100_000),
    ("queue", "list_twice", [0, 1, 2, 3], 1_500_000),
    ("peak", "peak_3x2", [2 << 16 | peak for peak in (16, 17, 18, 20, 21, 22)], 260_000),
    ("life", "live_3", [1, 2, 3], 8_000_000),
    ("helper", "helper_3", [1, 2], 1_500_000),
]


@pytest.mark.parametrize(
    ("program", "case", "outcomes", "transitions"), CASES, ids=["-".join(row[:2]) for row in CASES]
)
def test_every_interleaving(workshop: Workshop, program: str, case: str, outcomes: list[int], transitions: int) -> None:
    found = explore(workshop.program(program), case)
    assert found.outcomes == outcomes, found
    assert found.transitions >= transitions, found


@pytest.mark.big
@pytest.mark.parametrize(
    ("program", "case", "outcomes", "transitions"), BIG_CASES, ids=["-".join(row[:2]) for row in BIG_CASES]
)
def test_every_interleaving_of_more(
    workshop: Workshop, program: str, case: str, outcomes: list[int], transitions: int
) -> None:
    test_every_interleaving(workshop, program, case, outcomes, transitions)


NAMES = [f"{row.case}-{index}" for index, row in enumerate(MUTANTS)]
FIRST = {(row.program, row.file): row for row in reversed(MUTANTS)}.values()
"""The first of each program and file."""


@pytest.mark.parametrize("mutant", soon(MUTANTS, [*FIRST]), ids=NAMES)
def test_a_mistake_is_found(workshop: Workshop, mutant: Mutant) -> None:
    fails(workshop.mutant(mutant), mutant.case, mutant.words)
