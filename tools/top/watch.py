"""Watching processes under generated libraries: a picture of each at a time, and rates between two pictures."""

import time
from typing import NamedTuple

import msgspec

from heapsmith.model.errors import Missing
from heapsmith.tools.common.counter_reports import GAUGES, LARGE
from heapsmith.tools.common.process_memory import Gone, Memory, ProcessMemory
from heapsmith.tools.top.process import Facts, command, facts, family, image
from heapsmith.tools.top.view import Class, Picture, View, serving

UNITS = ("hit0", "hit1", "refill")
"""Counters of a class whose sum is its allocations."""


class Bytes(msgspec.Struct, frozen=True):
    """What the committed bytes are for.

    huge: huge blocks, and mappings that wait for one. ahead: pages that are committed and not handed out yet.
    """

    committed: int
    small: int
    fronts: int
    elsewhere: int
    free_in_slabs: int
    empty_slabs: int
    runs: int
    run_caches: int
    free_runs: int
    huge: int
    ahead: int

    @property
    def allocated(self) -> int:
        """Those of blocks with the program."""
        return self.small + self.runs + self.huge


class ClassSight(msgspec.Struct, frozen=True):
    """A size class: its blocks with the program, in fronts, and elsewhere out of their slabs.

    rates: of its counters, per second.
    """

    size: int
    usable: int
    live_blocks: int
    front_blocks: int
    elsewhere_blocks: int
    slab_bytes: int
    counters: dict[str, int]
    rates: dict[str, float] | None


class Sight(msgspec.Struct, frozen=True):
    """A process at one moment, and its rates per second since `elapsed_s` before (None: seen for the first time).

    allocations, frees: of small blocks, and large_allocations, in the rates; the first two only where
    `counts_hits`. processors: those it kept busy. system, locks: of a library that counts everything.
    metadata_bytes: of the heap's own records, beside the committed ones.
    """

    pid: int
    command: list[str]
    design: str
    counts_hits: bool
    elapsed_s: float | None
    rss_bytes: int
    threads: int
    processors: float | None
    heaps: int
    idle_heaps: int
    metadata_bytes: int
    bytes: Bytes
    counters: dict[str, int]
    system: dict[str, int]
    locks: dict[str, int]
    classes: list[ClassSight]
    rates: dict[str, float] | None


class _Moment(NamedTuple):
    time_s: float
    facts: Facts
    picture: Picture


class _Watched:
    """One process: its image, the view found in it, and the last picture."""

    def __init__(self, started: int) -> None:
        self.started = started
        self._image = b""
        self._view: View | None = None
        self._last: _Moment | None = None

    def look(self, now: Facts) -> Sight | None:
        """The process now; None where it has no library, or none yet. Missing if its memory may not be read."""
        try:
            with ProcessMemory(now.pid) as memory:
                if self._view is None or image(now.pid) != self._image:
                    self._find(memory, now.pid)
                if self._view is None:
                    return None
                moment = _Moment(time.monotonic(), facts(now.pid), self._view.picture(memory))
        except Gone:  # it ended or began another program: the next look tells
            self._view = self._last = None
            return None
        last, self._last = self._last, moment
        return sight(moment, last)

    def _find(self, memory: Memory, pid: int) -> None:
        """The view of the library that serves the program."""
        self._image, self._last = image(pid), None
        self._view = serving(memory)


class Watch:
    """A process, or several, and all that descend from them."""

    def __init__(self, *pids: int) -> None:
        self.pids = pids
        self._known: dict[int, _Watched] = {}
        self.refused: Missing | None = None

    def look(self) -> list[Sight]:
        """The processes that have a library now, those asked for first.

        Where none has, `refused` says why one may not be read, if that is so.
        """
        alive = {one.pid: one for one in family(set(self.pids) | set(self._known))}
        self._known = {
            pid: self._known[pid]
            if pid in self._known and self._known[pid].started == one.started
            else _Watched(one.started)
            for pid, one in alive.items()
        }
        sights: list[Sight | None] = []
        refusals: list[Missing] = []
        for pid, watched in self._known.items():
            try:
                sights.append(watched.look(alive[pid]))
            except Missing as error:
                refusals.append(error)
        found = [one for one in sights if one is not None]
        self.refused = refusals[0] if refusals and not found else None
        return sorted(found, key=lambda one: (one.pid not in self.pids, -one.bytes.committed, one.pid))

    def lives(self) -> bool:
        """Whether one of the processes is there."""
        return bool(family(set(self.pids) | set(self._known)))


