"""Layout: the model addresses of the library's own data, for the lines that each path touches.

A model address is an integer below 2^46: a region, and the offset in the C structures. The emitted
C asserts these offsets (`templates/plan.c.j2`). A test compares the loads and stores of a real
library with the model (`tests/test_lines.py`). The model leaves out what every call touches: the
stack, thread-local variables, the linkage table, and single variables of the library except for its
two locks and its global counters.
"""

from typing import NamedTuple

import msgspec

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.state import State

REGION = 1 << 40
"""Bytes of a region; a slab span takes up to 16 regions, a run span 4 (model/design/design.py)."""

STAGGER = 13 * 64
"""Tables of the library's data segment begin anywhere in a page, unlike mappings, so that their
first lines do not fall into the same sets of a cache.
"""

SPAN = 0  # the slab span; its offsets are the addresses of docs/machine.md, 'address space'
RUNS = 16 * REGION  # the run span
HUGE = 20 * REGION  # mappings of huge blocks
HEAPS = 36 * REGION  # struct heap, each on its own pages, `heap_bytes` apart
SLABS = 37 * REGION  # hs_slabs: a record per slab of the span
MARKS = 38 * REGION  # hs_marks: `bitmap_words` words per slab of the span
SLAB_CLASS = 39 * REGION  # a byte per slab of the span, its class
CLASSES = 40 * (REGION + STAGGER)  # hs_class: a row per class
SIZE_CLASS = 41 * (REGION + STAGGER)  # hs_size_class: a byte per grain
ALLOC_OF = 42 * (REGION + STAGGER)  # alloc_of, if classes differ in what they do: a word per class
FREE_OF = 43 * (REGION + STAGGER)  # free_of, the same: a word per row, or per class where rows come first
STORE_AT = 44 * (REGION + STAGGER)  # the store that all heaps share, if any: two words per class
TRANSFERRED = 45 * (REGION + STAGGER)  # the transfer cache's slots
KEPT_BATCHES = 46 * (REGION + STAGGER)  # the transfer cache's batches per class, 4 bytes each
IDLE = 47 * (REGION + STAGGER)  # the transfer cache's idle flushes per class, 4 bytes each
PAGES = 48 * REGION  # hs_runs.page: a record per page of the run span
RUN_STAMPS = 49 * REGION  # hs_runs.stamp: a word per page of the run span
BINS = 50 * (REGION + STAGGER)  # the heads of the bins of free runs, 4 bytes each
COUNTS = 51 * (REGION + STAGGER)  # hs_count: the global counters
POOL_LOCK = 52 * (REGION + STAGGER)
LARGE_LOCK = 53 * (REGION + STAGGER)
APPLICATION = 54 * REGION  # the program's data besides its blocks: script and table of blocks of a replay
OWNERS = 55 * REGION  # hs_owners: a word per superslab of the span
LIVE = 56 * REGION  # hs_live (hardening): a byte per grain of the slab span
WANTED = 57 * (REGION + STAGGER)  # the classes that the helper is to top up, 4 bytes each
BACKGROUND_LOW = 58 * (REGION + STAGGER)  # hs_background_low and hs_background_full: 4 bytes per class
BACKGROUND_FULL = 59 * (REGION + STAGGER)
SLABS_HELD = 60 * (REGION + STAGGER)  # the slabs that a class has where populate asks, 4 bytes each
SUPERSLABS_HOT = SLABS_HELD + 1024  # the hot superslabs of a class, and how often one became hot: 8 bytes each
SIZED_ROW = 61 * (REGION + STAGGER)  # hs_sized_row: 4 bytes per class
BELOW = SIZED_ROW + 1024  # hs_below: the levels of a class's front below level 0, a line each
SITES_SEEN = 62 * (REGION + STAGGER)  # the calls whose group the library has found: a word each
GROUP_CLASS = 63 * (REGION + STAGGER)  # hs_group_class: a byte by group and class of a size
END = 64 * REGION

NO_BLOCK = -1
"""The handle of no block: a level is empty, an allocation failed."""

NO_ROOM = -3
"""The handle of a sample that no class serves, and the run span has no room for."""

