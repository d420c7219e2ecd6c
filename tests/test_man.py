"""The manual pages: a page for each command, with all its options, and nothing that a formatter minds."""

import shutil
import subprocess
from pathlib import Path

import pytest
from test_cli import TABLE

from heapsmith.commands.man import pages, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All manual pages."""
    out = tmp_path_factory.mktemp("man")
    write(out)
    return out


def test_each_command_has_its_page() -> None:
    found = pages()
    assert found.keys() == {"heapsmith.1", *(f"heapsmith-{words.replace(' ', '-')}.1" for words in TABLE)}
    assert all(f".B {words}\n" in found["heapsmith.1"].replace("\\-", "-") for words in TABLE)
    simulate = found["heapsmith-simulate.1"]
    assert all(f"\n.B \\-\\-{option}" in simulate for option in ("design", "machine", "births", "cores", "at", "json"))
    assert "\n.B \\-h, \\-\\-help\n" in simulate
    assert "\nheapsmith simulate py.hst \\-\\-design default" in simulate


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="needs mandoc")
def test_mandoc_minds_nothing(folder: Path) -> None:
    """Pages have no date: they are equal whenever they are written."""
    command = ["mandoc", "-T", "lint", "-W", "warning", *map(str, folder.iterdir())]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert [line for line in said.splitlines() if 'missing date, using ""' not in line] == []


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
@pytest.mark.parametrize("name", ["heapsmith", "heapsmith-record", "heapsmith-simulate"])
def test_man_shows_the_page(folder: Path, name: str) -> None:
    command = ["man", "--warnings", "-E", "UTF-8", "-l", str(folder / f"{name}.1")]
    env = {"PATH": "/usr/bin:/bin", "MANPAGER": "cat"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "SYNOPSIS" in done.stdout
    assert "EXAMPLES" in done.stdout
