"""The listener: creates, grows and reads the array that the kernels of touches.py fill."""

import functools
from typing import Any

import msgspec
import numpy as np

from heapsmith.model.compile import kernel
from heapsmith.model.compile.kernel import Ints
from heapsmith.model.compile.vectors import FEW
from heapsmith.model.memory import branches, cache, cold_paths, distances, resident
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.lru_sets import row_of
from heapsmith.model.memory.page_size import page_constants
from heapsmith.model.memory.touches import CACHES, DISTANCES, LOG

LOG_ENTRIES = 1 << 16

_compiled = functools.cache(kernel.compiled)


def _for_pages(entry: Any, page_bytes: int) -> Any:
    """Return the compiled twin of a kernel for pages of this length."""
    return _compiled(entry, **kernel.used(entry, page_constants(page_bytes)))


class Touches(msgspec.Struct, frozen=True):
    """Counts of caches, TLBs, page tables and branch predictors."""

    accesses: int  # accesses of lines
    l1_misses: int
    l2_misses: int  # accesses without a private level; without L2: all L1 misses
    llc_misses: int  # L2 misses that memory served
    l1_reads: int  # of l1_misses, those of reads
    l2_reads: int  # of l2_misses, the same without transfers
    llc_reads: int  # of llc_misses, the same
    transfers: int  # L2 misses that another core with the modified line served
    awaited: int  # of transfers, those that the library waits for (model/memory/cache.py)
    l2_awaited: int  # of the L2 misses that the last level served, the same
    llc_awaited: int  # of llc_misses, the same
    tlb1_misses: int
    tlb2_misses: int  # first-level misses that the second level lacked
    faults_4k: int  # first touches of a page; two faults if the first is a read
    faults_2m: int  # first touches of a huge page
    populated: int  # of faults_4k, pages that one call made resident with others
    mispredicted: int  # branches of malloc and free (model/memory/branches.py)
    mispredicted_loops: int  # ends of the program's loops over the lines of a block
    cold_calls: int  # slow paths that the core had not taken for long (model/memory/cold_paths.py)
    tables: int  # page tables that first touches of small pages took: one for 2 MiB
    dropped: int  # resident small pages that were given back
    resident_bytes: int  # bytes at the end
    resident_peak: int
    resident_average: float  # bytes, over the time of the trace; over its events where it has no times


COUNTS = Touches.__struct_fields__[:-1]


