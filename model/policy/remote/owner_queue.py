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
    keeps_nothing,
    lacks_nothing,
    list_of,
    no_heap,
    owns,
    why_not_interval,
)

NAME = "owner_queue"
IS_WORD = True
OWNED = True
CODE = OWNER_CODE
NUMBERS = ("drain_interval", "drain_most", "remote_words")
"""remote_words: both ends of a chain of which the owner has taken a part, and the newest block."""
TAKEN, LAST = -3 * WORD, -WORD
"""Where these words lie, from the head."""


MOST_DRAINED = 1 << 20


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=NAME, tag_field="kind"):
    """The owner also drains its queue where its frees come to many flushes, or drains a part at a time.

    drain_interval: flushes from one drain to the next at most. A thread that only frees gives remote
    blocks back earlier; each flush counts, for two instructions. drain_most: blocks that a drain
    frees at most; others wait for the next drain, so that no allocation frees all that came.
    """

    drain_interval: int | None = None
    drain_most: int | None = None


def why_not_valid(params: Params) -> str | None:
    """Return why these numbers cannot be, or None."""
    if params.drain_interval is None and params.drain_most is None:
        return "drain_interval: missing, and so is drain_most; expected one of them"
    if params.drain_most is not None and not 1 <= params.drain_most <= MOST_DRAINED:
        return f"drain_most: {params.drain_most}; expected 1 to {MOST_DRAINED}"
    return None if params.drain_interval is None else why_not_interval(params.drain_interval)


stays, needs_heap = owns, no_heap
lacks, hands_over, chains = lacks_nothing, keeps_nothing, list_of
goes_by_class = goes_by_slab


def numbers(design: Any) -> dict[str, int]:
    """Return the words of a queue, and the interval and the most of a drain if the design gives them."""
    given = {} if isinstance(design.remote, str) else msgspec.structs.asdict(design.remote)
    return {name: number for name, number in given.items() if number is not None} | {"remote_words": 3}


@kernel
def joins(state: State, heap: int, owner: int, node: int) -> None:
    """Put the node at the end (FIFO)."""
    state.nodes[node]["next"] = -1
    if state.heaps[owner]["remote"] < 0:
        state.heaps[owner]["remote"] = node
    else:
        state.nodes[int(state.heaps[owner]["remote_last"])]["next"] = node
    state.heaps[owner]["remote_last"] = node
    state.heaps[owner]["remote_held"] += 1


@kernel
def opens(state: State, heap: int, which: int) -> int:
    """Take the queue, or `drain_most` nodes of it; return the first node, or -1. The others are kept."""
    first = int(state.heaps[heap]["remote"])
    if first < 0:
        return first
    chain = int(state.heaps[heap]["remote_kept"])
    if chain == 0:
        chain = int(state.heaps[heap]["remote_held"])
    taken = chain if state.drain_most == 0 else min(chain, state.drain_most)
    state.heaps[heap]["remote_held"] -= taken
    state.heaps[heap]["remote_kept"] = chain - taken
    last = first
    for _ in range(taken - 1):
        last = int(state.nodes[last]["next"])
    rest = int(state.nodes[last]["next"])
    state.nodes[last]["next"] = -1
    state.heaps[heap]["remote"] = rest
    if chain > taken:
        kept_lines(state, heap, int(state.nodes[rest]["block"]), chain > taken + 1)
    return first


@kernel
def kept_lines(state: State, heap: int, block: int, is_linked: bool) -> None:
    """Touch what a drain touches that keeps blocks: the link of the oldest of them, and the ends of the chain."""
    if is_linked:
        touch(state.listener, block_at(state, block), 0)
    touch(state.listener, heap_at(state, heap) + state.heap_remote + TAKEN, 1)
    touch(state.listener, heap_at(state, heap) + state.heap_remote + TAKEN + WORD, 1)


@kernel
def join_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch the counter, the block's link, the end, and the link of the block before."""
    touch(state.listener, count_at(state, owner, block & CLASS_MASK) + COUNT_REMOTE, 1)
    touch(state.listener, block_at(state, block), 1)
    touch(state.listener, heap_at(state, owner) + state.heap_remote + LAST, 1)
    if state.heaps[owner]["remote_held"] == state.heaps[owner]["remote_kept"]:
        touch(state.listener, heap_at(state, owner) + state.heap_remote, 1)
    else:
        last = int(state.nodes[int(state.heaps[owner]["remote_last"])]["block"])
        touch(state.listener, block_at(state, last), 1)


@kernel
def leave_lines(state: State, heap: int, node: int, is_linked: bool) -> None:
    """Touch what a drain touches, and the link: nobody reads that of the newest block. Hardening clears each."""
    drained_lines(state, heap, int(state.nodes[node]["block"]))
    if is_linked or state.tail_bytes > 0 or state.heaps[heap]["remote_kept"] > 0:
        touch(state.listener, block_at(state, int(state.nodes[node]["block"])), 0)


@kernel
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch the oldest block of a chain and the head, and the end if there are blocks."""
    at = heap_at(state, heap) + state.heap_remote
    kept = int(state.heaps[heap]["remote_kept"])
    touch(state.listener, at + TAKEN, int(kept > 0))
    if kept > 0:
        touch(state.listener, at + TAKEN + WORD, 0)
        return
    touch(state.listener, at, 0)
    if state.heaps[heap]["remote"] >= 0:
        touch(state.listener, at + LAST, 1)
