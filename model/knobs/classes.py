"""The size classes of other mallocs' thread caches, for the pass that counts the misses of every capacity.

Sources: glibc 2.36, malloc/malloc.c (csize2tidx, tidx2usize); jemalloc 5.3, src/sc.c (size_classes)
and src/tcache.c (tcache_ncached_max_compute).
"""

from math import lcm

import numpy as np

from heapsmith.model.constants import PAGE
from heapsmith.model.search.capacities import Shape

GLIBC_BINS = 64
GLIBC_LARGEST = 1032
"""The largest request of a tcache bin."""

JEMALLOC_LARGEST = 8 << 20
"""The largest class that a thread cache can hold (TCACHE_MAXCLASS_LIMIT)."""
JEMALLOC_SMALL = 14336
"""The largest class of a slab; those above are extents of their own."""


def glibc() -> Shape:
    """Return the bins of glibc's tcache: chunks of 32, 48, ... bytes with a header of 8."""
    chunks = [32 + 16 * index for index in range(GLIBC_BINS)]
    entries = range((GLIBC_LARGEST + 8 + 15) // 16 + 1)
    return Shape(
        size_class=np.array([max(0, entry - 2) for entry in entries], np.int64),
        classes=[(chunk, 0, chunk - 8) for chunk in chunks],
        grain=16,
        bias=8,
        small_limit=GLIBC_LARGEST,
        owned=False,
    )


def jemalloc_sizes() -> list[int]:
    """Return jemalloc's size classes up to JEMALLOC_LARGEST: four per doubling."""
    sizes = [8, *range(16, 129, 16)]
    while sizes[-1] < JEMALLOC_LARGEST:
        sizes += [sizes[-1] + step * (sizes[-1] // 4) for step in range(1, 5)]
    return sizes


def jemalloc() -> Shape:
    """Return the classes of jemalloc's thread caches at their largest."""
    sizes = jemalloc_sizes()
    asked = 8 * np.arange(JEMALLOC_LARGEST // 8 + 1)
    return Shape(
        size_class=np.searchsorted(sizes, asked).astype(np.int64),
        classes=[(size, 0, size) for size in sizes],
        grain=8,
        bias=0,
        small_limit=JEMALLOC_LARGEST,
        owned=False,
    )


def jemalloc_slots(size: int, small_max: int, multiplier_log2: int = 1) -> int:
    """Return the blocks of this class that a thread cache holds, with these options and defaults for the others."""
    if size > JEMALLOC_SMALL:
        return 20
    regions = lcm(size, PAGE) // size
    return min(max(regions << multiplier_log2, 20), small_max)
