"""Where threads are held: outside a library, whatever of it they run and wait for."""

import os
import subprocess
import time
from itertools import count
from pathlib import Path

import pytest
from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile
from led_elsewhere import DESIGN, running

from heapsmith.model.errors import Missing
from heapsmith.tools.common.process_memory import Memory, ProcessMemory
from heapsmith.tools.running import hold
from heapsmith.tools.running.hold import Code, code_of, held
from heapsmith.tools.top.view import serving

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="only processes of x86-64 are held")


def executable(pid: int, file: str) -> list[tuple[int, int]]:
    """The spans of a process that are code of a file."""
    lines = [line.split(maxsplit=5) for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    spans = [words[0].split("-") for words in lines if "x" in words[1] and words[5:] == [file]]
    return [(int(begin, 16), int(end, 16)) for begin, end in spans]


def test_all_code_of_a_library_is_its_own(tmp_path: Path) -> None:
    """Functions that are rarely called, such as waits for locks, lie in a segment apart from the others."""
    with running(tmp_path, 1) as at, ProcessMemory(at.process.pid) as memory:
        view = serving(memory)
        assert view is not None
        code, file = code_of(at.process.pid, memory.word(view.at["recorded"]))
        assert code.own == executable(at.process.pid, file)
        assert not set(code.own) & {*code.c_library, *code.others}
    with Path(file).open("rb") as content:
        segments = [one for one in ELFFile(content).iter_segments("PT_LOAD") if one["p_flags"] & P_FLAGS.PF_X]
    assert len(code.own) == len(segments) > 1


@pytest.mark.thorough
def test_threads_are_held_outside_the_library(tmp_path: Path) -> None:
    """As the system says where they are (proc(5)): the last word is a thread's next instruction."""
    found: set[int] = set()
    with running(tmp_path, 4) as at:
        pid = at.process.pid
        at.say("run", "running")
        with ProcessMemory(pid) as memory:
            view = serving(memory)
            assert view is not None
            code, file = code_of(pid, memory.word(view.at["recorded"]))
            for _ in range(30):
                with held(pid, memory, code):
                    threads = list(Path(f"/proc/{pid}/task").iterdir())
                    found |= {int((thread / "syscall").read_text().split()[-1], 16) for thread in threads}
            spans = executable(pid, file)
        at.say("")
    assert DESIGN in file
    assert len(found) > 5
    assert not [place for place in found if any(begin <= place < end for begin, end in spans)]


WAITS = """
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static uint32_t lock = 1;
int main(void)
{
    struct timespec most = { 1000, 0 };
    syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 1, &most, NULL, 0);
    return 0;
}
"""

ROUNDS = 50
"""In which the thread is let go on, before patience is said to be over."""


def waits(pid: int, program: Path) -> bool:
    """Whether a process is in futex(2), in the program, which it may not have begun yet."""
    return bool(executable(pid, str(program))) and Path(f"/proc/{pid}/syscall").read_text().startswith("202 ")


def test_a_thread_that_waits_for_a_lock_is_in_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is let go on, which makes its wait another system call. The program stands for a library."""
    let_out, rounds = hold._Threads.let_out, count()

    def impatient(threads: hold._Threads, memory: Memory, code: Code, deadline: float) -> bool:
        return let_out(threads, memory, code, deadline if next(rounds) < ROUNDS else 0.0)

    monkeypatch.setattr(hold, "PATIENCE_S", 600.0)
    monkeypatch.setattr(hold, "_DOUBT_S", 0.0)
    monkeypatch.setattr(hold._Threads, "let_out", impatient)
    source, built = tmp_path / "waits.c", tmp_path / "waits"
    source.write_text(WAITS)
    subprocess.run(["gcc", "-O1", str(source), "-o", str(built)], check=True)
    with subprocess.Popen([str(built)]) as process:
        try:
            while not waits(process.pid, built):
                time.sleep(0.001)
            with ProcessMemory(process.pid) as memory:
                code, _ = code_of(process.pid, executable(process.pid, str(built))[0][0])
                with pytest.raises(Missing, match="stays in a call"), held(process.pid, memory, code):
                    pass
        finally:
            process.kill()


def all_wait(pid: int) -> bool:
    """Whether each thread of a process is in read(2) or futex(2): a step of it then ends by an interrupt alone."""
    calls = [(task / "syscall").read_text().split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return all(call in ("0", "202") for call in calls)


def test_the_trap_of_a_step_is_not_left_to_the_program(tmp_path: Path) -> None:
    """A thread that waits makes a step, which an interrupt ends: that is told first, and the trap waits."""
    with running(tmp_path, 2) as at:
        pid, deadline = at.process.pid, time.monotonic() + 300
        with ProcessMemory(pid) as memory:
            view = serving(memory)
            assert view is not None
            code, _ = code_of(pid, memory.word(view.at["recorded"]))
            for _ in range(5):
                while at.process.poll() is None and not all_wait(pid):
                    time.sleep(0.001)
                assert at.process.poll() is None, "it died of the trap"
                threads = hold._Threads(pid)
                try:
                    threads.hold_new(deadline)
                    for thread in list(threads._signals):
                        threads._stepped_out(thread, memory, code, deadline)
                finally:
                    threads.release()
        at.say("step")
