"""Runs of pytest that begin at once: each is a fork of a process that has imported what tests need.

python -m heapsmith.bench.gates.focused [FILE]... reads a run from each line of its input, a JSON list of the seconds
that it may take and pytest's arguments, and answers with a line: the first failure (the test and its words, or null)
and the seconds of processor time. Each FILE of tests is imported before, with the model. Without any, only other
packages are imported: such runs see the model of the moment, and keep what valgrind observed. In all runs kernels are
plain Python: to compile those of a changed model, or of another folder, takes longer than most tests.
"""

import gc
import hashlib
import importlib
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest

from heapsmith.model.compile import kernel

PACKAGES = ("hypothesis.stateful", "jinja2", "msgspec", "numba", "numpy", "typer")
OPTIONS = ("-x", "-q", "--hypothesis-profile=unshrunk", "-p", "no:cacheprovider")
NOTHING_WRONG = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
PAUSE_S = 0.01
ENDED = "a signal, a limit, or no such test"
"""What is known of a run that pytest did not end."""


class Found(NamedTuple):
    """What a run found: the test that failed first and its words, if any did, and the processor time that it took."""

    failed: tuple[str, str] | None
    cpu_s: float


class Focused:
    """The process that forks for runs in a folder."""

    def __init__(self, folder: Path, environment: Mapping[str, str], files: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", __spec__.name, *files]
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, limit_s: float, arguments: Sequence[str]) -> Found:
        """Run pytest with these arguments."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([limit_s, *arguments]), file=self._process.stdin, flush=True)
        failed, cpu_s = json.loads(self._process.stdout.readline())
        return Found(failed and tuple(failed), cpu_s)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


class Watch:
    """A plugin that writes which test runs, and the words of one that fails."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def _say(self, test: str, words: str | None) -> None:
        print(json.dumps([test, words]), file=self._out, flush=True)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._say(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._say(report.nodeid, str(report.longrepr))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._say(report.nodeid, str(report.longrepr))


class OfTheMoment:
    """A plugin for a changed model: what a library touches is observed once."""

    def pytest_collection_finish(self) -> None:
        if module := sys.modules.get("test_lines"):
            vars(module)["observe"] = _kept(vars(module)["observe"])


def _kept(observe: Callable[..., Any]) -> Callable[..., Any]:
    observer = Path(observe.__code__.co_filename).read_bytes()

    def observed(plan: Any, library: Path, chunk: Any, folder: Path, nodes: Sequence[str] = ()) -> Any:
        what = repr((plan, nodes)).encode() + observer + library.read_bytes() + pickle.dumps(chunk)
        kept = Path(os.environ["XDG_CACHE_HOME"], "observed", hashlib.sha256(what).hexdigest())
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            written = kept.with_suffix(f".{os.getpid()}")
            written.write_bytes(pickle.dumps(observe(plan, library, chunk, folder, nodes)))
            written.rename(kept)
        return pickle.loads(kept.read_bytes())

    return observed


def _plain(entry: Callable[..., Any], absent: tuple[str, ...] = (), **constants: int) -> Callable[..., Any]:
    """Return what stands for a compiled kernel: another object for other absent scalars."""
    plain = kernel.specialised(entry, **constants) if constants else entry
    return partial(plain) if absent else plain


def _serve(files: Sequence[str]) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    vars(kernel)["compiled"] = _plain
    if files:
        pytest.main(["--collect-only", *OPTIONS, "-m", "", *files])
    else:
        for package in PACKAGES:
            importlib.import_module(package)
    sys.dont_write_bytecode = True  # that of a changed line may look like that of another
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    gc.freeze()  # a search for garbage would write on pages that forks share
    for line in sys.stdin:
        limit_s, *arguments = json.loads(line)
        print(json.dumps(_run(limit_s, arguments, [] if files else [OfTheMoment()])), file=answers, flush=True)


def _run(limit_s: float, arguments: list[str], plugins: list[Any]) -> Found:
    with tempfile.TemporaryFile("w+") as said:
        if (pid := os.fork()) == 0:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os._exit(pytest.main([*OPTIONS, *arguments], plugins=[Watch(said), *plugins]))
        status, used = _ended(pid, limit_s)
        said.seek(0)
        lines = [json.loads(line) for line in said]
    cpu_s = round(used.ru_utime + used.ru_stime, 2)
    if status in NOTHING_WRONG:
        return Found(None, cpu_s)
    test, words = next((line for line in lines if line[1]), [*lines[-1:], [arguments[-1], None]][0])
    return Found((test, words or f"status {status}: {ENDED}"), cpu_s)


def _ended(pid: int, limit_s: float) -> tuple[int, resource.struct_rusage]:
    """The status of a run, which is ended after that time of its own processors or four times as long."""
    begin = time.monotonic()
    ticks = os.sysconf("SC_CLK_TCK")
    while True:
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            break
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
        if sum(map(int, times)) > limit_s * ticks or time.monotonic() - begin > 4 * limit_s:
            os.killpg(pid, signal.SIGKILL)
            _, status, used = os.wait4(pid, 0)
            break
        time.sleep(PAUSE_S)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what it left
    return os.waitstatus_to_exitcode(status), used


if __name__ == "__main__":
    _serve(sys.argv[1:])
