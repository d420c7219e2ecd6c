"""A program gets what heapsmith was given: environment, descriptors, signals, limits, folder, to the byte."""

import os
import resource
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from covering import soon
from preloaded import program

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.tools.common import program_start
from heapsmith.tools.common.program_start import Start, begin

OURS = {
    "run": [b"LD_PRELOAD"],
    "record": [b"LD_PRELOAD", b"HEAPSMITH_RECORD"],
    "compare": [b"HEAPSMITH_BENCHFAST"],
    "top": [],
}
"""The variables that a command adds."""

ODD_ENTRIES = [
    b"PATH=/usr/local/bin:/usr/bin:/bin",
    b"TWICE=1",
    b"NO_EQUALS",
    b"TWICE=2",
    b"B=\xff\xfe",
    b"=empty",
]
"""What execve(2) takes, and Python does not keep."""

START = """
import ctypes, signal, sys
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
words = [word.encode("utf-8", "surrogateescape") for word in sys.argv[2:]]
entries = bytes.fromhex(sys.argv[1]).split(b"\\0")
array = lambda strings: (ctypes.c_char_p * (len(strings) + 1))(*strings, None)
ctypes.CDLL(None).execve(words[0], array(words), array(entries))
raise SystemExit("execve failed")
"""


def command_of(name: str, folder: Path) -> list[str]:
    """How heapsmith is called by that name."""
    words = {
        "run": ["run", "default"],
        "record": ["record", "-o", str(folder / "t.hst")],
        "compare": ["compare", "--lib", "glibc", "--rounds", "1"],
        "top": ["top", "--once"],
    }
    return [sys.executable, "-m", "heapsmith", *words[name], "--"]


def without_compiler(folder: Path) -> tuple[list[str], list[bytes]]:
    """A library that is built, and an environment with neither a compiler nor anything in the cache."""
    entries = [b"PATH=" + os.fsencode(folder), b"XDG_CACHE_HOME=" + os.fsencode(folder / "cache")]
    run = [sys.executable, "-m", "heapsmith", "run", str(library_of(load("default"))), "--"]
    return run, [*entries, *ODD_ENTRIES[1:]]


def told(words: Sequence[str], folder: Path, entries: Sequence[bytes] = (), **how: object) -> list[bytes]:
    """What the program says when it is started as the last of these words."""
    out = folder / "told"
    out.unlink(missing_ok=True)
    home = f"HOME={Path.home()}".encode()
    given = b"\0".join([*(entries or ODD_ENTRIES), home]).hex()
    command = [sys.executable, "-c", START, given, *words, str(program("given")), b"caf\xe9 $x", str(out)]
    subprocess.run(command, stderr=subprocess.DEVNULL, check=False, timeout=120, **how)  # type: ignore[call-overload]
    return out.read_bytes().splitlines()


def same_but(name: str, given: list[bytes], got: list[bytes]) -> None:
    """The program got what it gets without heapsmith, and the variables that heapsmith adds."""
    ours = tuple(b"entry " + variable + b"=" for variable in OURS[name])
    added = [line for line in got if line.startswith(ours)]
    assert len(added) == len(ours), added
    kept = [line for line in got if line not in added]
    assert kept == given, sorted(set(kept) ^ set(given))


def odd(ignored: set[int], files: tuple[int, ...] = ()) -> None:
    """Before a program starts: what a shell, a service manager or nohup(1) may have set."""
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGWINCH])
    os.umask(0o027)
    os.nice(3)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
    os.dup2(0, 9)
    for file in files:
        os.close(file)


@pytest.mark.thorough
@pytest.mark.parametrize("name", OURS)
def test_a_program_gets_what_heapsmith_was_given(name: str, tmp_path: Path) -> None:
    (tmp_path / "with space").mkdir()
    ignored = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD, signal.SIGUSR1, signal.SIGRTMIN + 2}
    how = {
        "preexec_fn": partial(odd, ignored),
        "cwd": tmp_path / "with space",
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "close_fds": False,
    }
    given = told([], tmp_path, **how)
    assert b"entry NO_EQUALS" in given
    assert b"descriptor 9 0" in given
    same_but(name, given, told(command_of(name, tmp_path), tmp_path, **how))


def test_a_built_library_runs_without_a_compiler(tmp_path: Path) -> None:
    (run, entries), how = without_compiler(tmp_path), {"preexec_fn": partial(odd, {signal.SIGCHLD}), "close_fds": False}
    given = told([], tmp_path, entries, **how)
    assert f"entry PATH={tmp_path}".encode() in given
    same_but("run", given, told(run, tmp_path, entries, **how))


@pytest.mark.thorough
@pytest.mark.parametrize("name", OURS)
def test_a_bare_environment_stays_bare(name: str, tmp_path: Path) -> None:
    """In the C locale Python sets LC_CTYPE in its own environment (PEP 538)."""
    entries = [b"PATH=/usr/local/bin:/usr/bin:/bin"]
    given = told([], tmp_path, entries)
    same_but(name, given, told(command_of(name, tmp_path), tmp_path, entries, stdout=subprocess.DEVNULL))


@pytest.mark.parametrize("name", soon(["run", "record"], ["run"]))
def test_a_preload_of_the_programs_own_stays_behind(name: str, tmp_path: Path) -> None:
    entries = [*ODD_ENTRIES, b"LD_PRELOAD=libm.so.6"]
    given = told([], tmp_path, entries)
    (ours,) = (line for line in given if line.startswith(b"entry LD_PRELOAD="))
    got = told(command_of(name, tmp_path), tmp_path, entries)
    (theirs,) = (line for line in got if line.startswith(b"entry LD_PRELOAD="))
    assert (ours, theirs.partition(b":")[2]) == (b"entry LD_PRELOAD=libm.so.6", b"libm.so.6")


@pytest.mark.parametrize("name", soon(["run", "record"], ["run"]))
def test_closed_streams_stay_closed(name: str, tmp_path: Path) -> None:
    close: Callable[[], None] = partial(odd, set(), (0, 1))
    given = told([], tmp_path, preexec_fn=close)
    assert not any(line.startswith((b"descriptor 0", b"descriptor 1")) for line in given)
    same_but(name, given, told(command_of(name, tmp_path), tmp_path, preexec_fn=close))


def test_no_signal_is_lost_while_a_program_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child has the handlers of this process until it becomes the program: a signal waits until then."""
    becoming = program_start.becoming

    def late(*image: Any) -> Callable[[], None]:
        become = becoming(*image)
        return lambda: (os.kill(os.getpid(), signal.SIGTERM), become())[1]

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        monkeypatch.setattr(program_start, "becoming", late)
        assert begin(Start(["true"], "/bin/true")).wait() == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.big
def test_programs_start_while_threads_run() -> None:
    """A progress bar and a watch are threads; the child has none of their locks to wait for."""
    ended = threading.Event()
    busy = [threading.Thread(target=lambda: [str(os.environ) for _ in iter(ended.is_set, True)]) for _ in range(3)]
    for thread in busy:
        thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert [begin(Start(["true"], "/bin/true")).wait() for _ in range(30)] == [0] * 30
    finally:
        ended.set()
        for thread in busy:
            thread.join()
