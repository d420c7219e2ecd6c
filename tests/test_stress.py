"""Threads at random: the stress program under designs of every policy, under sanitizers, and a spike of memory."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from covering import covering_designs, of_each_row, soon
from loaded import checked_library, unchecked_library
from sanitized import (
    ADDRESS_UNDEFINED,
    PROGRAM,
    STRESS,
    THREAD,
    WITHOUT_SEQUENCES,
    Change,
    Sanitizer,
    build_sanitized,
    run_sanitized,
)

from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.constants import HUGE_PAGE
from heapsmith.model.design.design import Design, builtin_names, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.tools.common.preload import preloadable

FLAGS = ["-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Wshadow", "-pthread"]
COVERING = covering_designs()
SHORT = ["--operations", "12000"]
"""Operations per thread: all tiers, some 40 threads, a second or less."""

BROKEN = {
    "twice": "overlaps a live block",
    "refuses": "fails",
    "dirty": "byte 99 is 0x1",
    "loses": "after realloc: block",
    "crooked": "is not aligned to",
    "errno": "changed errno",
}


def named(design: Design) -> str:
    return design.name


def program() -> Path:
    return build_tool("stress", PROGRAM, FLAGS)


def run(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """The stress program in that environment."""
    preloaded = [f"{name}={value}" for name, value in environment.items()]
    command = ["env", *preloaded, str(program()), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def counts(arguments: list[str], **environment: str) -> dict[str, Any]:
    """What a run that finds nothing says of itself."""
    done = run(arguments, **environment)
    assert (done.returncode, done.stderr) == (0, ""), f"{' '.join(arguments)}: status {done.returncode}: {done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def grain(design: Design) -> list[str]:
    return ["--alignment", str(design.grain)]


def library(design: Design) -> str:
    """The checked library of a design."""
    return preloadable(checked_library(design))


@pytest.mark.parametrize("design", soon(COVERING, of_each_row(2), of_each_row(4)), ids=named)
def test_threads_at_random(design: Design, tmp_path: Path) -> None:
    seed = str(COVERING.index(design))
    words = [*SHORT, *grain(design), "--seed", seed, "--statistics", "1"]
    found = counts(words, LD_PRELOAD=library(design))
    assert found["heap_checked"]
    assert found["births"] == found["deaths"] > found["operations"] / 5
    assert found["orphans"] > found["deaths"] / 10
    assert found["moves"] > 0
    assert found["threads_started"] > 8


def test_one_seed_asks_for_the_same_every_time() -> None:
    first, again, other = (counts(["--operations", "3000", "--seed", seed])["asked"] for seed in ("1", "1", "2"))
    assert first == again != other


def test_one_thread_gets_the_same_addresses_every_time(tmp_path: Path) -> None:
    preloaded = library(COVERING[0])
    first, again, other = (
        counts(["--threads", "1", *SHORT, *grain(COVERING[0]), "--seed", seed], LD_PRELOAD=preloaded)["given"]
        for seed in ("1", "1", "2")
    )
    assert first == again != other


@pytest.mark.parametrize("promise", BROKEN)
def test_a_broken_promise_is_noticed(promise: str) -> None:
    broken = build_tool("broken.so", [STRESS / "broken.c"], ["-std=gnu17", "-O1", "-fno-builtin", "-fPIC", "-shared"])
    done = run([*SHORT, "--seed", "9", "--threads", "2"], LD_PRELOAD=preloadable(broken), BROKEN=promise)
    assert done.returncode == 1
    assert done.stderr.startswith("stress: seed 9, thread ")
    assert BROKEN[promise] in done.stderr
    assert done.stderr.count("\n") <= 2  # each thread may find one


def test_the_whole_promise_is_kept_by_glibc() -> None:
    assert counts(["--operations", "30000"])["births"] > 0


@pytest.mark.parametrize("words", [["--threads", "0"], ["--alignment", "4"], ["--what", "1"], ["more"]])
def test_wrong_usage(words: list[str]) -> None:
    done = run(words)
    assert done.returncode == 2
    assert done.stderr


@pytest.mark.big
@pytest.mark.parametrize("design", COVERING, ids=named)
def test_threads_at_random_at_length(design: Design, tmp_path: Path) -> None:
    preloaded = library(design)
    for seed in range(100, 108):
        for threads in ("1", "2", "3", "5", "8", "16"):
            words = ["--threads", threads, "--seed", str(seed), "--operations", "30000", "--rounds", "3"]
            assert counts([*words, *grain(design)], LD_PRELOAD=preloaded)["heap_checked"]


def sanitize(design: Design, sanitizer: Sanitizer, folder: Path, *arguments: str) -> None:
    """The sanitizer's build of the design and the stress program, which calls mallinfo2 too, finds nothing."""
    built = build_sanitized(design, sanitizer, folder)
    words = [*arguments, *grain(design), "--largest-bits", "18", "--statistics", "1"]
    said = run_sanitized(built, sanitizer, words)
    assert json.loads(said)["heap_checked"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sanitizer", soon((THREAD, ADDRESS_UNDEFINED), (ADDRESS_UNDEFINED,)), ids=lambda sanitizer: sanitizer.name
)
@pytest.mark.parametrize("design", of_each_row(1), ids=named)
def test_sanitized(design: Design, sanitizer: Sanitizer, tmp_path: Path) -> None:
    sanitize(design, sanitizer, tmp_path, "--operations", "8000")


