"""Takes in the processes of a command whose parents have ended, such as daemons, waits for them and reaps them."""

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from heapsmith.tools.common.processes import children, descendants

_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
_C = ctypes.CDLL(None)
_LOOK_S = 0.05


class Orphans:
    """The children of this process that it did not make itself: processes below its command lost their parents.

    command: whose end another one waits for.
    """

    def __init__(self) -> None:
        self._others = set(children(os.getpid()))
        self.command = 0

    def alive(self) -> list[int]:
        """Those that have not ended; the others are reaped."""
        return [pid for pid in self._all() if not self._reaped(pid)]

    def _all(self) -> list[int]:
        return [pid for pid in children(os.getpid()) if pid not in self._others and pid != self.command]

    def _reaped(self, pid: int) -> bool:
        with suppress(ChildProcessError):
            return os.waitpid(pid, os.WNOHANG)[0] == pid
        return True

    def send(self, number: int) -> None:
        """Send a signal to all of them, and to all below them."""
        for pid in self.alive():
            for one in (pid, *descendants(pid)):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(one, number)

    def wait(self, goes_on: Callable[[], bool]) -> None:
        """Wait until none is left, as long as `goes_on`."""
        while self.alive() and goes_on():
            time.sleep(_LOOK_S)


@contextmanager
def adopting(wanted: bool) -> Iterator[Orphans | None]:
    """Take in orphans, if that is wanted: while the block runs, this process is to its descendants what init(1) is."""
    if not wanted:
        yield None
        return
    before = ctypes.c_int()
    _C.prctl(_GET_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    _C.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    orphans = Orphans()
    try:
        yield orphans
    finally:
        _C.prctl(_SET_SUBREAPER, before.value, 0, 0, 0)
