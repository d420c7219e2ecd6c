"""Does a marked test count and show its subtests as one that is not marked?"""

import re
from pathlib import Path

import pytest
from test_marked import PLUGIN, pytest_in, written

SUBTESTS = """\
import unittest

import pytest

pytestmark = pytest.mark.heapsmith(max_peak="8M")

def test_failing(subtests):
    with subtests.test("first", number=1):
        print("printed by a subtest")
        assert [] == [1]

def test_passing(subtests):
    for number in range(3):
        with subtests.test(number=number):
            pass

def test_both(subtests):
    for number in range(4):
        with subtests.test(number=number):
            assert number % 2

def test_call_fails_too(subtests):
    with subtests.test():
        assert not "in the subtest"
    assert not "in the test"

def test_skipping(subtests):
    with subtests.test():
        pytest.skip("a subtest")
    with subtests.test():
        pytest.xfail("another")

@pytest.fixture
def around(subtests):
    with subtests.test("set up"):
        pass
    yield
    with subtests.test("torn down"):
        assert not "in the fixture"

def test_fixture(around):
    pass

class TestOld(unittest.TestCase):
    def test_failing(self):
        for number in range(3):
            with self.subTest("of unittest", number=number):
                self.assertEqual(number, 1)

    def test_passing(self):
        with self.subTest():
            pass

    def test_skipping(self):
        with self.subTest():
            self.skipTest("a subtest")
"""


def needs_subtests() -> None:
    pytest.importorskip("_pytest.subtests", reason="pytest has no subtests before version 9")


def shown(text: str) -> list[str]:
    """The summary of all outcomes, and how many there are of each, without times."""
    lines = re.findall(r"^(?:SUB\w+.*|PASSED.*|FAILED.*|XFAIL.*|=+ \d+ .* in )", text, re.MULTILINE)
    assert lines, text
    return sorted(line.strip("=") for line in lines)


@pytest.mark.thorough
@pytest.mark.parametrize("words", [("-rA",), ("-v", "-x"), ("-p", "xdist", "-n2")], ids=" ".join)
def test_subtests_are_those_without_the_plugin(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The outcomes that are shown, the exit status, and JUnit's cases with their texts."""
    needs_subtests()
    if "xdist" in words:
        pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    (tmp_path / "test_it.py").write_text(SUBTESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = heapsmith\n")
    plain = ("-p", "no:cacheprovider", *words, "--junit-xml=out.xml", "-o", "junit_family=xunit1")
    results = []
    for plugin in ((), PLUGIN):
        done = pytest_in(tmp_path, *plugin, *plain)
        assert "SUBFAILED" in done.stdout, done.stdout + done.stderr
        cases = re.sub(r"0x[0-9a-f]+", "0x", repr(sorted(written(tmp_path / "out.xml").items())))
        results.append((shown(done.stdout), done.returncode, cases))
    assert results[1] == results[0]
    assert results[0][1] == 1


LIMITS = """\
import pytest

@pytest.mark.heapsmith(max_peak="1M")
def test_peak(subtests):
    with subtests.test():
        bytearray(5_000_000)
    with subtests.test():
        pytest.skip("a subtest")

@pytest.mark.heapsmith(no_leaks="6K")  # the names of 20 subtests stay; their reports would exceed it
def test_leaks_nothing(subtests):
    for number in range(20):
        with subtests.test(number=number):
            pass

RUNS = []

@pytest.mark.heapsmith(no_leaks=True)
def test_again(subtests):
    with subtests.test():
        RUNS.append(1)
        assert len(RUNS) < 2
"""


@pytest.mark.thorough
def test_limits_hold_with_subtests(tmp_path: Path) -> None:
    """Only the test exceeds a limit, not each of its subtests, and the reports that pytest keeps are no leak."""
    needs_subtests()
    (tmp_path / "test_it.py").write_text(LIMITS)
    done = pytest_in(tmp_path, *PLUGIN, "-p", "no:cacheprovider")
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "heapsmith: the peak is" in done.stdout
    assert re.search("no_leaks runs the test . times, and it fails again", done.stdout)
    assert "SUBFAILED" not in done.stdout


COUNTS = """\
def pytest_runtest_call(item):
    item.session.testsfailed += 1
"""


@pytest.mark.thorough
def test_a_failure_that_no_report_tells_fails_the_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(COUNTS)
    test = 'import pytest\n\n@pytest.mark.heapsmith(max_peak="8M")\ndef test_it():\n    pass\n'
    (tmp_path / "test_it.py").write_text(test)
    done = pytest_in(tmp_path, *PLUGIN, "-p", "no:cacheprovider")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "heapsmith: pytest counts a failure of the test that no report tells" in done.stdout
