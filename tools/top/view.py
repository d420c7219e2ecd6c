"""A picture of a heap: its counters and what its bytes are for, read by the names in runtime/heap/9_api/view.c."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heapsmith.model.errors import Missing
from heapsmith.tools.common.process_memory import MOST_HEAPS, Gone, Memory, ProcessMemory, chain, names, table, views
from heapsmith.tools.common.processes import descendants

MOST_SLABS = 1 << 24
OF_HITS = ("hit0", "push")
"""Counters of the hit path, which stay 0 in a library that does not count it."""

Words = NDArray[np.uint64]


class Class(NamedTuple):
    """The small blocks of a class and where they are: with the program, or parked; and its slabs' committed bytes.

    `parked` blocks are neither with the program nor in their slabs; `fronts` of them are in fronts.
    """

    size: int
    usable: int
    counters: dict[str, int]
    live: int
    fronts: int
    parked: int
    slab_bytes: int


class Picture(NamedTuple):
    """A heap at one moment. Counts are those of HEAPSMITH=stats (docs/api.md); the rest are bytes, or heaps.

    huge_bytes, metadata_bytes: 0 of a library whose view has no such names.
    system, locks: of a library that counts everything. counts_hits: whether its `hit0` and `push` count.
    """

    design: str
    counts_hits: bool
    counters: dict[str, int]
    system: dict[str, int]
    locks: dict[str, int]
    classes: list[Class]
    heaps: int
    abandoned: int
    empty_slab_bytes: int
    run_bytes: int
    cached_run_bytes: int
    free_run_bytes: int
    huge_bytes: int
    metadata_bytes: int


class View:
    """The view at an address of a process: the names, and what never changes of what they lead to."""

    def __init__(self, memory: Memory, address: int) -> None:
        self.at = table(memory, address)
        at = self.at
        self.design = memory.text(at["design"])
        self._totals = names(memory, at["heap_counters"], at["HEAP_COUNTERS"])
        self._counts = names(memory, at["class_counters"], at["CLASS_COUNTERS"])
        self._shown = [name for name in self._counts if at["COUNTS_HITS"] or name not in OF_HITS]
        self._system, self._locks = (
            names(memory, at[f"{of}_counters"], at[f"{of.upper()}_COUNTERS"]) if f"{of}_counters" in at else []
            for of in ("system", "lock")
        )
        self.usable, self.stride, self._slot = self.plan_columns(memory, ("usable", "stride", "slot"))
        self._slabs = np.empty(0, np.uint64)

    def picture(self, memory: Memory) -> Picture:
        """The heap now. Threads run meanwhile, so that sums may be off by what moves; none is below 0."""
        at = self.at
        heaps = self.heaps(memory)
        counts = sum((self._counted(memory, heap) for heap in [at["no_heap"], *heaps]), start=self._nothing())
        held = sum((self._held(memory, heap) for heap in heaps), start=self._none())
        slabs = self.slab_records(memory)
        quarantined = sum((self._quarantined(memory, heap) for heap in heaps), start=self._none())
        classes = column(slabs, at["slab.class"], "<u2").astype(np.int64)
        out = self._by_class(classes, column(slabs, at["slab.out"], "<u4"))
        committed = column(slabs, at["slab.committed"], "<u4").astype(np.int64)
        pooled = column(slabs, at["slab.pooled"], "u1") != 0
        totals = memory.read(at["heap_counts"], 8 * len(self._totals))
        parked = held + quarantined + self._elsewhere(counts)
        return Picture(
            self.design,
            bool(at["COUNTS_HITS"]),
            self._with_hits(memory, heaps, self._named(self._totals, np.frombuffer(totals, "<u8"))),
            self._named(self._system, self._besides(memory, "system_counts", self._system)),
            self._named(self._locks, self._besides(memory, "lock_counts", self._locks)),
            self._classes(
                counts, np.maximum(out - parked, 0), held, parked, self._by_class(classes, committed * ~pooled)
            ),
            len(heaps),
            self._abandoned(memory),
            int(committed[pooled].sum()),
            *self._runs(memory),
            memory.word(at["huge_committed"]) if "huge_committed" in at else 0,
            self._metadata(memory, len(heaps), len(slabs)),
        )

    def _metadata(self, memory: Memory, heaps: int, slabs: int) -> int:
        """Bytes of the records of heaps, slabs, and pages of runs."""
        at = self.at
        if "heap_bytes" not in at:
            return 0
        return heaps * at["heap_bytes"] + slabs * at["slab_bytes"] + self.run_top(memory) * at["page"]

    def run_top(self, memory: Memory) -> int:
        """How many pages of the run span were ever handed out."""
        return int.from_bytes(memory.read(self.at["runs"] + self.at["run_span.top"], 4), "little")

    def _with_hits(self, memory: Memory, heaps: list[int], totals: dict[str, int]) -> dict[str, int]:
        """The totals with those that each heap counts by itself."""
        at = self.at.get("heap.run_hits")
        hits = sum(memory.word(heap + at) for heap in heaps) if at is not None else 0
        return totals | {"run_hit": totals["run_hit"] + hits}

    def records(self, raw: bytes, kind: str) -> NDArray[np.uint8]:
        """Records of one kind, one per row."""
        return np.frombuffer(raw, np.uint8).reshape(-1, self.at[kind])

    def _nothing(self) -> Words:
        return np.zeros((self.at["CLASS_COUNT"], len(self._counts)), np.uint64)

    def _none(self) -> NDArray[np.int64]:
        return np.zeros(self.at["CLASS_COUNT"], np.int64)

    @staticmethod
    def _named(names: list[str], numbers: Words) -> dict[str, int]:
        return dict(zip(names, map(int, numbers), strict=True))

    def _classes(self, counts: Words, *columns: NDArray[np.int64]) -> list[Class]:
        """A row per class; columns: its blocks with the program, in fronts, parked; its slabs' bytes."""
        rows = zip(self.stride, self.usable, counts, *columns, strict=True)
        return [
            Class(int(size), int(usable), self._class_counts(row), int(live), int(fronts), int(parked), int(slab_bytes))
            for size, usable, row, live, fronts, parked, slab_bytes in rows
        ]

    def _class_counts(self, numbers: Words) -> dict[str, int]:
        found = self._named(self._counts, numbers)
        return {name: found[name] for name in self._shown}

    def _by_class(self, classes: NDArray[np.int64], amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.bincount(classes, amounts, self.at["CLASS_COUNT"])[: self.at["CLASS_COUNT"]].astype(np.int64)

    def heaps(self, memory: Memory) -> list[int]:
        """Every heap ever made, the newest first."""
        return chain(memory, memory.word(self.at["newest_heap"]), self.at["heap.earlier"], MOST_HEAPS)

    def _abandoned(self, memory: Memory) -> int:
        """How many heaps wait for a thread; the list changes as it is read, so it may come out wrong for once."""
        try:
            return len(chain(memory, memory.word(self.at["abandoned"]), self.at["heap.next"], MOST_HEAPS))
        except Gone:
            return 0

    def _counted(self, memory: Memory, heap: int) -> Words:
        raw = memory.read(heap + self.at["heap.count"], 8 * self._nothing().size)
        return np.frombuffer(raw, "<u8").reshape(self._nothing().shape)

    def plan_columns(self, memory: Memory, names: Sequence[str]) -> list[NDArray[np.int64]]:
        """Numbers of all classes by their names in struct class_plan."""
        at = self.at
        rows = self.records(memory.read(at["classes"], at["CLASS_COUNT"] * at["class_plan"]), "class_plan")
        return [column(rows, at[f"class_plan.{name}"], "<u4") for name in names]

    def _tops(self, memory: Memory, heap: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each class's array stack begins in a heap, and its blocks."""
        at, count = self.at, self.at["CLASS_COUNT"]
        tops = np.frombuffer(memory.read(heap + at["heap.top"] + 8, 8 * count), "<u8").astype(np.int64)
        if "heap.parked" in at:
            parked = np.frombuffer(memory.read(heap + at["heap.parked"], 8 * count), "<u8").astype(np.int64)
            tops = np.where(parked != 0, parked, tops)
        first = heap + at["heap.slot"]
        slots = first + 8 * self._slot.astype(np.int64)
        if each := at.get("COMPACT_BLOCKS"):  # runtime/heap/3_records/opening/compact.h
            compact = first + 8 * ((each + 1) * np.arange(count) + 1)
            slots = np.where(tops <= first + 8 * (each + 1) * count, compact, slots)
        # A stack that is not open has its top below its slots.
        return slots, np.maximum(tops - slots, 0) // 8

    def stacks(self, memory: Memory, heap: int) -> Iterator[tuple[int, list[int]]]:
        """The blocks in a heap's array stacks: usable bytes of the class, and the addresses, the oldest first."""
        slots, held = self._tops(memory, heap)
        for size, slot, blocks in zip(self.usable.tolist(), slots.tolist(), held.tolist(), strict=True):
            if blocks:
                yield size, np.frombuffer(memory.read(slot, 8 * blocks), "<u8").tolist()

    def _held(self, memory: Memory, heap: int) -> NDArray[np.int64]:
        """Blocks in a heap's fronts, by class: what hs_held of runtime/heap/3_records says, and the second level."""
        at, count = self.at, self.at["CLASS_COUNT"]
        if at.get("FRONT_RECORDS", count) < count:
            return self._tops(memory, heap)[1]
        rows = self.records(memory.read(heap + at["heap.front"], count * at["front"]), "front")
        listed = column(rows, at["front.held"], "<u4").astype(np.int64) + column(rows, at["front.listed"], "<u4")
        return self._tops(memory, heap)[1] + listed

    def _elsewhere(self, counts: Words) -> NDArray[np.int64]:
        """Blocks in the transfer cache and on remote lists."""
        column = {name: counts[:, index].astype(np.int64) for index, name in enumerate(self._counts)}
        transfer = column["transfer_in"] - column["transfer_out"] - column["transfer_back"]
        return transfer + column["remote"] - column["drained"]

    def quarantine(self, memory: Memory, heap: int) -> Words:
        """The blocks in a heap's quarantine, the oldest first."""
        at = self.at
        place, slots = heap + at["heap.quarantine"], at["QUARANTINE_SLOTS"]
        held, oldest = (
            int.from_bytes(memory.read(place + at[f"quarantine.{name}"], 4), "little") for name in ("held", "oldest")
        )
        ring = np.frombuffer(memory.read(place + at["quarantine.block"], 8 * slots if held else 0), "<u8")
        return ring[(oldest + np.arange(held)) % slots] if held else ring

    def _quarantined(self, memory: Memory, heap: int) -> NDArray[np.int64]:
        """Blocks in a heap's quarantine, by the class of their slabs."""
        at, blocks = self.at, self.quarantine(memory, heap)
        if len(blocks) == 0:
            return self._none()
        span = np.uint64(memory.word(at["span"]))
        numbers = (blocks - span) // np.uint64(at["SLAB_BYTES"])
        records = self.slab_records(memory)  # before their numbers: it may find more slabs, which stand in front
        known = self.slab_numbers(memory)
        order = np.argsort(known)
        found = order[np.minimum(np.searchsorted(known, numbers, sorter=order), len(order) - 1)]
        ours = records[found[known[found] == numbers]]
        classes = column(ours, at["slab.class"], "<u2").astype(np.int64)
        return self._by_class(classes, np.ones(len(classes), np.int64))

    def slab_numbers(self, memory: Memory) -> Words:
        """The places in the span of the slabs known."""
        at, span = self.at, np.uint64(memory.word(self.at["span"]))
        each, slab = np.uint64(at["slab"]), np.uint64(at["SLAB_BYTES"])
        if not at["HEAD_BYTES"]:
            return (self._slabs - np.uint64(memory.word(at["records"]))) // each
        inside = self._slabs % np.uint64(at["SUPERSLAB_BYTES"])
        return (self._slabs - inside - span) // slab + inside // each

    def slab_records(self, memory: Memory) -> NDArray[np.uint8]:
        """The records of all slabs ever handed out. New ones stand before those known, which stay."""
        spans = self.slab_spans(memory)
        order = np.argsort(self._slabs)
        rows = np.empty((len(order), self.at["slab"]), np.uint8)
        begin = 0
        for place, count in spans:
            records = self.records(memory.read(place, count), "slab")
            rows[order[begin : begin + len(records)]] = records
            begin += len(records)
        return rows

    def slab_spans(self, memory: Memory) -> list[tuple[int, int]]:
        """Where the records of all slabs lie, by ascending address: beginnings, and bytes that lie side by side."""
        first = int(self._slabs[0]) if len(self._slabs) else 0
        fresh = chain(memory, memory.word(self.at["last_slab"]), self.at["slab.earlier"], MOST_SLABS, first)
        self._slabs = np.concatenate([np.array(fresh, np.uint64), self._slabs])
        ordered, each = np.sort(self._slabs), self.at["slab"]
        cuts = [0, *(np.flatnonzero(np.diff(ordered) != each) + 1).tolist(), len(ordered)] if len(ordered) else []
        return [(int(ordered[begin]), (end - begin) * each) for begin, end in pairwise(cuts)]

    def _besides(self, memory: Memory, at: str, counters: list[str]) -> Words:
        """Counts that not each library has."""
        return np.frombuffer(memory.read(self.at[at], 8 * len(counters)) if counters else b"", "<u8")

    def run_pages(self, memory: Memory) -> list[NDArray[np.int64]]:
        """Of each page of the run span: the state of the run that begins there, its pages, its dirty pages."""
        at, top = self.at, self.run_top(memory)
        table = memory.word(at["runs"] + at["run_span.page"])
        pages = self.records(memory.read(table, top * at["page"]) if top else b"", "page")
        fields = (("state", "u1"), ("length", "<u4"), ("dirty", "<u4"))
        return [column(pages, at[f"page.{name}"], kind).astype(np.int64) for name, kind in fields]

    def _runs(self, memory: Memory) -> tuple[int, int, int]:
        """Bytes of runs with the program, in run caches, and the committed ones of free runs."""
        at = self.at
        state, length, dirty = self.run_pages(memory)
        sums = [
            length[state == at["RUN_USED"]].sum(),
            length[state == at["RUN_GONE"]].sum(),
            dirty[state == at["RUN_FREE"]].sum(),
        ]
        used, gone, free = (int(pages) * self.page_bytes(memory) for pages in sums)
        return used, gone, free

    def page_bytes(self, memory: Memory) -> int:
        """A page of a run: a constant of the library, or where pages vary what it learned of the system."""
        if page := self.at.get("PAGE_BYTES"):
            return page
        return 1 << int.from_bytes(memory.read(self.at["page_shift"], 4), "little")


def serving(memory: Memory) -> View | None:
    """The view of the library that serves a program: of several the one whose heaps hold most."""
    found = [View(memory, address) for address in views(memory)]
    return max(found, key=lambda view: view.picture(memory).counters["committed"], default=None)


def served(pid: int) -> int:
    """Return `pid`, or where no library serves that process, as `heapsmith run`, the only one below it that has one."""
    if _has_library(pid):
        return pid
    below = [one for one in descendants(pid) if _has_library(one)]
    return below[0] if len(below) == 1 else pid


def _has_library(pid: int) -> bool:
    with suppress(Gone, Missing), ProcessMemory(pid) as memory:
        return bool(views(memory))
    return False


def column(rows: NDArray[np.uint8], offset: int, kind: str) -> NDArray[np.int64]:
    """A field of all records; the kind is a little-endian numpy type."""
    width = np.dtype(kind).itemsize
    return np.ascontiguousarray(rows[:, offset : offset + width]).view(kind).reshape(-1)
