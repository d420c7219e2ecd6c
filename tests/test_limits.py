"""Limits on memory, set before the program or by it: how much it gets in blocks of one size, beside glibc."""

import resource
import shutil
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from covering import soon
from loaded import unchecked_library
from preloaded import FIRST_BUILT_IN, LIVE_DESIGNS, design_of, library, program, run, start

from heapsmith.model.design.design import changed, load
from heapsmith.model.design.plan import make_plan

MIB = 1 << 20
MORE = 200 * MIB
"""Address space that a program allows itself beyond what it has."""
SIZES = (32, 200, 3000, 100_000)
ENOUGH = 0.85
"""Of what glibc gets."""

every_design = pytest.mark.parametrize("design", FIRST_BUILT_IN)
live_designs = pytest.mark.parametrize("design", LIVE_DESIGNS)
every_size = pytest.mark.parametrize("size", soon(SIZES, (3000,), (32,)))


def got(*preloads: Path, size: int, limit: str = "", before: int | None = None, threads: int = 1) -> int:
    """The bytes in blocks of `size` that a program gets. before: bytes of address space that it is started with; limit:
    those that it allows itself, with a plus sign beyond what it has."""
    limits = {} if before is None else {resource.RLIMIT_AS: before}
    words = [program("run_limit"), size, threads, *([limit] if limit else [])]
    return int(run(words, *preloads, limits=limits, timeout=300))


@lru_cache
def glibc(size: int, limit: str = "", before: int | None = None, threads: int = 1) -> int:
    """What glibc gets."""
    return got(size=size, limit=limit, before=before, threads=threads)


