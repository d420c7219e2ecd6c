"""A pool of processes that leave interrupts to this one, end with it, and never end in a traceback."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from typing import Any, Literal, TypeVar

from heapsmith.model.child import begin_child
from heapsmith.model.errors import Missing

Found = TypeVar("Found")


class Pool:
    """Runs functions in `count` processes.

    method: fork copies this process with all that it holds; spawn begins anew, which is right where
    this process has threads. begin: called in each process with `given` before anything else.
    """

    def __init__(
        self, count: int, method: Literal["fork", "spawn"], begin: Callable[..., None] | None = None, *given: Any
    ) -> None:
        self._own: set[BaseProcess] = set()
        context = multiprocessing.get_context(method)
        self._pool = ProcessPoolExecutor(count, context, begin_child, (begin, given))
        self._closed = False

    def run(
        self, function: Callable[..., Found], tasks: Iterable[tuple[Any, ...]], *, in_order: bool = True
    ) -> Iterator[Found]:
        """Yield what the function returns for each task, in order or as soon as it is there.

        Whatever ends this early ends the pool. Raises Missing if the system kills a process, and
        whatever the function raises.
        """
        try:
            futures = self._submitted(function, tasks)
            for future in futures if in_order else as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            self.close()
            raise Missing(
                "a worker process was killed, perhaps for want of memory; expected more memory or fewer processes"
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the processes, whatever they do."""
        if self._closed:
            return
        self._closed = True
        for process in self._own:
            process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def _submitted(self, function: Callable[..., Found], tasks: Iterable[tuple[Any, ...]]) -> list[Future[Found]]:
        """Submit all tasks. Processes begin here: no interrupt may meet one that does not ignore it yet."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        others = set(multiprocessing.active_children())
        try:
            return [self._pool.submit(function, *task) for task in tasks]
        finally:
            self._own |= set(multiprocessing.active_children()) - others
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
