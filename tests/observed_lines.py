"""Observed lines: which cache lines a library touches at each event, by valgrind's lackey, as model addresses."""

import bisect
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heapsmith.codegen.difference import counted
from heapsmith.codegen.driver import Driver, driver_tool
from heapsmith.model.design.plan import Plan
from heapsmith.model.memory import layout
from heapsmith.model.trace.reader import Chunk, Op

LINE_SHIFT = 6
PAD_EVENTS = 3000
"""Events without a call at the end, so that lackey's buffer is written up to those before."""

TABLES = {
    "hs_class": layout.CLASSES,
    "hs_below": layout.BELOW,
    "hs_size_class": layout.SIZE_CLASS,
    "hs_registry": layout.SLAB_CLASS,
    "alloc_of": layout.ALLOC_OF,
    "free_of": layout.FREE_OF,
    "shards": layout.STORE_AT,
    "hs_transferred": layout.TRANSFERRED,
    "hs_batches": layout.KEPT_BATCHES,
    "hs_idle": layout.IDLE,
    "is_wanted": layout.WANTED,
    "slabs_held": layout.SLABS_HELD,
    "superslabs_hot": layout.SUPERSLABS_HOT,
    "hs_background_low": layout.BACKGROUND_LOW,
    "hs_background_full": layout.BACKGROUND_FULL,
    "bin": layout.BINS,
    "hs_count": layout.COUNTS,
    "pool_lock": layout.POOL_LOCK,
    "large_lock": layout.LARGE_LOCK,
}
"""The library's own tables, by symbol."""

KINDS = frozenset(("I ", " L", " S", " M"))
"""How lackey's lines of instructions, loads, stores and updates of memory begin."""

QUESTIONS = {"malloc_usable_size", "mallinfo2", "heapsmith_locate", "heapsmith_counters", "heapsmith_counter_count"}
"""Calls of the driver that are no part of an event."""


class Symbol(NamedTuple):
    """Where a symbol begins in its file, and its size."""

    at: int
    size: int


class Region(NamedTuple):
    """Memory of the process, and the model address of its first byte; -1: the heap of threads that have none."""

    start: int
    size: int
    model: int


