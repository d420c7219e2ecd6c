"""Hot index: one slab per class serves refills until it is exhausted; the others wait on a LIFO list."""

from heapsmith.model.kernel import Records, kernel

NAME = "hot_index"


@kernel
def gives(stores: Records, slabs: Records, store: int) -> int:
    """The hot slab; if there is none, the head of the list becomes hot; -1 if that is empty too."""
    hot = int(stores[store]["hot"])
    if hot < 0:
        hot = int(stores[store]["head"])
        if hot >= 0:
            unlink(stores, slabs, store, hot)
            stores[store]["hot"] = hot
    return hot


@kernel
def attach(stores: Records, store: int, slab: int) -> None:
    """A slab just acquired becomes hot (there is no other)."""
    stores[store]["hot"] = slab


@kernel
def remove(stores: Records, slabs: Records, store: int, slab: int) -> None:
    """`slab` is hot or on the list no longer."""
    if stores[store]["hot"] == slab:
        stores[store]["hot"] = -1
    else:
        unlink(stores, slabs, store, slab)


@kernel
def add(stores: Records, slabs: Records, store: int, slab: int) -> None:
    """A slab that has a free block again becomes the head of the list."""
    head = int(stores[store]["head"])
    slabs[slab]["next"] = head
    slabs[slab]["prev"] = -1
    if head >= 0:
        slabs[head]["prev"] = slab
    stores[store]["head"] = slab


@kernel
def lets_go(stores: Records, store: int, slab: int) -> bool:
    """Any empty slab may go but the hot one."""
    return bool(stores[store]["hot"] != slab)


@kernel
def unlink(stores: Records, slabs: Records, store: int, slab: int) -> None:
    """`slab` leaves the list (doubly linked, LIFO at the head)."""
    after = int(slabs[slab]["next"])
    before = int(slabs[slab]["prev"])
    if after >= 0:
        slabs[after]["prev"] = before
    if before >= 0:
        slabs[before]["next"] = after
    else:
        stores[store]["head"] = after
