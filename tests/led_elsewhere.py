"""A program that waits for lines between its steps, and the recording of it from outside."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from preloaded import library, program

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.process_memory import ProcessMemory
from heapsmith.tools.running.record import RunningResult, record_running
from heapsmith.tools.top.view import serving

DESIGN = "sampling-ready"
STEPS = 5000


class Running(NamedTuple):
    """tests/programs/live_set.c where it waits for a line."""

    process: "subprocess.Popen[str]"
    file: Path

    def say(self, line: str, answer: str = "stopped") -> None:
        self.process.stdin.write(f"{line}\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        assert self.process.stdout.readline() == f"{answer}\n"  # type: ignore[union-attr]

    def live(self) -> dict[int, int]:
        """The bytes that may be used of each of its blocks, by address."""
        return {int(address): int(size) for address, size in map(str.split, self.file.read_text().splitlines())}


@contextmanager
def running(
    folder: Path,
    threads: int,
    *before: Path,
    design: str | Design | None = DESIGN,
    environment: dict[str, str] | None = None,
    of: Path | None = None,
) -> Iterator[Running]:
    """before: libraries in front of that of the design; of: another program that speaks as live_set.c does."""
    file = folder / "live set.txt"
    of_design = library_of(design) if isinstance(design, Design) else design and library(design, checked=False)
    libraries = [*before, *([of_design] if of_design else [])]
    added = {"LD_PRELOAD": ":".join(map(preloadable, libraries))} | (environment or {})
    words = [str(of or program("live_set")), str(threads), str(STEPS), str(file)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env=os.environ | added, **pipes) as process:  # type: ignore[call-overload]
        try:
            assert process.stdout.readline() == "ready\n"
            yield Running(process, file)
            process.stdin.close()
            status = process.wait(timeout=300)
        except BaseException:
            process.kill()  # it may wait for ever, and the test is to say what failed
            raise
        assert status == 0, f"status {status}"


def is_under_way(pid: int) -> bool:
    """Whether a process leads its malloc elsewhere."""
    with ProcessMemory(pid) as memory:
        view = serving(memory)
        return view is not None and memory.word(view.at["recording"]) & 0xFFFFFFFF != 0


def recorded_while(
    pid: int, out: Path, act: Callable[[], object], *, stacks: bool = False, ends: bool = False
) -> RunningResult:
    """The recording of a process that does something meanwhile, from its beginning on; ends: then it ends by itself."""
    over = Event()

    def wait_and_act() -> None:
        try:
            while not over.is_set() and not is_under_way(pid):
                time.sleep(0.01)
            if not over.is_set():
                act()
        finally:
            if not over.is_set() and not ends:
                os.kill(os.getpid(), signal.SIGTERM)  # ends the recording

    other = Thread(target=wait_and_act)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come when the recording has just ended
    other.start()
    try:
        return record_running(pid, out, stacks=stacks)
    finally:
        over.set()
        other.join()
        signal.signal(signal.SIGTERM, before)
