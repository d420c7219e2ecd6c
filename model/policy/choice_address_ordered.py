"""Address order: refills come from the lowest slab that has a free block, so that high slabs drain empty.

The available slabs of a class hang in a pairing heap through their own records (Fredman, Sedgewick, Sleator, Tarjan:
"The pairing heap", Algorithmica 1986): the order that the page defines, without a walk along a list.
"""

from heapsmith.model.kernel import Records, kernel

NAME = "address_ordered"


@kernel
def gives(stores: Records, store: int) -> int:
    """The available slab of the lowest address; -1 if there is none."""
    return int(stores[store]["head"])


@kernel
def add(stores: Records, slabs: Records, store: int, slab: int) -> None:
    """A slab with a free block joins the others."""
    slabs[slab]["child"] = -1
    slabs[slab]["next"] = -1
    slabs[slab]["prev"] = -1
    stores[store]["head"] = meld(slabs, int(stores[store]["head"]), slab)


@kernel
def remove(stores: Records, slabs: Records, store: int, slab: int) -> None:
    """`slab` is available no longer."""
    root = int(stores[store]["head"])
    orphans = meld_siblings(slabs, int(slabs[slab]["child"]))
    if slab == root:
        stores[store]["head"] = orphans
    else:
        cut(slabs, slab)
        stores[store]["head"] = meld(slabs, root, orphans)


@kernel
def lets_go(stores: Records, slabs: Records, store: int, slab: int) -> bool:
    """Any empty slab may go unless no other is available."""
    return bool(stores[store]["head"] != slab or slabs[slab]["child"] >= 0)


@kernel
def meld(slabs: Records, left: int, right: int) -> int:
    """One heap of two roots, either of which may be -1: the lower address on top, the other its first child."""
    if left < 0 or right < 0:
        return max(left, right)
    if slabs[right]["place"] < slabs[left]["place"]:
        left, right = right, left
    child = int(slabs[left]["child"])
    slabs[right]["next"] = child
    slabs[right]["prev"] = left
    if child >= 0:
        slabs[child]["prev"] = right
    slabs[left]["child"] = right
    return left


@kernel
def cut(slabs: Records, slab: int) -> None:
    """`slab` leaves its siblings; `prev` of a first child is its parent."""
    after = int(slabs[slab]["next"])
    before = int(slabs[slab]["prev"])
    if slabs[before]["child"] == slab:
        slabs[before]["child"] = after
    else:
        slabs[before]["next"] = after
    if after >= 0:
        slabs[after]["prev"] = before


@kernel
def meld_siblings(slabs: Records, first: int) -> int:
    """One heap of a row of siblings, -1 of none: melded in pairs, then the pairs from the last to the first."""
    pairs = -1
    while first >= 0:
        second = int(slabs[first]["next"])
        rest = int(slabs[second]["next"]) if second >= 0 else -1
        pair = meld(slabs, first, second)
        slabs[pair]["next"] = pairs
        pairs = pair
        first = rest
    root = -1
    while pairs >= 0:
        rest = int(slabs[pairs]["next"])
        root = meld(slabs, root, pairs)
        pairs = rest
    if root >= 0:
        slabs[root]["next"] = -1
        slabs[root]["prev"] = -1
    return root
