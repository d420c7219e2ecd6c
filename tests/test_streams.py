"""What the command line prints where not every character can be printed, and where nobody listens."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import PROGRAM, complaint, process

from heapsmith.model.files import cache_dir
from heapsmith.model.trace.reader import verify

ODD = b"\xff \xc3\xa9\x1b\n:$"
"""A name that is neither UTF-8 nor on one line."""


INFO = [b"trace", b"info"]
SIMULATE = [b"simulate", b"--design", b"bare"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("encoding", "command"),
    [
        ("ascii", INFO),
        pytest.param("utf-8", INFO, marks=pytest.mark.big),
        pytest.param("latin-1", INFO, marks=pytest.mark.big),
        pytest.param("ascii", SIMULATE, marks=pytest.mark.big),
    ],
)
def test_any_name_can_be_printed(trace: Path, tmp_path: Path, encoding: str, command: Sequence[bytes]) -> None:
    folder = os.fsencode(tmp_path) + b"/" + ODD
    os.mkdir(folder)
    odd = folder + b"/\xe9.hst"
    os.link(trace, odd)
    shown = process(*command, odd, PYTHONIOENCODING=encoding)
    assert (shown.returncode, shown.stderr) == (0, "")
    found = json.loads(process(*command, odd, "--json", PYTHONIOENCODING=encoding).stdout)
    assert os.fsencode(found.get("path") or found.get("trace")) == odd
    wrong = process("trace", "info", folder, PYTHONIOENCODING=encoding)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert wrong.stderr.startswith(f"heapsmith: {tmp_path}/\\udcff ")


@pytest.mark.big
def test_a_design_names_any_trace(trace: Path, tmp_path: Path) -> None:
    odd, tuned = os.fsencode(tmp_path) + b"/\xe9.hst", tmp_path / "tuned.toml"
    os.link(trace, odd)
    words = ("tune", odd, "-o", tuned, "--simulations", "3")
    own = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": str(cache_dir() / "numba")}
    assert process(*words, PYTHONIOENCODING="ascii", **own).returncode == 0
    assert list((tmp_path / "heapsmith" / "outcomes").iterdir())
    assert "Tuned for \\udce9.hst" in tuned.read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("closed", "lost"),
    [(">&-", 3), pytest.param("2>&-", 0, marks=pytest.mark.big), ("<&- >&- 2>&-", 3)],
)
def test_streams_that_are_closed(closed: str, lost: int, tmp_path: Path) -> None:
    """A result that is lost is an error; what a program says never lands in a file."""
    words = f"'{PROGRAM[0]}' -m heapsmith"
    done = subprocess.run(["sh", "-c", f"{words} designs {closed}"], capture_output=True, check=False)
    assert done.returncode == lost
    assert done.stderr == (b"heapsmith: standard output: it is closed\n" if lost and "2>" not in closed else b"")
    if closed == ">&-":
        return
    assert subprocess.run(["sh", "-c", f"{words} design show nosuch {closed}"], check=False).returncode == 2
    command = "sh -c 'echo said; echo more >&2'"
    plain = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, check=False)
    recorded = f"{words} record -o '{tmp_path}/t.hst' -- {command} {closed}"
    done = subprocess.run(["sh", "-c", recorded], capture_output=True, check=False)
    assert done.returncode == plain.returncode  # what record says goes to standard error
    assert (tmp_path / "t.hst").read_bytes().find(b"said\n") < 0


def test_output_that_is_full(trace: Path) -> None:
    """Both what fits in a buffer, which is written at the end, and what does not."""
    for words in (("trace", "info", trace), ("trace", "print", trace)):
        with open("/dev/full", "wb") as out:
            done = subprocess.run([*PROGRAM, *words], stdout=out, stderr=subprocess.PIPE, check=False)
        full = "heapsmith: standard output: No space left on device\n"
        assert (done.returncode, complaint(done.stderr.decode())) == (3, full)


def test_a_recorded_program_whose_reader_goes(tmp_path: Path) -> None:
    words = f"'{PROGRAM[0]}' -m heapsmith record -o '{tmp_path}/t.hst' -- yes | head -n 1"
    done = subprocess.run(["sh", "-c", words], capture_output=True, check=False)
    assert (done.stdout, done.stderr.count(b"\n")) == (b"y\n", 1)
    assert b"events of yes" in done.stderr
    assert verify(tmp_path / "t.hst").events > 0


def failing(trace: Path, error: str, limit: str) -> tuple[int, bytes, bytes]:
    """What `trace info` says where it raises an error, in a process with so much address space."""
    code = (
        "import resource, sys\nfrom heapsmith.__main__ import main\nfrom heapsmith.model.trace import stats\n"
        f"def refuse(*_, **__): raise {error}\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, resource.RLIM_INFINITY))\n"
        f"stats.trace_info = refuse\nsys.argv = ['heapsmith', 'trace', 'info', {str(trace)!r}]\nmain()"
    )
    done = subprocess.run([PROGRAM[0], "-c", code], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("MemoryError('Unable to allocate 8.00 GiB')", b"not enough memory: Unable to allocate 8.00 GiB"),
        ("OSError('Could not load libx.so. It may be elsewhere.')", b"Could not load libx.so"),
        ("OSError(12, 'Cannot allocate memory')", b"input or output: Cannot allocate memory"),
    ],
)
def test_memory_that_is_not_there_is_one_line(trace: Path, error: str, said: bytes) -> None:
    """With a limit on the address space, if there is one."""
    assert failing(trace, error, "resource.RLIM_INFINITY") == (3, b"", b"heapsmith: " + said + b"\n")
    limit = b"; this process may have 1.0 TiB of address space (ulimit -v), which may be too little\n"
    assert failing(trace, error, "1 << 40") == (3, b"", b"heapsmith: " + said + limit)
    other = failing(trace, "OSError(13, 'Permission denied')", "1 << 40")
    assert other == (3, b"", b"heapsmith: input or output: Permission denied\n")
