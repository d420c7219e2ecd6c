"""The quick tests: which are chosen, and that one which compiles fails."""

import shutil
import subprocess
import sys
from pathlib import Path

CASES = {
    "test_chosen.py": """
import subprocess
import sys
import pytest

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def early():
    subprocess.run(["/usr/bin/clang-14", "--version"])


def test_plain():
    pass


@pytest.mark.parametrize("compiled", [False, True])
def test_both(compiled):
    assert not compiled


@pytest.mark.slow
def test_slow():
    raise AssertionError


@pytest.mark.big
def test_big():
    raise AssertionError


def test_of_gcc():
    subprocess.run(["gcc", "--version"])


def test_of_a_fixture(early):
    pass


def test_of_python():
    subprocess.run([sys.executable, "--version"])


def test_of_the_model():
    from heapsmith.model.compile.cache import import_numba

    import_numba()


def test_of_make():
    subprocess.run(["true"], check=True)
""",
    "test_other.py": "raise RuntimeError('is imported')\n",
}


def run(folder: Path, *arguments: str) -> str:
    for name, text in CASES.items():
        (folder / name).write_text(text)
    here = Path(__file__).parent
    for name in ("conftest.py", "quick.py"):
        shutil.copy(here / name, folder)
    shutil.copy(here.parent / "pyproject.toml", folder)  # the marks
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--tb=line", "--rootdir", str(folder)]
    done = subprocess.run([*words, *arguments, "."], cwd=folder, check=False, capture_output=True, text=True)
    return done.stdout


def outcomes(text: str) -> list[str]:
    lines = [line.partition(" - ")[0].replace("test_chosen.py::", "") for line in text.splitlines()]
    return sorted(line for line in lines if line.startswith(("PASSED", "FAILED", "ERROR ")))


def test_a_quick_test_compiles_nothing(tmp_path: Path) -> None:
    found = outcomes(run(tmp_path, "-m", "quick"))
    assert found == [
        "ERROR test_of_a_fixture",
        "FAILED test_of_gcc",
        "FAILED test_of_python",
        "FAILED test_of_the_model",
        "PASSED test_both[False]",
        "PASSED test_of_make",
        "PASSED test_plain",
    ]


def test_it_is_held_to_that_beside_all_others(tmp_path: Path) -> None:
    found = run(tmp_path, "--continue-on-collection-errors")
    assert "FAILED test_of_gcc" in outcomes(found)
    assert "test_of_gcc is quick, and starts gcc: mark it slow" in found
    assert "FAILED test_slow" in outcomes(found)
    assert "RuntimeError: is imported" in found
