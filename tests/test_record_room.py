"""What a recording says of events that are in no trace: there was no room for them, or the command had ended."""

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from preloaded import program

from heapsmith.model.errors import BadInput, Missing
from heapsmith.tools.common.foreground import run_foreground
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.record import record as driver
from heapsmith.tools.record.record import build_recorder, record


@pytest.fixture
def file_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Limits the size of the files that this process and its children write; a full disk is no other case."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # what is cut short would stay in the cache of modules
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_room_at_all(tmp_path: Path, file_limit: Callable[[int], None]) -> None:
    build_recorder()
    for limit in (0, 4096):
        file_limit(limit)
        with pytest.raises(BadInput, match=f"t.hst: cannot write the trace: {tmp_path}: File too large"):
            record(["touch", str(tmp_path / "ran")], tmp_path / "t.hst")
    assert list(tmp_path.iterdir()) == []


def test_no_room_for_the_first_event(
    tmp_path: Path, file_limit: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that another program fills while the command starts."""

    def run(*arguments: Any, **options: Any) -> tuple[int, int]:
        file_limit(0)
        try:
            return run_foreground(*arguments, **options)
        finally:
            file_limit(resource.RLIM_INFINITY)

    monkeypatch.setattr(driver, "run_foreground", run)
    with pytest.raises(Missing, match=r"t\.hst: nothing was recorded: no room for events \(a full disk"):
        record(["true"], tmp_path / "t.hst")
    assert list(tmp_path.iterdir()) == []


def test_no_room_for_a_child(tmp_path: Path) -> None:
    result = record(["sh", "-c", "ulimit -f 0; exec true"], tmp_path / "t.hst")
    (trace,) = result.traces
    assert result.unwritten == [trace.pid]
    assert result.warnings() == [f"process {trace.pid} is in no trace: there was no room for its events"]


def test_a_process_that_outlives_the_command(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")  # nobody writes to it, so the process waits
    child = f"""sh -c 'echo $$ >"{tmp_path}/pid"; read line <"{tmp_path}/never"' >"{tmp_path}/said" 2>&1"""
    result = record(["sh", "-c", f'{child} & until [ -s "{tmp_path}/pid" ]; do sleep .01; done'], tmp_path / "t.hst")
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, signal.SIGKILL)
    assert [process.pid for process in result.running] == [pid]
    assert result.running[0].name == "sh"
    (warning,) = result.warnings()
    assert warning.startswith(f"process {pid} ({result.running[0].name}) went on after the command's end")
    assert pid in {trace.pid for trace in result.traces}
    assert record(["true"], tmp_path / "t.hst").warnings() == []


def test_a_program_that_may_open_no_file_says_so(tmp_path: Path) -> None:
    """It runs without the recorder, which opens its files as it needs them."""
    command = [str(program("rec_forbids_files"))]
    assert run_foreground(Start(command, command[0])).status == 0
    result = record(command, tmp_path / "t.hst")
    assert result.exit_status == 128 + signal.SIGSYS
    assert result.warnings() == [
        "the command ended by SIGSYS: a sandbox (seccomp) may forbid it to open files, as the recorder does"
    ]
