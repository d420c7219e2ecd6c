"""Runs marked tests of pytest in recorded child processes, and judges what their traces say."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from _pytest.unittest import TestCaseFunction

from heapsmith.model.errors import HeapsmithError
from heapsmith.model.files import scratch
from heapsmith.tools.ci.pytest_child import ANSWER, BEFORE, CAPTURED
from heapsmith.tools.ci.pytest_limits import Limits
from heapsmith.tools.ci.pytest_limits import limits_of as limits_of
from heapsmith.tools.ci.pytest_reports import ends_test, is_own, unpacked
from heapsmith.tools.common.units import amount

if TYPE_CHECKING:  # imported by tests that are marked, when they have run
    from heapsmith.tools.ci.marked_test import Used

CHILD = "HEAPSMITH_PYTEST_CHILD"
SETTINGS = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
"""Variables of the child, where they are not set: each object is a block, and counts repeat."""

MARKS = range(1 << 20, 1 << 21)
"""Sizes of which one marks the begin and end of a test."""

LINES_S = 120
"""The longest that the run under tracemalloc may take."""

MOST_OF_OUTPUT, MOST_FUNCTIONS, FRAMES = 4000, 8, 24


class Answer(NamedTuple):
    """What a child says. end: how it ended and the output of its terminal, if it says nothing else."""

    reports: list[pytest.TestReport]
    pid: int
    again: str
    lines: list[tuple[str, int]]
    end: str = ""


class Judge:
    """Takes the place of the usual protocol for marked tests."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a marked test in a child; leave the others."""
        if item.get_closest_marker("heapsmith") is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in [*judged(item, limits_of(item)), *_torn_down(item, nextitem)]:
            _count_subtest(item, report)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


def _count_subtest(item: pytest.Item, report: pytest.TestReport) -> None:
    """Count a failed subtest as pytest does where it runs: a test that passes but for its subtests fails."""
    if is_own(report) or not report.failed or isinstance(item, TestCaseFunction):  # unittest's count by themselves
        return
    try:
        from _pytest.subtests import failed_subtests_key
    except ImportError:  # before pytest 9
        return
    name: Any = getattr(item, "id", item.nodeid)  # the id since 9.2
    item.config.stash[failed_subtests_key][name] += 1


def _torn_down(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.TestReport]:
    """Tear down what tests before this one left set up and the next one does not need; a report if that fails."""
    state = item.session._setupstate
    call = pytest.CallInfo.from_call(lambda: state.teardown_exact(nextitem), when="teardown")
    if call.excinfo:
        yield pytest.TestReport.from_item_and_call(item, call)


def judged(item: pytest.Item, limits: Limits) -> list[pytest.TestReport]:
    """The reports of a test that ran in a child. That of its call fails if a limit is exceeded."""
    with scratch() as folder:
        try:
            answer, said, figures = _recorded(item, limits, folder)
        except HeapsmithError as error:
            return [_failed(item, f"heapsmith: the test cannot be recorded: {error}")]
    if not answer.reports:
        return [_failed(item, f"heapsmith: {answer.end}")]
    for report in filter(is_own, answer.reports):
        report.user_properties += figures
        if said and report.when == "call":
            report.outcome, report.longrepr = "failed", said
    return answer.reports


def _failed(item: pytest.Item, words: str) -> pytest.TestReport:
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", words, "call")


def _recorded(item: pytest.Item, limits: Limits, folder: Path) -> tuple[Answer, str, list[tuple[str, object]]]:
    """What the child answers, which limits it exceeds, and its figures. Stacks take time: only a failure has them."""
    from heapsmith.tools.ci.marked_test import used

    mark = random.SystemRandom().choice(MARKS)
    answer, trace = _run(item, limits, folder, mark, stacks=0)
    if trace is None or any(ends_test(report) for report in answer.reports):
        return answer, "", []
    if answer.again:
        return answer, f"heapsmith: no_leaks runs the test {limits.runs} times, and it fails again:\n{answer.again}", []
    found = used(trace, mark)
    figures: list[tuple[str, object]] = [
        ("heapsmith_allocations", found.allocations),
        ("heapsmith_peak_bytes", found.peak_bytes),
    ]
    is_over = (
        (limits.max_peak is not None and found.peak_bytes > limits.max_peak)
        or (limits.max_allocations is not None and found.allocations > limits.max_allocations)
        or (limits.leak is not None and found.left > limits.leak)
    )
    return answer, _exceeded(item, limits, folder, mark, found) if is_over else "", figures


def _exceeded(item: pytest.Item, limits: Limits, folder: Path, mark: int, found: "Used") -> str:
    """Which limits a test exceeds and what exceeds them: it runs again, with call stacks. Empty: it leaks nothing."""
    from heapsmith.tools.ci.marked_test import holders

    again, trace = _run(item, limits, folder, mark, stacks=FRAMES)
    if trace is None:
        end = again.end or "it leaves no trace"
        return f"heapsmith: the test exceeds its limits; when it runs again with call stacks: {end}"
    of, parts = holders(trace, mark, limits.leak or 0), []
    if limits.max_peak is not None and found.peak_bytes > limits.max_peak:
        peak = f"{amount(found.peak_bytes)} ({found.peak_bytes:,} bytes)"
        head = f"the peak is {peak}, max_peak {amount(limits.max_peak)}"
        parts.append(_part(head, of.at_peak, _lines(item, 1, folder)))
    if limits.max_allocations is not None and found.allocations > limits.max_allocations:
        head = f"it makes {found.allocations:,} allocations, max_allocations {limits.max_allocations:,}"
        parts.append(_part(head, of.asked, []))
    if limits.leak is not None and of.leaked:
        left = amount(sum(one.bytes for one in of.leaked))
        head = f"each run leaves {left} that nothing frees, no_leaks with {limits.leak:,} bytes for a function"
        parts.append(_part(head, of.leaked, _lines(item, limits.runs, folder)))
    return "\n".join(parts)


