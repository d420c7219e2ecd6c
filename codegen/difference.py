"""Differences between library and model in addresses, counters and events (docs/machine.md)."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.ledger import ledger
from heapsmith.model.heap.simulator import Counters, Simulator
from heapsmith.model.memory.layout import HUGE_CODE, RUN_CODE
from heapsmith.model.parts.counters import COUNTS, LOCKS, TOTALS
from heapsmith.model.trace.reader import Chunk, Op

HIT_PATH = ("hit0", "push")
"""Counters that the release build leaves out (docs/machine.md)."""

BYTES = (
    "bytes of live blocks",
    "bytes of small blocks that wait",
    "committed bytes without a huge cache",
    "bytes that malloc_trim could give back",
)
"""Sums of mallinfo2's figures (runtime/verify/driver.c) that the model's ledger of bytes has too."""

LOCK_NAMES = [f"locks.{name}" for name in LOCKS]
"""The counters of locks, as a difference names them."""


class Difference(msgspec.Struct, frozen=True):
    """The first event after which library and model disagree.

    event: its number in the trace, from 0; None before the first event, or if the library ended
    without reporting its number. what: the quantity that differs.
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
    """Describe event `index` of a chunk."""
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
    """Describe an address code; the class of the requested `size` gives the block's number."""
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
    return f"{words} (block {index} of class {row.name})" if rest == 0 and index >= 0 else words


def counter_names(plan: Plan) -> list[str]:
    """The names of a library's counters, in its order: totals, then the counters by class."""
    return [*TOTALS, *(f"{name} of class {row.name}" for row in plan.classes for name in COUNTS)]


def counter_row(counters: Counters) -> NDArray[np.int64]:
    """The model's counters in the order of counter_names: int64."""
    by_class = np.array([counters.classes[name] for name in COUNTS], np.int64).T
    return np.concatenate((np.array([counters.totals[name] for name in TOTALS], np.int64), by_class.ravel()))


def lock_row(counters: Counters) -> NDArray[np.int64]:
    """The model's counters of locks in the order of LOCK_NAMES: int64."""
    return np.array([counters.locks[name] for name in LOCKS], np.int64)


def byte_row(simulator: Simulator) -> NDArray[np.int64]:
    """The model's BYTES: int64. An empty slab counts whole in the last, up to the bytes in no block."""
    held, counters = ledger(simulator), simulator.counters()
    live = held.asked + held.rounding + held.header_and_canary + held.run_rounding + held.huge_rounding
    waiting = held.fronts + held.transfer_cache + held.remote_lists + held.quarantines
    runs = held.run_caches + held.free_runs + held.pages_ahead
    committed = held.committed - held.huge_cache
    in_use = sum(counters.classes["acquire"]) - sum(counters.classes["retire"])
    empty = (counters.totals["slabs"] - in_use) * simulator.plan.slab_bytes
    return np.array([live, waiting, committed, min(empty, committed - live - waiting - runs) + runs], np.int64)


def counted(plan: Plan, *, checked: bool) -> NDArray[np.bool_]:
    """Which counters a build keeps: all, or all but HIT_PATH."""
    everything = checked or plan.design.row("counting").COUNTS_HITS
    return np.array([everything or name.split()[0] not in HIT_PATH for name in counter_names(plan)])


def by_address(
    plan: Plan, first: int, chunk: Chunk, expected: NDArray[np.int64], got: NDArray[np.int64]
) -> Difference | None:
    """The first event whose address differs; `first` is the number of the chunk's first event."""
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
    """The first counter, or of the locks and BYTES behind them, that differs after the chunk, with its last event."""
    differing = np.flatnonzero((expected != got) & compared)
    if not len(differing):
        return None
    which = int(differing[0])
    last = len(chunk.op) - 1
    name = [*counter_names(plan), *LOCK_NAMES, *BYTES][which]
    return Difference(first + last, operation(chunk, last), name, str(expected[which]), str(got[which]))
