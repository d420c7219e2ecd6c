"""The records of a machine's arrays: their fields, all int64. What points to nothing is -1."""

from heapsmith.model.compile.kernel import record_type

PLAN_NUMBERS = (
    "grain",
    "grain_shift",
    "bias",
    "small_limit",
    "class_count",
    "direct_limit",
    "slots_per_heap",
    "bitmap_words",
    "slab_bytes",
    "slabs_per_superslab",
    "guard_slabs",
    "region_slabs",
    "region_superslabs",
    "run_span_pages",
    "run_step_pages",
    "huge_bytes",
    "tail_bytes",
    "run_cache_bytes",
    "slab_budget_bytes",
    "run_budget_bytes",
    "most_budget_bytes",
    "quarantine",
    "release_lazily",
    "thp_asked",
    "thp_slabs_from_bytes",
    "thp_runs_from_bytes",
)
"""Fields of the Plan, under their own names in `scalars`."""

TOTALS = (
    "superslabs",
    "slabs",
    "releases",
    "released_bytes",
    "heaps",
    "adoptions",
    "run_reuse",
    "run_grow",
    "run_extend",
    "run_free",
    "run_hit",
    "run_spill",
    "huge_map",
    "huge_unmap",
    "huge_remap",
    "realloc_in_place",
    "realloc_moved",
    "committed",
    "committed_peak",
)
"""The global counters of docs/machine.md section 10."""

TOTAL_FIELDS = {name: {"slabs": "slabs_made", "heaps": "heaps_made"}.get(name, name) for name in TOTALS}
"""Their fields in `scalars`: `slabs` and `heaps` are arrays."""

COUNTS = (
    "hit0",
    "hit1",
    "refill",
    "refilled",
    "push",
    "spill",
    "flush",
    "flushed",
    "direct",
    "carve",
    "reuse",
    "acquire",
    "retire",
    "remote",
    "drained",
    "transfer_in",
    "transfer_out",
    "transfer_back",
)
"""The counters per class of docs/machine.md section 10."""

STATISTICS = (
    "events",
    "live_bytes",
    "live_block_bytes",
    "live_blocks",
    "peak_live_bytes",
    "peak_live_event",
    "peak_live_block_bytes",
    "peak_live_committed",
    "peak_committed",
    "peak_committed_event",
    "peak_committed_live_bytes",
    "peak_committed_block_bytes",
    "failed_refills",
    "failed_runs",
)
"""What the model alone knows; live_bytes are those asked for, peaks are looked at after each event;
failures are refills for which the slab span and runs for which the run span had no room."""

HEAP_OFFSETS = ("row_of", "remote", "count", "runs", "quarantine")
"""Fields of the plan's layout; in `scalars` their names begin with heap_."""

WORK = (
    "callocs",
    "reallocs",
    "large_resizes",  # reallocs of large blocks that might stay where they are
    "aligned",
    "aligned_steps",  # classes that aligned requests looked at
    "sized_frees",
    "above",  # small requests of more bytes than the direct table has
    "asked_lines",  # of 64 bytes, of new blocks and of what blocks grew by
    "cleared_bytes",  # by calloc
    "copied_bytes",  # by realloc
    "runs_looked_at",  # in run caches, in vain
    "runs_freed",  # by the program
    "run_links",  # free runs linked to a bin or unlinked
    "run_extents",  # of free runs, looked at when they were handed out or went back
    "visits",  # of slabs by takes
    "slabs_looked_at",  # by slab choice, one after the other
    "words",  # of marks that takes looked at
    "gives",  # to slabs: neighbours of one slab at once, if the front is an array stack
    "given",  # the blocks
    "slab_adds",  # slabs that became available
    "slab_removes",  # and that are so no longer
    "exits",  # of threads with a heap
    "advised",  # superslabs for which huge pages were asked
    "map_calls",  # system calls for the live map of hardening
    "run_steps",  # times that more of the run span was made writable
)
"""What the cost model needs and no counter tells: how often the library does what costs it instructions. What is on
the hit path is counted only with a listener (model/memory/touches.py)."""

CODES = {"classifier_code": "classifier", "choice_code": "slab_choice", "empties_code": "empties"} | {
    "remote_code": "remote",
    "release_code": "release",
}
"""The fields of `scalars` that are the place of the design's row in its policy table."""

CLASS_NUMBERS = ("stride", "usable", "first", "blocks", "stack")
BATCHES = ("refill", "flush", "spill", "promote")
"""Fields of a front's plan; in `classes` their names end in _batch, to tell them from the counters."""

