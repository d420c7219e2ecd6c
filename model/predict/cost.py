"""Cost: how often each kind of event happened, and the sum of the prices of all events."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

from heapsmith.model import policy
from heapsmith.model.constants import PAGE
from heapsmith.model.design.plan import Plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.arrays import rows_of
from heapsmith.model.heap.simulator import Counters, Statistics
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.listener import Touches
from heapsmith.model.policy.front import NO_FRONT
from heapsmith.model.policy.hardening.full import SHORT_BYTES

FAR_BYTES = 32 << 20
"""A process with at least this many resident bytes pays the full `fault.4k.far` for each small page of
its growth; a smaller process pays in proportion. New pages have left the caches since their last
use, unlike pages that a process gave back and gets again. Small pages count as if they made up all
resident bytes.
"""

MEMORY = (
    "fault.4k",
    "populate.4k",
    "fault.4k.far",
    "fault.table",
    "fault.2m",
    "syscall",
    "release",
    "release.4k",
    "miss.llc",
    "miss.tlb2",
)
"""Kinds whose time depends on other cores; it drifts differently on a shared machine."""

BY_ROW = ("alloc.stack", "free.stack")
"""The kinds of calls that go by rows of stacks."""

Kinds = dict[str, float]
"""How often each kind of event happened, by name: `group.event` or `group.event.option`."""


class Simulated(Protocol):
    """The parts of a simulation that have a price (model/predict/simulate.py)."""

    @property
    def counters(self) -> Counters: ...
    @property
    def statistics(self) -> Statistics: ...
    @property
    def touches(self) -> Touches | None: ...


def kinds(plan: Plan, simulation: Simulated) -> Kinds:
    """Return how often each kind happened on the simulated trace; absent kinds did not happen."""
    found: dict[str, float] = defaultdict(float)
    for of in (_hits, _fronts, _store, _others):
        for name, count in of(plan, simulation):
            found[name] += count
    return {name: count for name, count in sorted(found.items()) if count}


def instructions_of(hardware: Hardware) -> Mapping[str, float]:
    """Return the instructions of each kind: what rows ship, and the machine's own counts before that."""
    return policy.COSTS | hardware.instructions


def instructions_spent(kinds: Mapping[str, float], each: Mapping[str, float]) -> float:
    """Return the instructions of all kinds together; BadInput for a kind of which nobody says how many it takes."""
    unknown = next((name for name in kinds if name not in each), None)
    if unknown is not None:
        raise BadInput(f"{unknown}: its instructions are unknown; expected them in COSTS of a policy's row, or counted")
    return price(kinds, each)


def price(kinds: Mapping[str, float], costs: Mapping[str, float]) -> float:
    """Return the sum over the kinds of count times cost; a kind without a cost costs nothing."""
    return sum(count * costs.get(name, 0.0) for name, count in kinds.items())


def memory_share(kinds: Mapping[str, float], costs: Mapping[str, float]) -> float:
    """Return the share of MEMORY in the price, 0 to 1."""
    total = price(kinds, costs)
    return price({name: kinds[name] for name in MEMORY if name in kinds}, costs) / total if total else 0.0


Counts = Iterator[tuple[str, float]]


