"""What library and model may differ in, in the words of docs/machine.md: addresses, counters, events."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.large import HUGE_CODE, RUN_CODE
from heapsmith.model.heap.machine import Counters
from heapsmith.model.heap.records import COUNTS, TOTALS
from heapsmith.model.trace.reader import Chunk, Op

HIT_PATH = ("hit0", "push")
"""Counters that the release build leaves out (section 10)."""


class Difference(msgspec.Struct, frozen=True):
    """The first event after which library and model disagree, and about what.

    event: its number in the trace, from 0; None if there was no event yet, or the library's end left no word of it.
    """

    event: int | None
    operation: str
    what: str
    expected: str
    got: str

    def __str__(self) -> str:
        where = "no event known" if self.event is None else f"event {self.event}, {self.operation}"
        return f"{where}: {self.what}: expected {self.expected}, got {self.got}"


def operation(chunk: Chunk, index: int) -> str:
    """Event `index` of a chunk in words."""
    which = Op(int(chunk.op[index]))
    words = [which.name.lower(), f"thread {chunk.thread[index]}"]
    if which not in (Op.THREAD_START, Op.THREAD_EXIT):
        words.append(f"block {chunk.block[index]}")
    if chunk.size[index] or which in (Op.MALLOC, Op.CALLOC, Op.ALIGNED):
        words.append(f"size {chunk.size[index]}")
    if chunk.align_log2[index]:
        words.append(f"alignment {1 << int(chunk.align_log2[index])}")
    return ", ".join(words)


def place(plan: Plan, code: int, size: int) -> str:
    """An address code in words; `size` is what the event asked for: its class gives the block's number in the slab."""
    if code < 0:
        return "no block"
    if code >= HUGE_CODE:
        return f"huge mapping {code - HUGE_CODE}"
    if code >= RUN_CODE:
        return f"run at page {code - RUN_CODE}"
    superslab, in_superslab = divmod(code, plan.superslab_bytes)
    slab, offset = divmod(in_superslab, plan.slab_bytes)
    words = f"superslab {superslab}, slab {slab}, offset {offset}"
    if size > plan.small_limit:
        return words
    row = plan.classes[plan.size_class[(size + plan.bias + plan.grain - 1) // plan.grain]]
    index, rest = divmod(offset - row.first, row.stride)
    return f"{words} (block {index} of class {row.size})" if rest == 0 and index >= 0 else words


def counter_names(plan: Plan) -> list[str]:
    """What each counter that a library reports is, in its order: the global ones, then all of class 0, all of 1, ..."""
    return [*TOTALS, *(f"{name} of class {row.size}" for row in plan.classes for name in COUNTS)]


def counter_row(counters: Counters) -> NDArray[np.int64]:
    """The model's counters in the order of counter_names: int64, [global + classes * counters per class]."""
    by_class = np.array([counters.classes[name] for name in COUNTS], np.int64).T
    return np.concatenate((np.array([counters.totals[name] for name in TOTALS], np.int64), by_class.ravel()))


def counted(plan: Plan, *, checked: bool) -> NDArray[np.bool_]:
    """Which counters a build keeps: the checked one all, the release build all but those of the hit path."""
    return np.array([checked or name.split()[0] not in HIT_PATH for name in counter_names(plan)])


def by_address(
    plan: Plan, first: int, chunk: Chunk, expected: NDArray[np.int64], got: NDArray[np.int64]
) -> Difference | None:
    """The first event of the chunk, which begins at event `first`, whose block is not where the model has it."""
    differing = np.flatnonzero(expected != got)
    if not len(differing):
        return None
    index = int(differing[0])
    size = int(chunk.size[index])
    wanted, found = (place(plan, int(column[index]), size) for column in (expected, got))
    return Difference(first + index, operation(chunk, index), "address", wanted, found)


def by_counter(
    plan: Plan,
    first: int,
    chunk: Chunk,
    expected: NDArray[np.int64],
    got: NDArray[np.int64],
    compared: NDArray[np.bool_],
) -> Difference | None:
    """The first counter that differs after the chunk; the event named is the chunk's last."""
    differing = np.flatnonzero((expected != got) & compared)
    if not len(differing):
        return None
    which = int(differing[0])
    last = len(chunk.op) - 1
    name = counter_names(plan)[which]
    return Difference(first + last, operation(chunk, last), name, str(expected[which]), str(got[which]))
