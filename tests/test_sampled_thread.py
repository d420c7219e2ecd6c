"""Samples of a running process switched on for one of its threads or for all, and off: from outside, and by itself."""

import errno
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from conftest import Answer
from preloaded import library, program, shim

from heapsmith.commands import sampled
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.process_memory import ProcessMemory
from heapsmith.tools.sampled.process import of_process, of_thread, required_place
from heapsmith.tools.sampled.profile import compared, profile
from heapsmith.tools.sampled.switch import switched
from heapsmith.tools.top.view import serving

Call = Callable[..., Answer]

MEAN = 10_000
BYTES = sum(3000 if block % 16 == 0 else 100 for block in range(20_000))
"""What a step of tests/programs/sampled_threads.c leaves live, by each thread; it asks for twice as much."""
DESIGNS = ["sampling-ready", "sampled"]


class Threads(NamedTuple):
    """The program where it waits for a line, and the numbers of its two threads."""

    process: "subprocess.Popen[str]"
    numbers: list[int]

    def say(self, line: str) -> int:
        self.process.stdin.write(f"{line}\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return int(self.process.stdout.readline())  # type: ignore[union-attr]

    def new_samples(self) -> set[int]:
        """The threads of the samples that a step takes."""
        before = of_process(self.process.pid)
        assert self.say("a") == 0
        after = of_process(self.process.pid).samples
        return set(after["thread"][after["number"] > before.taken].tolist())


@contextmanager
def waiting(design: str | None, more: str = "") -> Iterator[Threads]:
    """Without samples, until somebody asks for them; more: words of HEAPSMITH."""
    options = f"sample=0{more}"
    added = {"LD_PRELOAD": preloadable(library(design, checked=False)), "HEAPSMITH": options} if design else {}
    words, pipes = [str(program("sampled_threads", "-g"))], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env=os.environ | added, **pipes) as process:  # type: ignore[call-overload]
        yield Threads(process, [int(word) for word in process.stdout.readline().split()])
        process.stdin.close()
        assert process.wait(60) == 0


def led(pid: int) -> list[tuple[bool, bool]]:
    """Of each heap, whether its rows lead malloc to its slow path, and whether stacks of it are parked."""
    with ProcessMemory(pid) as memory:
        view = serving(memory)
        assert view is not None
        at, found = view.at, []
        for heap in view.heaps(memory):
            rows = memory.read(heap + at["heap.row_of"], at["DIRECT_LIMIT"] + 1)
            assert 0 in (rows.count(0), len(rows) - rows.count(0))
            found.append((rows[0] == 0, any(memory.read(heap + at["heap.parked"], 8 * at["CLASS_COUNT"]))))
        return found


@pytest.mark.parametrize("design", DESIGNS)
def test_one_thread_is_sampled_and_then_none(design: str) -> None:
    """Its requests above the direct limit are not counted before its first slow path, and intervals miss 5 of 100."""
    with waiting(design) as at:
        pid, (one, other) = at.process.pid, at.numbers
        assert at.new_samples() == set()
        with switched(pid, MEAN, other):
            first = of_process(pid)
            assert at.new_samples() == {other}
            assert at.new_samples() == {other}
            last = of_process(pid)
        assert at.new_samples() == set()
        with switched(pid, MEAN, one):
            assert at.new_samples() == {one}
        assert at.new_samples() == set()
    found = profile(compared(last, first, "site", 1))
    by = {row.name.partition(" ")[0]: row for row in found.rows}
    assert set(by) == {"made_by_second"}
    row = by["made_by_second"]
    for estimate, true in ((row.growth_bytes, 2 * BYTES), (row.allocated_bytes, 4 * BYTES)):
        assert estimate is not None
        assert 0.5 * true < estimate.low < true
        assert 0.9 * true < estimate.high
    assert len(of_thread(last, one).samples) == 0
    assert len(of_thread(last, other).samples) == len(last.samples) > 100


def test_the_other_threads_take_their_hit_paths() -> None:
    """The main thread asks for nothing meanwhile: its rows wait for its next request."""
    with waiting("sampling-ready") as at:
        at.say("a")
        assert led(at.process.pid) == 3 * [(False, False)]
        with switched(at.process.pid, MEAN, at.numbers[1]):
            assert {rows for rows, _ in led(at.process.pid)} == {True}
            at.say("a")
            at.say("a")
            found = led(at.process.pid)
            assert sorted(found) == [(False, False), (True, False), (True, True)]
        at.say("a")
        at.say("a")
        found = led(at.process.pid)
    assert sorted(found) == [(False, False), (False, False), (True, False)]


