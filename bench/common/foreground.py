"""Runs a command in the foreground like a shell: its streams, its signals, its exit status."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from heapsmith.model.errors import BadInput

_NOTICED = (signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD)
"""Signals with which nothing is done; the last one says that the process may have ended."""


def run_foreground(
    command: Sequence[str],
    program: str,
    environment: Mapping[str, str],
    *,
    stdin: int | IO[Any] | None = None,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
) -> tuple[int, int]:
    """Run `program` as `command`; returns its pid and its exit status (128 + n after signal n).

    Streams as for subprocess.Popen. The terminal's SIGINT and SIGQUIT are left to the command;
    SIGTERM and SIGHUP are passed on to it. Raises BadInput if the system cannot execute it.
    """
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if started:
            started[0].send_signal(number)
        else:
            early.append(number)

    with _signals(pass_on):
        try:
            process = subprocess.Popen(
                command, executable=program, env=environment, stdin=stdin, stdout=stdout, stderr=stderr
            )
        except OSError as error:
            raise BadInput(f"{command[0]}: cannot be executed: {error.strerror}") from error
        started.append(process)
        for number in early:
            process.send_signal(number)
        status = _wait(process)
    return process.pid, status if status >= 0 else 128 - status


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
def _signals(pass_on: Callable[[int, object], None]) -> Iterator[None]:
    """Ignore SIGINT and SIGQUIT, which the command gets too; pass on SIGTERM and SIGHUP; notice SIGCHLD.

    Has no effect outside the main thread, where signals cannot be handled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, lambda *_: None) for number in _NOTICED}
    handlers |= {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
