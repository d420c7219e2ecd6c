"""Fullest first: refills come from the slab with the most blocks out, so that the emptiest slabs drain.

The available slabs of a class are on a LIFO list, of which each take looks at all: fragmentation is bought with time.
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import SLAB_NEXT, SLAB_OUT, WORD, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import chain, push, unlink

NAME = "fullest_first"

add = attach = push
remove = unlink


@kernel
def gives(state: State, store: int) -> int:
    """The available slab with the most blocks out, of equals the nearest to the head; -1 if there is none."""
    touch(state.touched, int(state.stores[store]["at"]) + WORD, 0)
    slab = int(state.stores[store]["head"])
    fullest = slab
    while slab >= 0:
        touch(state.touched, slab_at(state, slab) + SLAB_OUT, 0)
        touch(state.touched, slab_at(state, slab) + SLAB_NEXT, 0)
        state.slabs_looked_at += 1
        if state.slabs[slab]["out"] > state.slabs[fullest]["out"]:
            fullest = slab
        slab = int(state.slabs[slab]["next"])
    return fullest


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab may go unless no other is available."""
    touch(state.touched, int(state.stores[store]["at"]) + WORD, 0)
    if state.stores[store]["head"] == slab:
        touch(state.touched, slab_at(state, slab) + SLAB_NEXT, 0)
    return bool(state.stores[store]["head"] != slab or state.slabs[slab]["next"] >= 0)


def members(state: State, store: int) -> list[int]:
    """The available slabs, for checks."""
    return chain(state, int(state.stores[store]["head"]))
