"""Meters: what one count of each counter costs, from the price itself (model/predict/cost.py)."""

import functools
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import Records
from heapsmith.model.design.class_plan import ClassPlan
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap import records
from heapsmith.model.heap.arrays import rows_of
from heapsmith.model.heap.simulator import Counters, Meter, Peak, Statistics
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.listener import Touches
from heapsmith.model.parts import counters
from heapsmith.model.parts.charge import METER, PATHS, UNIT
from heapsmith.model.predict.cost import FAR_BYTES, instructions_of, kinds, price, time_kinds

LARGE = (
    *("run.reuse", "run.grow", "run.extend", "run.extent", "run.free", "run.spill", "run.link"),
    *("huge.map", "huge.unmap", "huge.remap", "huge.reuse"),
)
"""Kinds whose instructions pass under the large lock; a run in a heap's own cache needs no lock."""
LOCKED_CALLS = ("releases", "heaps", "memory_calls", "huge_remap", "superslabs_unmapped")
"""Counters of system calls under the lock that the event holds; mmap and munmap of huge blocks need none."""

TOUCHES = {name: getattr(words, name.upper()) for name in Touches.__struct_fields__ if not name.startswith("resident")}
"""The counts of a listener that may have a price, by their word."""

_PATH_OF = {
    "level 1": "hit1 spill",
    "refill or flush": "refill refilled flush flushed direct transfer_in transfer_out transfer_back gives given",
    "remote free": "remote drained",
    "slab carve": "carve reuse visits slabs_looked_at words",
    "slab": "acquire retire slabs slab_adds slab_removes",
    "superslab map": "superslabs memory_calls",
    "run": "run_reuse run_grow run_extend run_free run_hit run_spill runs_looked_at runs_freed run_links run_extents",
    "huge mapping": "huge_map huge_unmap huge_remap huge_reuse large_resizes",
    "release": "releases released_bytes superslabs_unmapped clock_reads dropped",
    "page fault": "faults_4k faults_2m populated tables",
    "cache miss": "accesses l1_misses l2_misses llc_misses l1_reads l2_reads llc_reads transfers awaited l2_awaited "
    "llc_awaited tlb1_misses tlb2_misses",
    "branch miss": "mispredicted mispredicted_loops",
    "cold code": "cold_calls",
    "bytes moved": "asked_lines cleared_bytes copied_bytes callocs reallocs realloc_moved",
    "thread": "heaps adoptions exits",
    "background": "background_steps background_blocks",
}
PATH_OF = {counter: path for path, counters in _PATH_OF.items() for counter in counters.split()}
"""The path of a counter's price; that of all others is PATHS[0]."""


class Probe(NamedTuple):
    """A simulation of which only the counters in question are not 0."""

    counters: Counters
    statistics: Statistics
    touches: Touches


Counts = Mapping[str, int]
Floats = npt.NDArray[np.float64]


def probe(plan: Plan, counts: Counts, cls: int = -1) -> Probe:
    """Return a simulation with these counts of totals, work and touches, or of a class."""

    def of(names: Iterable[str]) -> dict[str, int]:
        return {name: counts.get(name, 0) for name in names}

    per_class = {
        name: [counts.get(name, 0) if row.index == cls else 0 for row in plan.classes] for name in counters.COUNTS
    }
    peak = Peak(0, 0, 0, 0, 0.0, 0.0)
    statistics = Statistics(0, 0, 0, 0, 0, 0, peak, peak, 0.0, [], of(counters.WORK))
    return Probe(Counters(per_class, of(counters.TOTALS)), statistics, Touches(**of(Touches.__struct_fields__)))


WHOLE, ALONE = 0, 3
"""Places in what _Prices.of returns."""


class _Prices(NamedTuple):
    """Prices of probes of a plan on a machine, in nanoseconds."""

    plan: Plan
    hardware: Hardware
    pool: tuple[str, ...]  # groups of kinds under the pool lock
    store: tuple[str, ...]  # under locks of shards: of stores, and of transfer caches
    cache: tuple[str, ...]

    def of(self, found: Probe, operations: int = 0) -> Floats:
        """Return the price, its instructions under pool and large lock, the price alone, those of shards' locks, and
        the calls that release pages.
        """
        instructions, costs = instructions_of(self.hardware), self.hardware.costs
        spent = time_kinds(self.plan, found, instructions, operations)
        happened = kinds(self.plan, found)
        under = (
            sum(count * instructions[name] for name, count in happened.items() if _is_of(name, groups))
            for groups in (self.pool, LARGE, self.store, self.cache)
        )
        pool, large, *shards = (part * costs.get("instructions", 0.0) for part in under)
        alone = price(spent, self.hardware.costs_alone())
        return np.array([price(spent, costs), pool, large, alone, *shards, spent.get("release", 0.0)])