class Listener:
    """Follows the touches of a heap and its program. array: the kernels' array; `make_room` may replace it."""

    def __init__(self, hardware: Hardware, sink: int = CACHES, log_entries: int = LOG_ENTRIES) -> None:
        self.hardware = hardware
        self.sink = sink
        self.array: Ints = np.zeros(words.WORDS, np.int64)
        self._tables: dict[int, int] = {}
        self._elapsed = self._resident_sum = 0
        self.array[words.LINE_SHIFT] = hardware.line_bytes.bit_length() - 1
        if sink == LOG:
            self._grow({words.LOG_AT: log_entries}, 0)
            self.array[words.LOG_END] = self.array[words.LOG_AT] + log_entries
        elif sink == CACHES:
            self._begin_caches()
        elif sink == DISTANCES:
            self._begin_distances()

    def make_room(self, size: int, threads: int = 1) -> None:
        """Make room for an event that touches up to `size` new bytes, and for `threads` threads."""
        if self.sink == CACHES:
            self._room_for_cores(min(threads, self.hardware.cores))
            self._room_for_pages(size)
        elif self.sink == DISTANCES:
            self._room_for_lines(size)

    def constants(self) -> dict[str, int]:
        """Return the constants of the kernels that take the array."""
        wide = self.sink == CACHES and max(level.ways for level in self.hardware.levels()) > FEW
        return {"SINK": self.sink, "WIDE": int(wide)} | page_constants(self.hardware.page_bytes)

    def counts(self) -> Touches:
        """Return all counts of sink CACHES."""
        self._must_be_whole()
        numbers = {name: int(self.array[getattr(words, name.upper())]) for name in COUNTS}
        return Touches(**numbers, resident_average=self._resident_average())

    def elapse(self, passed: int) -> None:
        """Let time pass behind the last event, in nanoseconds."""
        if self.sink == CACHES:
            self._elapsed += passed
            self._resident_sum += int(self.array[words.RESIDENT_BYTES]) // self.hardware.page_bytes * passed

    def settle(self, shift: int = 0) -> None:
        """Empty the words that sum time, and resident pages by time, in units of 2^shift ns, before they overflow."""
        self._elapsed += int(self.array[words.ELAPSED]) << shift
        self._resident_sum += int(self.array[words.RESIDENT_SUM]) << shift
        self.array[[words.ELAPSED, words.RESIDENT_SUM]] = 0

    def _resident_average(self) -> float:
        self.settle()
        if not self._elapsed:
            return float(self.array[words.RESIDENT_BYTES])
        return self.hardware.page_bytes * self._resident_sum / self._elapsed

    def resident_between(self, begin: int, end: int) -> int:
        """Return the resident bytes of the whole pages in [begin, end), of sink CACHES."""
        page = self.hardware.page_bytes
        return int(_for_pages(resident.resident_between, page)(self.array, begin // page, end // page))

    def resident_each(self, begin: Ints, size: Ints) -> Ints:
        """Return the resident bytes of the whole pages in [begin, begin + size) for each of many, of sink CACHES."""
        found, page = np.zeros(len(begin), np.int64), self.hardware.page_bytes
        _for_pages(resident.resident_each, page)(self.array, begin // page, (begin + size) // page, found)
        return found

    def log(self) -> list[tuple[int, int]]:
        """Return the entries of sink LOG in order: (address of the line, write flag)."""
        begin = int(self.array[words.LOG_AT])
        entries = self.array[begin : begin + int(self.array[words.LOGGED])].tolist()
        return [(entry & ~1, entry & 1) for entry in entries]

    @property
    def lost(self) -> int:
        """The number of touches without room in the log."""
        return int(self.array[words.LOST])

    def distances(self) -> distances.Distances:
        """Return the distances of sink DISTANCES."""
        self._must_be_whole()
        begin = int(self.array[words.HISTOGRAM_AT])
        histogram = self.array[begin : begin + distances.BUCKETS].copy()
        return distances.Distances(histogram, int(self.array[words.COLD]), int(self.array[words.ACCESSES]))

    def _must_be_whole(self) -> None:
        if self.array[words.FULL]:
            raise RuntimeError("an event touched more than it was given room for")

    def _begin_caches(self) -> None:
        hardware, array = self.hardware, self.array
        private = (hardware.l1, hardware.l2, hardware.tlb.small, hardware.tlb.huge, hardware.tlb.second)
        offset = 0
        for word, level in zip(range(words.L1, words.TLB2 + 1, 3), private, strict=True):
            # An absent level has a set of no ways, so that a search finds nothing.
            sets, ways = (hardware.sets(level), level.ways) if level else (0, 0)
            array[word : word + 3] = offset, max(0, sets - 1), ways
            offset += row_of(sets, ways)
        array[words.BRANCH_OFFSET] = offset
        array[words.PATH_OFFSET] = offset + branches.WORDS
        array[words.CORE_WORDS] = offset + branches.WORDS + cold_paths.PATHS
        llc_sets = hardware.sets(hardware.llc)
        array[words.LLC_SETS], array[words.LLC_WAYS] = llc_sets, hardware.llc.ways
        array[words.LLC_MASK] = -1 if llc_sets & (llc_sets - 1) else llc_sets - 1
        array[words.CORES], array[words.CORES_MOST] = 1, hardware.cores
        array[words.ZEROES] = hardware.zeroing_caches
        array[[words.NODES_FREE, words.LEAVES_FREE, words.ROOM]] = -1
        llc = row_of(llc_sets, hardware.llc.ways)
        self._grow(
            {words.LLC_AT: llc, words.ROOT_AT: resident.ROOT_WORDS, words.CORES_AT: int(array[words.CORE_WORDS])}, -1
        )
        self.make_room(0)

    def _room_for_cores(self, cores: int) -> None:
        if cores <= self.array[words.CORES]:
            return
        cores = min(max(cores, 2 * int(self.array[words.CORES])), self.hardware.cores)
        private_bytes = sum(level.bytes for level in (self.hardware.l1, self.hardware.l2) if level)
        slots = 1 << (cores * (private_bytes // self.hardware.line_bytes) * 3 // 2).bit_length()
        self._grow({words.CORES_AT: cores * int(self.array[words.CORE_WORDS]), words.DIRECTORY_AT: 2 * slots}, -1)
        self.array[words.CORES] = cores
        self.array[words.DIRECTORY_MASK] = slots - 1
        # The table counts as full, so that the first search rebuilds it from the cores.
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
        """Make room for `wanted` nodes or leaves; a pool that is too small at least doubles."""
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
        """Make tables for `lines` lines, a power of two; enter the known lines by last touch."""
        known = self._known_lines()
        for table in (words.TABLE_AT, words.AXIS_AT, words.TREE_AT):
            self._tables.pop(table, None)
        self._grow({words.TABLE_AT: 4 * lines, words.AXIS_AT: 4 * lines, words.TREE_AT: 4 * lines}, -1)
        self.array[words.TABLE_MASK] = 2 * lines - 1
        self.array[words.AXIS_WORDS] = 4 * lines
        self.array[words.LINES_MOST] = lines
        _compiled(distances.enter)(self.array, known)

    def _known_lines(self) -> Ints:
        """Return the lines in the order of their last touches."""
        axis, table = int(self.array[words.AXIS_AT]), int(self.array[words.TABLE_AT])
        slots = self.array[axis : axis + int(self.array[words.NOW])]
        return self.array[table + slots[slots >= 0]]

    def _grow(self, sizes: dict[int, int], nothing: int) -> None:
        """Move the tables to a new array with these lengths; keys are words of a table's place."""
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
            cache.switch_to(longer, int(longer[words.ACTOR]))


def _aligned(length: int) -> Ints:
    """Return an array that begins with a cache line, so that a vector spans at most two lines."""
    array: Ints = np.empty(length + 7, np.int64)
    first = -array.ctypes.data // 8 % 8
    return array[first : first + length]
