"""Address order: refills come from the lowest slab that has a free block, so that high slabs drain empty.

The available slabs of a class hang in a pairing heap through their own records (Fredman, Sedgewick, Sleator, Tarjan:
"The pairing heap", Algorithmica 1986): the order that the page defines, without a walk along a list.
"""

from heapsmith.model.compile.kernel import Ints, Records, kernel
from heapsmith.model.memory.layout import SLAB_CHILD, SLAB_NEXT, SLAB_PREVIOUS, WORD, slab_at
from heapsmith.model.memory.touches import touch

NAME = "address_ordered"


@kernel
def gives(touched: Ints, stores: Records, store: int) -> int:
    """The available slab of the lowest address; -1 if there is none."""
    touch(touched, int(stores[store]["at"]) + WORD, 0)
    return int(stores[store]["head"])


@kernel
def add(touched: Ints, stores: Records, slabs: Records, store: int, slab: int) -> None:
    """A slab with a free block joins the others."""
    touch(touched, int(stores[store]["at"]) + WORD, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_PREVIOUS, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_CHILD, 1)
    slabs[slab]["child"] = -1
    slabs[slab]["next"] = -1
    slabs[slab]["prev"] = -1
    stores[store]["head"] = meld(touched, slabs, int(stores[store]["head"]), slab)


@kernel
def remove(touched: Ints, stores: Records, slabs: Records, store: int, slab: int) -> None:
    """`slab` is available no longer."""
    touch(touched, int(stores[store]["at"]) + WORD, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_CHILD, 0)
    root = int(stores[store]["head"])
    orphans = meld_siblings(touched, slabs, int(slabs[slab]["child"]))
    if slab == root:
        stores[store]["head"] = orphans
    else:
        cut(touched, slabs, slab)
        stores[store]["head"] = meld(touched, slabs, root, orphans)


@kernel
def lets_go(touched: Ints, stores: Records, slabs: Records, store: int, slab: int) -> bool:
    """Any empty slab may go unless no other is available."""
    touch(touched, int(stores[store]["at"]) + WORD, 0)
    if stores[store]["head"] == slab:
        touch(touched, slab_at(slabs, slab) + SLAB_CHILD, 0)
    return bool(stores[store]["head"] != slab or slabs[slab]["child"] >= 0)


@kernel
def meld(touched: Ints, slabs: Records, left: int, right: int) -> int:
    """One heap of two roots, either of which may be -1: the lower address on top, the other its first child."""
    if left < 0 or right < 0:
        return max(left, right)
    if slabs[right]["place"] < slabs[left]["place"]:
        left, right = right, left
    child = int(slabs[left]["child"])
    touch(touched, slab_at(slabs, left) + SLAB_CHILD, 1)
    touch(touched, slab_at(slabs, right) + SLAB_NEXT, 1)
    touch(touched, slab_at(slabs, right) + SLAB_PREVIOUS, 1)
    if child >= 0:
        touch(touched, slab_at(slabs, child) + SLAB_PREVIOUS, 1)
    slabs[right]["next"] = child
    slabs[right]["prev"] = left
    if child >= 0:
        slabs[child]["prev"] = right
    slabs[left]["child"] = right
    return left


@kernel
def cut(touched: Ints, slabs: Records, slab: int) -> None:
    """`slab` leaves its siblings; `prev` of a first child is its parent."""
    after = int(slabs[slab]["next"])
    before = int(slabs[slab]["prev"])
    touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 0)
    touch(touched, slab_at(slabs, slab) + SLAB_PREVIOUS, 0)
    touch(touched, slab_at(slabs, before) + SLAB_CHILD, 1)
    if after >= 0:
        touch(touched, slab_at(slabs, after) + SLAB_PREVIOUS, 1)
    if slabs[before]["child"] != slab:
        touch(touched, slab_at(slabs, before) + SLAB_NEXT, 1)
    if slabs[before]["child"] == slab:
        slabs[before]["child"] = after
    else:
        slabs[before]["next"] = after
    if after >= 0:
        slabs[after]["prev"] = before


@kernel
def meld_siblings(touched: Ints, slabs: Records, first: int) -> int:
    """One heap of a row of siblings, -1 of none: melded in pairs, then the pairs from the last to the first."""
    pairs = -1
    while first >= 0:
        touch(touched, slab_at(slabs, first) + SLAB_NEXT, 1)
        second = int(slabs[first]["next"])
        rest = int(slabs[second]["next"]) if second >= 0 else -1
        if second >= 0:
            touch(touched, slab_at(slabs, second) + SLAB_NEXT, 0)
        pair = meld(touched, slabs, first, second)
        slabs[pair]["next"] = pairs
        pairs = pair
        first = rest
    root = -1
    while pairs >= 0:
        touch(touched, slab_at(slabs, pairs) + SLAB_NEXT, 0)
        rest = int(slabs[pairs]["next"])
        root = meld(touched, slabs, root, pairs)
        pairs = rest
    if root >= 0:
        touch(touched, slab_at(slabs, root) + SLAB_NEXT, 1)
        touch(touched, slab_at(slabs, root) + SLAB_PREVIOUS, 1)
        slabs[root]["next"] = -1
        slabs[root]["prev"] = -1
    return root
