"""The counts of model/memory/cache.py, resident.py and branches.py, by plain lists, sets and dictionaries."""

from collections import Counter
from typing import Any

from heapsmith.model.memory.branches import BRANCH_BITS, DEPTH, LOOP_END, NUMBER_BITS, SLOTS
from heapsmith.model.memory.directory import slot_of
from heapsmith.model.memory.hardware import Hardware

PAGE, FRAME = 4096, 1 << 21


class Lru:
    """Sets of at most `ways` keys, the most recently used first."""

    def __init__(self, sets: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[list[int]] = [[] for _ in range(sets)]

    def row(self, key: int) -> list[int]:
        return self.sets[key % len(self.sets)]

    def use(self, key: int) -> bool:
        """Whether it was there; now it is."""
        row = self.row(key)
        found = key in row
        if found:
            row.remove(key)
        row.insert(0, key)
        del row[self.ways :]
        return found

    def drop(self, key: int) -> None:
        if key in self.row(key):
            self.row(key).remove(key)


class Guess:
    """Where a branch goes; an outcome that differs once after it held leaves it."""

    def __init__(self) -> None:
        self.target: int | None = None
        self.held = False

    def learn(self, target: int) -> None:
        if target == self.target:
            self.held = True
        elif self.held:
            self.held = False
        else:
            self.target = target


class Predictor:
    """Of a core's branches."""

    def __init__(self) -> None:
        self.before: list[tuple[int, int]] = []
        self.last: dict[int, Guess] = {}
        self.table: dict[int, tuple[Any, Guess]] = {}

    def mispredicts(self, branch: int, target: int) -> bool:
        number = -1
        for earlier, went in self.before[-DEPTH:]:
            number = (number << BRANCH_BITS | went << NUMBER_BITS | earlier) % (1 << DEPTH * BRANCH_BITS)
        key = (tuple(self.before[-DEPTH:]), branch)
        slot = slot_of(number << NUMBER_BITS | branch, SLOTS - 1)
        last = self.last.setdefault(branch, Guess())
        if self.table.get(slot, (None, last))[0] != key:
            self.table[slot] = key, Guess()
        known = self.table[slot][1]
        guessed = known.target if known.held else last.target
        last.learn(target)
        known.learn(target)
        self.before.append((branch, target))
        return guessed != target


class Core:
    """What is a core's own; TLB keys are pairs flattened per kind of page."""

    def __init__(self, machine: Hardware) -> None:
        tlb = machine.tlb
        levels = [machine.l1] + ([machine.l2] if machine.l2 else [])
        self.caches = [Lru(machine.sets(level), level.ways) for level in levels]
        self.modified: set[int] = set()
        self.predictor = Predictor()
        self.small = Lru(tlb.small.entries // tlb.small.ways, tlb.small.ways)
        self.huge = Lru(tlb.huge.entries // tlb.huge.ways, tlb.huge.ways)
        self.second_ways = tlb.second.ways
        self.second: list[list[tuple[int, bool]]] = [[] for _ in range(tlb.second.entries // tlb.second.ways)]

    def holds(self, line: int) -> bool:
        return any(line in cache.row(line) for cache in self.caches)

    def is_modified(self, line: int) -> bool:
        return line in self.modified and self.holds(line)

    def use_second(self, number: int, is_huge: bool) -> bool:
        row = self.second[number % len(self.second)]
        found = (number, is_huge) in row
        if found:
            row.remove((number, is_huge))
        row.insert(0, (number, is_huge))
        del row[self.second_ways :]
        return found


class Reference:
    """All counters, by the names of Touches."""

    def __init__(self, machine: Hardware) -> None:
        self.machine = machine
        self.cores = [Core(machine) for _ in range(machine.cores)]
        self.core = self.cores[0]
        self.llc = Lru(machine.sets(machine.llc), machine.llc.ways)
        self.pages: set[int] = set()
        self.whole: set[int] = set()
        self.advised: set[int] = set()
        self.count: Counter[str] = Counter()
        self.resident: list[int] = []

    def tick(self) -> None:
        self.resident.append(self.count["resident_bytes"])

    def average(self) -> float:
        return sum(self.resident) / len(self.resident) if self.resident else 0.0

    def acts(self, thread: int) -> None:
        self.core = self.cores[thread % len(self.cores)]

    def branch(self, number: int, target: int) -> None:
        name = "mispredicted_loops" if number == LOOP_END else "mispredicted"
        self.count[name] += self.core.predictor.mispredicts(number, target)

    def touch_bytes(self, address: int, size: int, write: int) -> None:
        step = self.machine.line_bytes
        page = -1
        first = address // step
        for line in range(first, -(-(address + size) // step) if size else 0):
            self.count["accesses"] += 1
            if line * step // PAGE != page:
                page = line * step // PAGE
                self.translate(page, write)
            self.access(line, write, is_next=line > first)

    def access(self, line: int, write: int, *, is_next: bool = False) -> None:
        core = self.core
        if not core.holds(line):
            core.modified.discard(line)
        if not core.caches[0].use(line):
            self.count["l1_misses"] += 1
            self.count["l1_reads"] += 1 - write
            if len(core.caches) == 1 or not core.caches[1].use(line):
                self.count["l2_misses"] += 1
                self.fetch(line, write, is_next)
        if write and line not in core.modified:
            core.modified.add(line)
            for other in self.cores:
                if other is not core:
                    other.modified.discard(line)
                    for cache in other.caches:
                        cache.drop(line)

    def fetch(self, line: int, write: int, is_next: bool) -> None:
        awaited = 1 - max(write, is_next)  # all lines are those of blocks, and those of a sequence come ahead
        owners = [other for other in self.cores if other is not self.core and other.is_modified(line)]
        found = self.llc.use(line)
        if owners:
            self.count["transfers"] += 1
            self.count["awaited"] += awaited
            owners[0].modified.discard(line)
            return
        self.count["l2_reads"] += 1 - write
        if not found:
            self.count["llc_misses"] += 1
            self.count["llc_reads"] += 1 - write
        self.count["l2_awaited" if found else "llc_awaited"] += awaited

    def translate(self, page: int, write: int) -> None:
        frame = page // 512
        if frame in self.core.huge.row(frame):
            self.core.huge.use(frame)
            return
        if page in self.core.small.row(page):
            self.core.small.use(page)
            return
        self.count["tlb1_misses"] += 1
        row = self.core.second
        if not ((page, False) in row[page % len(row)] or (frame, True) in row[frame % len(row)]):
            self.count["tlb2_misses"] += 1
            self.fault(page, frame, write)
        is_huge = frame in self.whole
        self.core.use_second(frame if is_huge else page, is_huge)
        (self.core.huge if is_huge else self.core.small).use(frame if is_huge else page)

    def fault(self, page: int, frame: int, write: int) -> None:
        if frame in self.whole or page in self.pages:
            return
        if frame in self.advised and not any(frame * 512 + index in self.pages for index in range(512)):
            self.count["faults_2m"] += 1
            self.whole.add(frame)
            self.zero(frame * FRAME, FRAME)
        else:
            self.count["faults_4k"] += 2 - write
            self.count["tables"] += not any(frame * 512 + index in self.pages for index in range(512))
            self.pages.add(page)
        self.zero(page * PAGE, PAGE)
        self.count["resident_bytes"] = len(self.pages) * PAGE + len(self.whole) * FRAME
        self.count["resident_peak"] = max(self.count["resident_peak"], self.count["resident_bytes"])

    def zero(self, address: int, size: int) -> None:
        if self.machine.zeroing_caches:
            before = self.count.copy()
            for line in range(address // self.machine.line_bytes, (address + size) // self.machine.line_bytes):
                self.access(line, 1)
            self.count = before

    def gone(self, address: int, size: int) -> None:
        low, high = -(-address // PAGE), (address + size) // PAGE
        at_once = 0
        for frame in sorted(self.whole):
            if max(frame * 512, low) < min((frame + 1) * 512, high):
                at_once += 512 * (low <= frame * 512 and (frame + 1) * 512 <= high)
                self.whole.remove(frame)
                self.pages |= set(range(frame * 512, (frame + 1) * 512))
                for core in self.cores:
                    core.huge.drop(frame)
                    for row in core.second:
                        row[:] = [entry for entry in row if entry != (frame, True)]
        dropped = {page for page in self.pages if low <= page < high}
        self.pages -= dropped
        self.count["dropped"] += len(dropped) - at_once
        for core in self.cores:
            for page in dropped:
                core.small.drop(page)
            for row in core.second:
                row[:] = [entry for entry in row if entry[1] or entry[0] not in dropped]
        self.count["resident_bytes"] = len(self.pages) * PAGE + len(self.whole) * FRAME

    def on_huge(self, address: int, size: int) -> None:
        self.advised |= set(range(-(-address // FRAME), (address + size) // FRAME))
