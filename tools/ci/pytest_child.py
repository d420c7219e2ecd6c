"""The child process of a marked test: runs it between marks in its trace, or under tracemalloc to tell lines."""

import ctypes
import gc
import io
import json
import os
import sys
import tracemalloc
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from heapsmith.tools.ci.pytest_reports import ends_test, packed

ANSWER = "answer.json"
BEFORE, CAPTURED = "captured.before", {"out": "captured.out", "err": "captured.err"}
"""Files with the captured output: BEFORE of the phases that have ended, CAPTURED of the phase that runs."""
FRAMES = 30
STEP, LEAST_STEP = 1.02, 64 << 10
"""A snapshot is taken when the traced bytes exceed those of the last by this factor and this many bytes."""
MOST_LINES = 8


class Child:
    """Runs the test as often as it shall, and writes its reports and what it found to the folder."""

    def __init__(self, folder: Path, runs: int) -> None:
        self.folder, self.runs = folder, runs
        self.answer: dict[str, Any] = {"pid": os.getpid(), "again": "", "lines": []}
        self.phase, self.logged = "setup", dict[str, list[pytest.TestReport]]()

    def begin(self) -> None:
        """The test is about to run."""

    def end(self) -> None:
        """The test has run."""

    def finish(self) -> None:
        """All runs are over and torn down."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool:
        """Run the test; all but the last run tear down what is the test's own."""
        keep_captured(item.config, self.folder)
        for number in range(self.runs):
            if number:
                item._initrequest()  # type: ignore[attr-defined]  # fixtures anew, as plugins that repeat tests do
                item._report_sections.clear()  # these two pytest keeps of each run, with all that the test printed
                item.user_properties.clear()
            after: Any = None if number == self.runs - 1 else item.parent  # what the next run needs set up still
            reports = self._reports(item, after)
            if number == 0:
                hook = item.config.hook.pytest_report_to_serializable
                self.answer["reports"] = [hook(config=item.config, report=report) for report in reports]
            failed = next((report for report in reports if ends_test(report)), None)
            if failed and number:
                self.answer["again"] = failed.longreprtext or failed.outcome
            if failed:
                break
            del reports, failed
        gc.collect()
        forget_names()
        self.finish()
        (self.folder / ANSWER).write_text(packed(self.answer))
        return True

    def _reports(self, item: pytest.Item, after: Any) -> list[pytest.TestReport]:
        """Run the test once: the reports of its phases, each after those that are logged meanwhile, as of subtests."""
        self.phase, before = "setup", item.session.testsfailed
        phases = runtestprotocol(item, log=False, nextitem=after)
        reports = [report for phase in phases for report in (*self.logged.get(phase.when or "", ()), phase)]
        self.logged.clear()
        if terminal := item.config.pluginmanager.get_plugin("terminalreporter"):
            terminal.stats.clear()  # keeps what was logged, which is no leak of the test
            terminal._tw._current_line = ""  # grows by a letter for each subtest
        if item.session.testsfailed > before and not any(ends_test(report) for report in reports):
            phases[1].outcome = "failed"
            phases[1].longrepr = "heapsmith: pytest counts a failure of the test that no report tells"
        return reports

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is logged while a phase runs."""
        self.logged.setdefault(self.phase, []).append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """What is logged from now on belongs to the teardown."""
        self.phase = "teardown"
        self._keep_sections(item)

    def _keep_sections(self, item: pytest.Item) -> None:
        """Write what earlier phases printed: pytest has emptied its files of it."""
        text = "".join(f"captured {kind} of {phase}:\n{text}\n" for phase, kind, text in item._report_sections)
        (self.folder / BEFORE).write_text(text, encoding="utf-8", errors="backslashreplace")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Mark the begin and the end of the test itself."""
        self.phase = "call"
        self._keep_sections(item)
        gc.collect()
        self.begin()
        try:
            return (yield)
        finally:
            self.end()