@pytest.mark.parametrize("design", DESIGNS)
def test_a_program_switches_its_own_samples(design: str) -> None:
    with waiting(design) as at:
        both = set(at.numbers)
        assert [(at.say(line), at.new_samples()) for line in "1-02-"] == [
            *((0, {at.numbers[0]}), (0, set()), (0, both)),
            *((0, {at.numbers[1]}), (0, set())),
        ]
        assert at.say("x") == errno.ESRCH


def mean_of(pid: int) -> int:
    with ProcessMemory(pid) as memory:
        return memory.word(required_place(pid, memory).at["sample_mean"])


@pytest.mark.parametrize("design", DESIGNS)
def test_a_signal_switches_samples(design: str) -> None:
    """On and off by turns, with the mean that they had, and of the thread whose alone they were."""
    with waiting(design, f",sample-on=USR2:{MEAN}") as at:
        both, found = set(at.numbers), []
        for _ in range(3):
            at.process.send_signal(signal.SIGUSR2)
            found.append((at.new_samples(), mean_of(at.process.pid)))
        assert found == [(both, MEAN), (set(), 0), (both, MEAN)]
        assert at.say("1") == 0
        for expected in (set(), {at.numbers[0]}):
            at.process.send_signal(signal.SIGUSR2)
            assert at.new_samples() == expected


@pytest.mark.parametrize(("word", "caught"), [("", False), (",sample-on=USR2", True)])
def test_no_signal_is_caught_that_nobody_named(word: str, caught: bool) -> None:
    """With no BYTES the mean is the design's."""
    with waiting("sampling-ready", word) as at:
        status = Path(f"/proc/{at.process.pid}/status").read_text()
        mask = int(status.partition("SigCgt:")[2].split()[0], 16)
        assert bool(mask & 1 << (signal.SIGUSR2 - 1)) == caught
        assert not mask & 1 << (signal.SIGUSR1 - 1)
        if caught:
            at.process.send_signal(signal.SIGUSR2)
            at.say("a")
            assert mean_of(at.process.pid) == 524_288


@pytest.mark.parametrize("words", [f"stats-on=USR2,sample-on=USR2:{MEAN}", f"sample-on=USR2:{MEAN},stats-on=USR2"])
def test_a_signal_that_two_words_name_does_both(words: str, tmp_path: Path) -> None:
    with waiting("sampled", f",stats={tmp_path}/stats,{words}") as at:
        at.process.send_signal(signal.SIGUSR2)
        assert at.new_samples() == set(at.numbers)
        assert json.loads((tmp_path / "stats").read_text())["pid"] == at.process.pid


@pytest.mark.parametrize(
    "handler", ["info", *(pytest.param(one, marks=pytest.mark.thorough) for one in ("plain", "once", "none"))]
)
@pytest.mark.parametrize("design", [DESIGNS[0], pytest.param(DESIGNS[1], marks=pytest.mark.thorough)])
def test_a_signal_amid_requests_goes_on_to_the_programs_handler(design: str, handler: str) -> None:
    """Of threads that allocate without end; each run of the handler is one switch, also where several come at once."""
    preload, words = preloadable(library(design, checked=False)), [str(program("sample_signal")), handler]
    added = {"LD_PRELOAD": preload, "HEAPSMITH": "sample=0,sample-on=USR2:500"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env=os.environ | added, **pipes) as process:  # type: ignore[call-overload]
        ran = int(process.stdout.readline())
        mean, taken = mean_of(process.pid), of_process(process.pid).taken
        process.stdin.close()
        assert process.wait(60) == 0
    assert taken > 100
    if handler in ("plain", "info"):
        assert ran > 100
        assert mean == 500 * (ran % 2)
    else:
        assert ran == (handler == "once")


