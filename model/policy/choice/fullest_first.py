"""Fullest first: the slab with the most blocks out serves refills, so that empty slabs appear.

The available slabs of a class are on a LIFO list. Each take looks at the whole list: it pays with
time for less fragmentation.
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import SLAB_NEXT, SLAB_OUT, WORD, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import lets_go, members, push, unlink

NAME = "fullest_first"
RARE = True
COSTS = {
    f"take.visit.{NAME}": 90.74,
    f"slab.add.{NAME}": 0.00,
    f"slab.remove.{NAME}": 14.69,
}

__all__ = ["add", "attach", "gives", "lets_go", "members", "remove"]

add = attach = push
remove = unlink


@kernel
def gives(state: State, store: int) -> int:
    """Return the fullest available slab (the first of equals), or -1 if no slab is available."""
    touch(state.listener, int(state.stores[store]["at"]) + WORD, 0)
    slab = int(state.stores[store]["head"])
    fullest = slab
    while slab >= 0:
        touch(state.listener, slab_at(state, slab) + SLAB_OUT, 0)
        touch(state.listener, slab_at(state, slab) + SLAB_NEXT, 0)
        state.slabs_looked_at += 1
        if state.slabs[slab]["out"] > state.slabs[fullest]["out"]:
            fullest = slab
        slab = int(state.slabs[slab]["next"])
    return fullest
