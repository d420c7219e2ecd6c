"""Memory that malloc did not give: what is resident of a process, beside what its malloc has of the system."""

from collections.abc import Iterable

import msgspec

from heapsmith.model.errors import Missing
from heapsmith.tools.common.process_memory import MOST_HEAPS, Gone, Memory, ProcessMemory, chain, names, table, views
from heapsmith.tools.common.resident_words import parts
from heapsmith.tools.common.units import amount

OTHER_BYTES, OTHER_TIMES = 8 << 20, 2
"""Resident bytes beyond this many times malloc's, and that many more, are worth a word."""


class OtherMemory(msgspec.Struct, frozen=True):
    """A process of which much memory was resident that malloc did not give.

    resident_bytes: at most, without pages of files and shared memory. malloc_bytes: live at most in its trace; under a
    library, those that this had of the system at most. kinds: what the others are, where a recording tells it; then
    malloc_bytes are the resident ones at that moment.
    """

    pid: int
    program: str
    resident_bytes: int
    malloc_bytes: int
    kinds: dict[str, int] = {}

    @property
    def other_bytes(self) -> int:
        """Return the bytes that are not malloc's."""
        return self.resident_bytes - self.malloc_bytes

    def sentence(self) -> str:
        """A line for the user."""
        why = "it has an allocator of its own, maps memory itself, or has large static data or stacks"
        return (
            f"{amount(self.other_bytes)} of the resident memory of {self.program} (pid {self.pid}) are none of "
            f"malloc's, which gave {amount(self.malloc_bytes)}: {parts(self.kinds.items()) or why}; "
            "no malloc changes these"
        )


def is_other(resident: int, given: int) -> bool:
    """Whether so much is resident that malloc's bytes do not explain it."""
    return resident > OTHER_TIMES * given + OTHER_BYTES


def largest(found: Iterable[OtherMemory]) -> list[OtherMemory]:
    """Of each program the process with the most such memory; the most first."""
    first: dict[str, OtherMemory] = {}
    for one in sorted(found, key=lambda one: -one.other_bytes):
        first.setdefault(one.program, one)
    return list(first.values())


class HeapsmithBytes:
    """The bytes that generated libraries have of the system at most, in one program of a process."""

    def __init__(self) -> None:
        self._tables: list[dict[str, int]] | None = None
        self._peaks: list[int] = []

    def read(self, pid: int, resident: int) -> int | None:
        """The bytes that malloc has now, beside the resident ones; None if no such library is there or can be read."""
        if self._tables == []:
            return None
        try:
            with ProcessMemory(pid) as memory:
                if self._tables is None:
                    self._find(memory)
                return self._sum(memory, resident)
        except Gone:
            return None
        except (Missing, KeyError, ValueError):  # the last two: a library of another version
            self._tables = []
            return None

    def _find(self, memory: Memory) -> None:
        tables = [table(memory, view) for view in views(memory)]
        counters = [names(memory, at["heap_counters"], at["HEAP_COUNTERS"]) for at in tables]
        self._peaks = [
            at["heap_counts"] + 8 * of.index("committed_peak") for at, of in zip(tables, counters, strict=True)
        ]
        self._tables = tables

    def _sum(self, memory: Memory, resident: int) -> int | None:
        """The committed bytes; where they do not explain what is resident, the heaps of threads as well."""
        if not self._tables:
            return None
        given = sum(memory.word(peak) for peak in self._peaks)
        if is_other(resident, given):
            given += sum(_heap_bytes(memory, at) for at in self._tables)
        return given


def _heap_bytes(memory: Memory, at: dict[str, int]) -> int:
    return at["heap"] * len(chain(memory, memory.word(at["newest_heap"]), at["heap.earlier"], MOST_HEAPS))