def symbols(path: Path) -> dict[str, Symbol]:
    """The sized symbols of an object file."""
    done = subprocess.run(["nm", "-S", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[3]: Symbol(int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}


class Process:
    """The driver's process while it waits for its next batch: what lies where."""

    def __init__(self, pid: int, library: Path) -> None:
        self.maps = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
        self.memory = Path(f"/proc/{pid}/mem")
        self.library = library
        self.symbols = {
            name: Symbol(self.base(library) + found.at, found.size) for name, found in symbols(library).items()
        }

    def ranges(self, file: Path, *, code: bool = False) -> list[tuple[int, int]]:
        """Where a file is mapped; only its code."""
        mapped = [row for row in self.maps if row[-1] == str(file) and (not code or "x" in row[1])]
        return [(int(start, 16), int(end, 16)) for start, end in (row[0].split("-") for row in mapped)]

    def base(self, file: Path) -> int:
        """Where a file is mapped first."""
        return min(start for start, _ in self.ranges(file))

    def word(self, address: int) -> int:
        """The word at an address."""
        with self.memory.open("rb", buffering=0) as memory:
            memory.seek(address)
            return int.from_bytes(memory.read(layout.WORD), "little")

    def no_heap(self, plan: Plan) -> list[Region]:
        """The heap of threads that have none: the model knows its counters alone, which the helper's steps write."""
        at, size = self.symbols["hs_no_heap"]
        count, end = plan.layout.count, plan.layout.caches
        model = layout.HEAPS - plan.layout.heap_bytes + count
        return [Region(at, count, -1), Region(at + count, end - count, model), Region(at + end, size - end, -1)]

    def numbered_locks(self, plan: Plan) -> list[Region]:
        """The locks of the heap that have numbers; the model counts them without those of samples."""
        if "hs_numbered" not in self.symbols:
            return []
        at, line, model = self.symbols["hs_numbered"].at, layout.LOCK_LINE, layout.POOL_LOCK + layout.LOCK_LINE
        row, first = plan.design.row("sampling"), plan.first_locks.get("sampling", 0)
        of_samples = range(first, first + (row.locks(plan.design) if "sampling" in plan.first_locks else 0))
        locks = [number for number in range(plan.numbered_locks) if number not in of_samples]
        return [Region(at + number * line, line, model + place * line) for place, number in enumerate(locks)]

    def regions(self, plan: Plan) -> list[Region]:
        """All that the model has addresses for."""
        known = {name: found.at for name, found in self.symbols.items()}
        span, span_bytes = self.word(known["hs_span"]), self.word(known["hs_span_bytes"])
        slabs = span_bytes // plan.slab_bytes
        in_table = plan.design.row("slab_record").TABLE
        record_bytes = in_table * (layout.SLAB_BYTES + plan.numbers.get("record_extra", 0))
        stamp_bytes = layout.WORD * ("release_delay" in plan.numbers)
        runs, run_pages = self.word(known["hs_runs"]), self.word(known["hs_runs"] + layout.WORD)
        found = [
            Region(span, span_bytes, layout.SPAN),
            Region(self.word(known["hs_slabs"]), slabs * record_bytes, layout.SLABS),
            Region(self.word(known["hs_marks"]), slabs * layout.WORD * plan.bitmap_words, layout.MARKS),
            Region(runs, run_pages * plan.page_bytes, layout.RUNS),
            Region(self.word(known["hs_runs"] + 4 * layout.WORD), run_pages * layout.PAGE_BYTES, layout.PAGES),
            Region(self.word(known["hs_runs"] + 5 * layout.WORD), run_pages * stamp_bytes, layout.RUN_STAMPS),
            Region(span - plan.slab_classes_bytes, plan.slab_classes_bytes, layout.SLAB_CLASS),
            Region(self.word(known["hs_live"]), plan.live_map * span_bytes // plan.grain, layout.LIVE),
            *self.no_heap(plan),
        ]
        if "hs_owners" in known:
            superslabs = span_bytes // plan.superslab_bytes
            found.append(Region(self.word(known["hs_owners"]), superslabs * layout.WORD, layout.OWNERS))
        found += [Region(*self.symbols[name], model) for name, model in TABLES.items() if name in self.symbols]
        found += self.numbered_locks(plan)
        heaps, heap = [], self.word(known["hs_newest_heap"])
        while heap:
            heaps.insert(0, heap)
            heap = self.word(heap + plan.layout.remote + 2 * layout.WORD)
        size = plan.layout.heap_bytes
        found += [Region(at, size, layout.HEAPS + number * size) for number, at in enumerate(heaps)]
        return [region for region in found if region.size > 0]


class Observed(NamedTuple):
    """The lines of an event: those surely touched, those that only wide loads of libc touched, and those written.

    A wide load may read beyond what it was asked to look at, as far as its alignment goes.
    """

    surely: set[int]
    may_be: set[int]
    written: set[int]


def observe(plan: Plan, library: Path, chunk: Chunk, folder: Path, nodes: Sequence[str] = ()) -> list[Observed]:
    """The lines that the library touched, per event of a chunk.

    nodes: the processors of each node; the processor of an event has the number of its thread.

    A thread's exit belongs to the next event.
    """
    log = folder / "lackey"
    tool = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}"]
    pad = Chunk.of(*([value] * PAD_EVENTS for value in (Op.THREAD_START, 0, 0, 0, 0, 0)))
    counters = len(counted(plan, checked=False))
    with Driver(library, plan.grain, counters, stall_s=0, under=tool, nodes=nodes) as driver:  # no signals amid a call
        for part in (chunk, pad):
            driver.send(part, processors=part.thread.astype(np.int64))
            driver.receive(len(part.op))
        process = Process(driver._process.pid, library)
        regions = sorted(process.regions(plan))
        reader = Reader(process, regions)
    with log.open(errors="replace") as lines:
        return reader.read(lines, len(chunk.op))


class Reader:
    """Reads lackey's lines: instructions, loads, stores, and updates of memory, each with its address and size."""

    def __init__(self, process: Process, regions: list[Region]) -> None:
        driver = driver_tool()
        self.regions = regions
        self.starts = [region.start for region in regions]
        self.code = self._code(process, process.library)
        self.driver_code = self._code(process, driver)
        begin, size = symbols(driver)["main"]
        self.waits = range(process.base(driver) + begin, process.base(driver) + begin + size)
        self.questions = {process.symbols[name].at for name in QUESTIONS}
        self.boundary = process.base(driver) + symbols(driver)["batch"].at + 4 * layout.WORD  # batch.next

    @staticmethod
    def _code(process: Process, file: Path) -> tuple[int, int]:
        """From the start of a file's first code to the end of its last: no other file lies between."""
        starts, ends = zip(*process.ranges(file, code=True), strict=True)
        return min(starts), max(ends)

    def model(self, address: int) -> int:
        """The model address; -1: the model has none."""
        index = bisect.bisect_right(self.starts, address) - 1
        region = self.regions[index]
        inside = index >= 0 and address < region.start + region.size and region.model >= 0
        return region.model + address - region.start if inside else -1

    def read(self, lines: Iterator[str], count: int) -> list[Observed]:
        """The lines of `count` events: the driver counts one at the end of each. What came before is of none."""
        events: list[Observed] = []
        begin = f"{self.boundary:08x},"
        inside = asks = in_library = False
        for line in lines:
            kind = line[:2]
            if kind not in KINDS or (not events and begin not in line):
                continue
            digits, _, length = line[3:].partition(",")
            address = int(digits, 16)
            if kind == "I ":
                in_library = self.code[0] <= address < self.code[1]
                if in_library and not inside:
                    inside, asks = True, address in self.questions
                elif inside and self.driver_code[0] <= address < self.driver_code[1] and address not in self.waits:
                    inside = False  # the thread that waits in main may run a little at any time
            elif not inside and address == self.boundary and kind != " L":
                if len(events) == count:
                    return events
                events.append(Observed(set(), set(), set()))
            elif inside and not asks:
                size = int(length)
                is_wide = kind == " L" and size >= 16 and not in_library
                touched = {at >> LINE_SHIFT for at in (self.model(address), self.model(address + size - 1)) if at >= 0}
                (events[-1].may_be if is_wide else events[-1].surely).update(touched)
                if kind in (" S", " M"):
                    events[-1].written.update(touched)
        return events