class Marking(Child):
    """Marks begins and ends by a calloc of a size that nobody else asks for."""

    def __init__(self, folder: Path, runs: int, size: int) -> None:
        super().__init__(folder, runs)
        libc = ctypes.CDLL(None)
        self._calloc, self._free, self._size = libc.calloc, libc.free, ctypes.c_size_t(size)
        self._calloc.restype, self._calloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_size_t)
        self._free.restype, self._free.argtypes = None, (ctypes.c_void_p,)

    def begin(self) -> None:
        """A mark."""
        self._free(self._calloc(1, self._size))

    end = finish = begin


class Tracing(Child):
    """Tells the lines that hold most when the traced bytes are most, or that each run leaves more of."""

    def __init__(self, folder: Path, runs: int, root: Path) -> None:
        super().__init__(folder, runs)
        self.root, self.most = f"{root}{os.sep}", 0
        self.base: set[int] = set()
        self.best: tracemalloc.Snapshot | None = None
        self.after: list[tracemalloc.Snapshot] = []

    def begin(self) -> None:
        """Trace; look at each line at how much is live."""
        if self.runs > 1:
            if not tracemalloc.is_tracing():
                tracemalloc.start(FRAMES)
        else:
            tracemalloc.start(FRAMES)
            sys.settrace(self._line)

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        now = tracemalloc.get_traced_memory()[0]
        if now > self.most * STEP + LEAST_STEP:
            self.most, self.best = now, tracemalloc.take_snapshot()
        return self._line

    def end(self) -> None:
        """Look a last time."""
        if self.runs == 1:
            sys.settrace(None)
            if self.best is None:
                self.best = tracemalloc.take_snapshot()
            tracemalloc.stop()

    def finish(self) -> None:
        """Add the lines, those with most bytes first."""
        if self.runs > 1 and tracemalloc.is_tracing():
            self.best = tracemalloc.take_snapshot()
        held: dict[str, int] = {}
        for trace in self.best.traces if self.best else ():
            if line := self._place(trace.traceback):
                held[line] = held.get(line, 0) + trace.size
        own = {line: size for line, size in held.items() if not line.startswith(("/", "<"))}
        self.answer["lines"] = sorted((own or held).items(), key=lambda one: -one[1])[:MOST_LINES]

    def _place(self, stack: tracemalloc.Traceback) -> str:
        """The innermost line below the root, else the innermost; none of this module and of tracemalloc."""
        frames = [frame for frame in reversed(stack) if frame.filename not in (__file__, tracemalloc.__file__)]
        own = (frame for frame in frames if frame.filename.startswith(self.root) and ".venv" not in frame.filename)
        found = next(own, frames[0] if frames else None)
        return f"{found.filename.removeprefix(self.root)}:{found.lineno}" if found else ""


def forget_names() -> None:
    """Empty the interpreter's cache of attributes, which keeps names that were made anew for each look-up.

    Such are those of reprlib and tempfile, some for each subtest of pytest: no leak of the test, and few in all.
    """
    sys._clear_type_cache()


def keep_captured(config: pytest.Config, folder: Path) -> None:
    """Lead what pytest captures to files of a folder, which a process that a signal ends leaves behind.

    pytest has files without names of it. With --capture=sys it has it in its memory, which is lost.
    """
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    for name, file in CAPTURED.items():
        capture: Any = getattr(getattr(manager, "_global_capturing", None), name, None)
        try:
            number = capture.tmpfile.fileno()
        except (AttributeError, io.UnsupportedOperation):
            continue
        with open(folder / file, "w+b") as kept:
            os.dup2(kept.fileno(), number, inheritable=False)
            if capture._state == "started":
                os.dup2(number, capture.targetfd)


def child_of(asked: str) -> Child:
    """The child that its parent asks for."""
    said = json.loads(asked)
    folder, runs = Path(said["folder"]), said["runs"]
    return Marking(folder, runs, said["mark"]) if said["mark"] else Tracing(folder, runs, Path(said["root"]))
