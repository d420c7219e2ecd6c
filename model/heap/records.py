"""The records of a simulator's arrays: their fields, all int64. A link to nothing is -1."""

from heapsmith.model import policy
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.memory.application import TOUCHED_FROM
from heapsmith.model.parts.counters import COUNTS, LOCK_FIELDS, TOTAL_FIELDS, WORK


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PLAN_NUMBERS = _words("""
    page_bytes grain grain_shift bias header_bytes small_limit class_count direct_limit slots_per_heap bitmap_words
    slab_bytes slabs_per_superslab guard_slabs regions region_slabs region_superslabs run_span_pages
    run_step_pages huge_bytes tail_bytes slab_budget_bytes run_budget_bytes
    most_budget_bytes share_percent share_slab_bytes share_run_bytes share_wait_bytes
    share_wait_percent
    share_miss_bytes share_drawn_bytes share_lesson_bytes peak_percent remap_bytes
    quarantine release_lazily slab_classes_bytes live_map stops check_last
    record_bytes record_counts_at head_slabs
""")
"""Fields of the Plan, with the same names in `scalars`."""

PEAKS = [
    [f"peak_{of}_{field}" for field in ("event", "bytes", "block_bytes", "committed")] for of in ("live", "committed")
]
"""The state after the event at which live bytes, and committed bytes, were most.

They are scalars: an array of their own would cost every event a tenth of its time.
"""

ABSENT = ("rare_rows", "record_counts_at", "charging", "looks_again", *policy.RARE_NUMBERS, *policy.RARE_CODES)
"""Scalars that are 0 in most designs. A design in which all are 0 is simulated by a loop without them."""

HEAP_OFFSETS = ("row_of", "front", "remote", "count", "quarantine", "slot")
"""Fields of the plan's layout; their names in `scalars` begin with heap_."""

CODES = {f"{table}_code": table for table in policy.TABLES if table != "front"}
"""The fields of `scalars` that hold the code of the design's row in a policy table; a class has that of its front."""

CLASS_NUMBERS = _words("stride usable first blocks stack slot_base")
"""Fields of a class's plan."""
BATCHES = ("refill", "flush", "spill", "promote")
"""Fields of a front's plan; their names in `classes` end in _batch, unlike the counters."""