def enough(design: str, size: int, space: int, of_glibc: int) -> float:
    """Bytes that are enough: of so much address space no design gets more than its slabs hold, or whole pages."""
    plan = make_plan(design_of(design))
    row = plan.classes[plan.size_class[-(-(size + plan.bias) // plan.grain)]] if size <= plan.small_limit else None
    most = size * row.blocks / plan.slab_bytes if row else size / (-(-size // plan.page_bytes) * plan.page_bytes)
    return min(ENOUGH * of_glibc, 0.95 * most * space)


def check_before(design: str, size: int, space: int, threads: int = 1) -> None:
    """A limit that the program is started with."""
    bytes_got = got(library(design, checked=False), size=size, before=space, threads=threads)
    assert enough(design, size, space, glibc(size, before=space, threads=threads)) <= bytes_got <= space


@every_size
@every_design
def test_a_limit_set_before(design: str, size: int) -> None:
    check_before(design, size, 512 * MIB)


@pytest.mark.big
@every_size
@every_design
def test_a_wide_limit_set_before(design: str, size: int) -> None:
    check_before(design, size, 3_000_000 << 10)


@pytest.mark.parametrize("size", soon((32, 3000), (3000,)))
@live_designs
def test_a_limit_set_before_several_threads(design: str, size: int) -> None:
    check_before(design, size, 512 * MIB, threads=4)


@every_size
@every_design
def test_a_limit_that_a_program_sets_beyond_what_it_has(design: str, size: int) -> None:
    """What the library has reserved by then counts for the limit, and goes on counting. It has a superslab by then, or
    those of a prewarm, and gives out their slabs, or gives them back for what it needs. freed-list, with 81 bytes of
    tables for each slab of 64 KiB, gets 200 MiB + 2 MiB - 7 slabs: 4 for the tables of 3,200 slabs, 3 of other classes.
    """
    bytes_got = got(library(design, checked=False), size=size, limit=f"+{MORE}")
    plan = make_plan(design_of(design))
    has = max(1, plan.numbers.get("prewarm_superslabs", 0)) * plan.superslab_bytes
    assert enough(design, size, MORE, glibc(size, limit=f"+{MORE}")) <= bytes_got <= MORE + has


@pytest.mark.parametrize("size", soon((32, 3000), (3000,)))
@live_designs
def test_a_limit_that_a_program_with_threads_sets_beyond_what_it_has(design: str, size: int) -> None:
    limit = f"+{MORE}"
    bytes_got = got(library(design, checked=False), size=size, limit=limit, threads=4)
    assert enough(design, size, MORE, glibc(size, limit=limit, threads=4)) <= bytes_got <= MORE


@every_size
@every_design
def test_a_limit_that_a_program_sets_below_what_is_reserved(design: str, size: int) -> None:
    """What is only reserved goes, so that the program gets all that the limit leaves it."""
    bytes_got = got(library(design, checked=False), size=size, limit=f"{MORE}")
    assert enough(design, size, MORE, glibc(size, limit=f"{MORE}")) <= bytes_got <= MORE


@every_design
def test_a_limit_on_space_after_one_on_data(design: str) -> None:
    """Slabs that wait to be opened keep no address space."""
    words = [program("run_limit"), 200, 1, f"{MORE}"]
    bytes_got = int(run(words, library(design, checked=False), limits={resource.RLIMIT_DATA: 1 << 34}, timeout=300))
    assert enough(design, 200, MORE, glibc(200, limit=f"{MORE}")) <= bytes_got <= MORE


SPIKE = 150 * MIB


@pytest.mark.parametrize("limit", [f"{MORE}", f"+{MORE}"], ids=["in all", "beyond what it has"])
def test_a_limit_after_superslabs_were_unmapped(limit: str) -> None:
    """Their address space, which is reserved, goes too where the limit is low; else it goes on counting."""
    of_glibc = got(size=200, limit=f"{MORE}")
    words = [program("run_limit"), 200, 1, limit, SPIKE]
    bytes_got = int(run(words, unchecked_library(load("unmap")), timeout=300))
    assert enough("unmap", 200, MORE, of_glibc) <= bytes_got <= MORE


@every_design
def test_a_small_limit_on_data(design: str) -> None:
    """RLIMIT_DATA counts writable memory, touched or not: the library has hardly any at its start."""
    done = start(["/bin/true"], library(design, checked=False), limits={resource.RLIMIT_DATA: 2000 << 10})
    assert (done.returncode, done.stderr) == (0, "")


LOCKED = 8 * MIB
"""What an unprivileged process may lock on many systems."""


def got_locked(*preloads: Path, size: int, when: str, freed: int = 0) -> int:
    """The bytes in blocks of `size` after mlockall, for what is there `now`, or `then` for what comes too.

    freed: blocks of `size`, and as many of 200,000 bytes, that the program has freed before.
    """
    done = start([program("run_locked"), size, LOCKED, when, freed], *preloads)
    if done.returncode == 3:
        pytest.skip("the hard limit on locked memory is below 8 MiB, or capabilities cannot be dropped")
    assert (done.returncode, done.stderr) == (0, "")
    return int(done.stdout)


def check_locked(preload: Path, freed: int = 0) -> None:
    for when, share in (("now", 1.0), ("then", 0.5)):
        of_glibc = got_locked(size=3000, when=when)
        assert got_locked(preload, size=3000, when=when, freed=freed) >= share * of_glibc


@every_design
def test_a_process_locks_its_memory(design: str) -> None:
    """What is only reserved would count as locked; a slab that comes later is locked as a whole."""
    check_locked(library(design, checked=False))


@pytest.mark.parametrize(
    ("base", "fields"),
    [
        ("hardened", {"huge_cache": {"kind": "delayed"}}),
        ("growth", {"growth": {"kind": "doubling", "initial_bytes": 16 * MIB}}),
    ],
    ids=["mappings that wait", "superslabs that are only usable"],
)
def test_a_process_locks_nothing_that_waits_for_its_use(base: str, fields: dict[str, Any]) -> None:
    """Six mappings with guards of 1 MiB on both sides, and a step of 16 MiB, are more than the limit."""
    check_locked(unchecked_library(changed(load(base), "waits", fields)), freed=6)


def test_a_block_that_comes_while_a_process_locks_has_no_wide_guards() -> None:
    """Its mapping may be made before the call and become a block after it."""
    preload = library("hardened", checked=False)
    assert {run([program("run_locking"), 100 + 20 * number], preload) for number in range(40)} == {"0\n"}


SMALL: dict[str, tuple[str, ...]] = {
    "cat": ("cat", "/etc/passwd"),
    "python": (sys.executable, "-S", "-c", "import json; print(len(json.dumps(list(range(1000)))))"),
    "sqlite": ("sqlite3", ":memory:", "create table t(a); insert into t values (1); select count(*) from t"),
    "threads": (str(program("run_threads")), "sequential", "20", "4"),
}
"""Programs that need little."""


def runs(name: str, which: int, kib: int, *preloads: Path) -> bool:
    """CPython takes each block from malloc: where its own arenas of 1 MiB are refused, it needs less below a limit."""
    done = start(SMALL[name], *preloads, limits={which: kib << 10}, environment={"PYTHONMALLOC": "malloc"})
    return done.returncode == 0


MARGIN = 4096
"""KiB that a library may need more than glibc, where a tenth is less."""
STEP = 1024


@lru_cache
def least(name: str, which: int) -> int:
    """The least KiB from which on the program runs with glibc, and at most STEP more."""
    fails, passes = 0, 1 << 18
    while passes - fails > STEP:
        half = (fails + passes) // 2
        fails, passes = (fails, half) if runs(name, which, half) else (half, passes)
    # CPython runs below that where the system refuses it a module in C, which has a form in Python too.
    return next(more for more in range(passes + MARGIN, 0, -STEP) if not runs(name, which, more - STEP))


@pytest.mark.parametrize("which", [resource.RLIMIT_AS, resource.RLIMIT_DATA], ids=["as", "data"])
@pytest.mark.parametrize("name", SMALL)
@every_design
def test_small_programs_need_little_more_than_under_glibc(design: str, name: str, which: int) -> None:
    if shutil.which(SMALL[name][0]) is None:
        pytest.skip(f"{SMALL[name][0]} is not installed")
    needed = least(name, which)
    assert runs(name, which, max(needed * 11 // 10, needed + MARGIN), library(design, checked=False))
