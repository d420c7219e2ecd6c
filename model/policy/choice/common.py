"""The doubly linked LIFO list of available slabs that several slab choices use."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import SLAB_NEXT, SLAB_PREVIOUS, WORD, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def push(state: State, store: int, slab: int) -> None:
    """Make `slab` the head of the list."""
    head = int(state.stores[store]["head"])
    touch(state.listener, int(state.stores[store]["at"]) + WORD, 1)
    touch(state.listener, slab_at(state, slab) + SLAB_NEXT, 1)
    touch(state.listener, slab_at(state, slab) + SLAB_PREVIOUS, 1)
    if head >= 0:
        touch(state.listener, slab_at(state, head) + SLAB_PREVIOUS, 1)
    state.slabs[slab]["next"] = head
    state.slabs[slab]["previous"] = -1
    if head >= 0:
        state.slabs[head]["previous"] = slab
    state.stores[store]["head"] = slab


@kernel
def unlink(state: State, store: int, slab: int) -> None:
    """Unlink `slab` from the list."""
    after = int(state.slabs[slab]["next"])
    before = int(state.slabs[slab]["previous"])
    touch(state.listener, slab_at(state, slab) + SLAB_NEXT, 0)
    touch(state.listener, slab_at(state, slab) + SLAB_PREVIOUS, 0)
    if after >= 0:
        touch(state.listener, slab_at(state, after) + SLAB_PREVIOUS, 1)
    if before >= 0:
        touch(state.listener, slab_at(state, before) + SLAB_NEXT, 1)
    else:
        touch(state.listener, int(state.stores[store]["at"]) + WORD, 1)
    if after >= 0:
        state.slabs[after]["previous"] = before
    if before >= 0:
        state.slabs[before]["next"] = after
    else:
        state.stores[store]["head"] = after


def chain(state: State, slab: int) -> list[int]:
    """Return the slabs of a list from `slab` on, for checks."""
    found = []
    while slab >= 0:
        found.append(slab)
        slab = int(state.slabs[slab]["next"])
    return found
