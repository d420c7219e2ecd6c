"""Owner's queue: a free by another thread goes to the end of the owner's lock-free queue (FIFO)."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import CLASS_MASK, COUNT_REMOTE, WORD, block_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.fronts import drain_remote
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.remote import common
from heapsmith.model.policy.remote.common import (
    COUNTED_COST,
    OWNER_CODE,
    Counted,
    drained_lines,
    fields_of,
    files_of,
    goes_by_slab,
    interval_of,
    keeps_nothing,
    moments_of,
    no_heap,
    owns,
    part_at,
    slots_in,
    why_not_interval,
)

NAME = "owner_queue"
STATE = common.STATE
RARE = True
RAISES = ("owned",)
IS_WORD = True
OWNED = True
CODE = OWNER_CODE
NUMBERS = ("drain_interval", "drain_frees", "drain_most", "remote_words", "drains_by_class")
TAKEN, LAST, FRONT, QUEUE_BYTES = 0, 2 * WORD, 3 * WORD, 4 * WORD
"""Of a queue in struct heap: both ends of a chain of which the owner has taken a part, the newest block, the oldest."""
COSTS = {
    f"free.interval.{NAME}": COUNTED_COST,
    f"free.look.{NAME}": 8.02,
    f"free.remote.{NAME}": 3.66,
    f"refill.look.{NAME}": 2.29,
}

OLDEST, NEWEST, HELD, KEPT, TURN = range(5)
SLOTS = 5
"""Of a heap and class in `slots`, of class 0 where the heap has one queue, as its turn: nodes are one more than their
number, 0 is none. Of the blocks held, an earlier drain has kept the oldest.
"""

MOST_DRAINED = 1 << 20


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=NAME, tag_field="kind"):
    """The owner also drains its queue after a number of flushes or frees, or drains a part at a time.

    drain_interval: flushes, or frees, from one drain to the next at most; drain_counts: which of
    them. A thread that only frees gives remote blocks back earlier. What is counted costs two
    instructions each, and frees are counted on the hit path. drain_most: blocks that a drain
    frees at most, of a queue for each class; others wait for the next drain, so that no allocation
    frees all that came.
    """

    drain_interval: int | None = None
    drain_counts: Counted = "flushes"
    drain_most: int | None = None


def why_not_valid(params: Params) -> str | None:
    """Return why these numbers cannot be, or None."""
    if params.drain_interval is None and params.drain_most is None:
        return "drain_interval: missing, and so is drain_most; expected one of them"
    if params.drain_interval is None and params.drain_counts != "flushes":
        return f"drain_counts: '{params.drain_counts}' of no interval; expected drain_interval too"
    if params.drain_most is not None and not 1 <= params.drain_most <= MOST_DRAINED:
        return f"drain_most: {params.drain_most}; expected 1 to {MOST_DRAINED}"
    return None if params.drain_interval is None else why_not_interval(params.drain_interval)


stays, needs_heap, hands_over, goes_by_class = owns, no_heap, keeps_nothing, goes_by_slab


def numbers(design: Any) -> dict[str, int]:
    """Return the words of queues and turn, and the interval and the most of a drain if the design gives them."""
    most = None if isinstance(design.remote, str) else design.remote.drain_most
    found, words = interval_of(design), QUEUE_BYTES // WORD
    if most is not None:
        return found | {"drain_most": most, "remote_words": words * len(design.classes()) + 1, "drains_by_class": 1}
    return found | {"drain_most": 0, "remote_words": words}


@kernel
def queue_of(state: State, cls: int) -> int:
    """Return the number of the queue of a class in its heap."""
    return cls if state.drain_most > 0 else 0


@kernel
def joins(state: State, heap: int, owner: int, node: int) -> None:
    """Put the node at the end (FIFO)."""
    queue = slots_in(state, owner, queue_of(state, int(state.nodes[node]["block"]) & CLASS_MASK), SLOTS)
    state.nodes[node]["next"] = -1
    state.nodes[node]["name"] = int(state.slots[queue + HELD] == state.slots[queue + KEPT])
    if state.slots[queue + HELD] == 0:
        state.slots[queue + OLDEST] = node + 1
    else:
        state.nodes[int(state.slots[queue + NEWEST]) - 1]["next"] = node
    state.slots[queue + NEWEST] = node + 1
    state.slots[queue + HELD] += 1


@kernel
def opens(state: State, heap: int, which: int) -> int:
    """Take a queue, or `drain_most` nodes of it; return the first node, or -1. The others are kept.

    which: for all classes but one, the queue is that of the class in turn.
    """
    if state.drain_most == 0:
        return part_of(state, heap, 0, state.nodes_made)
    if which >= 0:
        return part_of(state, heap, which, state.drain_most)
    if which == -1:
        return all_of(state, heap)
    place = slots_in(state, heap, 0, SLOTS) + TURN
    turn = int(state.slots[place])
    at = part_at(state, heap) + QUEUE_BYTES * state.class_count
    touch(state.listener, at, 0)
    node = -1
    if turn != -2 - which:
        look_lines(state, heap, turn)
        node = part_of(state, heap, turn, state.drain_most)
    if node < 0:
        touch(state.listener, at, 1)
        state.slots[place] = (turn + 1) % state.class_count
    return node


@kernel
def part_of(state: State, heap: int, cls: int, most: int) -> int:
    """Take up to `most` nodes of a queue, of those that are kept if any are; return the first node, or -1."""
    queue = slots_in(state, heap, cls, SLOTS)
    chain = int(state.slots[queue + KEPT])
    if chain == 0:
        chain = int(state.slots[queue + HELD])
    if chain == 0:
        return -1
    taken = min(chain, most)
    state.slots[queue + HELD] -= taken
    state.slots[queue + KEPT] = chain - taken
    first = int(state.slots[queue + OLDEST]) - 1
    last = first
    for _ in range(taken - 1):
        last = int(state.nodes[last]["next"])
    rest = int(state.nodes[last]["next"])
    state.nodes[last]["next"] = -1
    state.slots[queue + OLDEST] = rest + 1
    if chain > taken:
        state.nodes[rest]["name"] = 1
        kept_lines(state, heap, cls, int(state.nodes[rest]["block"]), chain > taken + 1)
    return first


@kernel
def all_of(state: State, heap: int) -> int:
    """Take the queues of all classes, ascending; return the first node, or -1."""
    first = -1
    last = -1
    for cls in range(state.class_count):
        queue = slots_in(state, heap, cls, SLOTS)
        look_lines(state, heap, cls)
        whole_lines(state, heap, cls)
        if state.slots[queue + HELD] > 0:
            oldest = int(state.slots[queue + OLDEST]) - 1
            if last >= 0:
                state.nodes[last]["next"] = oldest
            else:
                first = oldest
            last = int(state.slots[queue + NEWEST]) - 1
            state.slots[queue + OLDEST] = 0
            state.slots[queue + HELD] = 0
            state.slots[queue + KEPT] = 0
    return first


@kernel
def whole_lines(state: State, heap: int, cls: int) -> None:
    """Touch what the drain of a whole queue touches besides: it takes what came behind a chain, in parts."""
    queue, at = slots_in(state, heap, cls, SLOTS), part_at(state, heap) + QUEUE_BYTES * cls
    kept = int(state.slots[queue + KEPT])
    came = int(state.slots[queue + HELD]) - kept
    touch(state.listener, at + FRONT, int(came > 0))
    if came > 0:
        touch(state.listener, at + LAST, 1)
    if max(kept, came) > state.drain_most:
        touch(state.listener, at + TAKEN, 1)
        touch(state.listener, at + TAKEN + WORD, 1)


@kernel
def lacks(state: State, heap: int, cls: int) -> bool:
    """Return whether a drain frees blocks of one class alone, so that those of others have their turn."""
    return bool(state.drain_most > 0)


@kernel
def kept_lines(state: State, heap: int, cls: int, block: int, is_linked: bool) -> None:
    """Touch what a drain touches that keeps blocks: the link of the oldest of them, and the ends of the chain."""
    at = part_at(state, heap) + QUEUE_BYTES * cls + TAKEN
    if is_linked:
        touch(state.listener, block_at(state, block), 0)
    touch(state.listener, at, 1)
    touch(state.listener, at + WORD, 1)


@kernel
def join_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch the counter, the block's link, the end, and the link of the block before."""
    cls = queue_of(state, block & CLASS_MASK)
    queue, at = slots_in(state, owner, cls, SLOTS), part_at(state, owner) + QUEUE_BYTES * cls
    touch(state.listener, count_at(state, owner, block & CLASS_MASK) + COUNT_REMOTE, 1)
    touch(state.listener, block_at(state, block), 1)
    touch(state.listener, at + LAST, 1)
    if state.slots[queue + HELD] == state.slots[queue + KEPT]:
        touch(state.listener, at + FRONT, 1)
    else:
        last = int(state.nodes[int(state.slots[queue + NEWEST]) - 1]["block"])
        touch(state.listener, block_at(state, last), 1)


