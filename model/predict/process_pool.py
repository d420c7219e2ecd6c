"""A pool of processes that leave interrupts to this one, end with it, and never end in a traceback."""

import multiprocessing
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal, TypeVar

from heapsmith.model.child import begin_child
from heapsmith.model.errors import Missing

Found = TypeVar("Found")


class Pool:
    """Runs functions in `count` processes.

    Each process has a pipe of its own, of which no other process holds the far end: what a process that was
    ended had half written is the end of its pipe. The executor of the standard library waits for the rest for ever.

    method: fork copies this process with all that it holds; spawn begins anew, which is right where
    this process has threads. begin: called in each process with `given` before anything else.
    """

    def __init__(
        self, count: int, method: Literal["fork", "spawn"], begin: Callable[..., None] | None = None, *given: Any
    ) -> None:
        self._processes: dict[Connection, BaseProcess] = {}
        self._count = count
        self._context = (
            multiprocessing.get_context("fork") if method == "fork" else multiprocessing.get_context("spawn")
        )
        self._begin = (begin, given)

    def run(
        self, function: Callable[..., Found], tasks: Iterable[tuple[Any, ...]], *, in_order: bool = True
    ) -> Iterator[Found]:
        """Yield what the function returns for each task, in order or as soon as it is there.

        Whatever ends this early ends the pool. One run ends before the next begins. Raises Missing if the system kills
        a process, and whatever `begin` or the function raises.
        """
        try:
            results = self._results(function, tasks)
            yield from _in_order(results) if in_order else (found for _, found in results)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the processes, whatever they do."""
        for process in self._processes.values():
            process.kill()
        while self._processes:
            pipe, process = self._processes.popitem()
            process.join()
            pipe.close()

    def _results(self, function: Callable[..., Found], tasks: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, Found]]:
        """Yield the number of each task with its result, as soon as it is there."""
        self._start()
        left = iter(enumerate(tasks))
        busy: dict[Connection, int] = {}

        def give(pipe: Connection) -> None:
            for number, task in islice(left, 1):
                pipe.send((function, task))
                busy[pipe] = number

        with _a_killed_process_is_missing():
            for pipe in self._processes:
                give(pipe)
        while busy:
            for pipe in [ready for ready in wait(busy) if isinstance(ready, Connection)]:
                with _a_killed_process_is_missing():
                    found, failure = pipe.recv()
                    number = busy.pop(pipe)
                    give(pipe)
                if failure is not None:
                    raise failure[0] from _InWorker(failure[1])
                yield number, found

    def _start(self) -> None:
        """Start the processes that are not there. No interrupt may meet one that does not ignore it yet."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            while len(self._processes) < self._count:
                here, there = self._context.Pipe()
                process = self._context.Process(target=_work, args=(there, *self._begin), daemon=True)
                process.start()
                there.close()
                self._processes[here] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_order(results: Iterator[tuple[int, Found]]) -> Iterator[Found]:
    """Yield the results in the order of their numbers."""
    early: dict[int, Found] = {}
    following = 0
    for number, found in results:
        early[number] = found
        while following in early:
            yield early.pop(following)
            following += 1


@contextmanager
def _a_killed_process_is_missing() -> Iterator[None]:
    try:
        yield
    except (EOFError, ConnectionError):
        raise Missing(
            "a worker process was killed, perhaps for want of memory; expected more memory or fewer processes"
        ) from None


def _work(pipe: Connection, begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    """Answer each task on the pipe by (result, None) or (None, what was raised), until the parent ends this process."""
    begin_child(None, ())
    with suppress(EOFError, ConnectionError):  # the parent has ended
        begun = _answer(begin or _nothing, given)
        while True:
            task = pipe.recv_bytes()
            pipe.send_bytes(begun if pickle.loads(begun)[1] else _answer(_done, (task,)))


def _done(task: bytes) -> Any:
    function, given = pickle.loads(task)
    return function(*given)


def _nothing() -> None:
    """Begin a process that needs no beginning."""


def _answer(function: Callable[..., Any], given: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((function(*given), None))
    except Exception as failure:  # the parent raises it
        told = traceback.format_exc()
        try:
            return pickle.dumps((None, (failure, told)))
        except Exception:  # what cannot be sent is told
            return pickle.dumps((None, (RuntimeError(repr(failure)), told)))


class _InWorker(Exception):
    """The traceback of what a worker raised, as the cause of what is raised here."""