SCALARS = record_type(
    *dict.fromkeys([*PLAN_NUMBERS, *policy.NUMBERS]),
    *(f"heap_{field}" for field in HEAP_OFFSETS),  # in struct heap (model/memory/layout.py)
    "heap_bytes",
    *CODES,
    *(f"{table}_slots_at" for table in policy.SLOTTED),  # in a heap's slots, the SLOTS of its row
    *(f"{table}_at" for table in policy.FIELDED),  # in struct heap, the fields of its row
    *policy.state("scalars"),
    "rare_rows",  # 1: the design has a row with RARE (model/compile/dispatch.py)
    "looks_again",  # 1: a miss looks into level 0 again, which a row may have filled since
    "has_drains",  # 1: the end of a thread asks the row of each class how its front is emptied
    "levels_table",  # 1: the library has a table of levels; 0: a list lies below level 0, or nothing
    "owned",  # 1: blocks go back to the heap that acquired their slab; each heap has a store
    "aging",  # 1: the library keeps the age queues
    "size_classes",  # classes of sizes; further classes of groups of call sites follow them
    "by_row",  # 1: malloc and free try the row of the class before the class's own functions
    "by_table",  # 1: a table says what the class does where no row served the call
    "slab_words",  # words of `marks` per slab (model/policy/freed_blocks)
    "shared_slots",  # slots in front of those of heaps
    "heap_slots",  # slots of a heap: its fronts, its quarantine, and the blocks of a class that it prepares
    "store_step",  # stores from a heap's first to the next heap's; 0: heaps share the stores
    *TOTAL_FIELDS.values(),
    *LOCK_FIELDS.values(),
    "new_locks",  # that were taken and not yet counted (model/parts/locks.py)
    "stage",  # of the slab that was acquired last: its number in STAGES
    "abandoned",  # head of the LIFO list of abandoned heaps
    "oldest",  # ends of the age queues, in the rows SLAB_AGE and RUN_AGE alone
    "newest",
    "kept_clock",  # huge blocks that were freed into the huge cache
    "kept_mappings",  # mappings and pages in it
    "kept_pages",
    "aged_slab_bytes",  # committed bytes in the age queue of empty slabs
    "aged_run_bytes",  # the same for free runs
    "huge_committed",  # committed bytes of huge blocks, and of mappings that wait
    "top",  # the first page of the run span that was never handed out
    "nodes_made",  # remote list nodes ever used
    "free_node",  # head of the LIFO list of free nodes
    "full",  # 1: the arrays may be too short for another event, or there is a fault
    "fault",  # why the last event is invalid (model/heap/events.py)
    "slab_room",  # limits below which the arrays suffice for any event
    "heap_room",
    "node_room",
    "page_room",
    "events",
    "fed",  # events before the chunk that is followed
    "live_bytes",  # bytes asked for
    "live_block_bytes",
    "live_blocks",
    "stretched",  # 1: the last refill brought fresh blocks, one behind the other, for such a level
    "failed_refills",  # refills without room in the slab span
    "failed_runs",  # runs without room in the run span
    *(field for peak in PEAKS for field in peak),
    *WORK,
    "clean",  # 1: the last large block is all zeros from the OS; calloc need not clear it
    "births",  # what the program touches (model/memory/application.py)
    "deaths",
    *TOUCHED_FROM,
    "replays",
    "table",
    "writable",  # pages of the run span that the library has made writable
    "block_index_at",  # place in a class's row of the number that gives the index of a block
    "huge_runs",  # 1: pages of the run span lie on huge pages, from where the design says
    "commit_step",  # bytes by which the committed bytes of a slab and below the top rise
    "slack_bytes",  # what an event may touch for the first time besides its block
    "wanted_bytes",  # room in `listener` that the next event needs
    "committed_low",  # the least committed bytes since a reader set this field, and the most
    "committed_high",
    "timeless",  # 1: the chunk that is followed has no times
    "time_shift",  # its times count in units of 2^time_shift ns, so that a sum of pages by time fits into a word
    "committed_sum",  # changes of the committed pages in the chunk, times the time before (model/parts/committed.py)
    "samples",  # points of the time line
    "stride",  # events between two points
    "next_sample",
    # The charge of the event under way, and places in the meter (model/parts/charge.py).
    "charging",  # 1: each event is charged
    *_words("charged charged_alone charged_pool charged_large charged_shared charged_missed charged_before"),
    *_words("charged_releases charged_held charged_store charged_cache"),
    *_words("charge_rest charge_all"),
    *_words("meter_touches meter_growth meter_classes meter_operation meter_operation_alone"),
)
CLASS = record_type(
    *CLASS_NUMBERS,
    *policy.CLASS_NUMBERS,
    *policy.CLASS_FIELDS,
    *policy.state("classes"),
    "by_row",  # 1: its stack is popped and pushed by row
    "front",  # code of the front
    "guarded",  # 1: pages that no access may touch bound the slots of level 0, and its functions test nothing
    "batched",  # 1: its flushes give neighbours of a slab at once
    "capacity",
    "list_capacity",
    "below",  # levels below level 0
    "stretch",  # the most fresh blocks, one behind the other, that a miss brings; 0: no level has them
    "stretch_depth",  # the level below level 0 that has them
    *(f"{batch}_batch" for batch in BATCHES),
    "topped",  # blocks that the helper took from the store
    *COUNTS,
    "mapped",  # superslabs ever mapped in the region of this number; there is one, or one per class
    "usable_superslabs",  # of that region
)
HEAP = record_type(
    "remote",  # head of the remote list
    "next",  # next abandoned heap
    "quarantined",  # blocks in quarantine, and the place of the oldest block
    "quarantine_head",
    *policy.state("heaps"),
)
FRONT = record_type(
    "base",  # place in `slots`
    "held",  # blocks in level 0; the place of a ring's oldest; blocks in the levels below
    "head",
    "listed",
    "filled",  # 1: a front that is filled once has been
    "top_at",  # addresses in the library: top, end, other numbers, slots (model/memory/layout.py)
    "end_at",
    "front_at",
    "slots_at",
    "moves_to",  # address of the slots to which a compact stack moves; 0: it did, or is none
    "closed_at",  # address of the slot above which top and end lie until the stack has a block; 0 once it is open
)
STORE = record_type(
    "hot",  # the slab in use
    "head",  # head of the list, or top of the pairing heap, of the other slabs
    "at",
    "retired",  # head of the LIFO list of empty slabs; the pools that heaps share are in the first heap's records
    "left",  # slabs left in the superslab
    "next_place",  # place of the next slab
    "next_huge",  # 1: the superslab lies on huge pages
    *policy.state("stores"),
)
SLAB = record_type(
    "place",  # place in the span, in slabs
    "class",
    "owner",  # the heap that acquired the slab; -1: in a pool of all heaps. Superslabs of heaps: their heap
    "shard",  # where slabs have shards: that for which it was acquired
    "carved",
    "freed",
    "out",
    "committed",
    "low",  # where the freed blocks begin: the first word that may have a mark, or a list's head
    "next",
    "previous",
    "child",
    "older",  # neighbours in the age queue
    "newer",
    "stamp",  # the clock when the slab joined it
    *policy.state("slabs"),
)
NODE = record_type(
    "block",
    "next",
    "parcel",  # the block that names this one, or itself, and the place of the name in it
    "name",  # of a queue, 1: it begins a chain
)
PAGE_RECORD = record_type(
    *_words("run free back next previous older newer dirty extent holds"),
    "stamp",  # the clock when the run joined the age queue
)
KEPT = record_type("block", "pages", "stamp")
BLOCK = record_type("handle", "asked")
SAMPLE = record_type("event", "live_bytes", "committed", "resident")

SAMPLES = 1024

HEAP_LINKS = ("remote", *policy.links("heaps"))
STORE_LINKS = ("hot", "head", "retired", *policy.links("stores"))
"""Fields of new heaps and stores that link to nothing."""
