"""Hot index: one slab per class serves refills until it is exhausted; the others wait on a LIFO list."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import WORD
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import chain, push, unlink

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


add = push


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab may go but the hot one."""
    touch(state.touched, int(state.stores[store]["at"]), 0)
    return bool(state.stores[store]["hot"] != slab)


def members(state: State, store: int) -> list[int]:
    """The available slabs, for checks."""
    hot = int(state.stores[store]["hot"])
    return [hot] * (hot >= 0) + chain(state, int(state.stores[store]["head"]))