@pytest.mark.thorough
def test_figures_of_other_threads_are_read_without_a_race(tmp_path: Path) -> None:
    """Where threads own stores and quarantines, at which mallinfo2 looks while they work."""
    owning = [design for design in COVERING if design.row("remote").OWNED]
    design = next(design for design in owning if getattr(design.hardening, "quarantine", 0) > 0)
    sanitize(design, THREAD, tmp_path, "--operations", "8000")


ORDERS = [
    ("owner", ("5_slab_policies/remote/owner_list.c", "__ATOMIC_ACQUIRE", "__ATOMIC_RELAXED")),
    (
        "owner-queue",
        (
            "5_slab_policies/remote/owner_queue.c",
            "        link_store(before, newest);",
            "        link_set(before, newest);",
        ),
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "change"), ORDERS, ids=["owner", "owner-queue"])
def test_thread_sanitizer_sees_a_missing_order(name: str, change: Change, tmp_path: Path) -> None:
    """A list that is taken without acquire, a link that is stored without an order: no x86 shows it."""
    design = load(name)
    built = build_sanitized(design, THREAD, tmp_path, change=change)
    words = ["--operations", "12000", "--threads", "4", "--largest-bits", "18", *grain(design)]
    with pytest.raises(AssertionError, match="data race"):
        run_sanitized(built, THREAD, words)


REMOTE_LISTS = ("owner_batch", "owner_mutex", "owner_queue", "own_superslabs")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", soon(REMOTE_LISTS, ("owner_batch",), ("owner_queue",)))
def test_remote_lists_have_no_race(kind: str, tmp_path: Path) -> None:
    design = load(kind.replace("_", "-"))
    sanitize(design, THREAD, tmp_path, "--operations", "8000", "--threads", "4")


@pytest.mark.thorough
@pytest.mark.parametrize("name", soon(("lock-free-lists", "lock-free-claims"), ("lock-free-claims",)))
def test_pools_without_a_lock_have_no_race(name: str, tmp_path: Path) -> None:
    sanitize(load(name), THREAD, tmp_path, "--operations", "8000", "--threads", "4")


SMALL_SUPERSLABS = {"slab_bytes": 16_384, "superslab_bytes": 32_768, "unmapping": {"kind": "superslabs", "keep": 0}}
SIZES = {"sizes": [size for size in load("unmap").sizes if size <= 16_000]}
THEIR_SUPERSLABS = {
    **{"remote": "owner_list", "ownership": "superslab", "slab_choice": "scan", "transfer_bytes": 0},
    **{"superslab_bytes": 65_536, "slab_record": {"kind": "head"}},
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sanitizer", soon((THREAD, ADDRESS_UNDEFINED), (THREAD,)), ids=lambda sanitizer: sanitizer.name
)
@pytest.mark.parametrize("fields", [pytest.param({}, marks=pytest.mark.big), THEIR_SUPERSLABS], ids=["shared", "owned"])
def test_superslabs_go_and_come_back_without_a_race(
    fields: dict[str, Any], sanitizer: Sanitizer, tmp_path: Path
) -> None:
    design = changed(load("unmap"), "goes", {**SIZES, **SMALL_SUPERSLABS, **fields})
    sanitize(design, sanitizer, tmp_path, "--operations", "8000", "--threads", "4")


