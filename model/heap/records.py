"""The records of a simulator's arrays: their fields, all int64. A link to nothing is -1."""

from heapsmith.model import policy
from heapsmith.model.compile.kernel import record_type
from heapsmith.model.memory.application import TOUCHED_FROM


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PLAN_NUMBERS = _words("""
    grain grain_shift bias header_bytes transfer_slots small_limit class_count direct_limit slots_per_heap bitmap_words
    slab_bytes slabs_per_superslab guard_slabs regions region_slabs region_superslabs run_span_pages
    run_step_pages huge_bytes tail_bytes run_cache_bytes slab_budget_bytes run_budget_bytes
    most_budget_bytes share_percent share_slab_bytes share_run_bytes remap_bytes
    quarantine release_lazily slab_classes_bytes live_map thp_asked thp_never
    thp_slabs_from_bytes thp_runs_from_bytes thp_block_bytes
""")
"""Fields of the Plan, with the same names in `scalars`."""

TOTALS = _words("""
    superslabs slabs releases released_bytes heaps adoptions run_reuse run_grow run_extend
    run_free run_hit run_spill huge_map huge_unmap huge_remap realloc_in_place realloc_moved
    committed committed_peak learned_up learned_down huge_reuse
    background_steps background_blocks superslabs_unmapped superslabs_reused superslabs_late
""")
"""The global counters of docs/machine.md section 10."""

TOTAL_FIELDS = {name: {"slabs": "slabs_made", "heaps": "heaps_made"}.get(name, name) for name in TOTALS}
"""The fields of the totals in `scalars`: `slabs` and `heaps` are names of arrays."""

COUNTS = _words("""
    hit0 hit1 refill refilled push spill flush flushed direct carve reuse acquire retire remote
    drained transfer_in transfer_out transfer_back
""")
"""The counters per class of docs/machine.md section 10."""

PEAKS = [
    [f"peak_{of}_{field}" for field in ("event", "bytes", "block_bytes", "committed")] for of in ("live", "committed")
]
"""The state after the event at which live bytes, and committed bytes, were most.

They are scalars: an array of their own would cost every event a tenth of its time.
"""

RARE = _words("""
    rare_rows
    quarantine header_bytes live_map owned guard_slabs prewarm_end prewarm_superslabs drain_interval drain_most
    populate_pages growth_first free_probes free_paged bias tail_bytes remote_code lookup_code
    release_delay release_delay_in_milliseconds release_looks limit_mark_bytes freed_code
    counts_everything learn_window huge_kept_bytes
    head_slabs record_extra record_class_bytes pool_swaps pool_claims background_every own_superslabs
    charging site_groups shard_records shard_nodes processor_batch remote_locks
""")
"""Scalars that are 0 in most designs. A design in which all are 0 is simulated by a loop without them."""

HEAP_OFFSETS = ("row_of", "front", "remote", "count", "runs", "quarantine", "slot")
"""Fields of the plan's layout; their names in `scalars` begin with heap_."""

WORK = (
    "callocs",
    "reallocs",
    "large_resizes",  # reallocs of large blocks that may stay in place
    "aligned",
    "aligned_steps",  # classes that aligned requests look at
    "sized_frees",
    "above",  # small requests beyond the direct table
    "asked_lines",  # lines of 64 bytes that new blocks and grown blocks add
    "cleared_bytes",  # bytes that calloc clears
    "copied_bytes",  # bytes that realloc copies
    "runs_looked_at",  # runs in run caches that a search rejects
    "runs_freed",  # runs that the program frees
    "run_links",  # free runs linked to a bin or unlinked
    "run_extents",  # extents of free runs that a reuse or a release looks at
    "visits",  # slabs that takes visit
    "slabs_looked_at",  # slabs that slab choice looks at in a search
    "words",  # words of marks that takes look at
    "gives",  # calls that give blocks to slabs; an array stack gives neighbours in one call
    "given",  # blocks that these calls give
    "slab_adds",  # slabs that become available
    "slab_removes",  # slabs that are available no longer
    "exits",  # exits of threads with a heap
    "probes",  # system calls of frees that ask about a page
    "lend_looks",  # fronts of larger classes that an empty front looks at
    "huge_looked_at",  # mappings in the huge cache that a search looks at
    "huge_moved",  # mappings that move down in it since an older mapping left
    "clock_reads",  # of the system's clock
    "site_looks",  # at the call of an allocation, for its group
    "memory_calls",  # system calls that commit, advise on huge pages, or release the live map
)
"""The library's work that costs instructions and that no counter tells, for the cost model. Work on
the hit path is counted only with a listener (model/memory/touches.py).
"""

CODES = {"classifier_code": "classifier", "choice_code": "slab_choice", "empties_code": "empties"} | {
    "remote_code": "remote",
    "lookup_code": "size_lookup",
    "freed_code": "freed_blocks",
    "release_code": "release",
}
"""The fields of `scalars` that hold the code of the design's row in a policy table."""

CLASS_NUMBERS = _words("stride usable first blocks stack slot_base transfer transfer_base")
"""Fields of a class's plan. `transfer` is the most batches in the transfer cache."""
BATCHES = ("refill", "flush", "spill", "promote")
"""Fields of a front's plan; their names in `classes` end in _batch, unlike the counters."""

SLAB_AGE, RUN_AGE = 1, 2
"""The rows of `scalars` behind the first, which is the state's: each has the ends of an age queue.

An array of their own would be one more pointer in every call between kernels.
"""
AGES = {"slab": SLAB_AGE, "run": RUN_AGE}

