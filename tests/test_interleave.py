"""Locks and lock-free parts over every interleaving and every stale read: tests/interleave/explore.h says how."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from heapsmith.codegen.generate import RUNTIME, render
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan

HERE = Path(__file__).resolve().parent / "interleave"
EXPLORER = ("explore.c", "threads.c", "memory.c", "shared.c", "hooks.c")
PROGRAMS = {
    "litmus": ("litmus.c",),
    "lock": ("lock_cases.c", "lock.c"),
    "list": ("list_cases.c", "lock.c", "remote/owner_list.c", "classifier/slab_map.c"),
    "mutex": ("list_cases.c", "lock.c", "remote/owner_mutex.c", "classifier/slab_map.c"),
    "queue": ("list_cases.c", "lock.c", "remote/owner_queue.c", "classifier/slab_map.c"),
    "life": ("life_cases.c", "lock.c"),
    "run": ("run_cases.c", "lock.c", "runs.c", "run_pages.c"),
    "peak": ("peak_cases.c", "counters.c"),
    "pool": ("pool_cases.c", "lock.c", "empties/shared.c"),
}
"""The sources under exploration; of `tests/interleave`, or else of the runtime."""

DEFINES = {"mutex": ("-DREMOTE_WORDS=1",), "queue": ("-DREMOTE_WORDS=3", "-DFIFO=1")}
DEFINES["pool"] = ("-DPOOL_SWAPS=1", "-DPOOL_CLAIMS=1")
"""What the plan.h of another design than `owner` defines."""

BOUNDS = {"lock.c": ("LOCK_SPINS = 100", "LOCK_SPINS = 1"), "locks.c": ("PATIENCE = 1000", "PATIENCE = 2")}
"""Loops that only bide time, cut short: each of their rounds does the same."""

FLAGS = ("-std=gnu17", "-O2", "-Wall", "-Wextra", "-fno-stack-protector")
EXPLORED = (*FLAGS, "-fsanitize=thread", "-ffunction-sections", "-fdata-sections", "-include", "interpose.h")
LINK = ("-Wl,--gc-sections",)


class Mutant(NamedTuple):
    """A mistake: in `file`, `old` (found once) becomes `new`; `case` must fail with `words`."""

    program: str
    case: str
    file: str
    old: str
    new: str
    words: str


class Workshop:
    """Objects of the explorer and of the sources, compiled once; programs of changed sources beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gcc = find_gcc().path
        self.sources = folder / "sources"
        shutil.copytree(RUNTIME, self.sources, ignore=shutil.ignore_patterns("recorder", "replay", "verify", "__*"))
        shutil.copytree(HERE, self.sources, dirs_exist_ok=True)
        (self.sources / "plan.h").write_text(render(make_plan(load("owner")))["plan.h"])
        for file, (old, new) in BOUNDS.items():
            self.change(file, old, new)
        self.compile(FLAGS, EXPLORER, self.sources)

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
        self.compile((*EXPLORED, *DEFINES.get(name, ())), changed, root)
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


def explore(program: Path, case: str) -> Found:
    done = subprocess.run([program, case], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return Found(**json.loads(done.stdout))


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("interleave"))


@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("store_buffering", [0, 1, 4, 5]),
        ("load_buffering", [0, 1, 4]),  # C11 has 5 too: both read the other's later store
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


def fails(program: Path, case: str, words: str) -> None:
    done = subprocess.run([program, case], check=False, capture_output=True, text=True)
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
    ("mutex", "list_1x1", [0, 1], 100),
    ("mutex", "list_2x1", [0, 1, 2], 170_000),
    ("mutex", "list_1x2", [0, 1, 2], 5_000),
    ("mutex", "list_told", [0, 2], 11_000),
    ("mutex", "recycle", [1, 2, 3], 20_000),
    ("queue", "list_1x1", [0, 1], 28),
    ("queue", "list_2x1", [0, 1, 2], 8_700),
    ("queue", "list_1x2", [0, 1, 2], 1_300),
    ("queue", "list_told", [0, 1], 36),
    ("queue", "recycle", [1, 2, 3], 5_000),
    ("pool", "swap_2", [1, 2], 160),
    ("pool", "swap_3", [1, 2], 3_200),
    ("pool", "swap_push", [2], 950),
    ("pool", "swap_all", [0, 1], 9_200),
    ("pool", "claim_2", [1 << 4 | 2], 900),
    ("pool", "claim_3", [1 << 4 | 3], 270_000),
    ("pool", "claim_walk", [1 << 4 | 2], 47_000),
    ("peak", "peak_2x1", [3 << 16 | 3], 320),
    ("peak", "peak_3x1", [7 << 16 | 7], 23_000),
    ("peak", "peak_2x2", [2 << 16 | peak for peak in (4, 5, 6)], 1_100),
    ("run", "run_handed_on", [0, 1], 11_000),
    ("run", "run_freed_twice", [1], 420),
    ("life", "start_2", [1], 160),
    ("life", "start_3", [1], 29_000),
    ("life", "start_failing", [2], 40_000),
    ("life", "live_2", [1, 2], 1_900),
    ("life", "fork_both", [0x22], 3_200),
    ("life", "fork_one", [0x22], 24_000),
    ("life", "fork_to_child", [0x22, 0x23, 0x32, 0x33], 20_000),
    ("life", "handler_large", [0x21], 400_000),
    ("life", "handlers_exchanged", [0], 900),
    ("life", "child_of_handler", [0x11], 900),
]
"""Program, case, every outcome (the case's own number), and transitions: a search that has fewer has lost its way."""

