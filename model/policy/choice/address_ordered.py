"""Address order: the lowest slab with a free block serves refills, so that high slabs drain.

The available slabs of a class form a pairing heap through their own records (Fredman, Sedgewick,
Sleator, Tarjan: "The pairing heap", Algorithmica 1986). The heap gives the order that the page
defines without a walk along a list.
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import CheckFailed
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import set_next, set_previous

NAME = "address_ordered"
COSTS = {
    f"take.visit.{NAME}": 101.52,
    f"slab.add.{NAME}": 67.33,
    f"slab.remove.{NAME}": 17.45,
}


@kernel
def gives(state: State, store: int) -> int:
    """Return the available slab of the lowest address, or -1 if no slab is available."""
    touch(state.listener, int(state.stores[store]["at"]) + layout.WORD, 0)
    return int(state.stores[store]["head"])


@kernel
def add(state: State, store: int, slab: int) -> None:
    """Put a slab with a free block into the heap."""
    touch(state.listener, int(state.stores[store]["at"]) + layout.WORD, 1)
    set_next(state, slab, -1)
    set_previous(state, slab, -1)
    set_child(state, slab, -1)
    state.stores[store]["head"] = meld(state, int(state.stores[store]["head"]), slab)


attach = add


@kernel
def remove(state: State, store: int, slab: int) -> None:
    """Take `slab` out of the heap."""
    touch(state.listener, int(state.stores[store]["at"]) + layout.WORD, 1)
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 0)
    root = int(state.stores[store]["head"])
    orphans = meld_siblings(state, int(state.slabs[slab]["child"]))
    if slab == root:
        state.stores[store]["head"] = orphans
    else:
        cut(state, slab)
        state.stores[store]["head"] = meld(state, root, orphans)


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab may be retired unless no other slab is available."""
    touch(state.listener, int(state.stores[store]["at"]) + layout.WORD, 0)
    if state.stores[store]["head"] == slab:
        touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 0)
    return bool(state.stores[store]["head"] != slab or state.slabs[slab]["child"] >= 0)


@kernel
def set_child(state: State, slab: int, child: int) -> None:
    """Write a slab's first child."""
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 1)
    state.slabs[slab]["child"] = child


@kernel
def meld(state: State, left: int, right: int) -> int:
    """Meld two heaps (-1: an empty heap): the root with the higher address becomes a child."""
    if left < 0 or right < 0:
        return max(left, right)
    if state.slabs[right]["place"] < state.slabs[left]["place"]:
        left, right = right, left
    child = int(state.slabs[left]["child"])
    set_child(state, left, right)
    set_next(state, right, child)
    set_previous(state, right, left)
    if child >= 0:
        set_previous(state, child, right)
    return left


@kernel
def cut(state: State, slab: int) -> None:
    """Unlink `slab` from its siblings; the `previous` of a first child is its parent."""
    after = int(state.slabs[slab]["next"])
    before = int(state.slabs[slab]["previous"])
    touch(state.listener, slab_at(state, slab) + layout.SLAB_NEXT, 0)
    touch(state.listener, slab_at(state, slab) + layout.SLAB_PREVIOUS, 0)
    touch(state.listener, slab_at(state, before) + layout.SLAB_CHILD, 1)
    if after >= 0:
        set_previous(state, after, before)
    if state.slabs[before]["child"] == slab:
        state.slabs[before]["child"] = after
    else:
        set_next(state, before, after)


@kernel
def meld_siblings(state: State, first: int) -> int:
    """Meld a list of siblings (-1: an empty list) in pairs, then the pairs from last to first."""
    pairs = -1
    while first >= 0:
        touch(state.listener, slab_at(state, first) + layout.SLAB_NEXT, 1)
        second = int(state.slabs[first]["next"])
        rest = int(state.slabs[second]["next"]) if second >= 0 else -1
        if second >= 0:
            touch(state.listener, slab_at(state, second) + layout.SLAB_NEXT, 0)
        pair = meld(state, first, second)
        state.slabs[pair]["next"] = pairs
        pairs = pair
        first = rest
    root = -1
    while pairs >= 0:
        touch(state.listener, slab_at(state, pairs) + layout.SLAB_NEXT, 0)
        rest = int(state.slabs[pairs]["next"])
        root = meld(state, root, pairs)
        pairs = rest
    if root >= 0:
        set_next(state, root, -1)
        set_previous(state, root, -1)
    return root


def members(state: State, store: int) -> list[int]:
    """Return the available slabs, for checks; CheckFailed if a child lies below its parent."""
    found: list[int] = []
    roots = [int(state.stores[store]["head"])] if state.stores[store]["head"] >= 0 else []
    while roots:
        root = roots.pop()
        found.append(root)
        child = int(state.slabs[root]["child"])
        while child >= 0:
            if state.slabs[child]["place"] < state.slabs[root]["place"]:
                raise CheckFailed(f"machine: slab {child} is above its parent: {root}, expected below")
            roots.append(child)
            child = int(state.slabs[child]["next"])
    return found