def sight(now: _Moment, last: _Moment | None) -> Sight:
    """A moment, with the rates since the last one."""
    picture, elapsed = now.picture, None
    if last is not None and now.time_s > last.time_s and _goes_on(last.picture, picture):
        elapsed = now.time_s - last.time_s
    before = last.picture if last is not None and elapsed is not None else None
    classes = [
        _class(one, before.classes[index].counters if before else None, elapsed)
        for index, one in enumerate(picture.classes)
    ]
    busy = now.facts.processor_s - last.facts.processor_s if last is not None else 0.0
    return Sight(
        pid=now.facts.pid,
        command=command(now.facts.pid),
        design=picture.design,
        counts_hits=picture.counts_hits,
        elapsed_s=elapsed,
        rss_bytes=now.facts.rss_bytes,
        threads=now.facts.threads,
        processors=busy / elapsed if elapsed else None,
        heaps=picture.heaps,
        idle_heaps=picture.abandoned,
        metadata_bytes=picture.metadata_bytes,
        bytes=ledger(picture),
        counters=picture.counters,
        system=picture.system,
        locks=picture.locks,
        classes=classes,
        rates=_rates(picture, before, classes, elapsed) if before and elapsed else None,
    )


def _goes_on(last: Picture, now: Picture) -> bool:
    """Counters never fall: where one did, another program has begun in the same place."""
    return last.design == now.design and all(
        now.counters[name] >= count for name, count in last.counters.items() if name != "committed"
    )


def _per_second(now: dict[str, int], before: dict[str, int], elapsed: float) -> dict[str, float]:
    return {name: max(0, count - before[name]) / elapsed for name, count in now.items() if name not in GAUGES[:2]}


def _class(one: Class, before: dict[str, int] | None, elapsed: float | None) -> ClassSight:
    return ClassSight(
        size=one.size,
        usable=one.usable,
        live_blocks=one.live,
        front_blocks=one.fronts,
        elsewhere_blocks=one.parked - one.fronts,
        slab_bytes=one.slab_bytes,
        counters=one.counters,
        rates=_per_second(one.counters, before, elapsed) if before and elapsed else None,
    )


def _rates(now: Picture, before: Picture, classes: list[ClassSight], elapsed: float) -> dict[str, float]:
    """Of the whole process: counters without a class, sums over classes, and what follows from them."""
    sums = {name: sum((one.rates or {})[name] for one in classes) for name in classes[0].counters}
    found = _per_second(now.counters, before.counters, elapsed) | _per_second(now.system, before.system, elapsed) | sums
    locks = _per_second(now.locks, before.locks, elapsed)
    found |= {f"locks.{path}": rate for path, rate in locks.items()}
    found["large_allocations"] = sum(found[name] for name in LARGE)
    if now.counts_hits:
        found["allocations"] = sum(sums[name] for name in UNITS)
        found["frees"] = max(0.0, sums["push"] - sums["drained"]) + sums["direct"] + sums["remote"]
    return found


def ledger(picture: Picture) -> Bytes:
    """The ledger: its items add up to the committed bytes, as far as nothing moved while they were read."""
    small, fronts, parked = (
        sum(getattr(one, name) * one.size for one in picture.classes) for name in ("live", "fronts", "parked")
    )
    slabs = sum(one.slab_bytes for one in picture.classes)
    items = {
        "small": small,
        "fronts": fronts,
        "elsewhere": parked - fronts,
        "free_in_slabs": max(0, slabs - small - parked),
        "empty_slabs": picture.empty_slab_bytes,
        "runs": picture.run_bytes,
        "run_caches": picture.cached_run_bytes,
        "free_runs": picture.free_run_bytes,
        "huge": picture.huge_bytes,
    }
    committed = picture.counters["committed"]
    return Bytes(committed=committed, ahead=max(0, committed - sum(items.values())), **items)
