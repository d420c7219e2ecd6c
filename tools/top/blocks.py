"""Which block of a heap an address is in, and whether it is live; and the contradictions in the heap's own records."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.model.errors import Missing
from heapsmith.tools.common.process_memory import Memory
from heapsmith.tools.top.view import View, column

LIVE, FREE, UNKNOWN = "live block", "free block", "block, live or waiting"
CARVED, EMPTY, HEAD, REST = "never handed out", "empty slab", "records of a superslab", "rest of a slab"
LARGE, WAITING, PAGES = "live large block", "freed large block that waits", "free pages"
HUGE, HEAP, OUTSIDE = "live huge block", "record of a thread's heap", "not in the heap"
IN_SLAB = "its slab"


class Place(msgspec.Struct, frozen=True):
    """What is at an address.

    begin, bytes: of the block or the pages it is in, and `inside` the distance to their beginning. size_class: the
    usable bytes of a small block; slab, index, blocks: the address of its slab, its place there, and how many it has.
    where: what holds a free block. before, after: what the neighbours are.
    """

    address: int
    kind: str
    begin: int | None = None
    bytes: int | None = None
    inside: int | None = None
    size_class: int | None = None
    slab: int | None = None
    index: int | None = None
    blocks: int | None = None
    where: str = ""
    before: str = ""
    after: str = ""


class Slab(NamedTuple):
    """A slab's record: blocks handed out at least once, of these free in the slab, and out of it; committed bytes."""

    start: int
    number: int
    size_class: int
    carved: int
    freed: int
    out: int
    committed: int
    is_empty: bool


