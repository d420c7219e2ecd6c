"""Slab map: one byte per slab of the span names its class; free() learns the class with one load and no header."""

from heapsmith.model.compile.kernel import Records, kernel

NAME = "slab_map"
HEADER_BYTES = 0


@kernel
def superslab_place(machine: Records, mapped: int) -> int:
    """The first slab, in slabs from the span's start, of superslab number `mapped`; -1: the span is full."""
    if mapped >= machine[0]["span_superslabs"]:
        return -1
    return mapped * int(machine[0]["slabs_per_superslab"])
