"""Two active: a hot slab serves refills; a second slab waits to be hot, and stays though it is empty.

The second is the head of the list of the other available slabs; a slab that becomes available goes
behind it. So a class keeps up to two empty slabs, and a program whose need goes up and down by a
slab acquires and retires less.
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import SLAB_NEXT, WORD, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import push, set_next, set_previous
from heapsmith.model.policy.choice.hot import attach, gives, members, remove

NAME = "two_active"
RARE = True
HAS_HOT = True
COSTS = {
    f"take.visit.{NAME}": 73.51,
    f"slab.add.{NAME}": 79.23,
    f"slab.remove.{NAME}": 67.52,
}

__all__ = ["add", "attach", "gives", "lets_go", "members", "remove"]


@kernel
def add(state: State, store: int, slab: int) -> None:
    """Put `slab` behind the second slab; without a second slab it is the second."""
    second = int(state.stores[store]["head"])
    touch(state.listener, int(state.stores[store]["at"]) + WORD, 0)
    if second < 0:
        push(state, store, slab)
        return
    touch(state.listener, slab_at(state, second) + SLAB_NEXT, 0)
    after = int(state.slabs[second]["next"])
    set_next(state, slab, after)
    set_previous(state, slab, second)
    set_next(state, second, slab)
    if after >= 0:
        set_previous(state, after, slab)


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab except the hot slab and the second may be retired."""
    touch(state.listener, int(state.stores[store]["at"]), 0)
    if state.stores[store]["hot"] == slab:
        return False
    touch(state.listener, int(state.stores[store]["at"]) + WORD, 0)
    return bool(state.stores[store]["head"] != slab)
