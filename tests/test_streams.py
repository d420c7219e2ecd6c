"""What the command line prints where not every character can be printed, and where nobody listens."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM

ODD = b"\xff \xc3\xa9\x1b\n:$"
"""A name that is neither UTF-8 nor on one line."""


def heapsmith(*arguments: str | bytes | Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own, with these environment variables."""
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, check=False, env=os.environ | variables)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_name_can_be_printed(trace: Path, tmp_path: Path, encoding: str) -> None:
    folder = os.fsencode(tmp_path) + b"/" + ODD
    os.mkdir(folder)
    odd = folder + b"/\xe9.hst"
    os.link(trace, odd)
    for command in ([b"trace", b"info", odd], [b"trace", b"verify", odd], [b"simulate", odd, b"--design", b"bare"]):
        shown = heapsmith(*command, PYTHONIOENCODING=encoding)
        assert (shown.returncode, shown.stderr) == (0, b"")
        found = json.loads(heapsmith(*command, "--json", PYTHONIOENCODING=encoding).stdout)
        assert os.fsencode(found.get("path") or found.get("trace")) == odd
    tuned = folder + b"/tuned.toml"
    assert heapsmith("tune", odd, "-o", tuned, PYTHONIOENCODING=encoding).returncode == 0
    assert "Tuned for \\udce9.hst" in Path(os.fsdecode(tuned)).read_text(encoding="utf-8")
    wrong = heapsmith("trace", "info", folder, PYTHONIOENCODING=encoding)
    assert (wrong.returncode, wrong.stderr.count(b"\n")) == (2, 1)
    assert wrong.stderr.startswith(b"heapsmith: " + os.fsencode(tmp_path) + b"/\\udcff ")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(closed: str, tmp_path: Path) -> None:
    words = f"'{PROGRAM[0]}' -m heapsmith"
    assert subprocess.run(["sh", "-c", f"{words} designs {closed}"], check=False).returncode == 0
    assert subprocess.run(["sh", "-c", f"{words} design show nosuch {closed}"], check=False).returncode == 2
    command = f"{words} record -o '{tmp_path}/t.hst' -- sh -c 'echo said; echo more >&2' {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert done.returncode == 0
    assert (tmp_path / "t.hst").read_bytes().find(b"said\n") < 0


def test_memory_that_is_not_there_is_one_line(trace: Path) -> None:
    code = (
        "import sys\nfrom heapsmith import cli\nfrom heapsmith.model.trace import stats\n"
        "def refuse(*_, **__): raise MemoryError('Unable to allocate 8.00 GiB')\n"
        f"stats.trace_info = refuse\nsys.argv = ['heapsmith', 'trace', 'info', {str(trace)!r}]\ncli.main()"
    )
    done = subprocess.run([PROGRAM[0], "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == b"heapsmith: not enough memory: Unable to allocate 8.00 GiB\n"