def _run(item: pytest.Item, limits: Limits, folder: Path, mark: int, stacks: int) -> tuple[Answer, Path | None]:
    """Run the test in a recorded child: its answer, and the trace of its process if it has answered."""
    from heapsmith.tools.record.record import record

    for name in (ANSWER, BEFORE, *CAPTURED.values()):
        (folder / name).unlink(missing_ok=True)
    words = _command(item, folder, {"runs": limits.runs, "mark": mark})
    with open(folder / "output", "wb") as output, open(os.devnull, "rb") as nothing:
        done = record(words, folder / "test.hst", stacks=stacks, stdin=nothing, stdout=output, stderr=output)
    answer = _answer(item, folder) or Answer([], 0, "", [], _end(item, done.exit_status, folder))
    own = [one for one in done.traces if one.pid == answer.pid]
    return answer, Path(max(own, key=lambda one: one.events).path) if own else None


def _part(head: str, functions: Sequence[Any], lines: Sequence[tuple[str, int]]) -> str:
    """A limit that was exceeded, and what exceeds it."""
    text = [f"heapsmith: {head}"]
    if lines:
        text += ["  lines of Python, by tracemalloc:", *(f"  {amount(size):>12}  {line}" for line, size in lines)]
    text.append("  functions, by the trace:")
    for one in functions[:MOST_FUNCTIONS]:
        text.append(f"  {amount(one.bytes):>12}  {one.blocks:>9,} blocks  {one.name} ({one.module})")
    return "\n".join(text)


def _lines(item: pytest.Item, runs: int, folder: Path) -> list[tuple[str, int]]:
    """The lines of Python that hold most, of a run under tracemalloc; none if it fails or takes too long."""
    (folder / ANSWER).unlink(missing_ok=True)
    words = _command(item, folder, {"runs": runs, "mark": 0})
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LINES_S)
    except subprocess.TimeoutExpired:
        return []
    answer = _answer(item, folder)
    return answer.lines if answer else []


def _end(item: pytest.Item, status: int, folder: Path) -> str:
    """How the process of a test ended, by its status as a shell has it, and the last that it wrote."""
    signals = {128 + one: one.name for one in signal.Signals}
    how = f"killed by {signals[status]}" if status in signals else f"ended with status {status}"
    hint = ", perhaps for lack of memory" if status == 128 + signal.SIGKILL else ""
    parts = [_tail(folder / "output"), _tail(folder / BEFORE)]
    parts += [f"captured std{name}:\n{text}" for name, file in CAPTURED.items() if (text := _tail(folder / file))]
    said = "\n".join(filter(None, parts))
    return f"{how}{hint}; the process of {item.nodeid} left no report" + (f":\n{said}" if said else "")


def _tail(file: Path) -> str:
    """The last of a text; nothing if there is no such file."""
    return file.read_text(encoding="utf-8", errors="replace")[-MOST_OF_OUTPUT:].strip() if file.exists() else ""


def _answer(item: pytest.Item, folder: Path) -> Answer | None:
    """What the child left; None if it did not come so far."""
    if not (folder / ANSWER).exists():
        return None
    found = unpacked((folder / ANSWER).read_text())
    read = item.config.hook.pytest_report_from_serializable
    reports = []
    for data in found.get("reports", []):
        values = data.get("_subtest.context", {}).get("kwargs")
        reports.append(read(config=item.config, data=data))
        if values is not None and hasattr(reports[-1].context, "kwargs"):
            object.__setattr__(reports[-1].context, "kwargs", values)  # pytest 9 quotes them again when it reads
    return Answer(reports, found["pid"], found["again"], found["lines"])


def _command(item: pytest.Item, folder: Path, asked: dict[str, object]) -> list[str]:
    """The command that runs one test as this process was told to run tests."""
    config = item.config
    asked = asked | {"folder": str(folder), "root": str(config.rootpath)}
    settings = {name: os.environ.get(name, value) for name, value in SETTINGS.items()} | {CHILD: json.dumps(asked)}
    own = next(name for name, plugin in config.pluginmanager.list_name_plugin() if _is_own(plugin))
    added = ["-p", own, "-m", "", "-k", "", f"--rootdir={config.rootpath}"]
    added += ["-c", str(config.inipath)] if config.inipath else []
    for plugin, option in (
        ("cacheprovider", f"--override-ini=cache_dir={folder / 'cache'}"),
        ("tmpdir", f"--basetemp={folder / 'base'}"),
        ("junitxml", "--junit-xml="),
        ("xdist", "-n0"),
    ):
        added += [option] if config.pluginmanager.has_plugin(plugin) else []
    start = ["env", "-C", str(config.invocation_params.dir), *(f"{name}={value}" for name, value in settings.items())]
    node = f"{item.path}::{item.nodeid.partition('::')[2]}"
    return [*start, sys.executable, "-m", "pytest", *_options(config), *added, node]


def _options(config: pytest.Config) -> list[str]:
    """The options that the user gave, without the places of tests; a worker of xdist has those of its master."""
    worker = getattr(config, "workerinput", None)
    given = worker["mainargv"][1:] if worker else config.invocation_params.args
    places = set(config.option.file_or_dir or ())
    return [str(word) for word in given if str(word) not in places]


def _is_own(plugin: object) -> bool:
    return getattr(plugin, "__name__", "") == "heapsmith.pytest_plugin"
