"""Runs a command in the foreground like a shell: its streams, its signals, its exit status."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from heapsmith.tools.common.orphans import Orphans, adopting
from heapsmith.tools.common.process_watch import Watch, watching
from heapsmith.tools.common.processes import descendants
from heapsmith.tools.common.program_start import Start, Stream, begin

_LEFT = (signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD)
"""Signals that are not passed on: the command has the first two too, the last one says that it may have ended."""


GRACE_S = 10.0
"""Between SIGTERM and SIGKILL for a command that exceeds its limit."""


class Ended(NamedTuple):
    """A command that ended: its pid, its status (128 + n after signal n), and whether SIGINT came meanwhile."""

    pid: int
    status: int
    interrupted: bool


def run_foreground(
    start: Start,
    *,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    limit_s: float | None = None,
    watch: Watch | None = None,
    wait: bool = False,
) -> Ended:
    """Run the program, and return how it ended. `watch` sees its processes.

    Streams as for subprocess.Popen. The terminal's SIGINT and SIGQUIT are left to the program;
    SIGTERM and SIGHUP are passed on to it. After `limit_s` it and its descendants get SIGTERM, and
    SIGKILL when it goes on. wait: until all its descendants have ended, or SIGINT comes; they get the passed signals
    too.
    Raises BadInput if the system cannot execute it.
    """
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    seen: set[int] = set()

    def pass_on(number: int, _: object) -> None:
        if started:
            started[0].send_signal(number)
        else:
            early.append(number)
        if orphans is not None and orphans.command:
            orphans.send(number)

    with adopting(wait) as orphans, _signals(pass_on, lambda number, _: seen.add(number)):
        process = begin(start, stdin=stdin, stdout=stdout, stderr=stderr)
        started.append(process)
        for number in early:
            process.send_signal(number)
        if orphans is not None:
            orphans.command = process.pid
        with watching(watch, process.pid, orphans, with_root=True), _ended_after(process, limit_s, orphans):
            status = _wait(process, orphans)
            if orphans is not None:
                orphans.wait(lambda: signal.SIGINT not in seen)
    return Ended(process.pid, status if status >= 0 else 128 - status, signal.SIGINT in seen)


@contextmanager
def _ended_after(process: "subprocess.Popen[bytes]", limit_s: float | None, orphans: Orphans | None) -> Iterator[None]:
    """End the process and what it started after `limit_s`, if there is a limit and it runs then."""
    if limit_s is None:
        yield
        return

    def end(number: int) -> None:
        started = descendants(process.pid)
        process.send_signal(number)  # before it sees that its children ended, and ends by itself
        for pid in started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        if orphans is not None:
            orphans.send(number)

    timers = [
        threading.Timer(limit_s, end, (signal.SIGTERM,)),
        threading.Timer(limit_s + GRACE_S, end, (signal.SIGKILL,)),
    ]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


def _wait(process: subprocess.Popen[bytes], orphans: Orphans | None) -> int:
    """Wait for the process, pass on SIGTERM and SIGHUP, reap orphans, and return the process's status.

    Popen.wait() may miss a signal: a handler runs between bytecodes, and a signal between the last
    bytecode and the system call wakes nothing. So this reads a pipe to which Python writes a byte per
    signal. signal.sigtimedwait() is no way: of a wait during which this process was stopped longer
    than the limit, it returns a number of no signal.
    """
    if threading.current_thread() is not threading.main_thread():
        return process.wait()
    arrived, arriving = os.pipe()
    os.set_blocking(arriving, False)
    before = signal.set_wakeup_fd(arriving, warn_on_full_buffer=False)
    try:
        while (status := process.poll()) is None:
            os.read(arrived, 4096)
            if orphans is not None:
                orphans.alive()
    finally:
        signal.set_wakeup_fd(before)
        os.close(arriving)
        os.close(arrived)
    return status


@contextmanager
def _signals(pass_on: Callable[[int, object], None], note: Callable[[int, object], None]) -> Iterator[None]:
    """Note SIGINT and SIGQUIT, which the command gets too, and SIGCHLD; pass on SIGTERM and SIGHUP.

    A signal that this process ignores stays ignored, in the command too. Has no effect outside the main thread,
    where signals cannot be handled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = dict.fromkeys(_LEFT, note) | dict.fromkeys((signal.SIGTERM, signal.SIGHUP), pass_on)
    handlers = {number: signal.signal(number, handler) for number, handler in wanted.items() if _is_heeded(number)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _is_heeded(number: int) -> bool:
    """Whether this process does not ignore the signal; it needs SIGCHLD in any case."""
    return number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN
