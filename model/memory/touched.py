"""Touched: makes, grows and reads the array in which the listeners of model/memory/touches.py keep all they know."""

import functools
from typing import Any

import msgspec
import numpy as np

from heapsmith.model.compile import kernel
from heapsmith.model.compile.kernel import Ints
from heapsmith.model.compile.vectors import FEW
from heapsmith.model.memory import branches, cache, distances, resident, words
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.sets import row_of
from heapsmith.model.memory.touches import CACHES, DISTANCES, LOG

LOG_ENTRIES = 1 << 16
COUNTS = (
    "accesses",
    "l1_misses",
    "l2_misses",
    "llc_misses",
    "transfers",
    "tlb1_misses",
    "tlb2_misses",
    "faults_4k",
    "faults_2m",
    "mispredicted",
    "resident_bytes",
    "resident_peak",
)


class Touches(msgspec.Struct, frozen=True):
    """What caches, TLBs, page tables and branch predictors counted."""

    accesses: int  # of lines
    l1_misses: int
    l2_misses: int  # accesses that no private level served: all L1 misses if there is no L2
    llc_misses: int  # of those, served by memory
    transfers: int  # of those, served by another core, which had written the line
    tlb1_misses: int
    tlb2_misses: int  # of those, not in the second level
    faults_4k: int  # first touches of a page; two for one that is read first
    faults_2m: int  # first touches of a huge page
    mispredicted: int  # branches of malloc and free (model/memory/branches.py)
    resident_bytes: int  # at the end
    resident_peak: int
    resident_average: float  # over the events, of the bytes resident after each


