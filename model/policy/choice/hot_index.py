"""Hot index: one slab per class serves refills until it is exhausted; the others wait on a list."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import push
from heapsmith.model.policy.choice.hot import attach, gives, members, remove

NAME = "hot_index"
HAS_HOT = True
DEFAULT = True
COSTS = {
    f"take.visit.{NAME}": 87.75,
    f"slab.add.{NAME}": 0.00,
    f"slab.remove.{NAME}": 0.00,
}

__all__ = ["add", "attach", "gives", "lets_go", "members", "remove"]

add = push


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab except the hot slab may be retired."""
    touch(state.listener, int(state.stores[store]["at"]), 0)
    return bool(state.stores[store]["hot"] != slab)
