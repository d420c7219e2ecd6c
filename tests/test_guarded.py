"""Guarded samples: which are (docs/machine-rooms.md, 'sampling'), in the model and in C; what is said of misuse."""

import os
import re
import resource
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import msgspec
import pytest
from preloaded import program as built
from preloaded import run, start
from program import RUN, SMALL, Program, plain_and_compiled
from sanitized import ADDRESS_UNDEFINED, THREAD, Sanitizer, build_sanitized, run_sanitized
from test_sampling import OFTEN, SEED, SIZES, STACK, is_taken, samples_of_threads, threaded_trace
from test_sampling_ready import machine_code
from traces import random_trace

from heapsmith.bench.attacks.guarded import BASES, guarded, table
from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.bench.validate.syscalls import memory_calls
from heapsmith.codegen.built import library_of
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.sampling import common, countdown, ready
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import Op
from heapsmith.tools.replay.script import write_script

GUARDED = 1 << 62
SIZE = 40
"""The bytes of the program's block."""
MEASURED = Path(__file__).resolve().parent.parent / "docs" / "lab" / "hardening.md"


def program(compiled: bool, guards: int) -> Program:
    """Each request of more than a few bytes is a sample."""
    return Program(compiled, SIZES, front=STACK, sampling=countdown.Params(mean_bytes=1, guards=guards))


@plain_and_compiled
def test_slots_are_taken_in_their_order_then_the_one_that_was_freed_first(compiled: bool) -> None:
    case = program(compiled, 3)
    assert [case.malloc(name, 100) - GUARDED for name in "abc"] == [0, 1, 2]
    assert RUN <= case.malloc("d", 100) < GUARDED
    case.free("b")
    case.free("a")
    assert [case.malloc(name, 60_000) - GUARDED for name in "ef"] == [1, 0]
    assert is_taken(case.malloc("g", 100))
    assert case.totals("sampled", "sampled_freed", "huge_map") == (7, 2, 0)
    case.free("d")
    case.free("c")
    assert case.malloc("h", 100) == GUARDED + 2
    case.free("e f g h")
    assert case.totals("sampled_freed", "run_free") == (8, 2)


@plain_and_compiled
def test_a_slot_that_had_no_block_comes_before_one_that_was_freed(compiled: bool) -> None:
    case = program(compiled, 2)
    for slot in (0, 1, 0, 1):
        assert case.malloc("a", 100) == GUARDED + slot
        case.free("a")


@plain_and_compiled
def test_long_and_widely_aligned_blocks_are_not_guarded(compiled: bool) -> None:
    case = program(compiled, 8)
    assert case.malloc("a", 1 << 22) == GUARDED
    assert case.malloc("b", (1 << 22) + 1) == 1 << 61
    assert case.aligned("c", 12, 100) == GUARDED + 1
    assert case.aligned("d", 13, 100) == (1 << 61) + 1
    assert case.malloc("e", 100, op=Op.CALLOC) == GUARDED + 2


@plain_and_compiled
def test_realloc_moves_a_guarded_block(compiled: bool) -> None:
    case = program(compiled, 2)
    assert case.malloc("a", 100) == GUARDED
    assert case.realloc("a", 100) == GUARDED + 1
    assert case.realloc("a", 90_000) == GUARDED
    assert case.totals("realloc_moved", "realloc_in_place", "sampled", "sampled_freed") == (2, 0, 3, 2)
    assert case.totals("committed") == (90_112,)
    case.free("a")
    assert case.totals("committed") == (0,)


@pytest.mark.thorough
@pytest.mark.parametrize("base", ["sampled", "checks"])
def test_guards_leave_the_hit_paths_as_they_are(base: str) -> None:
    """Each instruction of malloc and free."""
    with_guards, without = (
        msgspec.structs.replace(load(base), name=f"{base}-hits", sampling=countdown.Params(guards=guards))
        for guards in (64, 0)
    )
    assert machine_code(with_guards) == machine_code(without)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", ["checks", "hardened"])
