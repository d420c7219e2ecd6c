"""Works on many items at once, one per processor."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from heapsmith.tools.common.rounds import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(what: str, work: Callable[[Item], Result], items: Sequence[Item], progress: Progress) -> list[Result]:
    """The results of `work` on each item, in order; `progress` reports each item as `what`."""
    found: list[Result] = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for result in pool.map(work, items):
            found.append(result)
            progress(what, len(found), len(items))
    return found