def _hits(plan: Plan, simulation: Simulated) -> Counts:
    """Yield allocations and frees of small blocks: front, classifier, remote policy, hardening."""
    of = simulation.counters.classes
    design, remote = plan.design, plan.design.row("remote").NAME
    allocated = freed = missed = 0.0
    for row in plan.classes:
        i, front = row.index, row.front.kind
        popped, pushed = of["hit0"][i], of["push"][i] - of["drained"][i]
        own = f"table.{front}" if row.stack and plan.dispatch == "table" else front
        yield f"alloc.{own}", popped
        yield f"free.{own}", pushed
        if policy.row("front", front).CODE.free == NO_FRONT.CODE.free:
            yield f"free.{NO_FRONT.NAME}", of["direct"][i]
        yield "free.remote", of["remote"][i]
        yield f"free.remote.{remote}", of["remote"][i]
        allocs = popped + of["hit1"][i] + of["refill"][i]
        frees = pushed + of["direct"][i] + of["remote"][i]
        allocated, freed = allocated + allocs, freed + frees
        if plan.tail_bytes and row.usable > SHORT_BYTES:
            for call, count in (("alloc", allocs), ("free", frees)):
                yield f"{call}.hardening.long", count
                yield f"{call}.hardening.long.byte", count * row.usable
        missed += 0 if row.stack else allocs + frees
    if plan.dispatch == "stack":
        yield "dispatch.missed", missed
        yield "alloc.above", simulation.statistics.work["above"] if plan.direct_limit else 0
    yield f"alloc.{plan.dispatch}", allocated
    yield "alloc.site", simulation.statistics.work["site_looks"]
    if design.size_lookup is not None:
        yield f"lookup.{plan.dispatch}.{design.row('size_lookup').NAME}", allocated
    yield f"free.{plan.dispatch}", freed
    yield f"free.class.{plan.dispatch}.{design.classifier}", freed
    if design.row("remote").OWNED:
        yield f"free.look.{remote}", freed
    if design.row("counting").COUNTS_HITS:
        yield f"count.{plan.dispatch}", allocated + freed
    if plan.live_map:
        yield f"alloc.hardening.{plan.hardening}", allocated
    if plan.live_map or plan.check_last:
        yield f"free.hardening.{plan.hardening}", freed
    if plan.check_given:
        yield f"give.block.{plan.hardening}", simulation.statistics.work["given"]


def _fronts(plan: Plan, simulation: Simulated) -> Counts:
    """Yield refills and flushes: the work of the front."""
    of = simulation.counters.classes
    missed, unkept = 0, plan.design.row("transfer_bytes").unkept(plan, simulation)
    for row in plan.classes:
        i, front, flush = row.index, row.front.kind, max(1, row.front.flush)
        batches_out, batches_in = of["transfer_out"][i] // flush, of["transfer_in"][i] // flush
        yield f"refill.{front}", of["refill"][i] - batches_out
        missed += of["refill"][i] - batches_out
        yield f"refill.block.{front}", of["refilled"][i] - of["transfer_out"][i]
        yield "transfer.out", batches_out
        yield "transfer.in", batches_in
        yield f"flush.{front}", of["flush"][i]
        if not policy.row("front", front).BATCHED:
            yield f"flush.block.{front}", of["flushed"][i]
        yield "flush.block.none", of["direct"][i]
        if policy.row("front", front).LEVELS < 2:
            yield "lent", of["hit1"][i]
        elif getattr(policy.row("front", front), "SINGLE", False):
            yield "spill.single", of["spill"][i]
            yield "promote.single", of["hit1"][i]
        else:
            yield "spill", of["spill"][i]
            yield "spill.block", of["spill"][i] * row.front.spill
            yield "promote", of["hit1"][i]
            yield "promote.block", of["hit1"][i] * row.front.promote
        yield "remote.drained", of["drained"][i]
    totals = simulation.counters.totals
    yield "promote", totals["hit2"] + 2 * totals["hit3"]  # the further levels that hand blocks up: an estimate
    yield "background.step", totals["background_steps"]
    yield "background.block", totals["background_blocks"]
    if plan.design.row("remote").OWNED:
        yield f"refill.look.{plan.design.row('remote').NAME}", missed
    yield "lent.look", simulation.statistics.work["lend_looks"]
    for one in rows_of(plan):
        if hasattr(one, "work"):
            yield from one.work(plan, simulation, missed, unkept)


