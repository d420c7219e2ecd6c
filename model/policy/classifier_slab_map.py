"""Slab map: one byte per slab of the span names its class; free() learns the class with one load and no header."""

from heapsmith.model.kernel import Records, kernel

NAME = "slab_map"


@kernel
def superslab_place(plan: Records, mapped: int) -> int:
    """The first slab of the next superslab, in slabs from the span's start, when `mapped` are mapped; -1: the span is full."""
    if mapped >= plan[0]["span_superslabs"]:
        return -1
    return mapped * int(plan[0]["slabs_per_superslab"])
