"""A hot slab, and a list of the other available slabs: what slab choices with both do."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import WORD
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import chain, unlink


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


def members(state: State, store: int) -> list[int]:
    """Return the available slabs, for checks."""
    hot = int(state.stores[store]["hot"])
    return [hot] * (hot >= 0) + chain(state, int(state.stores[store]["head"]))