@pytest.mark.thorough
@pytest.mark.parametrize("by", soon(("class", "thread"), ("thread",)))
def test_shards_have_no_race(by: str, tmp_path: Path) -> None:
    design = changed(load("sharded"), "shards", {"shards": {"kind": "striped", "count": 3, "by": by}})
    sanitize(design, THREAD, tmp_path, "--operations", "8000", "--threads", "4")


@pytest.mark.big
@pytest.mark.parametrize("sanitizer", [WITHOUT_SEQUENCES, ADDRESS_UNDEFINED], ids=lambda sanitizer: sanitizer.name)
@pytest.mark.parametrize("name", builtin_names())
def test_each_built_in_design_sanitized(name: str, sanitizer: Sanitizer, tmp_path: Path) -> None:
    sanitize(load(name), sanitizer, tmp_path, "--operations", "8000", "--threads", "4")


@pytest.mark.thorough
def test_a_helper_has_no_race(tmp_path: Path) -> None:
    sanitize(load("background"), THREAD, tmp_path, "--operations", "8000", "--threads", "4")


def test_a_helper_that_gives_its_lock_up_early_is_seen(tmp_path: Path) -> None:
    add, unlock = "        more = add(class);\n", "        shard_unlock_transfer(0);\n"
    early: Change = ("8_threads/background/refill.c", add + unlock, unlock + add)
    design = load("background")
    built = build_sanitized(design, THREAD, tmp_path, change=early)
    words = ["--operations", "8000", "--threads", "4", "--largest-bits", "12", *grain(design)]
    with pytest.raises(AssertionError, match=r"data race|the pool lock is held"):
        run_sanitized(built, THREAD, words)


NO_LOCKS = (
    ("5_slab_policies/remote/local_cache.c", "    shard_lock(shard_of(heap, class));", "    ;"),
    ("5_slab_policies/remote/owned.h", "    hs_lock_pool();", "    ;"),
    ("5_slab_policies/remote/owner_list.c", "__ATOMIC_RELEASE", "__ATOMIC_RELAXED"),
    ("8_threads/large.c", "    hs_lock_large();", "    ;"),
    ("5_slab_policies/remote/local_cache.c", "    shard_give_to(shard, held);", "    ;"),
)


@pytest.mark.big
@pytest.mark.parametrize("change", NO_LOCKS, ids=lambda change: change[0])
def test_thread_sanitizer_sees_a_missing_lock(change: Change, tmp_path: Path) -> None:
    """Under a design whose pools have the pool lock."""
    remote = "local_cache" if "local_cache" in change[0] else "owner_list"
    sharded = load("sharded") if "shard_give_to" in change[1] else None
    design = sharded or next(design for design in COVERING if design.remote == remote and not design.pool)
    built = build_sanitized(design, THREAD, tmp_path, change=change)
    with pytest.raises(AssertionError, match=r"data race|status"):
        run_sanitized(built, THREAD, ["--operations", "8000", "--largest-bits", "18", *grain(design)])


@pytest.mark.big
@pytest.mark.parametrize("sanitizer", [THREAD, ADDRESS_UNDEFINED], ids=lambda sanitizer: sanitizer.name)
@pytest.mark.parametrize("design", COVERING, ids=named)
def test_sanitized_at_length(design: Design, sanitizer: Sanitizer, tmp_path: Path) -> None:
    words = ["--operations", "40000", "--threads", "8", "--seed", "11", "--rounds", "3"]
    sanitize(design, sanitizer, tmp_path, *words)


FORMS = ["small", "medium", "large"]
PROGRAM_BYTES = 4 << 20
"""Of the spike program and the library themselves: code, stacks, tables, hot slabs."""


SLAB_RECORD_BYTES = 81
"""Of a `struct slab`, and a byte of the slab map."""

PAGE = Path(__file__).parents[1] / "docs" / "lab" / "costs.md"
BUDGETED = [name for name in builtin_names() if isinstance(load(name).release, release_budget.Params)]


class Spike(NamedTuple):
    """Bytes: `used` is the RSS on top of that before the first block, at the peak and at the end.

    slabs: that each class acquired.
    """

    peak_live: int
    peak_used: int
    live: int
    used: int
    slabs: list[int]


