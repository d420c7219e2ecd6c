"""Shared by all tests: `call` and `lab` run commands, `trace` is a real one; under CI=true nothing may be skipped."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import quick
from hypothesis import HealthCheck, Phase, settings

from heapsmith import __main__ as program
from heapsmith.bench import __main__ as laboratory
from heapsmith.model.constants import BENCHFAST
from heapsmith.tools.ci.verdict import SERVICES

os.environ |= BENCHFAST  # built-in designs that check no free() work in tests

gc.set_threshold(100_000, 20, 20)  # the compiled model is a million objects, which each full search for garbage walks

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # what a shell starts with & inherits that; tests send it
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("timeless", deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""No example fails because it took long, nor because drawing it did: a busy machine is no fault."""
settings.load_profile("timeless")
settings.register_profile("unshrunk", settings.get_profile("timeless"), phases=[Phase.explicit, Phase.generate])
"""Says that a test fails, at once: a failing example is not made smaller (bench/gates/mutants.py)."""

PROGRAM = [sys.executable, "-m", "heapsmith"]


def process(*words: str | bytes | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, with these environment variables."""
    done = subprocess.run([*PROGRAM, *words], capture_output=True, check=False, env=os.environ | variables)
    return subprocess.CompletedProcess(
        done.args, done.returncode, os.fsdecode(done.stdout), complaint(os.fsdecode(done.stderr))
    )


def complaint(errors: str) -> str:
    """What a command said, but for the line that it compiles: which test is the first to need a kernel is chance."""
    return "".join(line for line in errors.splitlines(keepends=True) if "compiling the model" not in line)


COMPILED_MODEL = (
    *(
        "ageing",
        "annotated",
        "bytes",
        "calibrate",
        "capacities",
        "ci_check",
        "cli",
        "cluster",
        "cost",
        "experiments",
        "explore",
        "extents",
        "files",
        "forge",
        "guard",
        "history",
        "huge_pages",
        "import",
        "outcome",
        "kernel",
        "knobs",
        "machine_check",
        "memory_limit",
        "mesh",
        "meters",
        "python",
        "real_programs",
        "record",
        "replay",
        "report",
        "resident",
    ),
    *(
        "segregat",
        "simulate",
        "sites",
        "size_classes",
        "spool",
        "sweep",
        "syscalls",
        "trace",
        "training",
        "trials",
        "tune",
        "validate",
        "verify",
    ),
)
"""Files of tests, by how their names begin, that run the compiled model: it takes half a minute to compile."""


class Answer(NamedTuple):
    """What one command did."""

    status: int
    out: str
    err: str


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of the quick tests no other file is imported."""
    return True if quick.is_chosen(config) and not quick.may_hold_quick(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    with quick.guarded(item):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """The files of COMPILED_MODEL first, in the first worker's half of all tests; else as they were.

    No limit of time for the long forms.
    """
    for item in items:
        if item.get_closest_marker("big") is not None:
            item.add_marker(pytest.mark.timeout(0))
    if quick.is_chosen(config):
        config.hook.pytest_deselected(items=[item for item in items if not quick.is_quick(item)])
        items[:] = filter(quick.is_quick, items)
    items.sort(key=lambda item: not item.path.stem.removeprefix("test_").startswith(COMPILED_MODEL))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"CI may not skip: {reason}"
    return report


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Answer]]:
    """Runs the command line in this process, with real file descriptors behind its streams."""
    yield from _caller(program.main, monkeypatch, capfd)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Answer]]:
    """The same for the laboratory's command line, `python -m heapsmith.bench`."""
    yield from _caller(laboratory.main, monkeypatch, capfd)


def _caller(
    main: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Answer]]:
    monkeypatch.setattr("heapsmith.model.compile.wait.announce", lambda *_: None)  # no test waits for a cold cache

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["heapsmith", *map(str, arguments)])
        capfd.readouterr()
        kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            with pytest.raises(SystemExit) as stop:
                main()
        finally:  # a command leaves them to end its process, which goes on here
            for number, handler in kept.items():
                signal.signal(number, handler)
        return Answer(int(stop.value.code or 0), *capfd.readouterr())

    yield run


@pytest.fixture
def shell_environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a user's shell in which the command `heapsmith` is this one, wherever it is installed."""
    command = tmp_path / "bin" / "heapsmith"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m heapsmith "$@"\n')
    command.chmod(0o755)
    around = {name: value for name, value in os.environ.items() if name not in SERVICES}
    return around | {"PATH": f"{command.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"}


@pytest.fixture
def plain_model() -> Iterator[None]:
    """Simulators run as plain Python whatever listens, so that no test waits for another variant to compile."""
    from heapsmith.model.compile.kernel import specialised
    from heapsmith.model.heap import simulator
    from heapsmith.model.heap.events import run

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(simulator, "_run_with", lambda compiled, absent, **constants: specialised(run, **constants))
        yield


@pytest.fixture(scope="module")
def own_outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Outcomes of searches are stored in a folder of these tests; compiled code stays where it is."""
    from heapsmith.model.search import outcome_store

    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcome_store, "cache_dir", lambda: folder)
        yield


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small trace, recorded from a real program."""
    out = tmp_path_factory.mktemp("trace") / "py.hst"
    job = "import json; json.loads(json.dumps([{str(i): [i] * 9} for i in range(2000)]))"
    command = ["env", "PYTHONMALLOC=malloc", sys.executable, "-S", "-c", job]
    subprocess.run([*PROGRAM, "record", "--only", "-o", str(out), "--", *command], check=True)
    return out
