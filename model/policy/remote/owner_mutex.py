"""Owner's mutex: a free by another thread goes on the list of the slab's owner, under the list's lock."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import LOCK_LINE, POOL_LOCK, WORD, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.remote import common
from heapsmith.model.policy.remote.common import (
    COUNTED_COST,
    OWNER_CODE,
    Counted,
    begins_to_count,
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

NAME = "owner_mutex"
STATE = common.STATE
RARE = True
RAISES = ("owned",)
IS_WORD = True
OWNED = True
CODE = OWNER_CODE
NUMBERS = ("drain_interval", "drain_frees", "remote_words", "remote_locks")
"""remote_words: the number of the heap's lock. remote_locks: how many there are; fork holds all of them."""
COSTS = {
    f"free.interval.{NAME}": COUNTED_COST,
    f"free.look.{NAME}": 7.93,
    f"free.remote.{NAME}": 42.64,
    f"refill.look.{NAME}": 0.00,
}

LOCKS = 64
UNFOLLOWED = True


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


stays, needs_heap, joins, leave_lines = owns, no_heap, push, pop_lines
lacks, hands_over, chains = lacks_nothing, keeps_nothing, list_of
goes_by_class = goes_by_slab


def numbers(design: Any) -> dict[str, int]:
    """Return the words of a list, the locks, and the interval if there is one."""
    return interval_of(design) | {"remote_words": 1, "remote_locks": LOCKS}


@kernel
def lock_lines(state: State, heap: int) -> None:
    """Touch the number of the heap's lock, and the lock."""
    touch(state.listener, heap_at(state, heap) + state.heap_remote - WORD, 0)
    touch(state.listener, POOL_LOCK + LOCK_LINE * (1 + heap % LOCKS), 1)


@kernel
def join_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch what a push touches, and the lock."""
    state.locks_remote_put += 1
    lock_lines(state, owner)
    push_lines(state, heap, owner, block)


@kernel
def opens(state: State, heap: int, which: int) -> int:
    """Take the whole list under its lock; return its first node, or -1 without the lock."""
    state.locks_remote_drain += int(state.heaps[heap]["remote"] >= 0)
    return takes_all(state, heap, which)


@kernel
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch the head, and the lock if there are blocks: they are taken."""
    touch(state.listener, heap_at(state, heap) + state.heap_remote, int(state.heaps[heap]["remote"] >= 0))
    if state.heaps[heap]["remote"] >= 0:
        lock_lines(state, heap)


def heap_fields(design: Any) -> list[Field]:
    """Return what the list adds to struct heap."""
    return fields_of(numbers(design))


def moments(design: Any) -> tuple[str, ...]:
    """Return the moments that the row answers."""
    return ("heap_made", *moments_of(numbers(design)))


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return files_of(numbers(design))


def locks(design: Any) -> int:
    """Return how many locks the lists have."""
    return LOCKS


code, work = common.code, common.work
flush_ended, free_ended, remote_drained = common.flush_ended, common.free_ended, common.remote_drained


@kernel
def heap_made(state: State, heap: int) -> None:
    """Write the number of the heap's lock."""
    begins_to_count(state, heap)
    touch(state.listener, heap_at(state, heap) + state.heap_remote - WORD, 1)
