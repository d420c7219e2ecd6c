"""Does the marker of pytest hold a test's memory to its limits, and leave all other tests alone?"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapsmith.model.errors import CheckFailed
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.reader import Op, TraceWriter
from heapsmith.tools.ci.marked_test import Used, used
from heapsmith.tools.ci.pytest_reports import packed, unpacked

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ("-p", "heapsmith.pytest_plugin")
MARK = 1_500_001

TESTS = """\
import unittest

import pytest

KEPT = []

def grab(size):
    return bytearray(size)

@pytest.fixture(scope="module")
def shared():
    yield "shared"
    print("module is torn down")

def test_before(shared):
    assert shared

@pytest.mark.heapsmith(max_peak="1M", max_allocations=5000, no_leaks=True)
def test_fits(tmp_path, shared):
    (tmp_path / "a").write_text("text")
    grab(900_000)

@pytest.mark.heapsmith(max_peak="1M")
def test_peak():
    block = grab(5_000_000)
    del block

class TestOf:
    @pytest.mark.heapsmith(no_leaks=True)
    @pytest.mark.parametrize("size", [3000])
    def test_leak(self, size):
        KEPT.append(grab(size))

class TestOld(unittest.TestCase):
    def setUp(self):
        self.before = bytearray(5_000_000)

    @pytest.mark.heapsmith(max_peak="6M")
    def test_case(self):
        assert len(self.before) == 5_000_000

@pytest.mark.heapsmith(max_peak="1G")
def test_fails():
    print("printed by the child")
    assert KEPT == [1]

def test_after():
    assert not KEPT
"""


def pytest_in(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, with no plugins but those that are named."""
    settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables
    hidden = ("PYTEST_ADDOPTS", "PYTHONMALLOC", "CI", "PYTEST_XDIST_WORKER")
    outside = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=folder,
        env=outside | settings,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def trace_of_marks(path: Path, events: Sequence[tuple[Op, int, int]]) -> Path:
    """A trace of one thread of (operation, block, size)."""
    ops, blocks, sizes = zip(*events, strict=True)
    nothing = [0] * len(events)
    with TraceWriter(path, command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, nothing, blocks, sizes, nothing, range(len(events))))
    return path


def mark(block: int) -> list[tuple[Op, int, int]]:
    return [(Op.CALLOC, block, MARK), (Op.FREE, block, 0)]


def test_a_test_has_the_blocks_between_its_marks(tmp_path: Path) -> None:
    """By hand: what was born before is not the test's, but a realloc of it is; leaks are those of both later runs."""
    malloc, free = Op.MALLOC, Op.FREE
    before = [(malloc, 0, 100), (malloc, 1, 7)]
    first = [*mark(2), (malloc, 2, 50), (Op.REALLOC, 0, 300), (free, 1, 0), (free, 2, 0), (malloc, 1, 10), *mark(2)]
    second = [*mark(2), (malloc, 2, 70), (malloc, 3, 8), (free, 3, 0), *mark(3)]
    third = [*mark(3), (malloc, 3, 60), (malloc, 4, 5), (free, 0, 0), *mark(0), (free, 4, 0)]
    after = [(malloc, 4, 999), *mark(0), (malloc, 0, 5000)]
    trace = trace_of_marks(tmp_path / "a.hst", before + first + second + third + after)
    assert used(trace, MARK) == Used(allocations=3, peak_bytes=350, left=60)
    once = trace_of_marks(tmp_path / "b.hst", [*before, *first, *mark(2)])
    assert used(once, MARK) == Used(allocations=3, peak_bytes=350, left=0)
    with pytest.raises(CheckFailed, match="2 marks of the begin and end of a test; expected an odd number"):
        used(trace_of_marks(tmp_path / "c.hst", [*before, *first]), MARK)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a package")
    (folder / "test_it.py").write_text(TESTS)
    return folder


def judged(text: str) -> dict[str, str]:
    """Of each test in JUnit's XML what is wrong with it, or ""."""
    cases = ElementTree.fromstring(text).iter("testcase")
    return {case.get("name", ""): "".join(one.text or "" for one in case.iter("failure")) for case in cases}


def check_peak(text: str) -> None:
    assert re.search(r"heapsmith: the peak is 4\.8 MiB \(5,0\d\d,\d\d\d bytes\), max_peak 1\.0 MiB\n", text)
    assert re.search(r"4\.8 MiB  test_it\.py:8\n", text)
    assert re.search(r"4\.8 MiB +1 blocks  ", text)