class Touched:
    """The state of one listener. array: what the kernels take; a new one after each `make_room`."""

    def __init__(self, hardware: Hardware, sink: int = CACHES, log_entries: int = LOG_ENTRIES) -> None:
        self.hardware = hardware
        self.sink = sink
        self.array: Ints = np.zeros(words.WORDS, np.int64)
        self._tables: dict[int, int] = {}
        self.array[words.LINE_SHIFT] = hardware.line_bytes.bit_length() - 1
        if sink == LOG:
            self._grow({words.LOG_AT: log_entries}, 0)
            self.array[words.LOG_END] = self.array[words.LOG_AT] + log_entries
        elif sink == CACHES:
            self._begin_caches()
        elif sink == DISTANCES:
            self._begin_distances()

    def make_room(self, size: int, threads: int = 1) -> None:
        """The tables do for an event that touches up to `size` bytes for the first time, and for so many threads."""
        if self.sink == CACHES:
            self._room_for_cores(min(threads, self.hardware.cores))
            self._room_for_pages(size)
        elif self.sink == DISTANCES:
            self._room_for_lines(size)

    def constants(self) -> dict[str, int]:
        """The constants of the kernels that are to take the array."""
        wide = self.sink == CACHES and max(level.ways for level in self.hardware.levels()) > FEW
        return {"SINK": self.sink, "WIDE": int(wide)}

    def counts(self) -> Touches:
        """All that sink CACHES counted."""
        self._must_be_whole()
        events = int(self.array[words.EVENTS])
        numbers = {name: int(self.array[getattr(words, name.upper())]) for name in COUNTS}
        return Touches(**numbers, resident_average=int(self.array[words.RESIDENT_SUM]) / events if events else 0.0)

    def log(self) -> list[tuple[int, int]]:
        """What sink LOG kept: (address of the line, write flag), in order."""
        begin = int(self.array[words.LOG_AT])
        entries = self.array[begin : begin + int(self.array[words.LOGGED])].tolist()
        return [(entry & ~1, entry & 1) for entry in entries]

    @property
    def lost(self) -> int:
        """Touches for which the log had no room."""
        return int(self.array[words.LOST])

    def distances(self) -> distances.Distances:
        """What sink DISTANCES counted."""
        self._must_be_whole()
        begin = int(self.array[words.HISTOGRAM_AT])
        histogram = self.array[begin : begin + distances.BUCKETS].copy()
        return distances.Distances(histogram, int(self.array[words.COLD]), int(self.array[words.ACCESSES]))

    def _must_be_whole(self) -> None:
        if self.array[words.FULL]:
            raise RuntimeError("an event touched more than it was given room for")

    def _begin_caches(self) -> None:
        machine, array = self.hardware, self.array
        tlb = machine.tlb
        private = (
            (words.L1_MASK, words.L1_WAYS, machine.l1),
            (words.L2_MASK, words.L2_WAYS, machine.l2),
            (words.SMALL_MASK, words.SMALL_WAYS, tlb.small),
            (words.HUGE_MASK, words.HUGE_WAYS, tlb.huge),
            (words.TLB2_MASK, words.TLB2_WAYS, tlb.second),
        )
        lengths = []
        for mask, ways, level in private:
            sets = machine.sets(level) if level else 0
            # A level that there is not has one set of no ways: it can be searched, and nothing is found.
            array[mask], array[ways] = max(0, sets - 1), level.ways if level else 0
            lengths.append(row_of(sets, int(array[ways])))
        offsets = (words.L2_OFFSET, words.SMALL_OFFSET, words.HUGE_OFFSET, words.TLB2_OFFSET, words.BRANCH_OFFSET)
        array[list(offsets)] = np.cumsum(lengths)
        array[words.CORE_WORDS] = array[words.BRANCH_OFFSET] + branches.WORDS
        llc_sets = machine.sets(machine.llc)
        array[words.LLC_SETS], array[words.LLC_WAYS] = llc_sets, machine.llc.ways
        array[words.LLC_MASK] = -1 if llc_sets & (llc_sets - 1) else llc_sets - 1
        array[words.CORES], array[words.CORES_MOST] = 1, machine.cores
        array[words.ZEROES] = machine.zeroing_caches
        array[[words.NODE_FREE, words.LEAF_FREE, words.ROOM]] = -1
        llc = row_of(llc_sets, machine.llc.ways)
        self._grow(
            {words.LLC_AT: llc, words.ROOT_AT: resident.ROOT_WORDS, words.CORES_AT: int(array[words.CORE_WORDS])}, -1
        )
        self.make_room(0)

    def _private_lines(self) -> tuple[int, int]:
        """The lines that L1 and L2 of a core hold."""
        machine = self.hardware
        return machine.l1.bytes // machine.line_bytes, (machine.l2.bytes if machine.l2 else 0) // machine.line_bytes

    def _room_for_cores(self, cores: int) -> None:
        if cores <= self.array[words.CORES]:
            return
        cores = min(max(cores, 2 * int(self.array[words.CORES])), self.hardware.cores)
        slots = 1 << (cores * sum(self._private_lines()) * 3 // 2).bit_length()
        self._grow({words.CORES_AT: cores * int(self.array[words.CORE_WORDS]), words.DIRECTORY_AT: 2 * slots}, -1)
        self.array[words.CORES] = cores
        self.array[words.DIRECTORY_MASK] = slots - 1
        # It counts as full: whoever looks first makes it anew from what the cores hold.
        self.array[[words.DIRECTORY_MOST, words.DIRECTORY_USED]] = slots * 3 // 4

    def _room_for_pages(self, size: int) -> None:
        if size <= self.array[words.ROOM]:
            return
        frames = size // resident.FRAME + 1 + resident.SPARE_LEAVES
        nodes = size // (resident.FRAME * resident.NODE_FRAMES) + 1 + resident.SPARE_NODES
        self._grow_pool(words.LEAVES_AT, words.LEAVES_LEFT, resident.LEAF_WORDS, frames)
        self._grow_pool(words.NODES_AT, words.NODES_LEFT, resident.NODE_WORDS, nodes)
        resident.note_room(self.array)

    def _grow_pool(self, at: int, left: int, item_words: int, wanted: int) -> None:
        """So many nodes or leaves can be had; if there are too few, the pool is at least doubled."""
        if self.array[left] < wanted:
            length = self._tables.get(at, 0)
            more = max(wanted, length // item_words)
            self._grow({at: length + more * item_words}, 0)
            self.array[left] += more

    def _begin_distances(self) -> None:
        self._grow({words.HISTOGRAM_AT: distances.BUCKETS}, 0)
        self.array[words.LAST_LINE] = -1
        self.make_room(0)

    def _room_for_lines(self, size: int) -> None:
        shift = int(self.array[words.LINE_SHIFT])
        wanted = int(self.array[words.LINES]) + (size >> shift) + distances.SPARE_LINES + 1
        if wanted > self.array[words.LINES_MOST]:
            self._grow_distances(1 << wanted.bit_length())
        room = int(self.array[words.LINES_MOST] - self.array[words.LINES]) - distances.SPARE_LINES
        self.array[words.ROOM] = room << shift

    def _grow_distances(self, lines: int) -> None:
        """Tables for so many lines, a power of two; those known join them in the order of their last touches."""
        known = self._known_lines()
        for table in (words.TABLE_AT, words.AXIS_AT, words.TREE_AT):
            self._tables.pop(table, None)
        self._grow({words.TABLE_AT: 4 * lines, words.AXIS_AT: 4 * lines, words.TREE_AT: 4 * lines}, -1)
        self.array[words.TABLE_MASK] = 2 * lines - 1
        self.array[words.AXIS_WORDS] = 4 * lines
        self.array[words.LINES_MOST] = lines
        _compiled_enter()(self.array, known)

    def _known_lines(self) -> Ints:
        """The lines in the order of their last touches."""
        axis, table = int(self.array[words.AXIS_AT]), int(self.array[words.TABLE_AT])
        slots = self.array[axis : axis + int(self.array[words.NOW])]
        return self.array[table + slots[slots >= 0]]

    def _grow(self, sizes: dict[int, int], nothing: int) -> None:
        """A new array with tables of these sizes (by the word that says where), the old ones at their beginnings."""
        tables = self._tables | sizes
        longer = _aligned(words.WORDS + sum(tables.values()))
        longer[:] = nothing
        longer[: words.WORDS] = self.array[: words.WORDS]
        begin = words.WORDS
        for word, length in tables.items():
            if word in self._tables:
                old = int(self.array[word])
                kept = min(self._tables[word], length)
                longer[begin : begin + kept] = self.array[old : old + kept]
            longer[word] = begin
            begin += length
        self.array, self._tables = longer, tables
        if self.sink == CACHES:
            cache.switch_to(longer, int(longer[words.THREAD]))


def _aligned(length: int) -> Ints:
    """An array that begins with a cache line, so that no vector lies in three."""
    array: Ints = np.empty(length + 7, np.int64)
    first = -array.ctypes.data // 8 % 8
    return array[first : first + length]


@functools.cache
def _compiled_enter() -> Any:
    return kernel.compiled(distances.enter)