SCALARS = record_type(
    *PLAN_NUMBERS,
    *(f"heap_{field}" for field in HEAP_OFFSETS),  # parts of the library's struct heap (model/memory/layout.py)
    "heap_bytes",
    *CODES,
    "owned",  # 1: a slab's blocks go back to the heap that acquired it, which has a store and a remote list of its own
    "budgeted",  # 1: the age queues are kept within a budget
    "by_row",  # 1: malloc and free pop and push the row of the class before they go to its own functions
    "header_bytes",
    "live_map",  # 1: hardening keeps a byte per grain of the span
    "span_superslabs",  # superslabs that the span can hold
    "slab_words",  # of 32 marks, per slab
    "transfer_slots",  # the transfer cache's slots, before those of the heaps
    "heap_slots",  # from a heap's slots to the next heap's: its fronts and its quarantine
    "store_step",  # from a heap's store to the next heap's: 0 if all heaps share one
    *TOTAL_FIELDS.values(),
    "abandoned",  # head of the LIFO list of abandoned heaps
    "oldest_slab",  # ends of the age queue of empty slabs with committed bytes (FIFO), and their sum
    "newest_slab",
    "aged_slab_bytes",
    "oldest_run",  # the same of free runs
    "newest_run",
    "aged_run_bytes",
    "top",  # first page of the run span never handed out
    "nodes_made",  # remote list nodes ever used
    "free_node",  # head of the LIFO list of free ones
    "full",  # 1: the arrays might not do for another event, or there is a fault
    "fault",  # why the last event cannot be (model/heap/events.py)
    "slab_room",  # counts up to which the arrays do for another event, whatever it is
    "heap_room",
    "node_room",
    "page_room",
    *STATISTICS,
    *WORK,
    "clean",  # 1: the OS gave all pages of the large block handed out last as zeros, so that calloc need not clear it
    "births",  # what the program touches (model/memory/application.py)
    "deaths",
    "replays",
    "writable",  # pages of the run span that the library has made writable
    "wanted_bytes",  # room in `touched` that the next event needs
    "samples",  # points of the time line
    "stride",  # events from one to the next
    "next_sample",
)
CLASS = record_type(
    *CLASS_NUMBERS,
    "front",  # code of the front
    "batched",  # 1: its flushes give neighbours of one slab at once
    "capacity",
    "list_capacity",
    *(f"{batch}_batch" for batch in BATCHES),
    "slot_base",
    "transfer",  # batches that the transfer cache may hold, where they begin in `slots`, and how many there are
    "transfer_base",
    "batches",
    "idle",  # flushes since a refill looked at them
    *COUNTS,
    "retired",  # pool of the class, of all classes in the first record if shared: head of the LIFO list of empty slabs
    "left",  # slabs left in its superslab
    "next_place",  # and the place of the next one
    "next_huge",  # 1: it lies on huge pages
    "mapped",  # superslabs ever mapped for the pool
)
HEAP = record_type(
    "remote",  # head of the remote list
    "next",  # abandoned heap
    "oldest_run",  # ends of the run cache (FIFO), its runs and their bytes
    "newest_run",
    "cached_runs",
    "cached_bytes",
    "quarantined",  # blocks in quarantine, and the place of the oldest
    "quarantine_head",
)
FRONT = record_type(
    "base",  # in `slots`
    "held",  # blocks in level 0, its oldest if a ring; blocks in level 1
    "head",
    "below",
    "top_at",  # where the library keeps its top, its end, its other numbers and its slots (model/memory/layout.py)
    "end_at",
    "front_at",
    "slots_at",
)
STORE = record_type(
    "hot",  # slab
    "head",  # of the list, or top of the pairing heap, of the other slabs
    "at",
)
SLAB = record_type(
    "place",  # in the span, in slabs
    "class",
    "owner",  # heap that acquired it; -1: it is in a pool
    "carved",
    "freed",
    "out",
    "committed",
    "low",  # no mark in a word of marks below this
    "next",
    "prev",
    "child",
    "older",  # neighbours in the age queue
    "newer",
)
NODE = record_type("block", "next")
PAGE_RECORD = record_type("run", "free", "back", "next", "prev", "older", "newer", "dirty", "extent", "holds")
BLOCK = record_type("handle", "asked")
SAMPLE = record_type("event", "live_bytes", "committed", "resident")

SAMPLES = 1024
