"""Counting: a library that counts everything says what it did, and another library says no less than before."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from figures import wrong_figures
from loaded import agreement, checked_library, unchecked_library
from preloaded import program, shim, start
from test_cli import Call
from traces import random_trace

from heapsmith.model.design.design import changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.parts.counters import LOCKS, UNTOLD_LOCKS
from heapsmith.tools.common.counter_reports import read_report
from heapsmith.tools.common.preload import preloadable

COUNTING = load("counting")
THREADS = """
import threading
def work():
    for round in range(200):
        blocks = [bytearray(size) for size in range(1000, 60000, 900)]
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def reported(design: Any, report: Path, *command: str) -> dict[str, Any]:
    environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": preloadable(unchecked_library(design))}
    environment |= {"PYTHONMALLOC": "malloc", "HEAPSMITH": f"stats={report}"}
    subprocess.run(command, env=environment, check=True)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


@pytest.mark.thorough
def test_the_release_build_counts_hits(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.hst", 3000, 5)
    runs = agreement(COUNTING, trace)
    assert [run.difference for run in runs] == [None, None]
    compared = {run.build: run.counters for run in runs}
    assert compared["release"] == compared["checked"]


def test_locks_and_system_calls_are_counted(tmp_path: Path) -> None:
    found = reported(COUNTING, tmp_path / "r.json", "/usr/bin/python3", "-c", THREADS)
    system, totals = found["system"], found["counters"]
    slow = sum(row["refill"] + row["flush"] + row["direct"] for row in found["classes"])
    assert system["locks"] >= slow
    assert 0 <= system["lock_waits"] <= system["locks"]
    assert tuple(found["locks"]) == (*LOCKS, *UNTOLD_LOCKS)
    assert sum(found["locks"].values()) == system["locks"]
    assert found["locks"]["heap_start"] == totals["heaps"] + totals["adoptions"]
    assert system["mprotect"] >= totals["superslabs"]
    assert system["madvise"] >= totals["releases"]
    assert system["munmap"] >= totals["huge_unmap"]
    assert "system" not in reported(load("default"), tmp_path / "d.json", "/bin/true")


def test_each_system_call_is_counted(tmp_path: Path) -> None:
    """A shim before the library counts them too. The program makes none itself."""
    design = changed(COUNTING, "counting-checks", {"hardening": {"kind": "checks"}})
    environment = {"FAULT": "count", "HEAPSMITH": f"stats={tmp_path / 'r.json'}"}
    done = start([program("every_guard")], shim("shim_faults"), unchecked_library(design), environment=environment)
    assert (done.returncode, done.stdout) == (0, "")
    seen = {name: int(count) for name, count in map(str.split, done.stderr.splitlines())}
    counted = json.loads((tmp_path / "r.json").read_text())["system"]
    names = ("mmap", "munmap", "mremap", "mprotect", "madvise")
    assert [counted[name] for name in names] == [seen[name] for name in names]
    assert counted["mremap"] > 0


def test_a_design_that_does_not_count_emits_nothing_of_it() -> None:
    counting, plain = (
        subprocess.run(["nm", "-a", unchecked_library(load(name))], capture_output=True, text=True, check=True).stdout
        for name in ("counting", "default")
    )
    assert "hs_system_count" in counting
    assert "hs_system_count" not in plain


def test_a_report_has_layers_rates_and_csv(call: Call, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    reported(COUNTING, report, "/usr/bin/perl", "-e", "my %h; $h{$_ % 99} = 'x' x $_ for 1 .. 3000")
    counts = read_report(report)
    assert counts.operations is not None
    busiest = max(counts.layers, key=lambda row: row.allocations or 0)
    assert busiest.hit0 is not None
    assert busiest.allocations == busiest.hit0 + busiest.hit1 + busiest.refill
    locks = next(one for one in counts.counts if one.name == "locks")
    assert locks.per_million == pytest.approx(locks.count * 1e6 / counts.operations)
    taken = next(one for one in counts.counts if one.name == "locks.take.own")
    assert taken.per_million == pytest.approx(taken.count * 1e6 / counts.operations)
    answer = call("stats", report)
    assert "per million operations" in answer.out
    assert f"{counts.operations:,} operations" in answer.out
    lines = call("stats", report, "--csv").out.splitlines()
    assert lines[0] == "size,counter,count,per_million"
    assert f"{busiest.size},hit0,{busiest.hit0}," in "\n".join(lines)
    assert json.loads(call("stats", report, "--json").out)["operations"] == counts.operations


def test_what_is_no_report(call: Call, tmp_path: Path) -> None:
    for text in ("", "{}", '{"design": "d"}', '{"design": "d", "pid": 1, "counters": {}, "classes": [{}]}'):
        path = tmp_path / "r.json"
        path.write_text(text)
        answer = call("stats", path)
        assert answer.status == 2
        assert str(path) in answer.err
        assert answer.err.count("\n") == 1


def test_mallinfo2_counts_the_superslab_of_a_group_once() -> None:
    """Class 1 is a group of its own, so the superslab of the other classes serves classes before and after it."""
    hardened = load("hardened")
    groups = {"kind": "grouped", "groups": [[hardened.sizes[1]]]}
    design = changed(hardened, "grouped-huge", {"empties": groups, "thp": "always", "sampling": {"kind": "off"}})
    assert wrong_figures(checked_library(design), make_plan(design)) is None
