"""System calls that fail, one or all from one on: no crash, no lost block, and all is well when the fault is over."""

import resource
from functools import lru_cache
from pathlib import Path

import pytest
from covering import covering_designs, soon, with_every_row
from loaded import checked_library
from preloaded import BUILT_IN, library, program, shim, start

from heapsmith.model.constants import HUGE_PAGE
from heapsmith.model.design.design import Design
from heapsmith.model.parts.counters import TOTALS

COVERING = ["covering-0", "covering-3"]
TAKING = ["default", "unmap", "own-superslabs", "lock-free-claims", "growth", "dedicated"]
"""One design of each kind that takes new slabs in a way of its own."""
WITH_HEAPS = [one for one in covering_designs() if one.heaps is None and one.foreign != "trust"]
SOON = [one for one in with_every_row(of_processors=False)[:4] if one in WITH_HEAPS]
KINDS = [
    "mmap",
    "munmap",
    "mprotect",
    "madvise",
    "mremap",
    "pthread_create",
    "pthread_key_create",
    "pthread_setspecific",
]
SLACK = 1 << 19
MORE = {"huge-pages": HUGE_PAGE, "processor": 1 << 21}
NEAR = 1 << 32
"""A limit that nothing comes near, but for which slabs become writable one by one."""
AND_AFTER = ["", "-"]
"""The n-th call alone, or that one and all after it."""
MOST = 400
"""Of calls / MOST | 1 calls of a kind one fails: below 800 each, from there on each third, and so on."""


def outcome(design: str, fault: str, limit: int = 0) -> tuple[int, str, str]:
    """Exit status, output and complaint of the program under the library and a fault; limit: RLIMIT_DATA."""
    command: list[str | Path | int] = [program("run_faults"), TOTALS.index("committed")]
    limits = {resource.RLIMIT_DATA: limit} if limit else {}
    done = start(
        command, shim("shim_faults"), library(design), limits=limits, environment={"FAULT": fault}, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@lru_cache
def undisturbed(design: str, limit: int = 0) -> tuple[dict[str, int], int]:
    """How many calls of each kind a run without faults makes, and the bytes committed at its end."""
    status, out, calls = outcome(design, "count", limit)
    assert status == 0, calls
    failures, committed = map(int, out.split())
    assert failures == 0
    return {kind: int(number) for kind, number in map(str.split, calls.splitlines())}, committed


def complaints(design: str, faults: list[str], limit: int = 0) -> list[str]:
    """Which faults did harm, and what harm.

    At the end only the main thread's front holds blocks, other ones after a fault than before it: that is the slack. On
    huge pages the rest of the last one is committed too, and a fault moves where that is. Heaps of processors
    hold blocks by where the threads ran: 1.6 MiB more in one run without faults than in another.
    Without a key no thread's end is seen, and its heap stays; that is known.
    """
    floor = undisturbed(design, limit)[1] + SLACK + MORE.get(design, 0)
    found = []
    for fault in faults:
        status, out, error = outcome(design, fault, limit)
        if (status, error) != (0, ""):
            found.append(f"{fault}: status {status} {error.strip()}")
        elif int(out.split()[1]) > floor and not fault.startswith("pthread_key_create"):
            found.append(f"{fault}: {int(out.split()[1])} bytes stay committed, {floor} without faults")
    return found


def faults_of(design: str, *, all_of_them: bool, limit: int = 0, bits: int = 2) -> list[str]:
    """Every call of a run (see MOST), or the 1st, 4th, 16th ... of each kind, and of the first all after it too.

    bits: the 1st, 16th, 256th ... for 4.
    """
    calls, _ = undisturbed(design, limit)
    return [
        f"{kind}:{number}{after}"
        for kind in KINDS
        for number in range(1, calls[kind] + 1, calls[kind] // MOST | 1 if all_of_them else 1)
        if all_of_them or (number.bit_count() == 1 and number.bit_length() % bits == 1)
        for after in AND_AFTER
        if all_of_them or after == "" or number <= 4
    ]


def test_the_shim_reaches_every_kind_of_call() -> None:
    calls, _ = undisturbed("default")
    assert set(calls) == set(KINDS)
    assert all(calls.values())


@pytest.mark.parametrize("fault", ["mmap:8-", "mprotect:2-"])
def test_a_fault_is_felt(fault: str) -> None:
    status, out, _ = outcome("default", fault)
    assert status == 0
    assert int(out.split()[0]) > 0


@pytest.mark.parametrize("bits", [4, pytest.param(2, marks=pytest.mark.thorough)])
def test_calls_that_fail_do_no_harm(bits: int) -> None:
    assert complaints("default", faults_of("default", all_of_them=False, bits=bits)) == []


def test_a_slab_that_the_system_refuses_lies_in_its_pool() -> None:
    """Near a limit each slab is opened by a call of its own; its superslab may go as if it had been taken."""
    assert undisturbed("unmap", NEAR)[0]["mprotect"] > 2 * undisturbed("unmap")[0]["mprotect"]
    assert complaints("unmap", ["mprotect:16", "mprotect:16-"], NEAR) == []


@pytest.mark.thorough
@pytest.mark.parametrize(("design", "bits"), [(design, 2 if design == "default" else 4) for design in TAKING])
def test_calls_that_fail_near_a_limit_do_no_harm(design: str, bits: int) -> None:
    assert complaints(design, faults_of(design, all_of_them=False, limit=NEAR, bits=bits), NEAR) == []


@pytest.mark.parametrize("design", soon(WITH_HEAPS, SOON, WITH_HEAPS), ids=lambda one: one.name)
def test_a_thread_without_a_heap_does_no_harm(design: Design) -> None:
    """There is no memory for one: it frees what others have, and asks for what fits in pages that are there."""
    command = [program("run_no_heap"), TOTALS.index("heaps")]
    done = start(command, checked_library(design), environment={"HEAPSMITH_BENCHFAST": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


@pytest.mark.big
@pytest.mark.parametrize("design", [*BUILT_IN, *COVERING])
def test_no_call_that_fails_does_harm(design: str) -> None:
    assert complaints(design, faults_of(design, all_of_them=True)) == []


@pytest.mark.big
@pytest.mark.parametrize("design", TAKING)
def test_no_call_that_fails_near_a_limit_does_harm(design: str) -> None:
    assert complaints(design, faults_of(design, all_of_them=True, limit=NEAR), NEAR) == []
