"""Tests of packages that `make dev` leaves out: without them they are skipped, with the reason."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import packages
import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))


def test_what_is_left_out() -> None:
    assert {
        "pyarrow",
        "lz4",
        "distributed",
        "polars",
        "sphinx",
        "playwright",
        "memray",
        "plotly",
    } <= packages.left_out()
    assert not {"numpy", "numba", "pytest", "hypothesis", "heapsmith"} & packages.left_out()


@pytest.mark.thorough
def test_no_file_of_tests_needs_them_to_be_read() -> None:
    """A file asks by `pytest.importorskip`, which says why it is skipped."""
    asked = 0
    for path in FILES:
        tree = ast.parse(path.read_text())
        names = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
        asked += "importorskip(" in path.read_text()
        found = {name for name in names for one in packages.left_out() if f"{name}.".startswith(f"{one}.")}
        assert found == set(), f"{path}: pytest.importorskip"
    assert asked > 8


@pytest.mark.big
def test_without_them_nothing_fails() -> None:
    """All files of tests that name one of them, with what they import of other files of tests."""
    word = re.compile(rf"\b({'|'.join(packages.left_out())}|import_records|import_samples|sweeps)\b")
    files = [str(path) for path in FILES if path.name.startswith("test_") and word.search(path.read_text())]
    assert len(files) > 15
    words = [sys.executable, "-m", "pytest", "-q", "-p", "packages", "--tb=line", *files]
    environment = {"PYTHONPATH": str(TESTS), "CI": "false"}
    done = subprocess.run(
        words, cwd=TESTS.parent, env={**os.environ, **environment}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]
