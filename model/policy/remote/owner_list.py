"""Owner's list: a free by another thread goes on the lock-free list of the slab's owner."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.remote import common
from heapsmith.model.policy.remote.common import (
    COUNTED_COST,
    OWNER_CODE,
    Counted,
    fields_of,
    files_of,
    goes_by_slab,
    interval_of,
    keeps_nothing,
    lacks_nothing,
    list_of,
    moments_of,
    no_heap,
    owns,
    pop_lines,
    push,
    push_lines,
    takes_all,
    why_not_interval,
)

NAME = "owner_list"
STATE = common.STATE
RARE = True
RAISES = ("owned",)
IS_WORD = True
OWNED = True
CODE = OWNER_CODE
NUMBERS = ("drain_interval", "drain_frees")
COSTS = {
    f"free.interval.{NAME}": COUNTED_COST,
    f"free.look.{NAME}": 8.01,
    f"free.remote.{NAME}": 0.00,
    f"refill.look.{NAME}": 0.00,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=NAME, tag_field="kind"):
    """The owner also drains its list after a number of flushes or frees.

    drain_interval: flushes, or frees, from one drain to the next at most; drain_counts: which of
    them. A thread that only frees gives remote blocks back earlier. What is counted costs two
    instructions each, and frees are counted on the hit path.
    """

    drain_interval: int
    drain_counts: Counted = "flushes"


def why_not_valid(params: Params) -> str | None:
    """Return why this number cannot be, or None."""
    return why_not_interval(params.drain_interval)


numbers = interval_of
stays, needs_heap, joins, join_lines, leave_lines = owns, no_heap, push, push_lines, pop_lines
opens, lacks, hands_over, chains = takes_all, lacks_nothing, keeps_nothing, list_of
goes_by_class = goes_by_slab


@kernel
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch the head; a list that is not empty is taken."""
    touch(state.listener, heap_at(state, heap) + state.heap_remote, int(state.heaps[heap]["remote"] >= 0))


def heap_fields(design: Any) -> list[Field]:
    """Return what the list adds to struct heap."""
    return fields_of(interval_of(design))


def moments(design: Any) -> tuple[str, ...]:
    """Return the moments that the row answers."""
    return moments_of(interval_of(design))


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return files_of(interval_of(design))


code, work, heap_made = common.code, common.work, common.begins_to_count
flush_ended, free_ended, remote_drained = common.flush_ended, common.free_ended, common.remote_drained
