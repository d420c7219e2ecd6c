"""Owner's queue: a free by another thread goes to the end of the owner's lock-free queue (FIFO)."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import CLASS_MASK, COUNT_REMOTE, WORD, block_at, count_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.remote.common import (
    OWNER_CODE,
    drained_lines,
    goes_by_slab,
    interval_of,
    keeps_nothing,
    lacks_nothing,
    list_of,
    no_heap,
    owns,
    takes_all,
    why_not_interval,
)

NAME = "owner_queue"
IS_WORD = True
OWNED = True
CODE = OWNER_CODE
NUMBERS = ("drain_interval", "remote_words")
"""remote_words: both ends of a chain of which the owner has taken a part, and the newest block."""
TAKEN, LAST = -3 * WORD, -WORD
"""Where these words lie, from the head."""


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The owner also drains its queue where its frees come to many flushes.

    drain_interval: flushes from one drain to the next at most. A thread that only frees gives remote
    blocks back earlier; each flush counts, for two instructions.
    """

    drain_interval: int


def why_not_valid(params: Params) -> str | None:
    """Return why this number cannot be, or None."""
    return why_not_interval(params.drain_interval)


stays, needs_heap = owns, no_heap
opens, lacks, hands_over, chains = takes_all, lacks_nothing, keeps_nothing, list_of
goes_by_class = goes_by_slab


def numbers(design: Any) -> dict[str, int]:
    """Return the words of a queue, and the interval if there is one."""
    return interval_of(design) | {"remote_words": 3}


@kernel
def joins(state: State, heap: int, owner: int, node: int) -> None:
    """Put the node at the end (FIFO)."""
    state.nodes[node]["next"] = -1
    if state.heaps[owner]["remote"] < 0:
        state.heaps[owner]["remote"] = node
    else:
        state.nodes[int(state.heaps[owner]["remote_last"])]["next"] = node
    state.heaps[owner]["remote_last"] = node


@kernel
def join_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch the counter, the block's link, the end, and the link of the block before."""
    touch(state.listener, count_at(state, owner, block & CLASS_MASK) + COUNT_REMOTE, 1)
    touch(state.listener, block_at(state, block), 1)
    touch(state.listener, heap_at(state, owner) + state.heap_remote + LAST, 1)
    if state.heaps[owner]["remote"] < 0:
        touch(state.listener, heap_at(state, owner) + state.heap_remote, 1)
    else:
        last = int(state.nodes[int(state.heaps[owner]["remote_last"])]["block"])
        touch(state.listener, block_at(state, last), 1)


@kernel
def leave_lines(state: State, heap: int, node: int, is_linked: bool) -> None:
    """Touch what a drain touches, and the link: nobody reads that of the newest block. Hardening clears each."""
    drained_lines(state, heap, int(state.nodes[node]["block"]))
    if is_linked or state.tail_bytes > 0:
        touch(state.listener, block_at(state, int(state.nodes[node]["block"])), 0)


@kernel
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch the oldest block of a chain and the head, and the end if there are blocks."""
    at = heap_at(state, heap) + state.heap_remote
    touch(state.listener, at + TAKEN, 0)
    touch(state.listener, at, 0)
    if state.heaps[heap]["remote"] >= 0:
        touch(state.listener, at + LAST, 1)