def _store(plan: Plan, simulation: Simulated) -> Counts:
    """Yield the work of the store: slabs, their blocks and their pages."""
    of, work = simulation.counters.classes, simulation.statistics.work
    choice, empties = (plan.design.row(field).NAME for field in ("slab_choice", "empties"))
    release = plan.design.row("release").NAME
    freed_blocks = f".{plan.design.freed_blocks}" if plan.design.freed_blocks else ""
    reused, carved, retired = sum(of["reuse"]), sum(of["carve"]), sum(of["retire"])
    yield f"take.reuse{freed_blocks}", reused
    yield "take.carve", carved
    yield f"take.{plan.design.classifier}", reused + carved
    yield f"take.visit.{choice}", work["visits"]
    yield "take.looked_at", work["slabs_looked_at"]
    yield "take.words", work["words"]
    yield f"give.block{freed_blocks}", work["given"]
    yield f"give.slab{freed_blocks}", work["gives"]
    yield f"slab.add.{choice}", work["slab_adds"]
    yield f"slab.remove.{choice}", work["slab_removes"]
    yield f"slab.acquire.{empties}", sum(of["acquire"])
    yield f"slab.retire.{release}", retired
    yield "slab.retire.words", retired * plan.bitmap_words
    totals = simulation.counters.totals
    yield "slab.superslab", totals["superslabs"] + totals["superslabs_reused"]


def _atomic(plan: Plan, simulation: Simulated) -> int:
    """Return the atomic instructions with which heaps that own slabs acquire and retire them.

    A lock takes two with its release; a swap is one.
    """
    if not plan.design.row("remote").OWNED:
        return 0
    of, totals = simulation.counters.classes, simulation.counters.totals
    moved = sum(of["acquire"]) + sum(of["retire"])
    locked = (moved, totals["slabs"], totals["superslabs"])[plan.design.row("pool").SWAPS]
    return moved + locked


def _others(plan: Plan, simulation: Simulated) -> Counts:
    """Yield the work of large blocks, of calls besides the allocation and free in them, and of heaps."""
    totals, work = simulation.counters.totals, simulation.statistics.work
    for name in ("run_hit", "run_reuse", "run_grow", "run_extend", "run_free", "run_spill"):
        yield f"run.{name.removeprefix('run_')}", totals[name]
    yield "run.looked_at", work["runs_looked_at"]
    yield "run.cached", work["runs_freed"] - (totals["run_free"] - totals["run_spill"])
    yield "run.link", work["run_links"]
    yield "run.extent", work["run_extents"]
    for name in ("huge_map", "huge_unmap", "huge_remap", "huge_reuse"):
        yield f"huge.{name.removeprefix('huge_')}", totals[name]
    yield "huge.looked_at", work["huge_looked_at"]
    yield "huge.moved", work["huge_moved"]
    yield "release", totals["releases"]
    yield "free.probe", work["probes"]

    yield "call.calloc", work["callocs"]
    yield "call.aligned", work["aligned"]
    yield "call.aligned.class", work["aligned_steps"]
    yield "call.realloc", work["reallocs"]
    yield "call.realloc.in_place", totals["realloc_in_place"]
    yield "call.realloc.moved", totals["realloc_moved"]
    yield "call.realloc.large", work["large_resizes"]
    yield f"call.realloc.{plan.design.classifier}", work["reallocs"]
    if plan.stops:
        yield f"call.realloc.{plan.hardening}", work["reallocs"]
    if plan.live_map:
        large = sum(totals[name] for name in ("run_hit", "run_reuse", "run_grow", "huge_map", "huge_reuse"))
        yield f"alloc.hardening.{plan.hardening}.large", large
    yield "call.free_sized", work["sized_frees"]

    yield "start", 1
    yield "heap.create", totals["heaps"]
    yield "heap.create.class", totals["heaps"] * plan.class_count
    yield "heap.create.direct", totals["heaps"] * plan.direct_limit
    yield "heap.adopt", totals["adoptions"]
    yield "heap.exit", work["exits"]
    yield "heap.exit.class", work["exits"] * plan.class_count


