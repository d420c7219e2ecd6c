"""Runs a command with a time limit, and kills all its processes at the limit or on an interrupt."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from heapsmith.model.errors import CheckFailed

Output = IO[bytes] | int


def too_long(limit_s: float | None) -> CheckFailed:
    """The error for a command that was killed at its limit."""
    return CheckFailed(f"killed: it had not ended after {limit_s or 0:.0f} s")


def run_limited(
    command: Sequence[str],
    limit_s: float | None,
    *,
    env: Mapping[str, str] | None = None,
    stdout: Output = subprocess.PIPE,
    stderr: Output = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """Run the command with /dev/null as its input, in a process group of its own (setpgid(2)).

    The group is killed whole at the limit, and where the wait for it is interrupted.
    Raises CheckFailed for a command that exceeds the limit, OSError if it cannot be executed.
    """
    with subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
        errors="replace",
        process_group=0,
    ) as process:
        try:
            out, errors = process.communicate(timeout=limit_s)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise too_long(limit_s) from None
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)
