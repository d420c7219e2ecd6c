"""The doubly linked list of available slabs that several slab choices use, and what those with nothing else do."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import SLAB_NEXT, SLAB_PREVIOUS, WORD, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def set_head(state: State, store: int, slab: int) -> None:
    """Write the head of a store's list."""
    touch(state.listener, int(state.stores[store]["at"]) + WORD, 1)
    state.stores[store]["head"] = slab


@kernel
def set_next(state: State, slab: int, after: int) -> None:
    """Write a slab's `next`."""
    touch(state.listener, slab_at(state, slab) + SLAB_NEXT, 1)
    state.slabs[slab]["next"] = after


@kernel
def set_previous(state: State, slab: int, before: int) -> None:
    """Write a slab's `previous`."""
    touch(state.listener, slab_at(state, slab) + SLAB_PREVIOUS, 1)
    state.slabs[slab]["previous"] = before


@kernel
def push(state: State, store: int, slab: int) -> None:
    """Make `slab` the head of the list."""
    head = int(state.stores[store]["head"])
    set_head(state, store, slab)
    set_next(state, slab, head)
    set_previous(state, slab, -1)
    if head >= 0:
        set_previous(state, head, slab)


@kernel
def unlink(state: State, store: int, slab: int) -> None:
    """Unlink `slab` from the list."""
    after = int(state.slabs[slab]["next"])
    before = int(state.slabs[slab]["previous"])
    touch(state.listener, slab_at(state, slab) + SLAB_NEXT, 0)
    touch(state.listener, slab_at(state, slab) + SLAB_PREVIOUS, 0)
    if after >= 0:
        set_previous(state, after, before)
    if before >= 0:
        set_next(state, before, after)
    else:
        set_head(state, store, after)


def chain(state: State, slab: int) -> list[int]:
    """Return the slabs of a list from `slab` on, for checks."""
    found = []
    while slab >= 0:
        found.append(slab)
        slab = int(state.slabs[slab]["next"])
    return found


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab may be retired unless no other slab is on the list."""
    touch(state.listener, int(state.stores[store]["at"]) + WORD, 0)
    if state.stores[store]["head"] == slab:
        touch(state.listener, slab_at(state, slab) + SLAB_NEXT, 0)
    return bool(state.stores[store]["head"] != slab or state.slabs[slab]["next"] >= 0)


def members(state: State, store: int) -> list[int]:
    """Return the slabs of the list, for checks."""
    return chain(state, int(state.stores[store]["head"]))
