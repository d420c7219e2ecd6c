"""What the remote lists of heaps that own slabs have in common: their numbers, a LIFO and its lines."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import CLASS_MASK, COUNT_REMOTE, block_at, count_at, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import SELF, Hit, Question, total

OWNER_CODE = Question(total(Hit(2, 0, 1), SELF), ("!= self",), ("remote_free",))
"""Loads: a table's start, and the owner. Branch: is the owner this thread's heap? Calls: ownership's."""

MOST_INTERVAL = 1 << 30


def why_not_interval(drain_interval: int) -> str | None:
    """Return why heaps cannot drain at this interval, or None."""
    if 1 <= drain_interval <= MOST_INTERVAL:
        return None
    return f"drain_interval: {drain_interval}; expected 1 to {MOST_INTERVAL}"


def interval_of(design: Any) -> dict[str, int]:
    """Return the number of the row's Params, if the design gives one."""
    return {} if isinstance(design.remote, str) else {"drain_interval": design.remote.drain_interval}


@kernel
def owns(state: State, heap: int, slab: int) -> bool:
    """Return whether the heap owns the slab."""
    return bool(state.slabs[slab]["owner"] == heap)


@kernel
def no_heap(state: State) -> bool:
    """Return False: the block goes to its owner."""
    return False


@kernel
def push(state: State, owner: int, node: int) -> None:
    """Put the node at the head (LIFO)."""
    state.nodes[node]["next"] = state.heaps[owner]["remote"]
    state.heaps[owner]["remote"] = node


@kernel
def pop_lines(state: State, block: int, is_linked: bool) -> None:
    """Touch the link, which says whether another block follows."""
    touch(state.listener, block_at(state, block), 0)


@kernel
def push_lines(state: State, owner: int, block: int) -> None:
    """Touch the head, the counter and the block's link."""
    touch(state.listener, heap_at(state, owner) + state.heap_remote, 1)
    touch(state.listener, count_at(state, owner, block & CLASS_MASK) + COUNT_REMOTE, 1)
    touch(state.listener, block_at(state, block), 1)
