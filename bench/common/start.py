"""Starts a user's program: with what this process was given, byte for byte, and nothing else but what is named."""

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any, NamedTuple

from heapsmith.bench.common.given import closed_streams, entries, environment, ignored_signals
from heapsmith.bench.common.tools import runtime_tool
from heapsmith.model.errors import BadInput, HeapsmithError, Missing

Stream = int | IO[Any] | None
"""As for subprocess.Popen; None: that of this process."""


class Start(NamedTuple):
    """A program, and what it starts with.

    command: its words, of which the first need not be its path. env: its environment; None: that of this
    process, byte for byte. added: what goes in place of entries of that, or behind them. everywhere: what is
    preloaded to it is preloaded to all its children too, by preload_file, which stands in place of
    /etc/ld.so.preload for them (bench/common/everywhere.py).
    """

    command: Sequence[str]
    path: str
    env: Mapping[str, str] | None = None
    added: Mapping[str, str] = {}
    everywhere: bool = False
    preload_file: str = ""

    def variables(self) -> dict[str, str]:
        """The environment that the program gets, as a mapping."""
        return dict(environment() if self.env is None else self.env) | dict(self.added)

    def describe(self, closed: Collection[int] = ()) -> bytes:
        """The description that runtime/replay/become.c reads. closed: the standard streams to close."""
        ignored = sum(1 << number - 1 for number in ignored_signals())
        numbers = (str(sum(1 << stream for stream in closed)), str(ignored))
        head = [*numbers, self.preload_file, self.path, str(len(self.command)), *self.command]
        return b"".join(word + b"\0" for word in [*map(os.fsencode, head), *entries(self.env, self.added)])


def begin(
    start: Start, *, stdin: Stream = None, stdout: Stream = None, stderr: Stream = None
) -> "subprocess.Popen[bytes]":
    """Start the program, whose process is that of the result. BadInput if the system cannot execute it.

    A standard stream that is this process's own, and was closed when this process began, is closed.
    """
    own = {number for number, stream in enumerate((stdin, stdout, stderr)) if stream is None}
    (read, described), (failed, fails) = os.pipe(), os.pipe()
    with open(described, "wb") as description, open(failed, "rb") as failure:
        process = _starter((read, fails), (stdin, stdout, stderr))
        description.write(start.describe(closed_streams & own))
        description.close()
        if said := failure.read():
            process.wait()
            raise not_started(start, int.from_bytes(said, "little", signed=True))
    return process


def not_started(start: Start, number: int) -> HeapsmithError:
    """The error for a program that could not be started; the number is negative for that of preload_file."""
    if number < 0:
        return Missing(f"--everywhere: the command cannot be given another /etc/ld.so.preload: {os.strerror(-number)}")
    return BadInput(f"{start.command[0]}: cannot be executed: {os.strerror(number)}")


def _starter(pipes: tuple[int, int], streams: tuple[Stream, Stream, Stream]) -> "subprocess.Popen[bytes]":
    """heapsmith-start with these ends of pipes, which are closed here."""
    try:
        tool = runtime_tool("heapsmith-start", "start.c", "become.c")
        for end in pipes:
            os.set_inheritable(end, True)
        words, (stdin, stdout, stderr) = [str(tool), *map(str, pipes)], streams
        return subprocess.Popen(words, env={}, close_fds=False, stdin=stdin, stdout=stdout, stderr=stderr)
    finally:
        for end in pipes:
            os.close(end)
