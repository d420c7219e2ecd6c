"""callgrind: the parser on a small profile, and a real replay that is counted exactly."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from loaded import unchecked_library
from traces import trace_of

from heapsmith.bench.gates.hot_paths import allowed
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.hardware import Level, load_hardware
from heapsmith.model.predict.cost import instructions_of, instructions_spent, kinds
from heapsmith.model.predict.simulate import simulate
from heapsmith.tools.calibrate.micro_traces import Script
from heapsmith.tools.replay.callgrind import Caches, counted, parse, replay_counts
from heapsmith.tools.replay.script import write_script

PROFILE = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir Dr Dw D1mr D1mw DLmr DLmw
summary: 0

ob=(1) /lib/libheap.so
fl=(1) heap.c
fn=(1) malloc
10 5 2 1 1
+1 3
cob=(2) /lib/libc.so.6
cfi=(2) string.c
cfn=(2) __memset_avx2
calls=4 0
* 40 0 20 0 7 0 5
cfn=(3) slow_path
calls=1 0
* 100 9 9

fn=(3)
-4 60 6 6

ob=(2)
fn=(2)
0 40 0 20 0 7 0 5

ob=(3) /bin/replay
fn=(4) stream_replay
1 500 100 50 20 10 8 4
cob=(1)
cfn=(1)
calls=9 0
1 148 11 10
fn=(5) rss_anon_bytes
2 1000 1 1 1 1 1 1
"""


def test_a_profile_by_object_and_function() -> None:
    profile = parse(PROFILE.splitlines(keepends=True))
    assert profile.events == ["Ir", "Dr", "Dw", "D1mr", "D1mw", "DLmr", "DLmw"]
    assert profile.own["/lib/libheap.so", "malloc"] == Counter(Ir=8, Dr=2, Dw=1, D1mr=1)
    assert profile.own["/lib/libheap.so", "slow_path"] == Counter(Ir=60, Dr=6, Dw=6)
    assert profile.called["/lib/libheap.so", "__memset_avx2"] == Counter(Ir=40, Dw=20, D1mw=7, DLmw=5)
    assert profile.called["/lib/libheap.so", "slow_path"] == Counter(Ir=100, Dr=9, Dw=9)


def test_inlined_code_is_of_its_own_source() -> None:
    lines = [
        "events: Ir",
        "ob=(1) lib.so",
        "fl=(1) fast.c",
        "fn=(1) free",
        "1 2",
        "fi=(2) span.h",
        "9 5",
        "fe=(1)",
        "2 4",
        "",
    ]
    lines += ["cfi=(2)", "cfn=(2) slow", "calls=1 7", "* 90", "fl=(2)", "fn=(2)", "7 3"]
    sources = parse(lines).sources
    assert {key[1:]: costs["Ir"] for key, costs in sources.items()} == {
        ("fast.c", "free"): 6,
        ("span.h", "free"): 5,
        ("span.h", "slow"): 3,
    }


def test_what_is_counted_of_it() -> None:
    found = counted(parse(PROFILE.splitlines()), Path("/lib/libheap.so"), Path("/bin/replay"))
    assert found.instructions == 68
    assert (found.d1_misses, found.ll_misses) == (
        1 + 7 + 30,
        5 + 12,
    )  # nothing of what samples RSS
    assert found.less(found).instructions == 0


def test_what_is_no_profile() -> None:
    with pytest.raises(BadInput, match="it names no events"):
        parse(["nothing\n"])


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_real_replay(tmp_path: Path) -> None:
    """What is counted is the trace's: twice the events cost twice the instructions of the hit path, to the last one.

    The refills of `default` grow, so its second part has fewer of them.
    """
    library = library_of(load("by-class"))
    scripts = []
    for blocks in (20, 40, 60):  # all in the front after one refill
        trace = trace_of(tmp_path / f"{blocks}.hst", [32] * blocks, freed=True)
        scripts.append(tmp_path / str(blocks))
        write_script(trace, scripts[-1])
    first, second, third = (replay_counts(script, library) for script in scripts)
    assert first.instructions > 0
    assert third.instructions - second.instructions == second.instructions - first.instructions
    assert 20 <= (second.instructions - first.instructions) / 20 <= 40  # a pair
    assert first.d1_misses == 0  # no caches were simulated
    cached = replay_counts(scripts[0], library, Caches(Level(32768, 8), Level(1 << 20, 16)))
    assert cached.instructions == first.instructions
    assert cached.d1_misses > 0


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("name", ["default", "by-class", "sll", "basic", "checks", "hardened"])
def test_the_shipped_constants_are_of_the_library_of_today(name: str, tmp_path: Path) -> None:
    """Small blocks of all sizes live together. Where a path has changed, default.toml needs a calibration's counts."""
    if (gcc := find_gcc().version) != allowed()[0]:
        pytest.skip(f"the shipped constants are of {allowed()[0]}, not of {gcc}")
    trace, script = tmp_path / "t.hst", Script()
    design = load(name)
    script.churn(script.sizes(8, 32 << 10, 3000), 200)
    script.write(trace)
    write_script(trace, tmp_path / "script")
    (row,) = simulate(trace, [design]).rows
    predicted = instructions_spent(kinds(make_plan(design), row), instructions_of(load_hardware()))
    assert predicted == pytest.approx(replay_counts(tmp_path / "script", library_of(design)).instructions, rel=0.12)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_library_for_benchmarks_runs_under_valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`calibrate` counts all built-in designs, also that which wants HEAPSMITH_BENCHFAST."""
    monkeypatch.delenv("HEAPSMITH_BENCHFAST")
    script = tmp_path / "script"
    write_script(trace_of(tmp_path / "t.hst", [32] * 20, freed=True), script)
    assert replay_counts(script, unchecked_library(load("benchfast"))).instructions > 0
