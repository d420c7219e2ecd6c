"""`heapsmith top`: what is read from outside a process is what its library says; the view leaves a terminal clean."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, Answer
from covering import soon
from loaded import unchecked_library
from preloaded import BUILT_IN, program

from heapsmith.model.constants import BENCHFAST
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.top.screen import UNCOUNTED
from heapsmith.tools.top.watch import Sight, Watch

Call = Callable[..., Answer]
THREADS = 3
HOME = "\x1b[H"
"""Begins each picture on a terminal."""
SIZE = 4096
"""The class of blocks of 4,000 bytes in the designs here."""


class Stepped:
    """run_top under a library, in its steps; what it says behind each: bytes in use, blocks of 4,000 bytes."""

    def __init__(
        self, command: list[str], report: Path | None = None, preload: Path | None = None, options: str = ""
    ) -> None:
        environment = BENCHFAST | {"PYTHONMALLOC": os.environ.get("PYTHONMALLOC", "default")}
        if report is not None:
            environment["HEAPSMITH"] = f"stats={report},stats-on=USR1{options}"
        if preload is not None:
            environment["LD_PRELOAD"] = preloadable(preload)
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.pid = self.process.pid
        self.report = report
        self.said = self.line()

    def line(self) -> tuple[int, int]:
        assert self.process.stdout is not None
        used, large = map(int, self.process.stdout.readline().split())
        return used, large

    def step(self, step: str) -> tuple[int, int]:
        assert self.process.stdin is not None
        self.process.stdin.write(step)
        self.process.stdin.flush()
        self.said = self.line()
        return self.said

    def reported(self) -> dict[str, Any]:
        """The library's own report of now."""
        assert self.report is not None
        self.report.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + 300
        while not self.report.exists() and time.monotonic() < end:
            time.sleep(0.005)
        found: dict[str, Any] = json.loads(self.report.read_text())
        return found


@contextmanager
def stepped(name: str | None, folder: Path, options: str = "") -> Iterator[Stepped]:
    """run_top under the release library of a design, or under none. options: more of them, each behind a comma."""
    library = unchecked_library(load(name)) if name else None
    run = Stepped([str(program("run_top")), str(THREADS)], folder / "r.json", library, options)
    with run.process:
        yield run
        assert run.process.stdin is not None
        with suppress(BrokenPipeError):
            run.process.stdin.close()


def only(watch: Watch) -> Sight:
    (found,) = watch.look()
    return found


@pytest.mark.parametrize("name", soon(BUILT_IN, ("default", "counting"), ("owner", "hardened")))
def test_the_library_says_the_same(name: str, tmp_path: Path) -> None:
    with stepped(name, tmp_path) as run:
        watch = Watch(run.pid)
        assert only(watch).rates is None
        for _ in range(2):
            run.step("w")
            now, said = only(watch), run.reported()
            assert now.counters == said["counters"]
            assert now.system == said.get("system", {})
            assert now.locks == said.get("locks", {})
            fields = [{"size": row.size, "usable": row.usable} | row.counters for row in now.classes]
            assert fields == said["classes"]
            assert now.design == said["design"]
            assert now.heaps == said["counters"]["heaps"]
            assert now.bytes.small + now.bytes.runs == run.said[0]
            assert sum(getattr(now.bytes, item) for item in now.bytes.__struct_fields__[1:]) == now.bytes.committed
            assert now.threads == (1 + THREADS if name != "background" else 2 + THREADS)
        assert (now.rates is not None and "allocations" in now.rates) == now.counts_hits


def test_blocks_of_a_class_and_rates(tmp_path: Path) -> None:
    with stepped("counting", tmp_path) as run:
        watch = Watch(run.pid)
        before = only(watch)
        run.step("k")
        now = only(watch)
        assert now.elapsed_s is not None
        assert now.rates is not None
        rows = [next(row for row in sight.classes if row.size == SIZE) for sight in (before, now)]
        assert rows[1].live_blocks - rows[0].live_blocks == 50
        assert rows[1].rates is not None
        served = sum(rows[1].rates[name] for name in ("hit0", "hit1", "refill"))
        assert served * now.elapsed_s == pytest.approx(50)
        assert now.rates["allocations"] * now.elapsed_s == pytest.approx(50)
        assert now.rates["frees"] == 0
        into_fronts = rows[1].rates["refilled"] * now.elapsed_s - served * now.elapsed_s
        assert rows[1].front_blocks - rows[0].front_blocks == pytest.approx(into_fronts)


