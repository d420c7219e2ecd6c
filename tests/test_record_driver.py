"""The recorder's driver: signals, stops, and what an earlier run left."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from heapsmith.model.trace.reader import verify
from heapsmith.tools.common.foreground import run_foreground
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.record.record import record


def test_a_signal_to_the_driver_goes_to_the_command(tmp_path: Path) -> None:
    """Ended by SIGTERM, the driver still converts what there is."""
    script = (
        "import sys, pathlib\nfrom heapsmith.tools.record.record import record\n"
        "print(record(['sh', '-c', 'echo ready; exec sleep 60'], pathlib.Path(sys.argv[1])).exit_status)"
    )
    out = tmp_path / "t.hst"
    with subprocess.Popen([sys.executable, "-c", script, str(out)], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "ready\n"
        driver.send_signal(signal.SIGTERM)
        assert driver.stdout.read() == f"{128 + signal.SIGTERM}\n"
    assert verify(out).events > 0


def test_an_interrupt_that_the_command_survives_is_told(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\nfrom heapsmith.tools.record.record import record\n"
        "told = record(['sh', '-c', 'echo ready; read line'], pathlib.Path(sys.argv[1]))\n"
        "print(told.exit_status, told.interrupted)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "t.hst")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "ready\n"
        driver.send_signal(signal.SIGINT)
        assert driver.communicate("\n")[0] == "0 True\n"


def test_traces_of_an_earlier_run_are_removed(tmp_path: Path) -> None:
    """But no other file, whatever its name."""
    kept = [tmp_path / name for name in ("t.old.hst", "t.1.hst", "t.3.12.hst", "other.1.0.hst", "t.77.0.hst")]
    for path in kept[:-1]:
        path.write_text("mine")
    first = record(["sh", "-c", "true | env"], tmp_path / "t.hst", stdout=subprocess.DEVNULL)
    beside = [Path(trace.path) for trace in first.traces[1:]]
    assert beside
    kept[-1].write_bytes(beside[0].read_bytes())  # a trace under another process's name
    again = record(["env"], tmp_path / "t.hst", stdout=subprocess.DEVNULL)
    assert len(again.traces) == 1
    assert not again.interrupted
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "t.hst", *kept])


def test_a_limit_ends_what_the_command_started(tmp_path: Path) -> None:
    """A child that goes on may hold a pipe or a port that the next run waits for."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        words = ["sh", "-c", "sleep 100 & wait"]
        assert run_foreground(Start(words, "/bin/sh"), stdout=held.stdin, limit_s=0.5).status == 128 + signal.SIGTERM
        assert held.communicate(timeout=300)[0] == b""  # it ends when nobody can write to it any more


def test_a_driver_that_was_stopped_waits_on(tmp_path: Path) -> None:
    """As a shell stops it (Ctrl-Z) and lets it go on."""
    script = (
        "import sys\nfrom heapsmith.tools.common.foreground import run_foreground\n"
        "from heapsmith.tools.common.program_start import Start\n"
        "print(run_foreground(Start(['sh', '-c', 'echo ready; read line; exit 7'], '/bin/sh', {})).status)"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as driver:
        assert driver.stdout.readline() == "ready\n"
        driver.send_signal(signal.SIGSTOP)
        time.sleep(1.1)
        driver.send_signal(signal.SIGCONT)
        assert driver.communicate("\n")[0] == "7\n"
