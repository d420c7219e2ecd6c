"""Hot index: one slab per class serves refills until it is exhausted; the others wait on a LIFO list."""

from heapsmith.model.compile.kernel import Ints, Records, kernel
from heapsmith.model.memory.layout import SLAB_NEXT, SLAB_PREVIOUS, WORD, slab_at
from heapsmith.model.memory.touches import touch

NAME = "hot_index"


@kernel
def gives(touched: Ints, stores: Records, slabs: Records, store: int) -> int:
    """The hot slab; if there is none, the head of the list becomes hot; -1 if that is empty too."""
    touch(touched, int(stores[store]["at"]), 1)
    hot = int(stores[store]["hot"])
    if hot < 0:
        hot = int(stores[store]["head"])
        touch(touched, int(stores[store]["at"]) + WORD, 1)
        if hot >= 0:
            unlink(touched, stores, slabs, store, hot)
            stores[store]["hot"] = hot
    return hot


@kernel
def attach(touched: Ints, stores: Records, store: int, slab: int) -> None:
    """A slab just acquired becomes hot (there is no other)."""
    stores[store]["hot"] = slab


@kernel
def remove(touched: Ints, stores: Records, slabs: Records, store: int, slab: int) -> None:
    """`slab` is hot or on the list no longer."""
    touch(touched, int(stores[store]["at"]), 1)
    if stores[store]["hot"] == slab:
        stores[store]["hot"] = -1
    else:
        unlink(touched, stores, slabs, store, slab)


@kernel
def add(touched: Ints, stores: Records, slabs: Records, store: int, slab: int) -> None:
    """A slab that has a free block again becomes the head of the list."""
    head = int(stores[store]["head"])
    touch(touched, int(stores[store]["at"]) + WORD, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_PREVIOUS, 1)
    if head >= 0:
        touch(touched, slab_at(slabs, head) + SLAB_PREVIOUS, 1)
    slabs[slab]["next"] = head
    slabs[slab]["prev"] = -1
    if head >= 0:
        slabs[head]["prev"] = slab
    stores[store]["head"] = slab


@kernel
def lets_go(touched: Ints, stores: Records, store: int, slab: int) -> bool:
    """Any empty slab may go but the hot one."""
    touch(touched, int(stores[store]["at"]), 0)
    return bool(stores[store]["hot"] != slab)


@kernel
def unlink(touched: Ints, stores: Records, slabs: Records, store: int, slab: int) -> None:
    """`slab` leaves the list (doubly linked, LIFO at the head)."""
    after = int(slabs[slab]["next"])
    before = int(slabs[slab]["prev"])
    touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 0)
    touch(touched, slab_at(slabs, slab) + SLAB_PREVIOUS, 0)
    if after >= 0:
        touch(touched, slab_at(slabs, after) + SLAB_PREVIOUS, 1)
    if before >= 0:
        touch(touched, slab_at(slabs, before) + SLAB_NEXT, 1)
    else:
        touch(touched, int(stores[store]["at"]) + WORD, 1)
    if after >= 0:
        slabs[after]["prev"] = before
    if before >= 0:
        slabs[before]["next"] = after
    else:
        stores[store]["head"] = after
