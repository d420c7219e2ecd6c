"""Unmapped superslabs: those whose slabs are all empty go back to the OS, beyond a few that stay."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import record_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch
from heapsmith.model.parts.block_questions import map_is_released
from heapsmith.model.parts.committed import uncommit
from heapsmith.model.parts.equations import equal
from heapsmith.model.parts.slab_ages import leave_age_queue
from heapsmith.model.parts.slab_questions import vacancy_lines

NAME = "superslabs"
MOMENTS = (
    *("superslab_ready", "superslab_wanted", "slab_pooled", "slab_reused", "slab_covered", "slab_claimed"),
    *("vacate", "check", "reset"),
)
STATE = {
    "scalars": {"empty_superslabs": 0},  # those whose slabs are all in pools
    "classes": {"unmapped": 0},  # 1 + the first slab of the superslab of that region that was unmapped last, or 0
    "stores": {"next_known": -1, "last_new": 0},
    "slabs": {"beside": 0, "first": 0, "unpooled": 0, "on_huge": 0},
}
"""next_known: the next slab of a superslab that is mapped again, or -1; last_new: the slab that was handed out last
of a superslab that is mapped anew. beside: the next slab of the same superslab, or -1; first: its first slab; and of
that one, unpooled: slabs of the superslab that are in no pool; on_huge: whether it lies on huge pages.
"""
NUMBERS = ("unmap_from",)
MOST_KEPT = 1 << 20
COSTS = {
    "slab.unpooled": 125.45,
    "slab.unmap": 42.65,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A superslab is unmapped when its last slab empties, if `keep` others are empty already.

    keep: empty superslabs that stay, of all classes and heaps together. An unmapped superslab takes
    no memory and counts against no limit; another class or heap may map it again. Each costs a call,
    and a fault for each page that is used again.
    """

    keep: int = 1


def why_not_valid(params: Params) -> str | None:
    """Return why that many cannot stay, or None."""
    if 0 <= params.keep <= MOST_KEPT:
        return None
    return f"keep: {params.keep} is out of range; expected 0 to {MOST_KEPT}"


def why_not_with(design: Any) -> Refusal | None:
    """Return why superslabs of this design cannot be unmapped, or None."""
    pool = design.row("pool")
    if pool.SWAPS:
        words = f"unmapping: '{NAME}' cannot go with pool '{pool.NAME}', from whose middle no slab can be taken"
        return Refusal(words, ("unmapping", "pool"))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return at how many empty superslabs the last of them goes."""
    return {"unmap_from": design.unmapping.keep + 1}


@kernel
def block_slabs(state: State) -> int:
    """Return the slabs of a superslab that are for blocks."""
    return int(state.slabs_per_superslab - state.guard_slabs - state.head_slabs)


@kernel
def superslab_lines(state: State, place: int, at: int, write: int) -> None:
    """Touch a field of a superslab's first record; `place` is that of any of its slabs."""
    first = place - place % state.slabs_per_superslab
    touch(state.listener, record_at(state, first) + state.record_counts_at + at, write)


@kernel
def superslab_ready(state: State, place: int) -> None:
    """Write how many of the superslab's slabs are in no pool."""
    superslab_lines(state, place, layout.SLAB_CLASS_NUMBER, 1)


@kernel
def slab_made(state: State, pool: int, slab: int) -> None:
    """Note to which superslab a slab belongs that was never handed out before."""
    place = int(state.slabs[slab]["place"])
    state.slabs[slab]["beside"] = -1
    if place % state.slabs_per_superslab == state.head_slabs:
        state.slabs[slab]["first"] = slab
        state.slabs[slab]["unpooled"] = block_slabs(state)
        state.slabs[slab]["on_huge"] = state.stores[pool]["next_huge"]
    else:
        before = int(state.stores[pool]["last_new"])
        state.slabs[before]["beside"] = slab
        state.slabs[slab]["first"] = state.slabs[before]["first"]
    state.stores[pool]["last_new"] = slab


@kernel
def mapped_again(state: State, pool: int, region: int) -> int:
    """Map the superslab of a region that was unmapped last; return its place in slabs, or -1: there is none."""
    first = int(state.classes[region]["unmapped"]) - 1
    if first < 0:
        return -1
    place = int(state.slabs[first]["place"]) - state.head_slabs
    superslab_lines(state, place, layout.SLAB_NEXT, 0)
    touch(state.listener, slab_at(state, first) + layout.SLAB_CLASS_NUMBER, 0)
    touch(state.listener, layout.TOTAL_REUSED, 1)
    state.classes[region]["unmapped"] = state.slabs[first]["next"]
    state.superslabs_reused += 1
    state.memory_calls += 1
    state.slabs[first]["unpooled"] = block_slabs(state)
    state.stores[pool]["next_known"] = first
    state.stores[pool]["next_huge"] = state.slabs[first]["on_huge"]
    return place


@kernel
def known_slab(state: State, pool: int) -> int:
    """Return the next slab of a superslab that was mapped again, which has a record; -1: the next is new."""
    slab = int(state.stores[pool]["next_known"])
    if slab >= 0:
        state.stores[pool]["next_known"] = state.slabs[slab]["beside"]
    return slab


@kernel
def slab_reused(state: State, slab: int) -> None:
    """Count a slab that serves again for its superslab."""
    first = int(state.slabs[slab]["first"])
    superslab_lines(state, int(state.slabs[slab]["place"]), layout.SLAB_CLASS_NUMBER, 1)
    state.empty_superslabs -= int(state.slabs[first]["unpooled"] == 0)
    state.slabs[first]["unpooled"] += 1