BIG_CASES = [
    ("lock", "lock_3x2", [6], 12_000_000),
    ("queue", "list_own", [0, 1, 2, 3], 2_100_000),
    ("queue", "list_twice", [0, 1, 2, 3], 1_600_000),
    ("peak", "peak_3x2", [2 << 16 | peak for peak in (16, 17, 18, 20, 21, 22)], 260_000),
    ("life", "live_3", [1, 2, 3], 8_000_000),
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


RACE = "data race: another thread's write did not happen before this access"
LIST, MUTEX, QUEUE = "remote/owner_list.c", "remote/owner_mutex.c", "remote/owner_queue.c"
SWAPS, CLAIMS = "pool/swaps.h", "pool/claims.h"
LOST = "a slab is lost, or two have it"
MUTANTS = [
    Mutant("lock", "lock_2x1", "lock.h", "lock_self(), false, __ATOMIC_ACQUIRE", "lock_self(), false, 0", RACE),
    Mutant(
        "lock",
        "lock_2x1",
        "lock.h",
        "exchange_n(&lock->word, 0, __ATOMIC_RELEASE",
        "exchange_n(&lock->word, 0, 0",
        RACE,
    ),
    Mutant("lock", "lock_2x1", "lock.c", "| LOCK_WAITERS, false, __ATOMIC_ACQUIRE", "| LOCK_WAITERS, false, 0", RACE),
    Mutant(
        "lock",
        "lock_2x1",
        "lock.h",
        "return __atomic_compare_exchange_n(&lock->word, &word, lock_self(), false,"
        " __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);",
        "word = __atomic_load_n(&lock->word, __ATOMIC_ACQUIRE); if (word == 0) "
        "__atomic_store_n(&lock->word, lock_self(), __ATOMIC_RELAXED); return word == 0;",
        "data race",
    ),
    Mutant(
        "lock",
        "lock_2x1",
        "lock.h",
        "__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE)",
        "__atomic_load_n(&lock->word, __ATOMIC_RELAXED); __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE)",
        "deadlock",
    ),
    Mutant("lock", "lock_2x1", "lock.h", "        hs_lock_wake(lock);", "        (void)lock;", "deadlock"),
    Mutant("lock", "lock_3x1", "lock.c", "lock_self() | LOCK_WAITERS", "lock_self()", "deadlock"),
    Mutant(
        "lock",
        "lock_2x1",
        "lock.c",
        "(uint32_t)(word | LOCK_WAITERS)",
        "(uint32_t)__atomic_load_n(&lock->word, __ATOMIC_RELAXED)",
        "deadlock",
    ),
    Mutant("lock", "lock_2x1", "lock.h", "& ~LOCK_WAITERS) ==", ") ==", "lock_mine is false for the holder"),
    Mutant("lock", "lock_2x1", "lock.c", "    errno = saved;", "    (void)saved;", "errno is not as it was"),
    Mutant("list", "list_1x1", LIST, "true, __ATOMIC_RELEASE", "true, 0", RACE),
    Mutant("list", "recycle", LIST, "true, __ATOMIC_RELEASE", "true, 0", "data race"),
    Mutant("list", "list_1x1", LIST, "NULL, __ATOMIC_ACQUIRE", "NULL, 0", RACE),
    Mutant(
        "list",
        "list_2x1",
        LIST,
        "__atomic_exchange_n(&heap->remote, NULL, __ATOMIC_ACQUIRE);",
        "__atomic_load_n(&heap->remote, __ATOMIC_ACQUIRE); __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);",
        "a block is lost",
    ),
    Mutant(
        "list",
        "list_2x1",
        LIST,
        "!__atomic_compare_exchange_n(&owner->remote, &head, first, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)",
        "(__atomic_store_n(&owner->remote, first, __ATOMIC_RELEASE), 0)",
        "a block is lost",
    ),
    Mutant(
        "list",
        "list_2x1",
        LIST,
        "    do {\n        link_set(first, head);",
        "    link_set(first, head);\n    do {",
        "a block is lost",
    ),
    Mutant(
        "list", "list_2x1", "counters.h", "__atomic_fetch_add(counter, by, __ATOMIC_RELAXED)", "*counter += by", RACE
    ),
    Mutant("list", "recycle", "remote/owned.h", "    hs_lock_pool();", "", "data race"),
    Mutant("mutex", "list_2x1", MUTEX, "    lock_acquire(lock_of(owner));\n", "", "a block is lost"),
    Mutant("mutex", "list_1x1", MUTEX, "    lock_acquire(lock_of(heap));\n", "", "data race"),
    Mutant("mutex", "list_1x1", MUTEX, "    lock_release(lock_of(owner));\n", "", "deadlock"),
    Mutant("mutex", "list_1x2", MUTEX, "    __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);\n", "", "a block"),
    Mutant("queue", "list_1x1", QUEUE, "newest, __ATOMIC_ACQ_REL", "newest, __ATOMIC_ACQUIRE", RACE),
    Mutant("queue", "list_1x1", QUEUE, "NULL, __ATOMIC_ACQ_REL", "NULL, __ATOMIC_RELEASE", RACE),
    Mutant(
        "queue",
        "list_1x2",
        QUEUE,
        "        __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);\n        *newest ="
        " __atomic_exchange_n(&queue->last, NULL, __ATOMIC_ACQ_REL);\n",
        "        *newest = __atomic_exchange_n(&queue->last, NULL, __ATOMIC_ACQ_REL);\n"
        "        __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);\n",
        "a block is lost",
    ),
    Mutant(
        "queue",
        "list_2x1",
        QUEUE,
        "__atomic_exchange_n(&queue_of(owner)->last, newest, __ATOMIC_ACQ_REL);",
        "__atomic_load_n(&queue_of(owner)->last, __ATOMIC_ACQUIRE); "
        "__atomic_store_n(&queue_of(owner)->last, newest, __ATOMIC_RELEASE);",
        "a block is lost",
    ),
    Mutant("queue", "list_1x1", QUEUE, "    link_store(newest, NULL);\n", "", "a link leads nowhere"),
    Mutant("queue", "list_2x1", QUEUE, "if (left == 0 || (more && next == NULL)) {", "if (false) {", "memory that"),
    Mutant("queue", "list_twice", QUEUE, "oldest = queue->taken;", "oldest = NULL;", "blocks come out of order"),
    Mutant("pool", "swap_2", SWAPS, "(word >> TAG_SHIFT) + 1, below", "word >> TAG_SHIFT, below", LOST),
    Mutant("pool", "swap_2", SWAPS, "with = pool_word(word >> TAG_SHIFT, first);", "with = pool_word(0, first);", LOST),
    Mutant("pool", "swap_push", SWAPS, "with, false, __ATOMIC_RELEASE", "with, false, 0", RACE),
    Mutant("pool", "swap_push", SWAPS, "? __atomic_load_n(pool, __ATOMIC_ACQUIRE)", "? __atomic_load_n(pool, 0)", LOST),
    Mutant("pool", "swap_push", SWAPS, "__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))", "__ATOMIC_ACQUIRE, 0))", LOST),
    Mutant("pool", "swap_all", SWAPS, "NULL), false, __ATOMIC_ACQUIRE", "NULL), false, 0", RACE),
    Mutant("pool", "swap_all", SWAPS, "        pool_push_chain(pool, first, last);", "        return bytes;", LOST),
    Mutant("pool", "claim_3", CLAIMS, "1 + next, __ATOMIC_RELEASE", "1 + next, 0", RACE),
    Mutant("pool", "claim_3", CLAIMS, "after, true, __ATOMIC_ACQUIRE", "after, true, 0", RACE),
    Mutant("pool", "claim_walk", CLAIMS, "slab, true, __ATOMIC_RELEASE", "slab, true, 0", RACE),
    Mutant("pool", "claim_3", SWAPS, "    hs_lock_pool();", "    ;", RACE),
    Mutant("run", "run_freed_twice", "runs.c", "&used, RUN_GONE, false", "&used, RUN_USED, false", "data race"),
    Mutant(
        "peak", "peak_2x1", "counters.c", "while (by > 0 && now > peak", "if (by > 0 && now > peak", "an increase has"
    ),
    Mutant("peak", "peak_2x1", "counters.c", "by > 0 && now > peak", "by > 0", "the peak is not the greatest sum"),
    Mutant(
        "peak",
        "peak_2x1",
        "counters.c",
        "__atomic_add_fetch(&hs_count.committed, (uint64_t)by, __ATOMIC_RELAXED)",
        "hs_count.committed += (uint64_t)by",
        RACE,
    ),
    Mutant("life", "live_2", "thread.c", "        hs_lock_pool();\n        heap = adopt", "        heap = adopt", RACE),
    Mutant(
        *("life", "start_2", "thread.c"),
        *("__atomic_load_n(&heaps_usable, __ATOMIC_ACQUIRE)", "__atomic_load_n(&heaps_usable, 0)", RACE),
    ),
    Mutant("life", "handlers_exchanged", "locks.c", "held_before == 0 || tries < PATIENCE", "true", "livelock"),
    Mutant(
        "life",
        "handler_large",
        "locks.c",
        "forking = false;\n    if (locks_taken & LARGE)",
        "forking = false;\n    if (1)",
        "fork released a lock",
    ),
    Mutant("life", "child_of_handler", "locks.c", "        lock_forget(&pool_lock);", "        ;", "deadlock"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{row.case}-{index}" for index, row in enumerate(MUTANTS)])
def test_a_mistake_is_found(workshop: Workshop, mutant: Mutant) -> None:
    fails(workshop.mutant(mutant), mutant.case, mutant.words)
