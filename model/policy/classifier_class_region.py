"""Region per class: the class is the address bits above the region; no table, but no slab changes its class."""

from heapsmith.model.kernel import Records, kernel

NAME = "class_region"


@kernel
def superslab_place(plan: Records, cls: int, mapped: int) -> int:
    """The first slab of the class's next superslab, in slabs from the span's start, when it has `mapped`; -1: its region is full."""
    if mapped >= plan[0]["region_superslabs"]:
        return -1
    return cls * int(plan[0]["region_slabs"]) + mapped * int(plan[0]["slabs_per_superslab"])
