"""Cost: how often each kind of event happened, and what that comes to at a price for each kind."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from heapsmith.model.plan import ClassPlan, Plan
from heapsmith.model import policy
from heapsmith.model.policy import front_none, release_keep
from heapsmith.model.simulate import Simulation

KEEP = policy.code(policy.RELEASES, release_keep.NAME)

Kinds = dict[str, float]
"""How often each kind of event happened, by name: `group.event` or `group.event.option`."""


def kinds(plan: Plan, simulation: Simulation) -> Kinds:
    """How often each kind happened on the simulated trace, under this plan. Kinds that did not happen are absent."""
    found: dict[str, float] = defaultdict(float)
    for of in (_hits, _store, _large, _calls, _threads):
        for name, count in of(plan, simulation):
            found[name] += count
    return {name: count for name, count in sorted(found.items()) if count}


def price(kinds: Mapping[str, float], costs: Mapping[str, float]) -> float:
    """The sum over the kinds of count times cost; what has no cost costs nothing."""
    return sum(count * costs.get(name, 0.0) for name, count in kinds.items())


Counts = Iterator[tuple[str, float]]


def _hits(plan: Plan, simulation: Simulation) -> Counts:
    """Allocations and frees of small blocks: what the front, the classifier, the remote policy and hardening cost."""
    of = simulation.counters.classes
    design = plan.design
    allocated = freed = missed = 0.0
    for row in plan.classes:
        i, front = row.index, row.front.kind
        popped, pushed = of["hit0"][i], of["push"][i] - of["drained"][i]
        yield f"alloc.{front}", popped
        yield f"free.{front}", pushed + (of["direct"][i] if front == front_none.NAME else 0)
        yield "free.remote", of["remote"][i]
        allocs = popped + of["hit1"][i] + of["refill"][i]
        frees = pushed + of["direct"][i] + of["remote"][i]
        allocated, freed = allocated + allocs, freed + frees
        missed += 0 if row.stack else allocs + frees
    if plan.dispatch == "stack":
        yield "dispatch.missed", missed
        yield "alloc.above", simulation.statistics.work["above"]
    yield f"alloc.{plan.dispatch}", allocated
    yield f"free.{plan.dispatch}.{design.classifier}.{design.remote}", freed
    yield f"alloc.hardening.{plan.hardening}", allocated
    yield f"free.hardening.{plan.hardening}", freed


def _store(plan: Plan, simulation: Simulation) -> Counts:
    """What lies behind the fronts: refills, flushes, slabs."""
    of, work = simulation.counters.classes, simulation.statistics.work
    choice = plan.design.slab_choice
    release = "keep" if plan.release_code == KEEP else "budget"
    for row in plan.classes:
        i, front = row.index, row.front.kind
        flush = max(1, row.front.flush)
        batches_out, batches_in = of["transfer_out"][i] // flush, of["transfer_in"][i] // flush
        yield f"refill.{front}.{plan.design.remote}", of["refill"][i] - batches_out
        yield f"refill.block.{front}", of["refilled"][i] - of["transfer_out"][i]
        yield "transfer.out", batches_out
        yield "transfer.in", batches_in
        yield f"flush.{front}", of["flush"][i]
        yield f"flush.block.{front}", of["flushed"][i]
        yield "give.block", of["flushed"][i] - of["transfer_in"][i] + of["transfer_back"][i] + of["direct"][i]
        yield "spill", of["spill"][i]
        yield "spill.block", of["spill"][i] * row.front.spill
        yield "promote", of["hit1"][i]
        yield "promote.block", of["hit1"][i] * row.front.promote
        yield f"take.reuse", of["reuse"][i]
        yield f"take.carve", of["carve"][i]
        yield f"take.{plan.design.classifier}", of["reuse"][i] + of["carve"][i]
        yield "remote.drained", of["drained"][i]
        yield f"slab.acquire.{plan.design.empties}", of["acquire"][i]
        yield f"slab.retire.{release}", of["retire"][i]
        yield "slab.retire.words", of["retire"][i] * plan.bitmap_words
    yield f"take.visit.{choice}", work["visits"]
    yield "take.words", work["words"]
    yield f"give.slab.{choice}", work["gives"]
    yield "slab.superslab", simulation.counters.totals["superslabs"]


def _large(plan: Plan, simulation: Simulation) -> Counts:
    """Runs and huge blocks, pages given back."""
    totals, work = simulation.counters.totals, simulation.statistics.work
    for name in ("run_hit", "run_reuse", "run_grow", "run_extend", "run_free", "run_spill"):
        yield f"run.{name.removeprefix('run_')}", totals[name]
    yield "run.page", work["run_pages"]
    for name in ("huge_map", "huge_unmap", "huge_remap"):
        yield f"huge.{name.removeprefix('huge_')}", totals[name]
    yield "release", totals["releases"]


def _calls(plan: Plan, simulation: Simulation) -> Counts:
    """What calls cost besides the allocation and the free that they are."""
    totals, work = simulation.counters.totals, simulation.statistics.work
    yield "call.calloc", work["callocs"]
    yield "call.aligned", work["aligned"]
    yield "call.realloc", work["reallocs"]
    yield "call.realloc.in_place", totals["realloc_in_place"]
    yield "call.realloc.moved", totals["realloc_moved"]
    yield "call.free_sized", work["sized_frees"]
    yield "call.free_null", work["null_frees"]


def _threads(plan: Plan, simulation: Simulation) -> Counts:
    """Heaps of threads."""
    totals = simulation.counters.totals
    yield "heap.create", totals["heaps"]
    yield "heap.create.class", totals["heaps"] * plan.class_count
    yield "heap.create.direct", totals["heaps"] * plan.direct_limit
    yield "heap.adopt", totals["adoptions"]
