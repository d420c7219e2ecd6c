"""Striped shards: classes or heaps take turns; each shard has locks of its store and of its transfer cache."""

from typing import Any, Literal

import msgspec

from heapsmith.model.errors import Refusal
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.shards import common

NAME = "striped"
STATE = common.STATE
NUMBERS = ("shards", "shard_records")
RARE_NUMBERS = ("shard_records",)
LOCKED = ("refill", "flush", "take", "give", "slab.add", "slab.remove", "shard.lock")
CACHED = ("transfer",)
MOST = 32
COSTS = {
    "refill.shard": 26.23,
    "shard.lock": 128.86,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The store has shards, each with a lock of its own, so threads wait less for each other.

    count: how many, 2 to 32. by: class, classes take turns, which moves no block but leaves threads
    that use one class with one lock; thread, heaps take turns, so that each shard has slabs of its
    own, which takes more memory, and a block returns to the shard of its slab.
    """

    count: int = 16
    by: Literal["class", "thread"] = "class"


def why_not_valid(params: Params) -> str | None:
    """Return why there are no such shards, or None."""
    return why_not_count(params.count)


def why_not_count(count: int) -> str | None:
    """Return why the design cannot have this number of shards, or None."""
    return None if 2 <= count <= MOST else f"count: {count}; expected 2 to {MOST}"


def why_not_with(design: Any) -> Refusal | None:
    """Return why the design has no store that could be divided, or None."""
    return why_not_divided(design, NAME)


def why_not_divided(design: Any, shards: str) -> Refusal | None:
    """Return why a design has no store that these shards could divide, or None."""
    remote = design.row("remote")
    if remote.OWNED:
        words = f"shards: '{shards}' cannot go with remote '{remote.NAME}', whose heaps have a store each"
        return Refusal(words, ("shards", "remote"))
    if design.background is not None:
        helper = design.row("background").NAME
        words = f"shards: '{shards}' cannot go with background '{helper}', whose helper tops up one"
        return Refusal(words, ("shards", "background"))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the number of shards, and whether slabs have one."""
    records = {"shard_records": 1} if design.shards.by != "class" else {}
    return {"shards": design.shards.count} | records


SHARD = Field("size_t shard", 1, "the part of the store from which it takes")


def heap_fields(design: Any) -> list[Field]:
    """Return the shard of a heap, where heaps have one."""
    return [] if design.shards.by == "class" else [SHARD]


def moments(design: Any) -> tuple[str, ...]:
    """Return the moments that the row answers."""
    return () if design.shards.by == "class" else ("heap_made",)


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    heap = "no_shard" if design.shards.by == "class" else "in_turn"
    return {"vacancies": "one_set", "by": f"by_{design.shards.by}", "heap": heap}


def locks(design: Any) -> int:
    """Return how many locks the shards have: of transfer caches, then of stores."""
    return 2 * int(design.shards.count)


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
batch_store = common.batch_store