def spike(design: Design, form: str, remainder: str, mib: int) -> Spike:
    tool = build_tool("spike", [STRESS / "spike.c"], ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Wshadow"])
    variables = ["HEAPSMITH=stats", f"LD_PRELOAD={preloadable(unchecked_library(design))}"]
    command = ["env", *variables, str(tool), form, remainder, str(mib)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    words = done.stdout.split(": ")[1].split()
    said = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    slabs = [counters["acquire"] for counters in json.loads(done.stderr)["classes"]]
    return Spike(said["peak_live"], said["peak"] - said["base"], said["live"], said["resident"] - said["base"], slabs)


def budget(design: Design) -> int:
    """Bytes that a design says it may keep of what was freed: by its release policy and in its caches, full."""
    assert isinstance(design.release, release_budget.Params)
    plan = make_plan(design)
    rows = [row for row in plan.classes if row.front.kind != "none"]
    fronts = sum((row.room + row.front.list_capacity) * row.stride for row in rows)
    transfer = sum(row.fields.get("transfer", 0) * row.front.flush * row.stride for row in rows)
    kept = design.release.slab_budget_bytes + design.release.run_budget_bytes
    mappings = plan.numbers.get("huge_kept_bytes", 0)
    return kept + design.run_cache_bytes + mappings + fronts + transfer


def tables(design: Design, small_bytes: int) -> int:
    """The most bytes that stay when slabs of `small_bytes` are empty: records, bitmaps, live map.

    A slab's part of the live map goes back with its pages if it is a page itself.
    """
    marks = 0 if design.freed_blocks else -(-design.slab_bytes // min(design.sizes) // 64) * 8
    live_map = design.slab_bytes // design.grain if design.hardening.__struct_config__.tag != "off" else 0
    record = SLAB_RECORD_BYTES + make_plan(design).numbers.get("record_extra", 0)
    kept = record + marks + (live_map if live_map < 4096 else 0)
    return small_bytes // design.slab_bytes * kept


def ahead(design: Design, slabs: list[int]) -> int:
    """Bytes of slabs that nobody took, at most: where classes have regions, the last huge page of each with slabs."""
    plan = make_plan(design)
    if design.thp not in ("always", "grown") or design.classifier != "class_region":
        return 0
    rows = zip(plan.classes, slabs, strict=True)
    return HUGE_PAGE * sum(
        acquired > 0 and row.stride <= plan.numbers.get("thp_block_bytes", HUGE_PAGE) for row, acquired in rows
    )


def check_spike(name: str, form: str, mib: int) -> None:
    design = load(name)
    found = spike(design, form, "tail", mib)
    assert found.peak_used > found.peak_live >= mib << 20
    assert found.live > (mib << 20) / 25
    small = found.peak_live if form == "small" else 0
    kept = budget(design) + ahead(design, found.slabs) + tables(design, small)
    allowed = found.live * 1.10 + kept + PROGRAM_BYTES
    assert found.used <= allowed, f"{found.used} bytes resident, {found.live} live, {allowed:.0f} allowed"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("default", form) for form in FORMS),
        *(pytest.param("lean", form, marks=pytest.mark.thorough) for form in FORMS),
        *(pytest.param(name, "small", marks=pytest.mark.thorough) for name in ("header", "owner", "region")),
    ],
)
def test_after_a_spike_memory_falls_to_what_lives(name: str, form: str) -> None:
    check_spike(name, form, 256)


def test_the_page_states_what_every_design_keeps() -> None:
    """The table of docs/lab/costs.md: MiB whatever the spike, and MiB for each GiB of small blocks at its peak."""
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \| ([\d.]+) \|$", PAGE.read_text(), re.MULTILINE)
    designs = {name: load(name) for name in BUDGETED}
    kept = {name: (budget(design) / (1 << 20), tables(design, 1 << 30) / (1 << 20)) for name, design in designs.items()}
    assert rows == [(name, f"{fixed:.1f}", f"{by_peak:.1f}") for name, (fixed, by_peak) in kept.items()]


@pytest.mark.big
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BUDGETED)
def test_after_a_spike_at_length(name: str, form: str) -> None:
    check_spike(name, form, 1024)