CLASS_MASK = 255
INDEX_SHIFT = 8
INDEX_MASK = (1 << 18) - 1
SLAB_SHIFT = 26
"""A small block's handle: slab << 26 | index << 8 | class; slabs are numbered as created."""

WORD = 8
SIZED_ROW_BYTES = 4
NUMBER_BYTES = 4
"""Bytes of a class's number of batches in the transfer cache, and of its number of idle flushes."""
RUN_CODE = 1 << 60
HUGE_CODE = 1 << 61
GUARDED_CODE = 1 << 62
"""The handle of a run is RUN_CODE + its first page, the handle of a huge block HUGE_CODE + its
ordinal, that of a guarded sample GUARDED_CODE + its slot; the handles are also the address codes.
The handles of small blocks are less.
"""
SLAB_BYTES = 80
SLAB_OUT = 8
SLAB_NEXT, SLAB_PREVIOUS, SLAB_CHILD, SLAB_NEWER, SLAB_OLDER, SLAB_OWNER, SLAB_EARLIER, SLAB_CLASS_NUMBER = range(
    16, 80, 8
)
"""struct slab; its counts (carved, freed, out, committed) come first, flags behind the class.

All these are counted from `carved`, which slab_at gives; a design may put the class's numbers before it,
SLAB_CLASS_BYTES.
"""
SLAB_CLASS_BYTES = 16
LOCK_LINE = 64
"""From POOL_LOCK to the first lock of shards, and from each to the next: of transfer caches, then of stores."""
CLASS_BYTES = 72
CLASS_STRIDE, CLASS_FIRST = 4, 8
CLASS_RECIPROCAL, CLASS_CAPACITY, CLASS_LIST_CAPACITY = 16, 24, 28
CLASS_REFILL, CLASS_FLUSH, CLASS_SPILL, CLASS_PROMOTE = 32, 36, 40, 44
CLASS_SLOT, CLASS_TRANSFER, CLASS_DRAIN = 48, 56, 64
"""struct class_plan; usable comes first, blocks behind first."""
FRONT_BYTES = 24
FRONT_HELD, FRONT_HEAD, FRONT_LISTED, FRONT_CAPACITY, FRONT_LIST = 0, 4, 8, 12, 16
"""struct front; it has its capacity in a design with a learner."""
BELOW_BYTES = 64
"""struct below."""
STORE_BYTES = 16
"""struct class_slabs: hot, head."""
VACANCY_BYTES = 24
VACANCY_NEXT, VACANCY_END = 8, 16
"""struct vacancy: the pool, the superslab's next slab and its end."""
COUNT_BYTES = 144
"""struct class_count, in the order of docs/machine.md, 'counters'."""
COUNT_HIT0 = 0
COUNT_PUSH = 32
COUNT_HIT1, COUNT_REFILL, COUNT_SPILL, COUNT_FLUSH, COUNT_DIRECT = 8, 16, 40, 48, 64
COUNT_CARVE, COUNT_REUSE, COUNT_ACQUIRE, COUNT_RETIRE, COUNT_REMOTE, COUNT_DRAINED = range(72, 120, 8)
COUNT_IN, COUNT_OUT, COUNT_BACK = 120, 128, 136
TOTAL_SUPERSLABS, TOTAL_SLABS, TOTAL_RELEASES = range(COUNTS, COUNTS + 24, 8)
TOTAL_HEAPS, TOTAL_ADOPTIONS, TOTAL_REUSE, TOTAL_GROW = range(COUNTS + 32, COUNTS + 64, 8)
TOTAL_EXTEND, TOTAL_FREE, TOTAL_HIT, TOTAL_SPILL = range(COUNTS + 64, COUNTS + 96, 8)
TOTAL_MAP, TOTAL_UNMAP, TOTAL_REMAP = range(COUNTS + 96, COUNTS + 120, 8)
TOTAL_IN_PLACE, TOTAL_MOVED, TOTAL_COMMITTED = range(COUNTS + 120, COUNTS + 144, 8)
TOTAL_LEARNED_UP, TOTAL_LEARNED_DOWN = range(COUNTS + 152, COUNTS + 168, 8)
TOTAL_HUGE_REUSE = COUNTS + 168
TOTAL_STEPS, TOTAL_TOPPED, TOTAL_UNMAPPED, TOTAL_REUSED, TOTAL_LATE = range(COUNTS + 176, COUNTS + 216, 8)
TOTAL_HIT2, TOTAL_HIT3, TOTAL_SAMPLED, TOTAL_SAMPLED_BYTES, TOTAL_SAMPLED_FREED = range(COUNTS + 216, COUNTS + 256, 8)
"""Addresses in hs_count, in the order of docs/machine.md, 'counters'."""
PAGE_BYTES = 32
"""struct page; each struct lies within a line."""


