"""The child process of a marked test by itself: what it leaves behind when it dies, and what it keeps of each run."""

import gc
import json
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_marked import PLUGIN, pytest_in
from test_marked_subtests import needs_subtests

from heapsmith.tools.ci import pytest_child
from heapsmith.tools.ci.pytest_child import forget_names
from heapsmith.tools.ci.pytest_parent import CHILD, _end

DIES = """\
import os, signal, sys
import pytest

@pytest.fixture
def before():
    print("in the fixture")
    print("error of the fixture", file=sys.stderr)

def test_it(before):
    print("said before")
    print("an error", file=sys.stderr)
    os.write(1, b"of C\\n")
    os.kill(os.getpid(), signal.SIGKILL)
"""
KEEPS = """\
import pytest

def test_many(subtests, record_property):
    print("x" * 1000)
    record_property("a", 1)
    for number in range(50):
        with subtests.test(number=number):
            pass
"""
AT_THE_END = """\
import json

def pytest_unconfigure(config):
    config.invocation_params.dir.joinpath("kept").write_text(json.dumps(LENGTHS))

LENGTHS = []

def pytest_runtest_setup(item):
    terminal = item.config.pluginmanager.get_plugin("terminalreporter")
    LENGTHS.append([len(terminal._tw._current_line), len(item._report_sections), len(item.user_properties)])
"""


def child(folder: Path, runs: int, *words: str, **environment: str) -> int:
    """The status of a child that runs the test in a folder some times, and leaves its files there."""
    asked = {"folder": str(folder), "runs": runs, "mark": 1 << 20, "root": str(folder)}
    return pytest_in(folder, *PLUGIN, *words, "test_it.py", **{CHILD: json.dumps(asked)}, **environment).returncode


def test_a_child_that_dies_leaves_what_it_printed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(DIES)
    (tmp_path / "output").write_text("of the terminal\n")
    assert child(tmp_path, 1) == -signal.SIGKILL
    item: Any = SimpleNamespace(nodeid="test_it.py::test_it")
    said = _end(item, 128 + signal.SIGKILL, tmp_path)
    for text in (
        "left no report:\nof the terminal\n",
        "captured stdout of setup:\nin the fixture\n",
        "captured stderr of setup:\nerror of the fixture\n",
        "captured stdout:\nsaid before\nof C\n",
        "captured stderr:\nan error",
    ):
        assert text in said
    assert said.count("in the fixture") == 1


def test_pytest_keeps_nothing_of_each_run(tmp_path: Path) -> None:
    """A letter for each subtest in the line of its terminal, what the test printed, and its properties."""
    needs_subtests()
    (tmp_path / "test_it.py").write_text(KEEPS)
    (tmp_path / "conftest.py").write_text(AT_THE_END)
    assert child(tmp_path, 3, "-q") in (0, 5)
    line, *others = json.loads((tmp_path / "kept").read_text())
    assert others == [[0, 0, 0]] * 2, line


@pytest.mark.parametrize("how", ["-s", "--capture=sys"])
def test_a_child_without_files_of_output_runs(tmp_path: Path, how: str) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    print('said')\n")
    assert child(tmp_path, 1, how) in (0, 5)
    assert (tmp_path / "answer.json").exists()


def test_letters_that_the_locale_lacks_are_kept(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    print('caf\\u00e9 \\u20ac')\n")
    assert child(tmp_path, 1, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") in (0, 5)
    item: Any = SimpleNamespace(nodeid="test_it.py::test_it")
    assert "caf\u00e9 \u20ac" in _end(item, 1, tmp_path)


def test_names_of_attributes_are_no_leak() -> None:
    """The interpreter keeps each that is looked up, though it is made anew and nothing else has it."""
    gc.collect()  # what other tests left goes now, and not between the counts
    forget_names()
    before = sys.getallocatedblocks()
    names = [f"no_such_{number}" for number in range(3000)]
    held = [getattr(Path, name, None) for name in names]
    del names, held
    kept = sys.getallocatedblocks() - before
    forget_names()
    assert kept > 100
    assert sys.getallocatedblocks() - before < 100


def test_names_go_before_the_end_of_the_runs_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[str]()
    monkeypatch.setattr(pytest_child, "keep_captured", lambda *_: done.append("kept"))
    monkeypatch.setattr(pytest_child, "forget_names", lambda: done.append("forgotten"))
    one = pytest_child.Child(tmp_path, 1)
    monkeypatch.setattr(one, "finish", lambda: done.append("marked"))
    monkeypatch.setattr(one, "_reports", lambda *_: [])
    item: Any = SimpleNamespace(config=SimpleNamespace(hook=SimpleNamespace(pytest_report_to_serializable=None)))
    assert one.pytest_runtest_protocol(item)
    assert done == ["kept", "forgotten", "marked"]