def check_verdicts(found: dict[str, str], output: str) -> None:
    assert {name for name, text in found.items() if text} == {"test_peak", "test_leak[3000]", "test_fails"}
    check_peak(found["test_peak"])
    assert "that nothing frees, no_leaks with 256 bytes" in found["test_leak[3000]"]
    assert re.search(r" KiB  test_it\.py:8\n", found["test_leak[3000]"])
    assert "assert [] == [1]" in found["test_fails"]
    assert "printed by the child" in output


@pytest.mark.thorough
def test_marked_tests_keep_their_limits(package: Path) -> None:
    words = ("-p", "no:cacheprovider", "test_it.py", "--junit-xml=out.xml", "-rA", "-k", "not leak and not fails")
    done = pytest_in(package, *PLUGIN, *words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 4 passed" in done.stdout
    text = (package / "out.xml").read_text()
    check_peak(judged(text)["test_peak"])
    (fits,) = (case for case in ElementTree.fromstring(text).iter("testcase") if case.get("name") == "test_fits")
    figures = {one.get("name"): int(one.get("value", "")) for one in fits.iter("property")}
    assert 900_000 < figures["heapsmith_peak_bytes"] < 1 << 20
    assert 1 <= figures["heapsmith_allocations"] <= 5000
    assert done.stdout.count("module is torn down") == 1  # in this process; of the child only the call is shown


@pytest.mark.thorough
def test_marked_tests_under_xdist(package: Path) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    done = pytest_in(package, *PLUGIN, "-p", "xdist", "-n2", "--junit-xml=x.xml", "-rA", ".")
    assert "3 failed, 4 passed" in done.stdout, done.stdout + done.stderr
    check_verdicts(judged((package / "x.xml").read_text()), done.stdout)


OUTCOMES = """\
import unittest

import pytest

pytestmark = pytest.mark.heapsmith(max_peak="1M")

@pytest.fixture
def absent():
    pytest.skip("in a fixture")

def test_skip():
    pytest.skip("by itself")

@pytest.mark.skipif(True, reason="by a mark")
def test_skipif():
    pass

def test_import():
    pytest.importorskip("no_such_package")

def test_fixture(absent):
    pass

def test_raised():
    raise unittest.SkipTest("raised")

class TestOld(unittest.TestCase):
    def test_skip(self):
        self.skipTest("of unittest")

@pytest.mark.xfail(reason="known")
def test_xfail():
    assert [] == [1]

@pytest.mark.xfail(run=False, reason="never runs")
def test_not_run():
    pass

@pytest.mark.xfail(strict=True, reason="is over")
def test_strict():
    pass

def test_properties(record_property, tmp_path):
    record_property("path", tmp_path.parent.parent)
    record_property("object", pytest.fixture)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [0, 2])
def test_outcomes_are_those_without_the_plugin(tmp_path: Path, workers: int) -> None:
    """Those that are shown and written, with each place and reason."""
    if workers:
        pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    (tmp_path / "test_it.py").write_text(OUTCOMES)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = heapsmith\n")
    parallel = ("-p", "xdist", f"-n{workers}") if workers else ()
    plain = ("-p", "no:cacheprovider", "-W", "error", "-rsxXfE", "--junit-xml=out.xml", "-o", "junit_family=xunit1")
    without = pytest_in(tmp_path, *plain)
    expected = outcomes(without.stdout), written(tmp_path / "out.xml")
    done = pytest_in(tmp_path, *PLUGIN, *parallel, *plain)
    assert (outcomes(done.stdout), written(tmp_path / "out.xml")) == expected, done.stdout + done.stderr


def outcomes(text: str) -> list[str]:
    """The lines of the summary of skips and failures, and how many there are of each."""
    lines = [line for line in text.splitlines() if re.match("SKIPPED|XFAIL|XPASS|FAILED|ERROR", line)]
    assert len(lines) == 9, text
    (counts,) = re.findall(r"^=+ (.* failed, .*) in .*s", text, re.MULTILINE)
    return [*sorted(lines), counts]


def written(path: Path) -> dict[str, list[tuple[str, str | None, str | None]]]:
    """Of each case of JUnit's XML what it has: the tag, the reason and the text."""
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {
        f"{case.get('classname')}.{case.get('name')}": [
            (one.tag, one.get("message"), one.text) for one in case if one.tag != "properties"
        ]
        for case in cases
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_a_report_keeps_its_tuples(value: object) -> None:
    assert unpacked(packed(value)) == value
    assert unpacked(packed([value, Path("a"), {1: value}])) == [value, "a", {"1": value}]


ENDS = """\
import os
import signal

import pytest

pytestmark = pytest.mark.heapsmith(max_peak="1M")

def test_kill():
    os.kill(os.getpid(), signal.SIGKILL)

def test_abort():
    os.abort()

def test_exit():
    print("the last words", flush=True)
    os._exit(3)

def test_after():
    pass
"""


@pytest.mark.thorough
def test_a_process_that_ends_without_a_report_says_how(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(ENDS)
    done = pytest_in(tmp_path, *PLUGIN, "-s", "--junit-xml=out.xml")
    assert "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    found = judged((tmp_path / "out.xml").read_text())
    ends = {name: text.partition("\n")[0].removesuffix(":") for name, text in found.items() if text}
    left = "the process of test_it.py::{} left no report"
    assert ends == {
        "test_kill": f"heapsmith: killed by SIGKILL, perhaps for lack of memory; {left.format('test_kill')}",
        "test_abort": f"heapsmith: killed by SIGABRT; {left.format('test_abort')}",
        "test_exit": f"heapsmith: ended with status 3; {left.format('test_exit')}",
    }
    assert "the last words" in found["test_exit"]


WITHOUT = """\
import json, pathlib, sys

def pytest_sessionfinish(session):
    names = sorted(name for name, _ in session.config.pluginmanager.list_name_plugin() if "heapsmith" in name)
    modules = sorted(name for name in sys.modules if name.partition(".")[0] in ("heapsmith", "numpy", "numba"))
    pathlib.Path("found.json").write_text(json.dumps([names, modules]))
"""


def test_without_a_marked_test_nothing_is_imported(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(WITHOUT)
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    done = pytest_in(tmp_path, *PLUGIN, "--strict-markers")
    assert done.returncode == 0, done.stdout
    names, modules = json.loads((tmp_path / "found.json").read_text())
    assert names == ["heapsmith.pytest_plugin"]
    assert modules == ["heapsmith", "heapsmith.pytest_plugin"]


def test_pytest_finds_the_plugin_by_its_entry_point(tmp_path: Path) -> None:
    about = tmp_path / "heapsmith_again-1.dist-info"
    about.mkdir()
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    text = "".join(f"{name} = {where}\n" for name, where in points.items())
    (about / "entry_points.txt").write_text(f"[pytest11]\n{text}")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: heapsmith-again\nVersion: 1\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    for more in ((), PLUGIN):  # named again it is the same plugin
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *more, "--markers"],
            cwd=tmp_path,
            env=outside | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "@pytest.mark.heapsmith(max_peak=None" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("max_peak='10 apples'", "heapsmith(max_peak='10 apples'): expected bytes such as 4096, '10M', '1G'"),
        ("max_peak=True", "heapsmith(max_peak=True): expected bytes such as 4096, '10M', '1G'"),
        ("max_allocations='1K'", "heapsmith(max_allocations='1K'): expected max_peak='10M', max_allocations=1000"),
        ("max_memory='1K'", "heapsmith(max_memory='1K'): expected max_peak='10M', max_allocations=1000"),
        ("", "heapsmith(): expected max_peak='10M', max_allocations=1000 or no_leaks=True"),
    ],
)
def test_a_marker_that_says_nothing_is_an_error(tmp_path: Path, marker: str, said: str) -> None:
    test = f"import pytest\n\n@pytest.mark.heapsmith({marker})\ndef test_it():\n    pass\n"
    (tmp_path / "test_it.py").write_text(test)
    done = pytest_in(tmp_path, *PLUGIN)
    assert done.returncode == 4
    assert f"test_it.py::test_it: {said}" in done.stdout + done.stderr


CONFTEST = """\
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.heapsmith(max_peak="300K", no_leaks=True))
"""


@pytest.mark.thorough
def test_a_package_of_others(tmp_path: Path) -> None:
    """Tests of toolz as they stand: those that need little pass; one that is planted among them fails."""
    toolz = pytest.importorskip("toolz", reason="toolz is not installed")
    source = Path(toolz.__file__).parent / "tests" / "test_itertoolz.py"
    if not source.exists():
        pytest.skip("toolz has no tests here")
    shutil.copy(source, tmp_path)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    planted = "\n\ndef test_planted():\n    list(sliding_window(2, range(9000)))\n"
    (tmp_path / source.name).write_text(source.read_text() + planted)
    done = pytest_in(tmp_path, *PLUGIN, "-k", "test_groupby or test_sliding_window or planted", "-q")
    assert "failed" in done.stdout, done.stdout + done.stderr
    failed = re.findall(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE)
    assert failed == ["test_planted"], done.stdout
    assert re.search(r"[1-9] passed", done.stdout)
    assert re.search(rf" [KM]iB  {source.name}:\d+\n", done.stdout)