@hit_path
def numbers_row(classes: int) -> int:
    """Return the numbers of 4 bytes that a shard has in a table for each class: whole lines."""
    return -(-classes // 16) * 16


class Record(NamedTuple):
    """The record of a slab, in bytes: its size and where its counts begin; and the slabs of a superslab that records
    take.
    """

    record_bytes: int
    record_counts_at: int
    head_slabs: int


class Layout(msgspec.Struct, frozen=True):
    """Offsets in struct heap, and its size in bytes with its slots, in whole pages."""

    end: int
    row_of: int
    front: int
    remote: int
    store: int
    count: int
    caches: int
    quarantine: int
    slot: int
    heap_bytes: int


def layout_of(
    classes: int,
    direct_limit: int,
    records: tuple[int, int, int],
    slots: int,
    remote_words: int,
    cache_words: int,
    page: int,
) -> Layout:
    """Return the layout of struct heap (runtime/heap/3_records/heap.h) for these numbers of classes and slots.

    records: how many it has of fronts, of classes in its store, and of blocks in quarantine.
    remote_words: words in front of the remote list's head: its others, and counts of slow paths.
    cache_words: words behind the counters: of slow paths alone.
    """
    front_records, store_records, quarantine_slots = records
    end = WORD * (1 + classes)
    row_of = 2 * end + 2 * WORD
    front = -(-(row_of + direct_limit + 1) // WORD) * WORD
    remote = front + FRONT_BYTES * front_records + WORD * remote_words
    store = remote + 3 * WORD
    count = store + STORE_BYTES * store_records
    caches = count + COUNT_BYTES * classes
    quarantine = caches + WORD * cache_words
    slot = quarantine + WORD + WORD * quarantine_slots
    heap_bytes = -(-(slot + WORD * slots) // page) * page
    return Layout(end, row_of, front, remote, store, count, caches, quarantine, slot, heap_bytes)


@hit_path
def block_at(state: State, block: int) -> int:
    """Return the model address of a small block: its address in the slab span."""
    cls = block & CLASS_MASK
    start = int(state.slabs[block >> SLAB_SHIFT]["place"]) * state.slab_bytes + int(state.classes[cls]["first"])
    return SPAN + start + ((block >> INDEX_SHIFT) & INDEX_MASK) * int(state.classes[cls]["stride"])


@hit_path
def heap_at(state: State, heap: int) -> int:
    """Return where a heap's structure begins."""
    return HEAPS + heap * state.heap_bytes


@hit_path
def count_at(state: State, heap: int, cls: int) -> int:
    """Return where a heap's counters of a class begin."""
    return heap_at(state, heap) + state.heap_count + cls * COUNT_BYTES


@hit_path
def class_at(cls: int) -> int:
    """Return where a class's row begins."""
    return CLASSES + cls * CLASS_BYTES


@hit_path
def page_at(page: int) -> int:
    """Return where the record of a page of the run span begins."""
    return PAGES + page * PAGE_BYTES


@hit_path
def slab_at(state: State, slab: int) -> int:
    """Return where the counts of a slab's record begin."""
    return record_at(state, int(state.slabs[slab]["place"])) + state.record_counts_at


@hit_path
def record_at(state: State, place: int) -> int:
    """Return where the record of the slab at this place begins: in a table, or in its superslab."""
    record_bytes = state.record_bytes
    if state.head_slabs > 0:
        inside = place % state.slabs_per_superslab
        return SPAN + (place - inside) * state.slab_bytes + inside * record_bytes
    return SLABS + place * record_bytes
