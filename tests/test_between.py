"""Between a user and a program stands nothing: input, output as it is written, Ctrl-C, at a terminal too."""

import fcntl
import os
import re
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from covering import soon
from preloaded import program

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import preloadable

WAYS = ("plain", "by hand", "run", "record", "record --stacks")


def started(way: str, folder: Path) -> list[str]:
    """The command that starts the program in that way."""
    ours = [sys.executable, "-m", "heapsmith"]
    before = {
        "plain": [],
        "by hand": ["env", f"LD_PRELOAD={preloadable(library_of(load('default')))}"],
        "run": [*ours, "run", "default", "--"],
        "record": [*ours, "record", "-o", str(folder / "t.hst"), "--"],
        "record --stacks": [*ours, "record", "--stacks", "-o", str(folder / "t.hst"), "--"],
    }
    return [*before[way], str(program("passing"))]


def read_to(file: int, end: str) -> str:
    """What comes up to these words; the program that wrote them waits for the next line then."""
    found = ""
    while not found.endswith(end):
        some = os.read(file, 1)
        assert some, found
        found += some.decode()
    return found


@contextmanager
def at_a_terminal(command: list[str]) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """The command as the leader of a session of a new terminal, and the terminal's other side."""
    ours, theirs = os.openpty()
    about = termios.tcgetattr(theirs)
    about[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, about)

    def begin() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=begin,  # noqa: PLW1509 - no other thread runs here
    ) as process:
        os.close(theirs)
        try:
            yield process, ours
        finally:
            process.kill()
            os.close(ours)


@pytest.mark.parametrize("way", soon(WAYS, ("plain", "by hand", "run"), ("record", "record --stacks")))
def test_at_a_terminal(way: str, tmp_path: Path) -> None:
    """Each answer comes before the next line is typed, and each key reaches the program."""
    with at_a_terminal(started(way, tmp_path)) as (process, terminal):
        told = read_to(terminal, "ground\r\n")
        assert without_ours(told) == "terminal\r\n" * 3 + "foreground\r\n"
        for line in ("first", "second"):
            os.write(terminal, f"{line}\n".encode())
            assert read_to(terminal, f"got {line}\r\n") == f"got {line}\r\n"
        os.write(terminal, b"\x03")
        assert read_to(terminal, "\n") == "interrupted\r\n"
        os.write(terminal, b"third\n")
        assert read_to(terminal, "got third\r\n") == "got third\r\n"
        os.write(terminal, b"\x04")
        assert read_to(terminal, "end\r\n") == "end\r\n"
        assert process.wait() == 7


def without_ours(text: str) -> str:
    """Without what heapsmith says on its own account."""
    return re.sub(r"heapsmith: [^\n]*\n", "", text)


@pytest.mark.parametrize("way", soon(WAYS, ("plain", "run"), ("by hand", "record", "record --stacks")))
def test_through_pipes(way: str, tmp_path: Path) -> None:
    command, pipe = started(way, tmp_path), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert read_to(process.stdout.fileno(), "group\n") == "no terminal\n" * 3 + "no group\n"
        process.stdin.write(b"words\n")
        assert read_to(process.stdout.fileno(), "got words\n") == "got words\n"
        process.stdin.close()
        assert process.stdout.read() == b""
        assert without_ours(process.stderr.read().decode()) == "end\n"
        assert process.wait() == 7
