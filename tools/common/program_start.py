"""Starts a user's program: with what this process was given, byte for byte, and nothing else but what is named."""

import os
import signal
import subprocess
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any, NamedTuple

from heapsmith.model.errors import BadInput, HeapsmithError, Missing
from heapsmith.tools.common.exec_child import Image, becoming
from heapsmith.tools.common.inherited import closed_streams, entries, environment, ignored_signals

Stream = int | IO[Any] | None
"""As for subprocess.Popen; None: that of this process."""


class Start(NamedTuple):
    """A program, and what it starts with.

    command: its words, of which the first need not be its path. env: its environment; None: that of this
    process, byte for byte. added: what goes in place of entries of that, or behind them. everywhere: what is
    preloaded to it is preloaded to all its children too, by preload_file, which stands in place of
    /etc/ld.so.preload for them (tools/common/preload_everywhere.py).
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

    def image(self, closed: Collection[int] = ()) -> Image:
        """What its process becomes. closed: the standard streams to close."""
        words, program = [os.fsencode(word) for word in self.command], os.fsencode(self.path)
        environment = entries(self.env, self.added)
        return Image(program, words, environment, closed, ignored_signals(), os.fsencode(self.preload_file))

    def describe(self) -> bytes:
        """The description that runtime/replay/become.c reads."""
        image = self.image()
        ignored = sum(1 << number - 1 for number in image.ignored)
        head = [b"%d" % ignored, image.preload_file, image.program, b"%d" % len(image.arguments), *image.arguments]
        return b"".join(word + b"\0" for word in [*head, *image.environment])


def begin(
    start: Start, *, stdin: Stream = None, stdout: Stream = None, stderr: Stream = None
) -> "subprocess.Popen[bytes]":
    """Start the program, whose process is that of the result. BadInput if the system cannot execute it.

    A standard stream that is this process's own, and was closed when this process began, is closed.
    """
    own = {number for number, stream in enumerate((stdin, stdout, stderr)) if stream is None}
    image = start.image(closed_streams & own)
    failed, fails = os.pipe()
    with open(failed, "rb") as failure:
        try:
            process = _forked(image, fails, (stdin, stdout, stderr))
        finally:
            os.close(fails)
        if said := failure.read():
            process.wait()
            raise not_started(start, int.from_bytes(said, "little", signed=True))
    return process


def not_started(start: Start, number: int) -> HeapsmithError:
    """The error for a program that could not be started; the number is negative for that of preload_file."""
    if number < 0:
        return Missing(f"--everywhere: the command cannot be given another /etc/ld.so.preload: {os.strerror(-number)}")
    return BadInput(f"{start.command[0]}: cannot be executed: {os.strerror(number)}")


def _forked(image: Image, error_pipe: int, streams: tuple[Stream, Stream, Stream]) -> "subprocess.Popen[bytes]":
    """A child with these streams, which becomes the image.

    It inherits handlers of signals, so all signals wait until it has put in force what the program starts with.
    """
    (stdin, stdout, stderr), mask = streams, signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        become = becoming(image, mask, error_pipe)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return subprocess.Popen(
                [image.program],
                close_fds=False,
                preexec_fn=become,  # noqa: PLW1509 - the child takes no lock that another thread may hold
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
