"""Shards of nodes: a thread takes from superslabs that are near the processor it runs on, and blocks return there."""

from typing import Any

import msgspec

from heapsmith.model.errors import Refusal
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.shards import striped

NAME = "nodes"
UNPRICED = True
NUMBERS = (*striped.NUMBERS, "shard_nodes")
LOCKED = striped.LOCKED
CACHED = striped.CACHED


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