class Blocks:
    """The blocks of a heap that stands still, by address. Raises Missing if its library tells too little."""

    def __init__(self, memory: Memory, view: View) -> None:
        self._memory, self._view = memory, view
        self._at = at = view.at
        if not {"huge_table", "class_plan.transfer_at", "FRONT_RECORDS"} <= at.keys():
            raise Missing(f"{view.design}: its library is of an earlier heapsmith; expected one that is built anew")
        self._first, self._blocks, self._flush, self._transfer = view.plan_columns(
            memory, ("first", "blocks", "flush", "transfer_at")
        )
        self.slabs = self._slabs()
        self._starts = sorted(self.slabs)
        self.waiting: dict[int, str] = {}
        self.damage: list[str] = []
        for block, where in self._all_waiting():
            if block in self.waiting:
                self.damage.append(f"{block:#x} is free twice: it is in {self.waiting[block]} and in {where}")
            self.waiting[block] = where
        self._waiting_in: dict[int, list[int]] = {}
        for block in self.waiting:
            if slab := self._slab(block):
                index = (block - slab.start - self.first(slab.size_class)) // self.stride(slab.size_class)
                if 0 <= index < slab.carved:
                    self._waiting_in.setdefault(slab.start, []).append(index)
        self.hidden = self._count_hidden()
        self._runs = self._find_runs()
        self._huge = dict(self._find_huge())
        self.damage += [*self._of_slabs(), *self._of_waiting(), *self._of_runs()]

    def _slabs(self) -> dict[int, Slab]:
        at, memory = self._at, self._memory
        rows = self._view.slab_records(memory)
        numbers = self._view.slab_numbers(memory).astype(np.int64)
        span = memory.word(at["span"])
        names = {"class": "<u2", "carved": "<u4", "freed": "<u4", "out": "<u4", "committed": "<u4", "pooled": "u1"}
        columns = [column(rows, at[f"slab.{name}"], kind).tolist() for name, kind in names.items()]
        found = {}
        for number, size_class, carved, freed, out, committed, pooled in zip(numbers.tolist(), *columns, strict=True):
            start = span + number * at["SLAB_BYTES"]
            found[start] = Slab(start, number, size_class, carved, freed, out, committed, bool(pooled))
        return found

    def _all_waiting(self) -> Iterator[tuple[int, str]]:
        """The free blocks outside their slabs, and what each is in, as far as this can be read."""
        for number, heap in enumerate(reversed(self._view.heaps(self._memory)), 1):
            for size_class, blocks in self._view.stacks(self._memory, heap):
                yield from ((block, f"the front of heap {number} ({size_class} B)") for block in blocks)
            quarantine = self._view.quarantine(self._memory, heap).tolist()
            yield from ((block, f"the quarantine of heap {number}") for block in quarantine)
        for shard, size_class, batch in self._batches():
            yield from ((block, f"the transfer cache (shard {shard}, {size_class} B)") for block in batch)

    def _batches(self) -> Iterator[tuple[int, int, list[int]]]:
        at, memory = self._at, self._memory
        if "batches" not in at:
            return
        row = at["SHARD_ROW"]
        kept = np.frombuffer(memory.read(at["batches"], 4 * row * at["SHARD_COUNT"]), "<u4").reshape(-1, row)
        step = at["SHARD_STEP"]
        for shard, place in np.argwhere(kept).tolist():
            size_class = place * step + shard if step > 1 else place
            blocks = int(kept[shard, place] * self._flush[size_class])
            slot = shard % at["SHARD_TRANSFERS"] * at["TRANSFER_SLOTS"] + int(self._transfer[size_class])
            words = np.frombuffer(memory.read(at["transferred"] + 8 * slot, 8 * blocks), "<u8")
            yield shard, int(self._view.usable[size_class]), words.tolist()

    def _count_hidden(self) -> list[int]:
        """By class, the blocks outside their slabs and not with the program that none of the above has."""
        read = Counter(slab.size_class for block in self.waiting if (slab := self._slab(block)))
        parked = [one.parked for one in self._view.picture(self._memory).classes]
        unknown = Counter[int]()
        if "marks" not in self._at:
            for slab in self.slabs.values():
                unknown[slab.size_class] += slab.freed
        return [max(0, count - read[number]) + unknown[number] for number, count in enumerate(parked)]

    def _find_runs(self) -> list[tuple[int, int, int]]:
        """First page, pages and state of each run, in order."""
        state, length, _ = self._view.run_pages(self._memory)
        heads = np.flatnonzero(state)
        return list(zip(heads.tolist(), length[heads].tolist(), state[heads].tolist(), strict=True))

    def _find_huge(self) -> Iterator[tuple[int, int]]:
        at, memory = self._at, self._memory
        table, slots = (memory.word(memory.word(at["huge_table"] + 8 * part)) for part in (0, 1))
        rows = self._view.records(memory.read(table, slots * at["huge"]), "huge")
        starts, pages = (column(rows, at[f"huge.{name}"], "<u8") for name in ("start", "pages"))
        for start, count in zip(starts.tolist(), pages.tolist(), strict=True):
            if start:
                yield start, count * self._view.page_bytes(memory)

    def place(self, address: int) -> Place:
        """What is at an address."""
        if slab := self._slab(address):
            return self._in_slab(address, slab)
        if place := self._in_run(address):
            return place
        for start, size in self._huge.items():
            if start <= address < start + size:
                return Place(address, HUGE, start, size, address - start)
        for number, heap in enumerate(reversed(self._view.heaps(self._memory)), 1):
            if heap <= address < heap + self._at["heap_bytes"]:
                return Place(address, HEAP, heap, self._at["heap_bytes"], address - heap, where=f"heap {number}")
        return Place(address, OUTSIDE)

    def _slab(self, address: int) -> Slab | None:
        found = bisect_right(self._starts, address) - 1
        start = self._starts[found] if found >= 0 else 0
        return self.slabs[start] if start and address < start + self._at["SLAB_BYTES"] else None

    def _in_slab(self, address: int, slab: Slab) -> Place:
        if slab.is_empty:
            return Place(address, EMPTY, slab.start, self._at["SLAB_BYTES"], address - slab.start)
        stride = self.stride(slab.size_class)
        first, blocks = slab.start + self.first(slab.size_class), int(self._blocks[slab.size_class])
        index = (address - first) // stride
        if not 0 <= index < blocks:
            return Place(address, REST, slab.start, self._at["SLAB_BYTES"], address - slab.start)
        kind, where = self._state(slab, index)
        before, after = (self._state(slab, other)[0] if 0 <= other < blocks else "" for other in (index - 1, index + 1))
        begin = first + index * stride
        return Place(
            address,
            kind,
            begin,
            stride,
            address - begin,
            size_class=int(self._view.usable[slab.size_class]),
            slab=slab.start,
            index=index,
            blocks=blocks,
            where=where,
            before=before,
            after=after,
        )

    def _state(self, slab: Slab, index: int) -> tuple[str, str]:
        """The kind of a block of a slab, and what holds it."""
        block = slab.start + self.first(slab.size_class) + index * self.stride(slab.size_class)
        if index >= slab.carved:
            return CARVED, IN_SLAB
        if block in self.waiting:
            return FREE, self.waiting[block]
        if self._marks(slab) >> index & 1:
            return FREE, IN_SLAB
        return (UNKNOWN, "") if self.hidden[slab.size_class] else (LIVE, "")

    def _marks(self, slab: Slab) -> int:
        """A bit for each block of a slab that is free there; 0 where freed blocks are not marked."""
        if "marks" not in self._at:
            return 0
        wide = 8 * self._at["BITMAP_WORDS"]
        marks = self._memory.read(self._memory.word(self._at["marks"]) + slab.number * wide, wide)
        return int.from_bytes(marks, "little")

    def stride(self, size_class: int) -> int:
        """Bytes from a block of a class to the next."""
        return int(self._view.stride[size_class])

    def first(self, size_class: int) -> int:
        """Where the first block of a class lies in its slab."""
        return int(self._first[size_class])

    def live(self, slab: Slab) -> NDArray[np.bool_]:
        """Whether each block of a slab that was handed out is with the program, as far as it is known."""
        marks = self._marks(slab).to_bytes(-(-slab.carved // 8) + 8 * self._at.get("BITMAP_WORDS", 0), "little")
        found: NDArray[np.bool_] = np.unpackbits(np.frombuffer(marks, np.uint8), bitorder="little")[: slab.carved] == 0
        found[self._waiting_in.get(slab.start, [])] = False
        return found

    def _in_run(self, address: int) -> Place | None:
        page = self._view.page_bytes(self._memory)
        start = self._run_start()
        found = bisect_right(self._runs, ((address - start) // page, 1 << 62, 0)) - 1
        if address < start or found < 0 or address >= start + page * sum(self._runs[found][:2]):
            return None
        kinds = {self._at["RUN_USED"]: LARGE, self._at["RUN_GONE"]: WAITING, self._at["RUN_FREE"]: PAGES}
        head, length, state = self._runs[found]
        before, after = (
            kinds.get(self._runs[other][2], "") if 0 <= other < len(self._runs) else ""
            for other in (found - 1, found + 1)
        )
        begin = start + head * page
        kind = kinds.get(state, "")
        return Place(address, kind, begin, length * page, address - begin, before=before, after=after)

    def _run_start(self) -> int:
        return self._memory.word(self._at["runs"] + self._at["run_span.start"])

    def _of_slabs(self) -> Iterator[str]:
        """Slabs whose record contradicts itself or its marks."""
        for slab in self.slabs.values():
            if slab.is_empty:
                continue
            name = f"the slab at {slab.start:#x} ({int(self._view.usable[slab.size_class])} B)"
            if slab.out + slab.freed != slab.carved:
                yield f"{name}: {slab.out} blocks out and {slab.freed} freed; expected {slab.carved} in all"
            if slab.carved > int(self._blocks[slab.size_class]):
                yield f"{name}: {slab.carved} blocks handed out of {int(self._blocks[slab.size_class])}"
            marks = self._marks(slab)
            if "marks" in self._at and marks.bit_count() != slab.freed:
                yield f"{name}: {marks.bit_count()} marks of free blocks; expected {slab.freed}"
            if marks >> slab.carved:
                yield f"{name}: a mark of a block that was never handed out"

    def _of_waiting(self) -> Iterator[str]:
        """Free blocks in fronts and caches that are no blocks, or are free in their slab too."""
        for block, where in self.waiting.items():
            slab = self._slab(block)
            if slab is None or slab.is_empty:
                yield f"{block:#x} is in {where}; expected a block of a slab in use"
                continue
            inside = block - slab.start - self.first(slab.size_class)
            index, rest = divmod(inside, self.stride(slab.size_class))
            if rest or not 0 <= index < slab.carved:
                yield f"{block:#x} is in {where}; expected the beginning of a block that was handed out"
            elif self._marks(slab) >> index & 1:
                yield f"{block:#x} is free twice: it is in {where} and in its slab"

    def _of_runs(self) -> Iterator[str]:
        """Runs that leave a gap or overlap."""
        page, start = self._view.page_bytes(self._memory), self._run_start()
        expected = 0
        for head, length, _ in [*self._runs, (self._view.run_top(self._memory), 0, 0)]:
            if head != expected:
                off = abs(head - expected)
                yield f"the run at {start + head * page:#x} begins {off} pages off the end of the run before it"
            expected = head + length
