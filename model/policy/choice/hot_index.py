"""Hot index: one slab per class serves refills until it is exhausted; the others wait on a list."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import WORD
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import chain, push, unlink

NAME = "hot_index"
DEFAULT = True


@kernel
def gives(state: State, store: int) -> int:
    """Return the hot slab, or -1; without a hot slab, the head of the list becomes hot."""
    touch(state.listener, int(state.stores[store]["at"]), 1)
    hot = int(state.stores[store]["hot"])
    if hot < 0:
        hot = int(state.stores[store]["head"])
        touch(state.listener, int(state.stores[store]["at"]) + WORD, 1)
        if hot >= 0:
            unlink(state, store, hot)
            state.stores[store]["hot"] = hot
    return hot


@kernel
def attach(state: State, store: int, slab: int) -> None:
    """Make a slab hot that was just acquired; the class has no hot slab at this time."""
    state.stores[store]["hot"] = slab


@kernel
def remove(state: State, store: int, slab: int) -> None:
    """Take away the hot slab, or unlink a slab from the list."""
    touch(state.listener, int(state.stores[store]["at"]), 1)
    if state.stores[store]["hot"] == slab:
        state.stores[store]["hot"] = -1
    else:
        unlink(state, store, slab)


add = push


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab except the hot slab may be retired."""
    touch(state.listener, int(state.stores[store]["at"]), 0)
    return bool(state.stores[store]["hot"] != slab)


def members(state: State, store: int) -> list[int]:
    """Return the available slabs, for checks."""
    hot = int(state.stores[store]["hot"])
    return [hot] * (hot >= 0) + chain(state, int(state.stores[store]["head"]))
