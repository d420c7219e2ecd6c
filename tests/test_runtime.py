"""The library's life in a process: threads that come and go, fork, signals, and memory that runs out."""

import resource
from pathlib import Path

import msgspec
import pytest
from loaded import checked_library, unchecked_library
from preloaded import BUILT_IN, LIVE_DESIGNS, library, program, run, shim
from traces import random_trace

from heapsmith.codegen.built import library_of
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import load

FEW = ["default", "owner"]
MIB = 1 << 20

every_design = pytest.mark.parametrize("design", BUILT_IN)
live_designs = pytest.mark.parametrize("design", LIVE_DESIGNS)
few_designs = pytest.mark.parametrize("design", FEW)


def threads(design: str, mode: str, count: int, first: int, *, checked: bool = False) -> tuple[int, int, int]:
    """KiB of RSS after `first` threads and after `count`, and the heaps created."""
    wrote = run([program("run_threads"), mode, count, first], library(design, checked=checked), timeout=300)
    early, late, heaps = map(int, wrote.split())
    return early, late, heaps


def flat(design: str, early_kib: int, late_kib: int) -> bool:
    """No growth beyond 2 % and 256 KiB, what a page more here and there may cost, slabs that wait, guarded samples."""
    waits_kib = getattr(load(design).release, "share_slab_bytes", 0) // 1024
    return late_kib <= early_kib * 1.02 + 256 + waits_kib + 8 * guards(design)


def guards(design: str) -> int:
    """The most guarded samples at a time; each has a page or two, and a part of the tables."""
    return getattr(load(design).sampling, "guards", 0)


@few_designs
def test_memory_is_flat_over_many_threads(design: str) -> None:
    early, late, heaps = threads(design, "sequential", 4000, 1000)
    assert flat(design, early, late)
    assert heaps == 2  # the main thread's and the one that every thread adopts


@pytest.mark.big
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("design", [name for name in BUILT_IN if name != "once"])
def test_memory_is_flat_over_twenty_thousand_threads(design: str, checked: bool) -> None:
    """From ten thousand on: until then the last superslab may come. Empty slabs of `once` never serve again."""
    early, late, heaps = threads(design, "sequential", 20_000, 10_000, checked=checked)
    assert flat(design, early, late)
    assert heaps == 2


@pytest.mark.parametrize("mode", ["endings", "early-key"])
@live_designs
def test_destructors_that_allocate_in_every_round_leave_nothing(design: str, mode: str) -> None:
    early, late, heaps = threads(design, mode, 1000, 200)
    assert flat(design, early, late)
    assert heaps <= 3  # and perhaps one for those after the last round


@few_designs
def test_sixteen_threads_at_a_time(design: str) -> None:
    early, late, heaps = threads(design, "sixteen", 3000, 1000)
    assert heaps <= 17
    assert late <= early * 1.5  # their peaks may coincide later than in the first thousand


@pytest.mark.parametrize("design", ["default", pytest.param("two-level", marks=pytest.mark.thorough)])
def test_a_new_thread_takes_a_fault_a_page(design: str) -> None:
    """A page that is read before it is written takes two, and where threads run an interrupt of their cores."""
    plain = msgspec.structs.replace(load(design), populate=None)  # the system's counts of populated pages differ
    faults, pages = map(int, run([program("run_first_touches")], library_of(plain)).split())
    shares = getattr(plain, "transfer_from_heaps", 1) > 1  # then its page is read first where a second heap begins
    assert 10 < faults <= pages + 1 + shares  # a page of slab records: whether a slab is sealed is read first


def test_threads_free_huge_blocks_at_once() -> None:
    """No more mappings come to wait in a huge cache than it has room for: the checked build looks."""
    design = msgspec.structs.replace(load("huge-cache"), huge_bytes=1 << 18)
    run([program("run_frees_together")], checked_library(design))


@few_designs
def test_detached_threads_leave_their_heaps_to_the_next(design: str) -> None:
    _, _, heaps = threads(design, "detached", 2000, 1000)
    assert heaps <= 16  # at most 5 work at a time, others may be on their way out


@live_designs
def test_a_program_that_had_a_hundred_keys_before(design: str) -> None:
    many_keys = shim("shim_keys")
    for order in ([many_keys, library(design)], [library(design), many_keys]):
        wrote = run([program("run_threads"), "sequential", 500, 100], *order, environment={"KEYS": "100"})
        early, late, heaps = map(int, wrote.split())
        assert late < early + 2048  # a heap lost with each of 400 threads would be more; the release budgets still grow
        assert heaps == 2