def test_what_guards_cost(name: str) -> None:
    """The page's figures of the built-in designs: within what the length of the stack makes."""
    page = MEASURED.read_text().split("## What guarded samples cost")[1]
    pages = [page.split(head)[1].split("\n")[0].split("|") for head in (f"`{name}` without samples |", f"`{name}` |")]
    designs = [changed(load(name), f"{name}-unsampled", {"sampling": {"kind": "off"}}), load(name)]
    for row, design in zip(pages, designs, strict=True):
        found = [per_operation(FORMS[form], library_of(design)) for form in ("pair-32", "mixed")]
        assert found == pytest.approx([float(row[0]), float(row[1])], rel=0.05)


@pytest.mark.thorough
def test_library_and_model_guard_the_same_samples(tmp_path: Path) -> None:
    holds(countdown.Params(mean_bytes=OFTEN, seed=SEED, guards=8), "sampled", tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("base", ["checks", "hardened", "owner", "processor"])
def test_library_and_model_guard_the_same_samples_of_other_designs(base: str, tmp_path: Path) -> None:
    holds(countdown.Params(mean_bytes=OFTEN, seed=SEED, guards=8), base, tmp_path)


@pytest.mark.thorough
def test_library_and_model_guard_the_same_samples_where_they_are_watched(tmp_path: Path) -> None:
    holds(ready.Params(on=True, mean_bytes=OFTEN, seed=SEED, guards=8), "sampling-ready", tmp_path)


def holds(sampling: msgspec.Struct, base: str, folder: Path) -> None:
    """The trace is replayed by real threads in its order: each address, counter and byte."""
    design = msgspec.structs.replace(load(base), name=f"{base}-guards", sampling=sampling)
    report = verify(design, [threaded_trace(folder)], audit=False)
    assert [run.difference for run in report.runs] == [None, None]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_model_counts_the_calls_that_strace_sees(tmp_path: Path) -> None:
    """With the call that maps the tables of samples."""
    sampling = countdown.Params(mean_bytes=OFTEN, seed=SEED, guards=8)
    design = msgspec.structs.replace(load("sampled"), name="sampled-calls", sampling=sampling)
    trace = random_trace(tmp_path / "t.hst", 5000, 7, max_size=300_000)
    write_script(trace, tmp_path / "script")
    counted = system_calls(simulate(trace, [design]).rows[0])
    assert counted > 100
    assert memory_calls(tmp_path / "script", library_of(design)) == counted


@pytest.mark.quick
def test_designs_that_cannot_guard_say_why() -> None:
    for guards in (-1, 4097):
        refusal = Design("case", SIZES, front=STACK, sampling=countdown.Params(guards=guards), **SMALL).why_not_valid()
        assert refusal is not None
        assert refusal.words == f"sampling.guards: {guards}; expected 0 to 4096"
    trusting = msgspec.structs.replace(load("sampled"), foreign="trust", sampling=countdown.Params(guards=1))
    refusal = trusting.why_not_valid()
    assert refusal is not None
    assert refusal.words == (
        "sampling: guards cannot go with foreign 'trust', which takes each block that begins no page for a small one"
    )


class Done(NamedTuple):
    """How the program ended, what it wrote, and the reports."""

    status: int
    lines: list[str]
    report: str


def misused(kind: str, handler: str = "", base: str = "sampled") -> Done:
    done = start([built("guarded"), kind, handler], library_of(guarded(base)))
    return Done(done.returncode, done.stdout.splitlines(), done.stderr)


TWICE = {"found": "misuse_freed", "freed": "drop", "allocated": "take"}
"""Whose calls the stacks show where a freed block comes to a function of the library."""


def stacks(report: str) -> dict[str, tuple[str, list[str]]]:
    """By what was done, the thread that did it and the functions on its stack that the program defines."""
    found = {}
    for part in re.split(r"\n  (?=\w)", report)[1:]:
        head = re.match(r"(\w+) by thread (\d+):\n", part)
        assert head, part
        places = re.findall(r"\(\S*/guarded-\w+\+(0x[0-9a-f]+)\)", part)
        command = ["addr2line", "-f", "-e", str(built("guarded")), *places]
        named = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[::2]
        found[head[1]] = (head[2], named)
    return found


@pytest.mark.parametrize(
    ("kind", "words", "where", "doers"),
    [
        ("read-freed", "use after free", "3 bytes into", {"accessed": "use", "freed": "drop", "allocated": "take"}),
        ("write-freed", "use after free", "", {"accessed": "misuse_freed", "freed": "drop", "allocated": "take"}),
        ("realloc-freed", "use after free", "0 bytes into", TWICE),
        ("twice", "double free", "0 bytes into", TWICE),
        ("read-behind", "overflow", "8 bytes behind", {"accessed": "use", "allocated": "take"}),
        ("write-behind", "overflow", "2 bytes behind", {"found": "drop", "allocated": "take"}),
        ("read-before", "underflow", "5000 bytes before", {"accessed": "use", "allocated": "take"}),
        ("write-before", "underflow", "3 bytes before", {"found": "drop", "allocated": "take"}),
        ("middle", "not the start of a block", "16 bytes into", {"found": "misuse_live", "allocated": "take"}),
        ("size-of-middle", "not the start of a block", "16 bytes into", {"found": "misuse_live", "allocated": "take"}),
    ],
)
@pytest.mark.parametrize("base", ["sampled", pytest.param("hardened", marks=pytest.mark.thorough)])
def test_a_report_says_what_was_done_to_which_block_and_by_whom(
    kind: str, words: str, where: str, doers: dict[str, str], base: str
) -> None:
    done = misused(kind, base=base)
    by_fault = "accessed" in doers
    assert done.status == -(signal.SIGSEGV if by_fault else signal.SIGABRT)
    assert len(done.lines) == 1
    head = done.report.splitlines()[0]
    place = rf"{where or '[0-9]+ bytes into'} a block of {SIZE} bytes at {done.lines[0]}"
    assert re.fullmatch(rf"heapsmith: {words}: 0x[0-9a-f]+, {place}", head)
    found = stacks(done.report)
    assert {did: next(name for name in names if name != "main") for did, (_, names) in found.items()} == doers
    assert all("main" in names for _, names in found.values())


def test_a_block_that_three_threads_have() -> None:
    done = misused("threads")
    assert done.status == -signal.SIGSEGV
    found = stacks(done.report)
    assert {did: names[0] for did, (_, names) in found.items()} == {
        "accessed": "use",
        "freed": "drop",
        "allocated": "take",
    }
    assert len({thread for thread, _ in found.values()}) == 3


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the function without a caller is in x86-64's assembly")
def test_a_stack_of_one_frame_is_told() -> None:
    done = misused("bottom")
    assert done.status == -signal.SIGSEGV
    assert stacks(done.report)["allocated"][1] == ["bottom"]


def test_a_child_of_fork_reports_by_itself() -> None:
    done = misused("child")
    assert (done.status, done.lines[1], done.lines[-1]) == (0, f"child: signal {int(signal.SIGSEGV)}", "end")
    assert done.report.count("heapsmith: use after free") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("base", BASES)
def test_a_program_without_a_fault_gets_no_report(base: str) -> None:
    done = misused("none", base=base)
    assert (done.status, done.lines[1:], done.report) == (0, ["end"], "")


@pytest.mark.parametrize(
    ("handler", "status", "wrote"),
    [
        ("early", 7, ["mine"]),
        ("late", 7, ["mine"]),
        ("goes-on", -signal.SIGSEGV, ["mine"]),
        ("restores", -signal.SIGSEGV, ["mine"]),
        ("once", -signal.SIGSEGV, ["mine"]),
        ("recovers", 0, ["mine", "mine", "end"]),
    ],
)
def test_the_programs_own_handler_comes_behind_the_report(handler: str, status: int, wrote: list[str]) -> None:
    done = misused("read-freed", handler)
    assert (done.status, [line for line in done.lines if not line.startswith("0x")]) == (status, wrote)
    assert done.report.count("heapsmith: use after free") == 1
    assert set(stacks(done.report)) == {"accessed", "freed", "allocated"}


def test_a_report_that_nobody_reads_leaves_errno_to_the_handler() -> None:
    done = misused("read-freed", "silent")
    assert (done.status, done.lines[1:], done.report) == (7, ["mine"], "")


def test_blocks_live_on_under_a_limit_that_comes_late() -> None:
    done = misused("limited")
    assert (done.status, done.lines[1:], done.report) == (0, ["end"], "")


def test_a_request_that_is_too_long_changes_no_draw() -> None:
    done = misused("too-long")
    assert done.status == -signal.SIGSEGV
    assert set(stacks(done.report)) == {"accessed", "freed", "allocated"}


@pytest.mark.parametrize("base", ["checks", pytest.param("hardened", marks=pytest.mark.thorough)])
def test_marks_of_new_end_with_the_block(base: str) -> None:
    """Each slot has a block of new[], then one of malloc."""
    done = misused("marks", base=base)
    assert (done.status, done.lines[1:], done.report) == (0, ["end"], "")
    wrong = misused("wrong-delete", base=base)
    assert (wrong.status, wrong.lines) == (-signal.SIGABRT, [])
    assert "delete of what new[] made" in wrong.report


@pytest.mark.parametrize("kind", ["null", "sent"])
@pytest.mark.parametrize(("handler", "status"), [("", -signal.SIGSEGV), ("late", 7)])
def test_other_faults_are_the_programs_own(kind: str, handler: str, status: int) -> None:
    done = misused(kind, handler)
    assert (done.status, done.report) == (status, "")


@pytest.mark.thorough
def test_blocks_keep_their_bytes(tmp_path: Path) -> None:
    design = msgspec.structs.replace(guarded("sampled"), sampling=countdown.Params(mean_bytes=500, guards=64))
    found = samples_of_threads(design, tmp_path)
    assert found["sampled"] > 10_000
    assert 0 <= found["sampled"] - found["sampled_freed"] < 20


@pytest.mark.parametrize("mode", ["load", "handler", "alone"])
def test_fork_while_guarded_samples_are_taken(mode: str) -> None:
    assert run([built("run_fork"), mode, 20], library_of(guarded("sampled"))) == "done\n"


def test_under_a_limit_on_address_space() -> None:
    """Nothing is reserved then: a freed block is no mapping, which is a fault too."""
    limits = {resource.RLIMIT_AS: 1 << 30}
    done = start([built("guarded"), "read-freed", ""], library_of(guarded("sampled")), limits=limits)
    assert done.returncode == -signal.SIGSEGV
    assert set(stacks(done.stderr)) == {"accessed", "freed", "allocated"}


@pytest.mark.parametrize("sanitizer", [THREAD, ADDRESS_UNDEFINED], ids=lambda one: one.name)
@pytest.mark.thorough
def test_guards_under_sanitizers(sanitizer: Sanitizer, tmp_path: Path) -> None:
    design = msgspec.structs.replace(guarded("sampled"), sampling=countdown.Params(mean_bytes=500, guards=64))
    run_sanitized(build_sanitized(design, sanitizer, tmp_path), sanitizer, ["--operations", "4000", "--threads", "4"])


@pytest.mark.thorough
def test_the_attacks_that_guards_report() -> None:
    """The page's table."""
    rows = MEASURED.read_text().split("| kind of attack |")[1].split("\n\n")[0].splitlines()[2:]
    assert [[cell.strip() for cell in row.strip("|").split("|")] for row in rows] == table()


@pytest.mark.parametrize("guards", [0, 8])
def test_guarded_samples_cost_where_a_design_has_guards(guards: int) -> None:
    plan = make_plan(changed(load("sampled"), "some", {"sampling": {"kind": "countdown", "guards": guards}}))
    simulation = SimpleNamespace(counters=SimpleNamespace(totals={"sampled": 7}))
    work = dict(common.work_of_samples(plan, simulation, "countdown"))
    assert work == {"sampling.taken.countdown": 7, "sampling.guarded.countdown": 7 if guards else 0}