@kernel
def leave_lines(state: State, heap: int, node: int, is_linked: bool) -> None:
    """Touch what a drain touches, and the link: nobody reads that of a chain's newest block. Hardening clears each."""
    block = int(state.nodes[node]["block"])
    queue = slots_in(state, heap, queue_of(state, block & CLASS_MASK), SLOTS)
    drained_lines(state, heap, block)
    is_linked = is_linked and state.nodes[int(state.nodes[node]["next"])]["name"] == 0
    if is_linked or state.tail_bytes > 0 or state.slots[queue + KEPT] > 0:
        touch(state.listener, block_at(state, block), int(state.tail_bytes > 0))


@kernel
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch the oldest block of a chain and the head, and the end if there are blocks."""
    if which < 0 and state.drain_most > 0:
        return
    cls = queue_of(state, which)
    queue, at = slots_in(state, heap, cls, SLOTS), part_at(state, heap) + QUEUE_BYTES * cls
    touch(state.listener, at + TAKEN, int(state.slots[queue + KEPT] > 0))
    if state.slots[queue + KEPT] > 0:
        touch(state.listener, at + TAKEN + WORD, 0)
        return
    touch(state.listener, at + FRONT, int(state.slots[queue + HELD] > 0))
    if state.slots[queue + HELD] > 0:
        touch(state.listener, at + LAST, 1)


def chains(state: State, heap: int) -> list[tuple[int, int]]:
    """Return the heap's queues: the owner of its blocks and the first node of each."""
    classes = range(state.class_count if state.drain_most > 0 else 1)
    return [(heap, int(state.slots[slots_in(state, heap, cls, SLOTS) + OLDEST]) - 1) for cls in classes]


def heap_fields(design: Any) -> list[Field]:
    """Return what the list adds to struct heap."""
    return fields_of(numbers(design))


def moments(design: Any) -> tuple[str, ...]:
    """Return the moments that the row answers."""
    found = numbers(design)
    return (*moments_of(found), *(["heap_adopted"] * ("drains_by_class" in found)))


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    found = numbers(design)
    kinds = ("queue_each", "drains_part") if "drains_by_class" in found else ("queue_one", "drains_whole")
    return files_of(found) | dict(zip(("queues", "drains"), kinds, strict=True))


code, work, heap_made = common.code, common.work, common.begins_to_count
flush_ended, free_ended, remote_drained = common.flush_ended, common.free_ended, common.remote_drained


@kernel
def heap_adopted(state: State, heap: int) -> None:
    """Drain what came since the last thread left, where no allocation drains all that came."""
    if state.drain_most > 0:
        drain_remote(state, heap, -1)


def looks_again(design: Any) -> bool:
    """Return whether a miss looks into its front again, for other classes may have been drained since."""
    return "drains_by_class" in numbers(design)
