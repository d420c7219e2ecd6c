"""Processes that go on after the command's end, such as daemons: `run` and `record` name them, or wait for them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import process

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.compare.under import run_under
from heapsmith.tools.record.record import Processes, record

WORKS = """
#include <stdlib.h>
#include <unistd.h>
/* Makes 1,000 blocks once the file is there; ends after five minutes in any case. */
int main(int count, char **words)
{
    alarm(300);
    while (count > 1 && access(words[1], F_OK) != 0)
        usleep(1000);
    for (int i = 0; i < 1000; i++) {
        void *volatile block = malloc(100);
        free(block);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("daemons")
    (folder / "works.c").write_text(WORKS)
    return compile_c([folder / "works.c"], folder / "works", flags=["-O1", "-fno-builtin"])


def daemon(works: Path, folder: Path, then: str = "true") -> list[str]:
    """A command that starts it twice removed, in a session of its own, and then does something else."""
    start = f"(setsid '{works}' '{folder}/go' > /dev/null 2>&1 & echo $! > '{folder}/pid')"
    return ["sh", "-c", f"{start}; {then}"]


def test_run_names_what_goes_on(works: Path, tmp_path: Path) -> None:
    """setsid(1) may have yet to become the program."""
    told: list[str] = []
    try:
        assert run_under(library_of(load("default")), daemon(works, tmp_path), say=told.append) == 0
        pid = (tmp_path / "pid").read_text().strip()
        (line,) = told
        assert line in {
            f"{name} (pid {pid}) went on after the command's end, under libdefault.so; --wait waits for such processes"
            for name in ("works", "setsid", "sh")
        }
    finally:
        (tmp_path / "go").touch()


def test_run_names_nothing_that_has_ended(works: Path, tmp_path: Path) -> None:
    told: list[str] = []
    assert run_under(library_of(load("default")), [str(works)], say=told.append) == 0
    assert told == []


def test_run_does_not_name_what_goes_on_from_another_run(works: Path, tmp_path: Path) -> None:
    library = library_of(load("default"))
    environment = os.environ | {"LD_PRELOAD": preloadable(library)}
    try:
        subprocess.run(daemon(works, tmp_path, "sleep .1"), check=True, env=environment)
        told: list[str] = []
        assert run_under(library, ["true"], say=told.append) == 0
        assert told == []
    finally:
        (tmp_path / "go").touch()


def test_run_waits_and_its_status_is_the_commands(works: Path, tmp_path: Path) -> None:
    late = f"(sleep .3; touch '{tmp_path}/go') & exit 5"
    done = process("run", "--wait", "default", "--", *daemon(works, tmp_path, late))
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_daemon_is_recorded_to_its_end(works: Path, tmp_path: Path) -> None:
    late = f"(sleep .3; touch '{tmp_path}/go') &"
    found = record(daemon(works, tmp_path, late), tmp_path / "t.hst", processes=Processes(wait=True))
    assert (found.exit_status, found.running) == (0, [])
    of_daemon = [trace.events for trace in found.traces if Path(trace.program[0]).name == "works"]
    assert max(of_daemon) >= 2000


def test_a_command_that_is_waited_for_sees_that_its_daemon_is_gone(works: Path, tmp_path: Path) -> None:
    looks = f"touch '{tmp_path}/go'; while kill -0 $(cat '{tmp_path}/pid') 2>/dev/null; do sleep .01; done; echo gone"
    done = process("run", "--wait", "default", "--", *daemon(works, tmp_path, looks))
    assert (done.returncode, done.stdout, done.stderr) == (0, "gone\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait(number: signal.Signals, works: Path, tmp_path: Path) -> None:
    """SIGINT that alone: the daemon is in another session. SIGTERM is passed on to it."""
    words = [sys.executable, "-m", "heapsmith", "run", "--wait", "default", "--"]
    with subprocess.Popen([*words, *daemon(works, tmp_path, "echo $$")], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        command = Path("/proc") / run.stdout.readline().strip()
        while command.exists():
            time.sleep(0.01)
        run.send_signal(number)
        assert run.wait(100) == 0
    alive = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    (tmp_path / "go").touch()
    assert alive is (number is signal.SIGINT)


def test_the_system_takes_orphans_in_again(works: Path, tmp_path: Path) -> None:
    """This process is no longer what init is once the wait is over."""
    assert run_under(library_of(load("default")), ["true"], wait=True) == 0
    subprocess.run(daemon(works, tmp_path), check=True)
    pid = (tmp_path / "pid").read_text().strip()
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    (tmp_path / "go").touch()
    assert parent != os.getpid()
