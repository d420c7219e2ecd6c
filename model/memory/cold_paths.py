"""Slow paths: how many operations ago a core last took each, and so whether it finds it cold.

A processor forgets the branches of code that it has not executed for long, and its nearest caches
lose the code. The first call after that guesses wrong and waits where the same call in a row would
not. A path is cold after COLD events without it. Each core remembers the last event at which it took
each path.
"""

from heapsmith.model.compile.kernel import Ints, kernel
from heapsmith.model.memory.listener_words import COLD_CALLS, EVENTS, PATH_OFFSET, ROW

PATHS = 8
REFILL, FLUSH, REMOTE_FREE, DRAIN, SLAB, LARGE_BIRTH, LARGE_DEATH, RESIZE = range(PATHS)
"""The paths: a front without a block, a front that is full, a free for another heap, its arrival there, an
empty slab that comes or goes, a large block that is born or dies, and realloc.
"""
COLD = 128


@kernel
def take(listener: Ints, path: int) -> None:
    """Count a path that the core takes now, if it is cold."""
    place = int(listener[ROW]) + int(listener[PATH_OFFSET]) + path
    last, now = int(listener[place]), int(listener[EVENTS])
    listener[place] = now
    if last < 0 or now - last >= COLD:
        listener[COLD_CALLS] += 1
