"""Hot index: one slab per class serves refills until it is exhausted; the others wait on a LIFO list."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import SLAB_NEXT, SLAB_PREVIOUS, WORD, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch

NAME = "hot_index"
DEFAULT = True


@kernel
def gives(state: State, store: int) -> int:
    """The hot slab; if there is none, the head of the list becomes hot; -1 if that is empty too."""
    touch(state.touched, int(state.stores[store]["at"]), 1)
    hot = int(state.stores[store]["hot"])
    if hot < 0:
        hot = int(state.stores[store]["head"])
        touch(state.touched, int(state.stores[store]["at"]) + WORD, 1)
        if hot >= 0:
            unlink(state, store, hot)
            state.stores[store]["hot"] = hot
    return hot


@kernel
def attach(state: State, store: int, slab: int) -> None:
    """A slab just acquired becomes hot (there is no other)."""
    state.stores[store]["hot"] = slab


@kernel
def remove(state: State, store: int, slab: int) -> None:
    """`slab` is hot or on the list no longer."""
    touch(state.touched, int(state.stores[store]["at"]), 1)
    if state.stores[store]["hot"] == slab:
        state.stores[store]["hot"] = -1
    else:
        unlink(state, store, slab)


@kernel
def add(state: State, store: int, slab: int) -> None:
    """A slab that has a free block again becomes the head of the list."""
    head = int(state.stores[store]["head"])
    touch(state.touched, int(state.stores[store]["at"]) + WORD, 1)
    touch(state.touched, slab_at(state, slab) + SLAB_NEXT, 1)
    touch(state.touched, slab_at(state, slab) + SLAB_PREVIOUS, 1)
    if head >= 0:
        touch(state.touched, slab_at(state, head) + SLAB_PREVIOUS, 1)
    state.slabs[slab]["next"] = head
    state.slabs[slab]["prev"] = -1
    if head >= 0:
        state.slabs[head]["prev"] = slab
    state.stores[store]["head"] = slab


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab may go but the hot one."""
    touch(state.touched, int(state.stores[store]["at"]), 0)
    return bool(state.stores[store]["hot"] != slab)


@kernel
def unlink(state: State, store: int, slab: int) -> None:
    """`slab` leaves the list (doubly linked, LIFO at the head)."""
    after = int(state.slabs[slab]["next"])
    before = int(state.slabs[slab]["prev"])
    touch(state.touched, slab_at(state, slab) + SLAB_NEXT, 0)
    touch(state.touched, slab_at(state, slab) + SLAB_PREVIOUS, 0)
    if after >= 0:
        touch(state.touched, slab_at(state, after) + SLAB_PREVIOUS, 1)
    if before >= 0:
        touch(state.touched, slab_at(state, before) + SLAB_NEXT, 1)
    else:
        touch(state.touched, int(state.stores[store]["at"]) + WORD, 1)
    if after >= 0:
        state.slabs[after]["prev"] = before
    if before >= 0:
        state.slabs[before]["next"] = after
    else:
        state.stores[store]["head"] = after


def members(state: State, store: int) -> list[int]:
    """The available slabs, for checks."""
    hot, listed = int(state.stores[store]["hot"]), int(state.stores[store]["head"])
    found = [hot] if hot >= 0 else []
    while listed >= 0:
        found.append(listed)
        listed = int(state.slabs[listed]["next"])
    return found