@kernel
def slab_pooled(state: State, heap: int, pool: int, slab: int) -> None:
    """Count a slab that was retired for its superslab; unmap that if it is empty and enough others are."""
    first = int(state.slabs[slab]["first"])
    superslab_lines(state, int(state.slabs[slab]["place"]), layout.SLAB_CLASS_NUMBER, 1)
    state.slabs[first]["unpooled"] -= 1
    if state.slabs[first]["unpooled"] > 0:
        return
    state.empty_superslabs += 1
    if state.empty_superslabs >= state.unmap_from:
        unmap(state, heap, pool, first)


@kernel
def slab_covered(state: State, slab: int, above: int) -> None:
    """Write what lies above a slab of a pool; `slab` may be -1. In the library this is slab choice's field."""
    if slab >= 0:
        touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 1)
        state.slabs[slab]["previous"] = above


@kernel
def pool_remove(state: State, heap: int, pool: int, slab: int) -> None:
    """Take a slab out of its pool, wherever it lies there."""
    above, below = int(state.slabs[slab]["previous"]), int(state.slabs[slab]["next"])
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 0)
    touch(state.listener, slab_at(state, slab) + layout.SLAB_NEXT, 0)
    if above >= 0:
        touch(state.listener, slab_at(state, above) + layout.SLAB_NEXT, 1)
        state.slabs[above]["next"] = below
    else:
        vacancy_lines(state, heap, pool, 0, 1)
        state.stores[pool]["retired"] = below
    slab_covered(state, below, above)


@kernel
def unmap(state: State, heap: int, pool: int, first: int) -> None:
    """Unmap an empty superslab, whose first slab is `first`: its slabs leave the pool and the age queue."""
    place = int(state.slabs[first]["place"])
    slab = first
    while slab >= 0:
        pool_remove(state, heap, pool, slab)
        touch(state.listener, slab_at(state, slab), 0)
        touch(state.listener, slab_at(state, slab) + layout.SLAB_CLASS_NUMBER, 1)
        if state.slabs[slab]["committed"] > 0:
            leave_age_queue(state, slab)
            touch(state.listener, layout.TOTAL_COMMITTED, 1)
            touch(state.listener, slab_at(state, slab), 1)
            map_is_released(state, int(state.slabs[slab]["place"]))
            uncommit(state, int(state.slabs[slab]["committed"]))
            state.slabs[slab]["committed"] = 0
        slab = int(state.slabs[slab]["beside"])
    gone(state.listener, layout.SPAN + place * state.slab_bytes, block_slabs(state) * state.slab_bytes)
    superslab_lines(state, place, layout.SLAB_NEXT, 1)
    touch(state.listener, layout.TOTAL_UNMAPPED, 1)
    region = place // state.region_slabs
    state.slabs[first]["next"] = state.classes[region]["unmapped"]
    state.classes[region]["unmapped"] = 1 + first
    state.empty_superslabs -= 1
    state.superslabs_unmapped += 1
    state.memory_calls += 1


def unused_slabs(state: State, plan: Any, pooled: set[int]) -> set[int]:
    """Check superslabs that may be unmapped; return the slabs of those that are, or not handed out since."""
    slabs = state.slabs[: state.slabs_made]
    of: dict[int, list[int]] = {}
    for slab in np.argsort(slabs["place"]).tolist():
        of.setdefault(int(slabs[slab]["place"]) // plan.slabs_per_superslab, []).append(slab)
    gone: list[int] = []
    for row in state.classes:
        first = int(row["unmapped"]) - 1
        while first >= 0:
            gone.append(first)
            first = int(slabs[first]["next"]) - 1
    waiting = {slab for first in gone for slab in of[int(slabs[first]["place"]) // plan.slabs_per_superslab]}
    equal("superslabs that are unmapped", len(gone), state.superslabs_unmapped - state.superslabs_reused)
    for store in state.stores:
        slab = int(store["next_known"])
        while slab >= 0:
            waiting.add(slab)
            slab = int(slabs[slab]["beside"])
    empty = 0
    for members in of.values():
        first = members[0]
        equal(f"slabs beside slab {first}", slabs["beside"][members].tolist(), [*members[1:], -1])
        equal(f"first of the slabs beside {first}", set(slabs["first"][members].tolist()), {first})
        in_pools = len(pooled.intersection(members))
        empty += in_pools == plan.block_slabs
        unpooled = 0 if first in gone else plan.block_slabs - in_pools
        equal(f"slabs of slab {first}'s superslab in no pool", int(slabs[first]["unpooled"]), unpooled)
    equal("empty superslabs", state.empty_superslabs, empty)
    equal("empty superslabs below the number", empty < plan.numbers["unmap_from"], True)
    equal("slabs without memory in a pool", pooled & waiting, set())
    equal("committed to slabs without memory", int(slabs["committed"][sorted(waiting)].sum()), 0)
    return waiting


def work(plan: Any, simulation: Any, misses: int, unkept: int) -> Iterator[tuple[str, int]]:
    """Yield what unmapping costs: each slab that joins or leaves a pool, and the slabs of each unmapped superslab."""
    of, totals = simulation.counters.classes, simulation.counters.totals
    yield "slab.unpooled", sum(of["acquire"]) + sum(of["retire"])
    yield "slab.unmap", totals["superslabs_unmapped"] * plan.block_slabs