@functools.cache
def _is_of(kind: str, groups: tuple[str, ...]) -> bool:
    return any(kind == group or kind.startswith(f"{group}.") for group in groups)


def meter_of(plan: Plan, hardware: Hardware, resident_peak: int) -> Meter:
    """Return the meter of a design on hardware with costs.

    `resident_peak`: that of the whole trace in bytes. What a first touch costs in a process that
    grows depends on it.
    """
    remote, pool, shards = (plan.design.row(field) for field in ("remote", "pool", "shards"))
    of_store = () if shards.LOCKED else getattr(remote, "LOCKED", ())
    prices = _Prices(plan, hardware, (*of_store, *pool.LOCKED), shards.LOCKED, shards.CACHED)
    start = prices.of(probe(plan, {}))
    fields = list(records.SCALARS.names or ())
    rows = []
    for name in (*counters.TOTALS, *counters.WORK):
        parts = prices.of(probe(plan, {name: 1})) - start
        if parts.any():
            rows.append(_row(name, fields.index(counters.TOTAL_FIELDS.get(name, name)), parts))
    touches = len(rows)
    rows += [_row(name, word, prices.of(probe(plan, {name: 1})) - start) for name, word in TOUCHES.items()]
    growth = len(rows)
    far = min(1, resident_peak / FAR_BYTES)
    own, alone = (of.get("fault.4k.far", 0.0) * far for of in (hardware.costs, hardware.costs_alone()))
    rows.append(_row("faults_4k", 0, np.array([own, 0, 0, alone, 0, 0, 0])))
    classes = len(rows)
    for row in plan.classes:
        rows += _class_rows(prices, row)
    operation = prices.of(probe(plan, {}), 1) - start
    once = (round(one[place] * UNIT) for one in (operation, start) for place in (WHOLE, ALONE))
    return Meter(_records(rows), touches, growth, classes, *once)


Row = tuple[int, float, float, float, float, float, float, float, float, float, int]
"""Word, price, price alone, its parts under the pool lock, the large lock, either, and those of shards; calls that
release pages, those of them under a lock, and path.
"""


def _row(name: str, word: int, parts: Floats) -> Row:
    weight, pool, large, alone, store, cache, release = parts.tolist()
    shared = weight - pool - large - store - cache if name in LOCKED_CALLS else 0.0
    held = release if name in LOCKED_CALLS else 0.0
    path = PATHS.index(PATH_OF.get(name, PATHS[0]))
    return word, weight, alone, pool, large, shared, store, cache, release, held, path


def _class_rows(prices: _Prices, row: ClassPlan) -> list[Row]:
    """Return the rows of a class, from probes of a plan of this class alone."""
    plan = msgspec.structs.replace(prices.plan, classes=[msgspec.structs.replace(row, index=0)])
    alone = prices._replace(plan=plan)
    start = alone.of(probe(plan, {}))
    # Some kinds count whole batches, and some rows whole periods.
    periods = [one.period(plan) for one in rows_of(plan) if hasattr(one, "period")]
    count = max(1, row.front.flush) * math.prod(periods)
    fields = list(records.CLASS.names or ())
    begin = row.index * len(fields)
    return [
        _row(name, begin + fields.index(name), (alone.of(probe(plan, {name: count}, 0)) - start) / count)
        for name in counters.COUNTS
    ]


def _records(rows: list[Row]) -> Records:
    found = np.zeros(len(rows), METER)
    fields = ("word", "weight", "alone", "pool", "large", "shared", "store", "cache", "release", "held", "path")
    for place, field in enumerate(fields):
        unit = 1 if field in ("word", "release", "held", "path") else UNIT
        found[field] = np.rint(np.array([row[place] for row in rows]) * unit)
    return found