SCALARS = record_type(
    *PLAN_NUMBERS,
    *policy.NUMBERS,
    *(f"heap_{field}" for field in HEAP_OFFSETS),  # in struct heap (model/memory/layout.py)
    "heap_bytes",
    *CODES,
    "rare_rows",  # 1: the design has a row with RARE (model/compile/dispatch.py)
    "owned",  # 1: blocks go back to the heap that acquired their slab; each heap has a store
    "aging",  # 1: the library keeps the age queues
    "group",  # of the call sites of the event under way
    "home",  # where shards belong to nodes, the shard of the node of the event under way
    "binds",  # 1: there are nodes to which superslabs are bound
    "by_row",  # 1: malloc and free try the row of the class before the class's own functions
    "by_table",  # 1: a table says what the class does where no row served the call
    "slab_words",  # words of `marks` per slab (model/policy/freed_blocks)
    "heap_slots",  # slots of a heap: its fronts, its quarantine, and the blocks of a class that it prepares
    "store_step",  # stores from a heap's first to the next heap's; 0: heaps share the stores
    *TOTAL_FIELDS.values(),
    "abandoned",  # head of the LIFO list of abandoned heaps
    "oldest",  # ends of the age queues, in the rows SLAB_AGE and RUN_AGE alone
    "newest",
    "clock",  # what was freed, as the delay of a release policy counts it, or the time
    "looked",  # the clock at the last look at both age queues
    "kept_clock",  # huge blocks that were freed into the huge cache
    "kept_mappings",  # mappings and pages in it
    "kept_pages",
    "empty_superslabs",  # where superslabs are unmapped: those whose slabs are all in pools
    "share_peak",  # the most committed bytes in use that were seen
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
    "huge_runs",  # 1: pages of the run span from thp_runs_from_bytes on lie on huge pages
    "commit_step",  # bytes by which the committed bytes of a slab and below the top rise
    "slack_bytes",  # what an event may touch for the first time besides its block
    "wanted_bytes",  # room in `listener` that the next event needs
    "committed_low",  # the least committed bytes since a reader set this field, and the most
    "committed_high",
    "samples",  # points of the time line
    "stride",  # events between two points
    "next_sample",
    # The charge of the event under way, and places in the meter (model/heap/charge.py).
    "charging",  # 1: each event is charged
    *_words("charged charged_alone charged_pool charged_large charged_shared charged_missed charged_before"),
    *_words("charged_releases charged_held charged_store charged_cache"),
    *_words("charge_rest charge_all"),
    *_words("stores_locked caches_locked"),  # shards whose locks the event took, a bit each
    *_words("meter_touches meter_growth meter_classes meter_operation meter_operation_alone"),
)
CLASS = record_type(
    *CLASS_NUMBERS,
    *policy.CLASS_NUMBERS,
    "by_row",  # 1: its stack is popped and pushed by row
    "front",  # code of the front
    "batched",  # 1: its flushes give neighbours of a slab at once
    "capacity",
    "list_capacity",
    *(f"{batch}_batch" for batch in BATCHES),
    "wanted",  # 1: a miss has left too few batches since the helper looked
    "topped",  # blocks that the helper took from the store
    *COUNTS,
    "mapped",  # superslabs ever mapped in the region of this number; there is one, or one per class
    "usable_superslabs",  # of that region
    "growth_step",  # superslabs that become usable together next, in that region; 0: the first step
    "unmapped",  # 1 + the first slab of the superslab of that region that was unmapped last, or 0
)
HEAP = record_type(
    "remote",  # head of the remote list
    "flushes",  # since the last drain
    "learn_events",  # misses and flushes since the last decision about capacities
    "next",  # next abandoned heap
    "oldest",  # ends of the run cache (FIFO), its runs and their bytes
    "newest",
    "cached_runs",
    "cached_bytes",
    "quarantined",  # blocks in quarantine, and the place of the oldest block
    "quarantine_head",
)
FRONT = record_type(
    "base",  # place in `slots`
    "held",  # blocks in level 0; the place of a ring's oldest; blocks in level 1
    "head",
    "listed",
    "top_at",  # addresses in the library: top, end, other numbers, slots (model/memory/layout.py)
    "end_at",
    "front_at",
    "slots_at",
    "closed_at",  # address of the slot above which top and end lie until the stack has a block; 0 once it is open
)
STORE = record_type(
    "hot",  # the slab in use
    "head",  # head of the list, or top of the pairing heap, of the other slabs
    "at",
    "batches",  # batches in the transfer cache
    "idle",  # flushes since the last refill
    "retired",  # head of the LIFO list of empty slabs; the pools that heaps share are in the first heap's records
    "left",  # slabs left in the superslab
    "next_place",  # place of the next slab
    "next_huge",  # 1: the superslab lies on huge pages
    "next_known",  # where superslabs are unmapped, the next slab of a superslab that is mapped again, or -1
    "last_new",  # and the slab that was handed out last of a superslab that is mapped anew
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
    "beside",  # where superslabs are unmapped, the next slab of the same superslab, or -1
    "first",  # and the first slab of the superslab
    "unpooled",  # and for that slab: slabs of the superslab that are in no pool
    "on_huge",  # and whether the superslab lies on huge pages
)
NODE = record_type(
    "block",
    "next",
    "parcel",  # the block that names this one, or itself, and the place of the name in it
    "name",
)
PAGE_RECORD = record_type(
    *_words("run free back next previous older newer dirty extent holds"),
    "stamp",  # the clock when the run joined the age queue
)
KEPT = record_type("block", "pages", "stamp")
BLOCK = record_type("handle", "asked")
SAMPLE = record_type("event", "live_bytes", "committed", "resident")

SAMPLES = 1024
