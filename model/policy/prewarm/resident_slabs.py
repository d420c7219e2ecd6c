"""Prewarmed memory: a new heap has superslabs of its own, whose pages are all resident from the start."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import heap_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import populated, touch
from heapsmith.model.parts.committed import commit
from heapsmith.model.parts.front_questions import slab_lines
from heapsmith.model.parts.needs import Needs
from heapsmith.model.parts.pools import pool_for, pool_push
from heapsmith.model.parts.slab_ages import join_age_queue
from heapsmith.model.parts.slabs import new_slab

NAME = "resident_slabs"
MOMENTS = ("heap_started", "superslab_late")
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
NUMBERS = ("prewarm_superslabs", "prewarm_locks")
MOST_BYTES = 1 << 30


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=NAME, tag_field="kind"):
    """A new heap maps superslabs and makes their pages resident.

    bytes: of superslabs for each heap, rounded up to whole superslabs. While a thread needs no more
    for its small blocks, it makes no system call and touches no page for the first time. Each thread
    pays for all of them when it starts. lock: the pages are locked in memory too (mlock), as far as
    RLIMIT_MEMLOCK permits.
    """

    bytes: int
    lock: bool = False


def why_not_valid(params: Params) -> str | None:
    """Return why that much cannot be prepared, or None."""
    return None if 1 <= params.bytes <= MOST_BYTES else f"bytes: {params.bytes}; expected 1 to {MOST_BYTES}"


def why_not_with(design: Any) -> Refusal | None:
    """Return why heaps of this design cannot prepare memory, or None."""
    needed = {
        "ownership": "superslab",  # else other heaps take what one prepares
        "empties": "shared",  # a pool for all classes
        "release": "keep",  # else pages go back
        "unmapping": "off",
    }
    for field, name in needed.items():
        if (chosen := design.row(field).NAME) != name:
            words = f"prewarm: '{NAME}' cannot go with {field} '{chosen}'; expected {field} '{name}'"
            return Refusal(words, ("prewarm", field))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the superslabs of each heap, and whether their pages are locked."""
    superslabs = -(-design.prewarm.bytes // design.superslab_bytes)
    return {"prewarm_superslabs": superslabs, "prewarm_locks": int(design.prewarm.lock)}


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"sparing": "unsparing"}


def needs(plan: Any) -> Needs:
    """Return what the superslabs take that a new heap maps."""
    superslabs = plan.numbers["prewarm_superslabs"]
    return Needs(slabs=superslabs * plan.slabs_per_superslab, first_bytes=superslabs * plan.superslab_bytes)


@kernel
def superslab_late(state: State) -> None:
    """Count a superslab that was not prepared."""
    touch(state.listener, layout.TOTAL_LATE, 1)
    state.superslabs_late += 1


@kernel
def heap_started(state: State, heap: int) -> None:
    """Map superslabs for a new heap, and put their slabs into its pool, committed whole."""
    pool = pool_for(state, heap, 0)
    touch(state.listener, layout.POOL_LOCK, 1)
    resident(state, heap_at(state, heap), state.heap_bytes)
    for _ in range(state.prewarm_superslabs):
        first = state.slabs_made
        slab = new_slab(state, heap, pool, 0)
        state.locks_prewarm += 1
        if slab < 0:
            break
        while state.stores[pool]["left"] > 0:
            new_slab(state, heap, pool, 0)
        slabs = state.slabs_made - first
        resident(state, layout.SPAN + int(state.slabs[slab]["place"]) * state.slab_bytes, slabs * state.slab_bytes)
        for below in range(slabs):
            pool_whole(state, heap, pool, first + slabs - 1 - below)
    state.new_locks = 0


@kernel
def resident(state: State, address: int, size: int) -> None:
    """Make memory resident, with one call."""
    state.memory_calls += 1
    populated(state.listener, address, size)


@kernel
def pool_whole(state: State, heap: int, pool: int, slab: int) -> None:
    """Put a new slab into its heap's pool, committed whole."""
    slab_lines(state, slab)
    touch(state.listener, slab_at(state, slab), 1)
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CLASS_NUMBER, 1)
    if state.slabs[slab]["committed"] == 0:
        commit(state, state.slab_bytes)
    state.slabs[slab]["committed"] = state.slab_bytes
    state.slabs[slab]["owner"] = heap
    join_age_queue(state, slab)
    pool_push(state, heap, pool, slab)
