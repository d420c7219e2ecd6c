"""The pool of processes: it ends with its parent, on interrupts in silence, and a killed one is one clear line."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import wait
from typing import Literal

import pytest

from heapsmith.model.errors import Missing
from heapsmith.model.predict.process_pool import Pool

EARLIER: set[int | None] = set()
"""Processes that this worker had before a test: other tests' pools end with their objects."""


@pytest.fixture(autouse=True)
def _earlier() -> None:
    EARLIER.clear()
    EARLIER.update(one.pid for one in multiprocessing.active_children())


def work(seconds: float) -> int:
    """Sleep; return the process."""
    time.sleep(seconds)
    return os.getpid()


def test_results_are_in_order_and_by_other_processes() -> None:
    pool = Pool(2, "fork")
    found = list(pool.run(work, [(0.0,)] * 4))
    assert os.getpid() not in found
    assert len(found) == 4
    pool.close()
    assert not [one for one in multiprocessing.active_children() if one.pid not in EARLIER]


def test_a_killed_process_is_one_line() -> None:
    results = (pool := Pool(2, "fork")).run(work, [(0.0,), (60.0,), (60.0,), (60.0,)])
    os.kill(next(results), signal.SIGKILL)
    with pytest.raises(Missing, match="worker process was killed"):
        list(results)
    pool.close()
    assert not [one for one in multiprocessing.active_children() if one.pid not in EARLIER]


def test_the_end_of_a_pool_leaves_the_processes_of_a_later_pool() -> None:
    first = Pool(1, "fork")
    list(first.run(work, [(0.0,)]))
    later = Pool(2, "fork")
    list(later.run(work, [(0.0,)]))
    first.close()
    assert len(list(later.run(work, [(0.1,)] * 4))) == 4
    later.close()
    assert not [one for one in multiprocessing.active_children() if one.pid not in EARLIER]


def many_bytes(count: int) -> bytes:
    """Return more than a pipe holds, so that the process writes while nobody reads."""
    return bytes(count)


def test_a_process_that_ends_while_it_writes_a_result_ends_the_pool() -> None:
    results = (pool := Pool(2, "fork")).run(many_bytes, [(100 << 20,)] * 4)
    next(results)
    assert wait(pool._processes)  # it writes
    pool.close()
    assert not [one for one in multiprocessing.active_children() if one.pid not in EARLIER]


def raises(failure: type[Exception]) -> None:
    """Raise."""
    raise failure("as asked")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_cannot_begin_says_why(method: Literal["fork", "spawn"]) -> None:
    pool = Pool(2, method, raises, ValueError)
    with pytest.raises(ValueError, match="as asked") as found:
        list(pool.run(work, [(0.0,)]))
    assert "in raises" in str(found.value.__cause__)


class Odd(Exception):
    """It cannot be sent."""

    def __reduce__(self) -> str:
        raise TypeError("cannot be sent")


def test_what_cannot_be_sent_is_told() -> None:
    with pytest.raises(RuntimeError, match=r"Odd\('as asked'\)"):
        list(Pool(1, "fork").run(raises, [(Odd,)]))


@pytest.mark.parametrize("failure", [EOFError, ConnectionError, ValueError])
def test_what_a_function_raises_is_raised_here(failure: type[Exception]) -> None:
    pool = Pool(2, "fork")
    with pytest.raises(failure, match="as asked"):
        list(pool.run(raises, [(failure,)]))
    assert not [one for one in multiprocessing.active_children() if one.pid not in EARLIER]


def test_a_result_that_cannot_be_sent_is_what_pickle_says() -> None:
    with pytest.raises(TypeError, match="pickle"):
        list(Pool(1, "fork").run(open, [(os.devnull,)]))


def test_an_interrupt_of_all_processes_ends_the_pool_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    pool = Pool(2, "fork")
    results = pool.run(work, [(0.0,), *[(60.0,)] * 8])
    next(results)
    for process in [one for one in multiprocessing.active_children() if one.pid not in EARLIER]:
        os.kill(process.pid or 0, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert not [one for one in multiprocessing.active_children() if one.pid not in EARLIER]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_end_with_a_killed_parent(method: str) -> None:
    """The processes hold the pipe that `run` reads to its end."""
    script = (
        "import os, time\n"
        "from heapsmith.model.predict.process_pool import Pool\n"
        "if __name__ == '__main__':\n"
        f"    next(Pool(2, {method!r}).run(time.sleep, [(0.0,), (600.0,), (600.0,)]))\n"
        "    print('begun', flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    found = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=300, check=False)
    assert found.returncode == -signal.SIGKILL
    assert found.stdout == b"begun\n"
