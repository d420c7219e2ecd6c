"""Region per class: the class is the address bits above the region; no table, but no slab changes its class."""

from heapsmith.model.compile.kernel import Records, kernel

NAME = "class_region"
HEADER_BYTES = 0


@kernel
def superslab_place(machine: Records, cls: int, mapped: int) -> int:
    """The first slab, in slabs from the span's start, of the class's superslab `mapped`; -1: its region is full."""
    if mapped >= machine[0]["region_superslabs"]:
        return -1
    return cls * int(machine[0]["region_slabs"]) + mapped * int(machine[0]["slabs_per_superslab"])
