"""Runs a command in the foreground like a shell: its streams, its signals, its exit status."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, NamedTuple

from heapsmith.model.errors import BadInput

_LEFT = (signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD)
"""Signals that are not passed on: the command has the first two too, the last one says that it may have ended."""


_LIMIT_S: ContextVar[float | None] = ContextVar("limit", default=None)

GRACE_S = 10.0
"""Between SIGTERM and SIGKILL for a command that exceeds its limit."""


class Ended(NamedTuple):
    """A command that ended: its pid, its status (128 + n after signal n), and whether SIGINT came meanwhile."""

    pid: int
    status: int
    interrupted: bool


def run_foreground(
    command: Sequence[str],
    program: str,
    environment: Mapping[str, str],
    *,
    stdin: int | IO[Any] | None = None,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
) -> Ended:
    """Run `program` as `command`, and return how it ended.

    Streams as for subprocess.Popen. The terminal's SIGINT and SIGQUIT are left to the command;
    SIGTERM and SIGHUP are passed on to it.
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

    with _signals(pass_on, lambda number, _: seen.add(number)):
        try:
            process = subprocess.Popen(
                command, executable=program, env=environment, stdin=stdin, stdout=stdout, stderr=stderr
            )
        except OSError as error:
            raise BadInput(f"{command[0]}: cannot be executed: {error.strerror}") from error
        started.append(process)
        for number in early:
            process.send_signal(number)
        with _ended_after(process, _LIMIT_S.get()):
            status = _wait(process)
    return Ended(process.pid, status if status >= 0 else 128 - status, signal.SIGINT in seen)


@contextmanager
def foreground_limit(limit_s: float) -> Iterator[None]:
    """Within this context a command in the foreground gets SIGTERM after `limit_s`, and SIGKILL if it goes on."""
    token = _LIMIT_S.set(limit_s)
    try:
        yield
    finally:
        _LIMIT_S.reset(token)


@contextmanager
def _ended_after(process: "subprocess.Popen[bytes]", limit_s: float | None) -> Iterator[None]:
    """End the process after `limit_s`, if there is a limit and it runs then."""
    if limit_s is None:
        yield
        return
    timers = [threading.Timer(limit_s, process.terminate), threading.Timer(limit_s + GRACE_S, process.kill)]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the process, pass on SIGTERM and SIGHUP, and return the process's status.

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
    finally:
        signal.set_wakeup_fd(before)
        os.close(arriving)
        os.close(arrived)
    return status


@contextmanager
def _signals(pass_on: Callable[[int, object], None], note: Callable[[int, object], None]) -> Iterator[None]:
    """Note SIGINT and SIGQUIT, which the command gets too, and SIGCHLD; pass on SIGTERM and SIGHUP.

    Has no effect outside the main thread, where signals cannot be handled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, note) for number in _LEFT}
    handlers |= {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
