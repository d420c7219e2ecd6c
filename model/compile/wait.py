"""What a person hears while the model is compiled: at first how long it takes at most, then a line a minute.

Or that nothing compiles it.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from typing import Any

from heapsmith.model.child import child

MODEL_S = 60.0
"""What all that a search needs takes to compile on an idle core, about; nearly all of it is two loops."""

LOOPS = 2
"""The loops, which are compiled beside each other."""

AGAIN_S = 60.0
"""Between two lines."""

Say = Callable[[float], None]
"""Called with seconds."""

Estimate = Callable[[float, float | None], None]
"""Called with the seconds that compiling takes at most, and with those of the budget that they count against."""


class _Told:
    """Who is told that something is compiled, how long it takes, and against what budget that counts."""

    at_most: Estimate | None = None
    plain: Callable[[], None] | None = None
    so_far: Say | None = None
    heard = False
    budget_s: float | None = None


def announce(at_most: Estimate, so_far: Say, plain: Callable[[], None] | None = None) -> None:
    """Have a person told, once, if this process must compile what an earlier one has not: that takes a while.

    at_most: hears the estimate; so_far: hears each minute for how long something has been compiled. plain: hears that
    there is no compiler.
    """
    _Told.at_most, _Told.so_far, _Told.plain, _Told.heard = at_most, so_far, plain, False


def plain() -> None:
    """Tell that the model runs as plain Python."""
    if is_told() and _Told.plain is not None:
        _Told.plain()


@contextmanager
def counted_against(budget_s: float | None) -> Iterator[None]:
    """While this block runs, what is compiled counts against a budget, which a person hears too."""
    _Told.budget_s = budget_s
    try:
        yield
    finally:
        _Told.budget_s = None


def is_told() -> bool:
    """Say whether this process is one whose user hears of it, and no worker of such a one."""
    return _Told.so_far is not None and parent_process() is None


def in_child(compiles: Callable[[Any], Any], signature: Any) -> None:
    """Have a child compile, which leaves the result on disk: a signal ends this process at once, but not LLVM."""
    compiling = child(compiles, signature)
    with reported():
        compiling.join()


def begin() -> None:
    """Tell the estimate if nobody has heard it; a worker's parent has told it."""
    if is_told() and _Told.at_most is not None and (_Told.budget_s is not None or not _Told.heard):
        budget_s, _Told.budget_s, _Told.heard = _Told.budget_s, None, True
        _Told.at_most(MODEL_S * slowness(LOOPS) / LOOPS, budget_s)


def slowness(at_once: int) -> float:
    """Return by how much work for `at_once` idle cores takes longer on these cores, with the load that they have."""
    return at_once / min(at_once, len(os.sched_getaffinity(0))) * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@contextmanager
def reported(wait: Callable[[float], bool] | None = None) -> Iterator[None]:
    """Tell each minute for how long this block has been entered. `wait`: waits so long, and says whether it is left."""
    say = _Told.so_far
    if say is None or not is_told():
        yield
        return
    left, begun = threading.Event(), time.monotonic()
    is_left = wait or left.wait

    def report() -> None:
        while not is_left(AGAIN_S):
            say(time.monotonic() - begun)

    teller = threading.Thread(target=report, daemon=True)
    teller.start()
    try:
        yield
    finally:
        left.set()
        teller.join()