PYTHON = """
import os, sys, threading, time
def work():
    global kept
    kept = [bytearray(size) for _ in range(5) for size in range(1, 50000, 50)]
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
while len(os.listdir("/proc/self/task")) > 1: # join returns before a thread has given back its heap
    time.sleep(0.001)
print(0, 0, flush=True)
sys.stdin.read()
"""


@pytest.mark.thorough
def test_a_python_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    run = Stepped(["/usr/bin/python3", "-c", PYTHON], tmp_path / "r.json", unchecked_library(load("counting")))
    with run.process:
        now, said = only(Watch(run.pid)), run.reported()
        assert (now.counters, now.system, now.locks) == (said["counters"], said["system"], said["locks"])
        assert [row.counters["hit0"] for row in now.classes] == [row["hit0"] for row in said["classes"]]
        assert now.heaps - now.idle_heaps == 1  # the main thread's
        run.process.kill()


@pytest.mark.thorough
def test_looks_at_busy_threads(tmp_path: Path) -> None:
    """Counters never fall, blocks are never fewer than none, and the process is alive and well."""
    with stepped("default", tmp_path) as run:
        assert run.process.stdin is not None
        watch = Watch(run.pid)
        run.process.stdin.write("w" * 50)
        run.process.stdin.flush()
        before = only(watch)
        for _ in range(50):
            now = only(watch)
            assert now.rates is not None
            assert all(now.counters[name] >= count for name, count in before.counters.items() if name != "committed")
            assert all(row.live_blocks >= 0 <= row.front_blocks for row in now.classes)
            before = now
        for _ in range(50):
            used, _ = run.line()
        now = only(watch)
        assert now.bytes.small + now.bytes.runs == used


def test_processes_of_a_family_and_a_new_program(tmp_path: Path) -> None:
    with stepped("default", tmp_path) as run:
        watch = Watch(run.pid)
        run.step("k")
        assert len(watch.look()) == 1
        assert run.step("f")[1] == 57  # the child's line
        first, child = watch.look()
        assert (first.pid, first.rates is None, child.rates) == (run.pid, False, None)
        live = [next(row.live_blocks for row in one.classes if row.size == SIZE) for one in (first, child)]
        assert live[1] - live[0] == 7
        os.kill(child.pid, signal.SIGKILL)
        while len(found := watch.look()) > 1:
            time.sleep(0.01)
        assert found[0].rates is not None
        assert run.step("x")[1] == 0
        anew = only(watch)
        assert (anew.pid, anew.rates) == (run.pid, None)
        assert anew.bytes.small + anew.bytes.runs == run.said[0]
        run.process.kill()
        run.process.wait()
        assert watch.look() == []
        assert not watch.lives()


def test_one_look_for_scripts(call: Call, tmp_path: Path) -> None:
    with stepped("default", tmp_path) as run:
        run.step("k")
        answer = call("top", run.pid, "--once", "--json", "--interval", "0.05s")
        assert (answer.status, answer.err) == (0, "")
        (found,) = json.loads(answer.out)
        assert found["counters"] == run.reported()["counters"]
        assert found["elapsed_s"] >= 0.05
        assert set(found["rates"].values()) == {0}
        shown = call("top", run.pid, "--once", "--interval", "0.05s").out
        assert UNCOUNTED in shown
        assert re.search(rf"^ *{SIZE}  +[0-9.]+ KiB  +50 ", shown, re.MULTILINE)
        assert f"{run.pid}  {program('run_top')} {THREADS}" in shown


