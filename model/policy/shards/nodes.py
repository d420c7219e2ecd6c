"""Shards of nodes: a thread takes from superslabs that are near the processor it runs on, and blocks return there."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import SLAB_SHIFT
from heapsmith.model.memory.numa_nodes import node_of
from heapsmith.model.memory.state import State
from heapsmith.model.parts.slab_questions import owner_lines
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.shards import common, striped
from heapsmith.model.policy.shards.common import batch_store as heaps_store
from heapsmith.model.policy.shards.common import heaps_shard

NAME = "nodes"
STATE = common.STATE
RARE = True
UNPRICED = True
NUMBERS = (*striped.NUMBERS, "shard_nodes")
HAS_POOLS = True
LOCKED = striped.LOCKED
CACHED = striped.CACHED
COSTS: dict[str, float] = {}  # those of striped shards


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The store has a shard for each node of memory, with superslabs, empty slabs and batches of its own.

    For machines with two nodes or more; with one node it is one store. count: the most nodes that
    are told apart, 2 to 32.
    """

    count: int = 8


def why_not_valid(params: Params) -> str | None:
    """Return why there are no such shards, or None."""
    return striped.why_not_count(params.count)


def why_not_with(design: Any) -> Refusal | None:
    """Return why the design has no store that could be divided, or None."""
    return striped.why_not_divided(design, NAME)


def numbers(design: Any) -> dict[str, int]:
    """Return the number of shards; slabs have one, and so have pools."""
    return {"shards": design.shards.count, "shard_records": 1, "shard_nodes": 1}


def heap_fields(design: Any) -> list[Field]:
    """Return the shard of a heap."""
    return [striped.SHARD]


def moments(design: Any) -> tuple[str, ...]:
    """Return the moments that the row answers."""
    return ("start", "memory_mapped", "processor_heap" if design.heaps else "take_begins")


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    here = "processor_stays" if design.heaps else "thread_moves"
    return {"vacancies": "set_of_node", "here": here}


locks = striped.locks


store_of, store_to, heaps_shard_lines, heap_made = (
    common.store_of,
    common.store_to,
    common.heaps_shard_lines,
    common.heap_made,
)
lock_store, lock_to, lock_batch, lock_whole = common.lock_store, common.lock_to, common.lock_batch, common.lock_whole
lock_transfer, number_at, copy_of = common.lock_transfer, common.number_at, common.copy_of
copies, count, store_place, work = common.copies, common.count, common.store_place, common.work
locks_slab, slab_acquired, event_charged = common.locks_slab, common.slab_acquired, common.event_charged


@kernel
def batch_store(state: State, heap: int, cls: int, count: int) -> int:
    """Return the store to which all blocks of the flush return, where memory is bound to nodes."""
    return store_of_all(state, cls, count) if state.binds > 0 else heaps_store(state, heap, cls, count)


@kernel
def store_of_all(state: State, cls: int, count: int) -> int:
    """Return the place in `stores` of what the blocks of the flush in `moved` return to; -1: they have several."""
    first = int(state.moved[0]) >> SLAB_SHIFT
    for index in range(count):
        slab = int(state.moved[index]) >> SLAB_SHIFT
        owner_lines(state, slab, 0)
        if state.slabs[slab]["shard"] != state.slabs[first]["shard"]:
            return -1
    return store_to(state, first, cls)


@kernel
def pools_for(state: State, heap: int) -> int:
    """Return the place of the pools of the heap's node."""
    return heaps_shard(state, heap) * int(state.class_count)


@kernel
def pools_to(state: State, slab: int) -> int:
    """Return the place of the pools of the slab's node."""
    return int(state.slabs[slab]["shard"] * state.class_count)


@kernel
def event_begins(state: State, event: int) -> None:
    """Note the node on which the event's thread runs."""
    state.home = int(state.homes[event])


def follow(simulator: Any, chunk: Any) -> None:
    """Give the simulator the shard of the node of each event of a chunk."""
    homes = node_of(simulator.nodes) % simulator.state.shards
    simulator.state.homes = homes[simulator.processors(chunk)]
    simulator.state.binds = int(len(simulator.nodes) > 1)


@kernel
def superslab_ready(state: State, place: int) -> None:
    """Count the call that binds the superslab to its node."""
    state.memory_calls += state.binds
