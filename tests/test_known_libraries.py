"""The library of a built-in design that is known by its name: without the model, and only while nothing has changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROGRAM

from heapsmith.codegen import known


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library that a cache of its own knows for `lean`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "liblean.so"
    file.touch()
    assert known.known("lean") is None
    assert known.remember("lean", file) == file
    assert known.known("lean") == file
    return file


def test_a_library_that_is_gone_is_not_known(library: Path) -> None:
    library.unlink()
    assert known.known("lean") is None


def test_sources_and_compiler_that_change_make_it_unknown(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = sorted(known._sources())
    assert len(sources) > 500
    with monkeypatch.context() as patch:
        patch.setattr(known, "_sources", lambda: iter([f"{sources[0]}1", *sources[1:]]))
        assert known.known("lean") is None
    assert known.known("lean") == library
    with monkeypatch.context() as patch:
        patch.setattr(known.shutil, "which", lambda name: sys.executable)
        assert known.known("lean") is None
    with monkeypatch.context() as patch:
        patch.setattr(known.shutil, "which", lambda name: None)
        assert known.known("lean") is None
    assert known.known("lean") == library


@pytest.mark.parametrize("name", ["nosuch", "my/lean.toml", "default"])
def test_files_and_other_names_are_not_known(library: Path, name: str) -> None:
    assert known.known(name) is None
    if name != "default":
        known.remember(name, library)
        assert known.known(name) is None


def test_a_cache_that_takes_nothing_costs_only_time(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    assert known.remember("lean", library) == library
    assert known.known("lean") is None


def test_a_second_run_loads_no_module_of_the_model() -> None:
    """And serves the program as the first: the library is in its maps."""
    for _ in range(2):
        words = [sys.executable, "-X", "importtime", *PROGRAM[1:], "run", "lean", "--", "cat", "/proc/self/maps"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ)
        assert "liblean.so" in done.stdout
    assert "heapsmith.codegen.known" in done.stderr
    assert [line for line in done.stderr.splitlines() if line.endswith(("numpy", "heapsmith.model.policy"))] == []