@live_designs
def test_a_program_that_has_all_keys(design: str) -> None:
    for order in ([shim("shim_keys"), library(design)], [library(design), shim("shim_keys")]):
        wrote = run([program("run_plain", "-rdynamic")], *order, environment={"KEYS": "all"})
        assert wrote.startswith(f"{design} ")


@live_designs
def test_fork_handlers_of_others_may_allocate(design: str) -> None:
    assert run([program("run_fork_handlers")], library(design)) == "forked\n"


@live_designs
def test_fork_under_load(design: str) -> None:
    assert run([program("run_fork"), "load", 30], library(design)) == "done\n"


@pytest.mark.big
@pytest.mark.parametrize("checked", [False, True])
@every_design
def test_a_thousand_forks_under_load(design: str, checked: bool) -> None:
    assert run([program("run_fork"), "load", 1000], library(design, checked=checked), timeout=600) == "done\n"


@pytest.mark.parametrize("mode", ["handler", "alone"])
@live_designs
def test_fork_in_a_signal_handler(design: str, mode: str) -> None:
    assert run([program("run_fork"), mode, 30], library(design)) == "done\n"


@pytest.mark.big
@pytest.mark.parametrize("mode", ["handler", "alone"])
@every_design
def test_a_thousand_forks_in_signal_handlers(design: str, mode: str) -> None:
    assert run([program("run_fork"), mode, 1000], library(design, checked=False), timeout=300) == "done\n"


def test_a_sleeper_needs_no_thread_that_was_woken_before() -> None:
    """The woken thread may be in a signal's handler that forks, and so waits for what the sleeper holds."""
    assert run([program("run_woken", "-rdynamic")], library("default")) == "done\n"


@few_designs
def test_vfork_and_posix_spawn(design: str) -> None:
    assert run([program("run_fork"), "spawn", 10], library(design)) == "done\n"


@live_designs
def test_signals_whose_handlers_touch_blocks(design: str) -> None:
    assert run([program("run_signals"), 500], library(design)) == "done\n"


@pytest.mark.big
@every_design
def test_many_signals_whose_handlers_touch_blocks(design: str) -> None:
    assert run([program("run_signals"), 50_000], library(design), timeout=300) == "done\n"


def check_filling(design: str, which: int, mebibytes: int) -> None:
    """The program gets two thirds of its memory in blocks of any size up to its half, and what it freed again."""
    limit, tables = mebibytes * MIB, 5 * MIB * (guards(design) > 0)  # of samples; they count as they may be written
    wrote = run([program("run_fill"), limit], library(design, checked=False), limits={which: limit}, timeout=300)
    *sizes, end = wrote.splitlines()
    assert end == "fine"
    for line in sizes:
        size, kib = map(int, line.replace(":", "").split()[:2])
        assert kib << 10 >= (limit - tables) * 2 / 3 or 2 * size > limit, line


@live_designs
def test_memory_runs_out_and_comes_back(design: str) -> None:
    """RLIMIT_DATA counts what may be written, as a system that does not overcommit does."""
    check_filling(design, resource.RLIMIT_DATA, 64)


@pytest.mark.thorough
@live_designs
def test_address_space_runs_out_and_comes_back(design: str) -> None:
    check_filling(design, resource.RLIMIT_AS, 256)


@pytest.mark.big
@pytest.mark.parametrize(
    ("which", "mebibytes"),
    [(resource.RLIMIT_AS, 256), (resource.RLIMIT_AS, 300), (resource.RLIMIT_AS, 1024), (resource.RLIMIT_DATA, 256)],
)
@every_design
def test_more_memory_runs_out_and_comes_back(design: str, which: int, mebibytes: int) -> None:
    check_filling(design, which, mebibytes)


def test_every_class_has_its_region_in_little_address_space() -> None:
    """All classes at once, two thirds of the limit."""
    limit = 256 * MIB
    design = load("region")
    words = [program("run_every_class"), limit * 2 // 3 // len(design.sizes), *design.sizes]
    assert run(words, unchecked_library(design), limits={resource.RLIMIT_AS: limit}) == "fine\n"


@pytest.mark.parametrize("mebibytes", [300, pytest.param(1000, marks=pytest.mark.big)])
@live_designs
def test_little_address_space(design: str, mebibytes: int) -> None:
    limits = {resource.RLIMIT_AS: mebibytes * MIB}
    assert run([program("run_little_space")], library(design, checked=False), limits=limits) == "fine\n"


@pytest.mark.big
def test_regions_wider_than_32_bits_do_not_overlap(tmp_path: Path) -> None:
    design = msgspec.structs.replace(load("region"), name="region34", slab_span_bytes=1 << 34)
    trace = random_trace(tmp_path / "t.hst", 20_000, seed=3, max_size=20_000)
    report = verify(design, [trace], audit=False)
    assert [run.difference for run in report.runs] == [None, None]