def test_what_a_walk_remembers_ends_with_the_code() -> None:
    """Of libraries at one address, whose code is equally long and whose frames are not, each stack leads to main."""
    plugins = [shim("rec_plugin", "-DNAME=inner", f"-DROOM={room}") for room in (400, 800, 1200)]
    words = [str(word) for word in (program("sample_plugins", "-g"), *plugins)]
    added = {"LD_PRELOAD": preloadable(library("sampled", checked=False)), "HEAPSMITH": "sample=1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env=os.environ | added, **pipes) as process:  # type: ignore[call-overload]
        place, same = map(int, process.stdout.readline().split())
        found = of_process(process.pid)
        process.stdin.close()
        assert process.wait(60) == 0
    assert same == len(plugins)
    samples = {int(sample["bytes"]): found.sites[sample["site"]] for sample in found.samples}
    frames = [samples[101 + at]["frame"][: samples[101 + at]["depth"]].tolist() for at in range(len(plugins))]
    assert [place in row for row in frames] == [True] * len(plugins)


def test_of_two_commands_that_switch_the_second_is_refused(call: Call) -> None:
    """One that only looks goes on, and so does the first."""
    with waiting("sampling-ready") as at:
        pid, words = at.process.pid, ("profile", at.process.pid, "--seconds", "0.1s")
        with switched(pid, MEAN, None):
            answer = call(*words, "--mean", MEAN)
            said = f"heapsmith: process {pid}: another command takes samples of it; expected one at a time\n"
            assert (answer.status, answer.out, answer.err) == (2, "", said)
            assert at.new_samples() == set(at.numbers)
            assert call(*words).status == 0
        assert at.new_samples() == set()
        assert call(*words, "--mean", MEAN).status == 0


def test_a_program_under_another_malloc_is_told() -> None:
    with waiting(None) as at:
        assert at.say("1") == errno.ENOSYS


def test_the_command_leaves_a_process_as_it_was(call: Call) -> None:
    with waiting("sampling-ready") as at:
        words = ("profile", at.process.pid, "--seconds", "0.1s")
        for more in (("--thread", at.numbers[0]), ("--mean", MEAN)):
            answer = call(*words, *more, "--json")
            assert answer.status == 0, answer.err
            assert json.loads(answer.out)["pid"] == at.process.pid
            assert (f"samples of thread {at.numbers[0]} alone" in answer.err) == (more[0] == "--thread")
            assert at.new_samples() == set()


@pytest.mark.parametrize("reaped", [False, True])
def test_a_process_that_ends_meanwhile_gets_one_line(reaped: bool, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with waiting("sampling-ready") as at:
        pid = at.process.pid

        def ends(_: float) -> None:
            at.process.stdin.close()  # type: ignore[union-attr]
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            if reaped:
                at.process.wait()

        monkeypatch.setattr(sampled, "time", SimpleNamespace(sleep=ends))
        answer = call("profile", pid, "--seconds", "60s", "--thread", at.numbers[0])
    said = f"heapsmith: {pid}: no such process, or it ended meanwhile\n"
    assert (answer.status, answer.out, answer.err) == (2, "", said)


@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_an_interrupt_amid_the_switch_leaves_no_samples(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real, written = ProcessMemory.write, [0]

    def write(memory: ProcessMemory, address: int, what: bytes) -> None:
        real(memory, address, what)
        written[0] += 1
        if written[0] == after:
            raise KeyboardInterrupt

    with waiting("sampling-ready") as at:
        monkeypatch.setattr(ProcessMemory, "write", write)
        with pytest.raises(KeyboardInterrupt), switched(at.process.pid, MEAN, None):
            pass
        assert at.new_samples() == set()


def test_what_it_refuses(call: Call) -> None:
    with waiting("sampled") as at, subprocess.Popen(["sleep", "600"]) as plain:
        pid, seconds = at.process.pid, ("--seconds", "0.1s")
        for words, said in (
            ((pid, *seconds, "--thread", 1 << 23), f"--thread {1 << 23}: no thread of process {pid}"),
            ((pid, *seconds, "--thread", 1), f"--thread 1: no thread of process {pid}"),
            ((pid, *seconds, "--mean", 1 << 60), f"--mean {1 << 60}: expected at most"),
            ((pid, "--thread", pid), "--thread: is of a process for a time"),
            (("--thread", 1, "--", "true"), "--thread: is of a process for a time"),
            ((pid, "--mean", 5), "--mean: is of a command, or of a process for a time"),
            ((plain.pid, *seconds, "--thread", plain.pid), "takes no samples"),
        ):
            answer = call("profile", *words)
            assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), answer.err
            assert said in answer.err
        plain.kill()
