"""Constants of the machine that no design chooses; bytes unless the name says otherwise."""

PAGE = LEAST_PAGE = 4096
"""What the system maps and gives back is of whole pages. Where a simulator's system has longer pages, its kernels have
another PAGE (model/memory/page_size.py); host code asks the plan. LEAST_PAGE: of any system.
"""
MOST_PAGE = 1 << 16
PAGE_SIZES = (PAGE, 1 << 14, MOST_PAGE)
TRACE_MAGIC = b"\x89HST\r\n\x1a\n"
"""The first bytes of a trace (docs/trace.md)."""
BENCHFAST = {"HEAPSMITH_BENCHFAST": "1"}
"""The environment in which a library that checks no free() agrees to work: that of benchmarks."""
HUGE_PAGE = 1 << 21
NS_PER_MS = 1_000_000
NEVER = 1 << 62
"""A number of bytes that no heap reaches."""


def first_bytes(header_bytes: int) -> int:
    """Return where a slab's first block begins: a multiple of 16, with its header before it."""
    return -(-header_bytes // 16) * 16


RUN_BINS = 128
RUN_BEST_OF = 32
"""Free runs of a bin, from its head, that an allocation compares."""
HUGE_KEPT_MAPPINGS = 16
"""The most freed huge mappings that wait for another request."""
BUDGET_GROWTH = 4
"""Bytes by which a release budget grows for each byte needed again: a larger step learns with fewer
page faults how much a program needs.
"""
SHARE_MISS_SLABS, SHARE_DRAWN_SLABS = 2, 32
"""For how many slabs freed a miss counts while much waits, and one since the last of which some of that was taken."""
SHRUNK = 2
"""A heap has shrunk where this many times what it has committed is less than the most that it had."""
SHARE_LESSONS = 16
"""Each time that a heap rises again after it gave its share back, its patience grows by its least over this."""
SHARE_WAIT_PARTS = 8
"""The patience of a small heap goes by its size, but is at least that of a large one over this."""
ROOM_SHARE = 4
"""A huge block that moved to grow has room for this share of its pages behind it."""

USED_UP = 6
"""A fault of an event (model/heap/events.py): no block is left of those that were prepared."""
