"""Compiled functions on disk: once, in the user's cache; the environment and numba's settings stay as they were."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import PROGRAM, process
from covering import soon

from heapsmith import __main__
from heapsmith.model.compile import kernel, wait
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.model.heap import simulator
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.tune import tune

CODE = """
import os, sys
import numpy as np
before = dict(os.environ)
from heapsmith.model.trace import codec
import numba
count = codec._count(np.ones(256, np.bool_), np.zeros(7, np.uint8))
assert (count, before, numba.config.CACHE_DIR) == (7, dict(os.environ), os.environ.get("NUMBA_CACHE_DIR", ""))
print(sum(codec._count.stats.cache_hits.values()))
"""


def hits(**variables: str) -> int:
    """Functions that a new process with these variables found in the cache, of the one that it calls."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | variables
    done = subprocess.run([sys.executable, "-c", CODE], check=False, capture_output=True, text=True, env=environment)
    assert done.stderr == ""
    return int(done.stdout)


FOLDERS = [
    ({"XDG_CACHE_HOME": "{}/x y"}, "x y/heapsmith/numba"),
    ({"XDG_CACHE_HOME": "", "HOME": "{}"}, ".cache/heapsmith/numba"),
    ({"NUMBA_CACHE_DIR": "{}/elsewhere"}, "elsewhere"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("place", soon(FOLDERS, FOLDERS[:1]))
def test_where_compiled_functions_are(tmp_path: Path, place: tuple[dict[str, str], str]) -> None:
    """Of two processes at once, one compiles, and the other waits for what it compiles."""
    variables, folder = place
    given = {name: value.format(tmp_path) for name, value in variables.items()}
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(lambda _: hits(**given), range(2))) == [0, 1]
    assert list((tmp_path / folder).glob("trace_*/codec._count-*.nbi"))


@pytest.mark.big
def test_a_cache_that_cannot_be_used_costs_only_time(tmp_path: Path) -> None:
    assert hits(XDG_CACHE_HOME=str(tmp_path)) == 0
    for file in tmp_path.glob("heapsmith/numba/*/codec._count-*"):
        file.write_bytes(b"\x80\x04nonsense")
    assert [hits(XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)] == [0, 1]
    shutil.rmtree(tmp_path / "heapsmith")
    (tmp_path / "heapsmith").touch()
    assert hits(XDG_CACHE_HOME=str(tmp_path)) == 0
    beside = Path(__file__).resolve().parents[1] / "model" / "trace" / "__pycache__"
    assert not list(beside.glob("codec._count-*"))


@pytest.mark.thorough
def test_programs_do_not_see_it(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    for start in (["record", "-o", str(tmp_path / "t.hst")], ["run", "default"]):
        command = [*PROGRAM, *start, "--", "sh", "-c", "env | grep NUMBA; exit 7"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stdout) == (7, "")


@pytest.fixture(autouse=True)
def _nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what a test announces."""
    for name, value in {
        "estimate": None,
        "plain": None,
        "uncached": None,
        "so_far": None,
        "heard_s": 0.0,
        "budget_s": None,
    }.items():
        monkeypatch.setattr(wait._Told, name, value)


def test_a_cache_that_cannot_be_written_is_told_before_anything_is_compiled(tmp_path: Path) -> None:
    """Once, however much is compiled."""
    code = (
        "import numba, numpy\n"
        "from heapsmith import __main__\n"
        "from heapsmith.model.compile import cache, wait\n"
        "wait.announce(__main__._compiles, __main__._still_compiles, __main__._is_plain, __main__._is_uncached)\n"
        "def one(x): return x + 1\n"
        "def two(x): return x + 2\n"
        "both = [numba.njit(f) for f in (one, two)]\n"
        "for f in both: cache.keep_on_disk(f, 700)\n"
        "print([f(1) for f in both])\n"
    )
    (tmp_path / "ones.py").write_text(code)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": "/proc/absent"}
    words = [sys.executable, tmp_path / "ones.py"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "[2, 3]\n")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("heapsmith: the cache cannot be written, so that each command compiles the model anew")
    assert [line.partition(",")[0] for line in lines[1:]] == ["heapsmith: compiling the model for this command"]


def ignored(*_: object) -> None:
    """Hear nothing."""


def test_one_line_says_that_a_process_compiles_and_how_long_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    said = list[tuple[float, float | None]]()
    for cores, busy in ((2, 0.5), (1, 0.5), (1, 20.0)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        monkeypatch.setattr(wait, "busy", lambda busy=busy: busy)
        wait.announce(lambda *told: said.append(told), ignored)
        wait.begin()
        wait.begin()
    assert said == [(parts * wait.MODEL_S, None) for parts in (0.5, 1, 10)]


def test_the_estimate_is_of_what_is_compiled_under_the_load_of_now(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is larger than what was told is told again. A load that has ended counts no more."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(wait, "LOAD", tmp_path / "loadavg")
    said = list[float]()
    wait.announce(lambda seconds, _: said.append(seconds), ignored)
    for text, parts in (("9.00 1 1 2/400 1", 1), ("0.10 1 1 9/400 1", 1), ("8.00 1 1 6/400 1", 3)):
        wait.LOAD.write_text(text)
        assert wait.slowness(2) == parts
    wait.LOAD.write_text("1.00 1 1 1/400 1")
    for code_bytes in (700, wait.LOOP_BYTES // 5, wait.LOOP_BYTES // 5, wait.LOOP_BYTES, wait.LOOP_BYTES):
        wait.begin(code_bytes)
    assert said == [wait.SMALL_S, wait.MODEL_S / 2]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert [wait.estimated(part * wait.LOOP_BYTES // 10) for part in (9, 1)] == [0.9 * wait.MODEL_S, wait.SMALL_S]


def test_the_loop_of_a_simulation_counts_as_one() -> None:
    reached = sum(len(function.__code__.co_code) for function in kernel._reach(simulator.run, {}))
    assert wait.LOOP_BYTES / 2 < reached < 2 * wait.LOOP_BYTES


def test_the_line_of_a_budget_is_of_the_whole_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that a search compiles is small."""
    monkeypatch.setattr(wait, "slowness", lambda _: 1.0)
    said = list[tuple[float, float | None]]()
    wait.announce(lambda *told: said.append(told), ignored)
    with wait.counted_against(20.0):
        wait.begin(700)
        wait.begin()
    assert said == [(wait.MODEL_S / 2, 20.0)]


def test_the_line_of_a_budget_says_when_the_search_ends(capsys: pytest.CaptureFixture[str]) -> None:
    for takes_s, ends in ((120.0, "2 min"), (10.0, "40 s")):
        __main__._compiles(takes_s, 40.0)
        text = " ".join(capsys.readouterr().err.split())
        assert "about" in text
        assert "which count against the budget of 40 s" in text
        assert f"so it ends after about {ends}" in text


def test_who_has_a_budget_hears_that_it_is_spent_on_compiling() -> None:
    """Also who has heard of compiling before: what is compiled first need not be a part of the search."""
    said = list[float | None]()
    wait.announce(lambda _, budget_s: said.append(budget_s), ignored)
    for budget_s in (None, None, 20.0, None):
        with wait.counted_against(budget_s):
            wait.begin()
            wait.begin()
    assert said == [None, 20.0]


def test_a_budget_ends_with_the_search_that_had_it(tmp_path: Path) -> None:
    """Also where a trace cannot be read: what this process compiles later counts against nothing."""
    said, trace = list[float | None](), tmp_path / "no trace.hst"
    trace.write_bytes(b"no trace")
    wait.announce(lambda _, budget_s: said.append(budget_s), ignored)
    with pytest.raises(BadInput, match=r"no trace\.hst"):
        tune(trace, base=load("default"), name="tuned", asked=Asked(seconds=20.0))
    wait.begin()
    assert said == [None]


def test_who_waits_hears_each_minute_for_how_long() -> None:
    said, left = list[float](), iter((False, False, True))
    wait.announce(ignored, said.append)
    with wait.reported(lambda seconds: seconds != wait.AGAIN_S or next(left)):
        pass
    assert len(said) == 2
    assert 0 < said[0] < said[1]


@pytest.mark.thorough
def test_the_first_command_says_that_it_compiles_and_later_ones_do_not(tmp_path: Path, trace: Path) -> None:
    """On stderr, so that neither a table nor JSON has it; a command that reads no trace compiles nothing."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "a cache"), "NUMBA_CACHE_DIR": ""}
    errors = []
    for words in (["--version"], ["trace", "info", str(trace), "--json"], ["trace", "info", str(trace), "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "heapsmith", *words], check=True, env=environment, capture_output=True, text=True
        )
        errors.append([line for line in done.stderr.splitlines() if "compiling the model" in line])
        assert "compiling" not in done.stdout
    assert [len(one) for one in errors] == [0, 1, 0]


@pytest.mark.thorough
def test_commands_that_run_programs_do_without_numba(tmp_path: Path) -> None:
    """The kernels are then plain Python, which a line says, and a trace has the same figures."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['numba'] = sys.modules['llvmlite'] = None\n")
    plainly, trace = {"PYTHONPATH": str(tmp_path)}, tmp_path / "t.hst"
    recorded = process("record", "-o", trace, "--", "ls", "/usr", **plainly)
    assert (recorded.returncode, recorded.stdout) == (
        0,
        process("run", "default", "--", "ls", "/usr", **plainly).stdout,
    )
    plain, fast = process("trace", "info", trace, "--json", **plainly), process("trace", "info", trace, "--json")
    assert (plain.returncode, plain.stdout) == (0, fast.stdout)
    for done in (recorded, plain):
        assert [line for line in done.stderr.splitlines() if "numba" in line] == [
            "heapsmith: numba is not installed (pip install numba): "
            "the model runs as plain Python, some hundred times as slowly"
        ]
    assert "numba" not in fast.stderr