def time_kinds(plan: Plan, simulation: Simulated, each: Mapping[str, float], operations: int) -> Kinds:
    """Return the kinds on which a replay of the simulated trace, of `operations`, spends time.

    There are few kinds, because measured times are noisy. `replay.*` are the replay's own (its
    loop, its writes to each line, the ends of its loops over lines that a processor did not guess);
    all others are the library's. Misses and faults are of the
    simulated caches. each: the instructions of a kind.
    """
    totals, work = simulation.counters.totals, simulation.statistics.work
    happened = kinds(plan, simulation)
    found = {
        "replay.operation": operations,
        "replay.line": work["asked_lines"],
        "instructions": instructions_spent(happened, each),
        # Calls that find the class's stack by its row in a table, not by a predicted jump.
        "dispatch.stack": sum(happened.get(name, 0) for name in BY_ROW) - happened.get("dispatch.missed", 0),
        "byte": work["copied_bytes"] + work["cleared_bytes"],
        "syscall": system_calls(simulation),
        "wake": totals["background_steps"],
        "atomic": _atomic(plan, simulation),
        "clock": work["clock_reads"],
        "divide": work["given"] if plan.design.row("block_index").DIVIDES else 0,
        # Freeing pages takes longer.
        "release": releasing_calls(simulation),
        **_misses(simulation),
    }
    return {name: float(count) for name, count in found.items() if count}


def _misses(simulation: Simulated) -> Kinds:
    touches = simulation.touches
    if touches is None:
        return {}
    peak = touches.resident_peak
    far = min(1, peak / FAR_BYTES)
    return {
        "miss.l1": touches.l1_misses - touches.l2_misses,
        "miss.l2": touches.l2_misses - touches.llc_misses - touches.transfers,
        "miss.llc": touches.llc_misses,
        "miss.l1.read": touches.l1_reads - touches.l2_reads,
        "miss.l2.read": touches.l2_reads - touches.llc_reads,
        "miss.llc.read": touches.llc_reads,
        "miss.l2.awaited": touches.l2_awaited,
        "miss.llc.awaited": touches.llc_awaited,
        "miss.transfer": touches.transfers,
        "miss.transfer.awaited": touches.awaited,
        "miss.tlb1": touches.tlb1_misses - touches.tlb2_misses,
        "miss.tlb2": touches.tlb2_misses,
        "miss.branch": touches.mispredicted,
        "replay.loop": touches.mispredicted_loops,
        "cold": touches.cold_calls,
        "fault.4k": touches.faults_4k - touches.populated,
        "populate.4k": touches.populated,
        "fault.4k.far": min(touches.faults_4k, peak / PAGE) * far,
        "fault.table": touches.tables,
        "release.4k": touches.dropped,
        "fault.2m": touches.faults_2m,
    }


def system_calls(simulation: Simulated) -> int:
    """Return the library's calls of mmap, munmap, mremap, mprotect, madvise and mincore in the trace."""
    totals, work = simulation.counters.totals, simulation.statistics.work
    asked = sum(totals[name] for name in ("releases", "heaps", "huge_map", "huge_unmap", "huge_remap"))
    return asked + work["probes"] + work["memory_calls"]


def releasing_calls(simulation: Simulated) -> int:
    """Return the library's calls that take pages from the process."""
    totals = simulation.counters.totals
    return totals["releases"] + totals["huge_unmap"] + totals["superslabs_unmapped"]


class Price(msgspec.Struct, frozen=True):
    """The price of a design on a trace, per operation of the trace.

    ns_per_op: time of a replay that writes to each line; allocator_ns_per_op: this time without the
    replay's own. shares: the share of each kind in ns_per_op, the largest first.
    """

    instructions_per_op: float
    ns_per_op: float
    allocator_ns_per_op: float
    shares: dict[str, float]


def price_of(plan: Plan, simulation: Simulated, operations: int, hardware: Hardware) -> Price:
    """Return the price of a simulated design on this hardware, which has calibrated costs."""
    spent = time_kinds(plan, simulation, instructions_of(hardware), operations)
    ns = {name: count * hardware.costs.get(name, 0.0) for name, count in spent.items()}
    total, per = sum(ns.values()), 1 / max(1, operations)
    own = sum(cost for name, cost in ns.items() if name.startswith("replay."))
    shares = {name: cost / total for name, cost in sorted(ns.items(), key=lambda item: -item[1]) if cost}
    return Price(spent.get("instructions", 0.0) * per, total * per, (total - own) * per, shares)