def test_who_cannot_be_shown_is_one_line(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stepped(None, tmp_path) as run:
        answer = call("top", run.pid)
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert f"process {run.pid} runs under no heapsmith library" in answer.err
        run.process.kill()
        run.process.wait()
        assert call("top", run.pid).err == f"heapsmith: {run.pid}: no such process\n"
    assert call("top", os.getpid(), "--lib", "default").status == 2
    answer = call("top", "--lib", "default", "--", "/sbin/ldconfig", "-p")
    assert answer.status == 2
    assert "ldconfig: statically linked" in answer.err
    answer = call("top", "--", "true")
    assert (answer.status, answer.out) == (2, "")
    assert "true ran under no heapsmith library" in answer.err
    assert call("top", "1", "--interval", "never").status == 2


def test_a_command_that_ends_before_the_first_look(call: Call) -> None:
    """Its library was preloaded by this command: the status is its own."""
    answer = call("top", "--once", "--lib", "default", "--", "sh", "-c", "kill -9 $$")
    assert (answer.status, answer.out) == (137, "")
    assert answer.err == "heapsmith: sh ended with status 137 before the first look\n"
    assert call("top", "--lib", "glibc", "--", "true").status == 2


def test_a_process_of_another_user(call: Call, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        answer = call("top", "1")
    else:
        with stepped("default", tmp_path) as run:
            os.seteuid(65534)
            try:
                answer = call("top", run.pid)
            finally:
                os.seteuid(0)
    assert (answer.status, answer.out, answer.err.count("\n")) == (3, "", 1)
    assert "ptrace_scope" in answer.err
    assert "CAP_SYS_PTRACE" in answer.err


def after_looks(monkeypatch: pytest.MonkeyPatch, tell: Callable[[Sight], object]) -> None:
    """Call after each look of a view, for each process that it saw before too: what it prints."""
    look = Watch.look

    def told(watch: Watch) -> list[Sight]:
        found = look(watch)
        for one in found:
            if one.rates is not None:
                tell(one)
        return found

    monkeypatch.setattr(Watch, "look", told)


def test_it_ends_with_the_process(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"LD_PRELOAD": preloadable(unchecked_library(load("default")))}
    with subprocess.Popen(["cat"], env=environment, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        while not Watch(process.pid).look():
            time.sleep(0.01)
        after_looks(monkeypatch, lambda _: process.stdin.close())
        answer = call("top", process.pid, "--json", "--interval", "0.1s")
    assert (answer.status, answer.err) == (0, "")
    assert {one["pid"] for line in answer.out.splitlines() for one in json.loads(line)} == {process.pid}


def test_a_look_is_printed_once(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where the process has begun a program without a library."""
    after_looks(monkeypatch, lambda _: (tmp_path / "seen").touch())
    waits = f"until [ -e '{tmp_path}/seen' ]; do sleep 0.01; done"
    words = ["sh", "-c", f"{waits}; exec env -u LD_PRELOAD sleep 0.5"]
    answer = call("top", "--lib", unchecked_library(load("default")), "--json", "--interval", "0.1s", "--", *words)
    lines = answer.out.splitlines()
    assert lines
    assert len(set(lines)) == len(lines)


def test_a_command_of_its_own(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is the command's; each line but the last is a look at what lives then."""

    def end(one: Sight) -> None:
        if one.command[0] == "sleep":
            with suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGTERM)

    after_looks(monkeypatch, end)
    words = ["sh", "-c", "sleep 600; exit 7"]
    answer = call("top", "--lib", unchecked_library(load("default")), "--json", "--interval", "0.05s", "--", *words)
    assert answer.status == 7
    looks = [json.loads(line) for line in answer.out.splitlines()]
    assert {tuple(one["command"]) for look in looks for one in look} >= {tuple(words), ("sleep", "600")}
    assert all(one["design"].startswith("default ") for look in looks for one in look)


SIZES = ("COLUMNS", "LINES")
"""Variables of the environment that override the size of a terminal; the workers of xdist have them."""


class Terminal:
    """A command in a terminal of its own, and what it wrote to it."""

    def __init__(self, *words: object) -> None:
        self.leader, follower = pty.openpty()
        self.resize(30, 100, follower)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *PROGRAM, *map(str, words)],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={name: value for name, value in os.environ.items() if name not in SIZES} | {"TERM": "xterm"},
        )
        os.close(follower)
        self.text = ""

    def resize(self, rows: int, columns: int, file: int | None = None) -> None:
        fcntl.ioctl(self.leader if file is None else file, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def until(self, done: Callable[[str], bool]) -> str:
        """What is written from now until that is true of it, or the command ends."""
        self.text, end = "", time.monotonic() + 300
        while not done(self.text) and time.monotonic() < end:
            if select.select([self.leader], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.leader, 1 << 16).decode()
                except OSError:  # closed by the command's end
                    break
        return self.text

    def keys(self, text: str) -> None:
        os.write(self.leader, text.encode())


@pytest.mark.thorough
def test_the_view_fits_its_terminal_and_leaves_it_clean(tmp_path: Path) -> None:
    with stepped("default", tmp_path) as run:
        terminal = Terminal("top", run.pid, "--interval", "0.1s")
        assert "\x1b[?1049h" in terminal.until(lambda text: "blocks refilled" in text)  # the other screen
        terminal.resize(12, 60)
        terminal.until(lambda text: text.count(HOME) > 20 and text.split(HOME)[-2].count("\n") == 11)
        frame = terminal.text.split(HOME)[-2]
        assert all(len(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line)) <= 60 for line in frame.split("\r\n"))
        terminal.keys("\x03")
        last = terminal.until(lambda _: False)
        assert "\x1b[?1049l" in last
        assert "\x1b[?25h" in last  # the cursor is back
        assert "Traceback" not in last
        assert terminal.process.wait() == 0
        os.close(terminal.leader)
        assert run.step("k")[1] == 50  # the process goes on
