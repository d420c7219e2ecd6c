"""What a person hears while the model is compiled: at first about how long it takes, then a line a minute.

Or that nothing compiles it.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from heapsmith.model.child import child

MODEL_S = 60.0
"""What all that a search needs takes to compile on an idle core, about; nearly all of it is two loops."""

LOOPS = 2
"""The loops, which are compiled beside each other."""

LOOP_BYTES = 240_000
"""The bytes of Python's code of a loop with all that it reaches (model/heap/events.py), about.

What has less than half of them is no loop, and takes less time.
"""

SMALL_S = 6.0
"""What a command takes that compiles no loop but a dozen small functions, such as those that read a trace."""

LOAD = Path("/proc/loadavg")
"""proc(5): the load over one minute first; fourth how many threads run now."""

AGAIN_S = 60.0
"""Between two lines."""

Say = Callable[[float], None]
"""Called with seconds."""

Estimate = Callable[[float, float | None], None]
"""Called with the seconds that compiling takes, about, and with those of the budget that they count against."""


class _Told:
    """Who is told that something is compiled, how long it takes, and against what budget that counts."""

    estimate: Estimate | None = None
    plain: Callable[[], None] | None = None
    uncached: Callable[[], None] | None = None
    so_far: Say | None = None
    heard_s = 0.0
    budget_s: float | None = None


def announce(
    estimate: Estimate,
    so_far: Say,
    plain: Callable[[], None] | None = None,
    uncached: Callable[[], None] | None = None,
) -> None:
    """Have a person told if this process must compile what an earlier one has not: that takes a while.

    estimate: hears it, and again if more than twice as much is to be compiled; so_far: hears each minute for
    how long something has been compiled. plain: hears that there is no compiler; uncached: that the results
    cannot be kept.
    """
    _Told.estimate, _Told.so_far, _Told.plain, _Told.uncached, _Told.heard_s = estimate, so_far, plain, uncached, 0.0


def plain() -> None:
    """Tell that the model runs as plain Python."""
    if is_told() and _Told.plain is not None:
        _Told.plain()


def uncached() -> None:
    """Tell, once, that what is compiled cannot be kept."""
    if is_told() and _Told.uncached is not None:
        tell, _Told.uncached = _Told.uncached, None
        tell()


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


def begin(code_bytes: int = LOOP_BYTES) -> None:
    """Tell the estimate for a function, if nobody has heard of as much; a worker's parent has told it.

    code_bytes: of Python's code of the function and all that it reaches. What counts against a budget is all that a
    search needs, which is told before the first of it is compiled.
    """
    if not is_told() or _Told.estimate is None:
        return
    takes_s = estimated(code_bytes if _Told.budget_s is None else LOOP_BYTES)
    if _Told.budget_s is not None or takes_s > 2 * _Told.heard_s:
        budget_s, _Told.budget_s, _Told.heard_s = _Told.budget_s, None, takes_s
        _Told.estimate(takes_s, budget_s)


def estimated(code_bytes: int) -> float:
    """Return about how many seconds it takes to compile so much, on these cores with the load that they have."""
    part = min(1.0, code_bytes / LOOP_BYTES)
    return max(SMALL_S, part * MODEL_S / LOOPS) * slowness(LOOPS if part > 0.5 else 1)


def slowness(at_once: int) -> float:
    """Return by how much work for `at_once` idle cores takes longer on these cores, with the load that they have."""
    return at_once / min(at_once, len(os.sched_getaffinity(0))) * max(1.0, busy() / (os.cpu_count() or 1))


def busy() -> float:
    """Return how many threads want a core: as over the last minute, but no more than now, for what has ended is gone.

    Without /proc it is the load of the last minute.
    """
    try:
        words = LOAD.read_text().split()
        return min(float(words[0]), float(words[3].partition("/")[0]))
    except (OSError, ValueError, IndexError):
        return os.getloadavg()[0]


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
