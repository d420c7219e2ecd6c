"""The arrays that are a machine's whole state: their records, how they begin, how they grow.

All fields are int64. What points to nothing is -1. `scalars` has one record; `classes` has one per size class.
"""

from collections.abc import Iterable

import numpy as np

from heapsmith.model import policy
from heapsmith.model.compile.kernel import Ints, Records
from heapsmith.model.constants import RUN_BINS
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.events import DEAD
from heapsmith.model.heap.large import pages_for
from heapsmith.model.heap.runs import HUGE_PAGES
from heapsmith.model.memory.application import PARTS, Application
from heapsmith.model.memory.layout import FRONT_BYTES, HEAPS, STORE_AT, STORE_BYTES, WORD
from heapsmith.model.memory.state import State

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
    "pages_touched",  # looked at one by one when they were handed out
    "pages_forgotten",  # the same when they went back
    "visits",  # of slabs by takes
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


def _record(*fields: str) -> np.dtype[np.void]:
    return np.dtype([(field, np.int64) for field in fields])


SCALARS = _record(
    *PLAN_NUMBERS,
    *(
        f"heap_{field}" for field in HEAP_OFFSETS
    ),  # where parts of the library's struct heap lie (model/memory/layout.py)
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
CLASS = _record(
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
HEAP = _record(
    "remote",  # head of the remote list
    "next",  # abandoned heap
    "oldest_run",  # ends of the run cache (FIFO), its runs and their bytes
    "newest_run",
    "cached_runs",
    "cached_bytes",
    "quarantined",  # blocks in quarantine, and the place of the oldest
    "quarantine_head",
)
FRONT = _record(
    "base",  # in `slots`
    "held",  # blocks in level 0, its oldest if a ring; blocks in level 1
    "head",
    "below",
    "top_at",  # where the library keeps its top, its end, its other numbers and its slots (model/memory/layout.py)
    "end_at",
    "front_at",
    "slots_at",
)
STORE = _record("hot", "head", "at")  # the hot slab; head of the list, or top of the pairing heap, of the other slabs
SLAB = _record(
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
NODE = _record("block", "next")
PAGE_RECORD = _record("run", "free", "back", "next", "prev", "older", "newer", "dirty", "committed")
BLOCK = _record("handle", "asked")
SAMPLE = _record("event", "live_bytes", "committed", "resident")

SAMPLES = 1024


def scalars_of(plan: Plan, application: Application) -> Records:
    """The scalars of a fresh machine: the Plan's numbers, what the program touches, counters at 0."""
    scalars = np.zeros(1, SCALARS)
    for field in PLAN_NUMBERS:
        scalars[field] = getattr(plan, field)
    scalars["span_superslabs"] = plan.slab_span_bytes // plan.superslab_bytes
    scalars["slab_words"] = -(-max(row.blocks for row in plan.classes) // 32)
    for field, table in CODES.items():
        scalars[field] = policy.code(table, plan.design.row(table).NAME)
    scalars["owned"] = owned = plan.design.row("remote").OWNED
    scalars["budgeted"] = plan.design.row("release").BUDGETED
    scalars["store_step"] = plan.class_count if owned else 0
    scalars["transfer_slots"] = plan.transfer_slots
    scalars["heap_slots"] = plan.slots_per_heap + plan.quarantine
    for field in ("abandoned", "free_node", "oldest_slab", "newest_slab", "oldest_run", "newest_run"):
        scalars[field] = -1
    for field in HEAP_OFFSETS:
        scalars[f"heap_{field}"] = getattr(plan.layout, field)
    scalars["heap_bytes"] = plan.layout.heap_bytes
    scalars["by_row"] = plan.dispatch == "stack"
    scalars["header_bytes"] = plan.header_bytes
    scalars["live_map"] = plan.design.row("hardening").LIVE_MAP
    scalars["births"] = PARTS.index(application.births)
    scalars["deaths"] = PARTS.index(application.deaths)
    scalars["replays"] = application.replays
    scalars["stride"] = 1
    return scalars


def class_records(plan: Plan) -> Records:
    """The size classes and their fronts, counters at 0, pools empty."""
    classes = np.zeros(plan.class_count, CLASS)
    for record, row in zip(classes, plan.classes, strict=True):
        for field in CLASS_NUMBERS:
            record[field] = getattr(row, field)
        for batch in BATCHES:
            record[f"{batch}_batch"] = getattr(row.front, batch)
        record["capacity"] = row.front.capacity
        record["list_capacity"] = row.front.list_capacity
        record["front"] = policy.code("front", row.front.kind)
        record["batched"] = policy.row("front", row.front.kind).BATCHED
        record["slot_base"] = row.slot_base
        record["transfer"] = row.transfer
        record["transfer_base"] = row.transfer_base
    classes["retired"] = -1
    return classes


def fresh_state(plan: Plan, application: Application) -> State:
    """The state of a machine before its first event; arrays that grow are empty."""
    state = State()
    state.touched = state.threads = state.slots = state.marks = np.empty(0, np.int64)
    state.scalars = scalars_of(plan, application)
    state.classes = class_records(plan)
    state.lookup = np.array(plan.size_class, np.int64)
    state.heaps, state.fronts, state.stores = np.zeros(0, HEAP), np.zeros(0, FRONT), np.zeros(0, STORE)
    state.slabs, state.nodes = np.zeros(0, SLAB), np.zeros(0, NODE)
    state.pages, state.blocks = np.zeros(0, PAGE_RECORD), np.zeros(0, BLOCK)
    state.bins = empty_bins()
    state.moved = np.empty(batch_room(plan), np.int64)
    state.timeline = np.zeros(SAMPLES, SAMPLE)
    return state


def empty_bins() -> Ints:
    """The heads of the bins of free runs."""
    return np.full(RUN_BINS, -1, np.int64)


def batch_room(plan: Plan) -> int:
    """Blocks that the largest batch moves: a refill, a flush with a spill, or a whole front."""
    return max(
        max(row.front.refill, row.front.capacity + row.front.list_capacity, row.front.flush + row.front.spill)
        for row in plan.classes
    )


def slabs_per_event(plan: Plan) -> int:
    """Slabs that one event may acquire at most: those of its refill."""
    return max(-(-row.front.refill // row.blocks) for row in plan.classes) + 1


def nodes_per_event(plan: Plan) -> int:
    """Remote list nodes that one event may need at most: for a block freed, or those of a quarantine."""
    return max(1, plan.quarantine)


def pages_per_event(plan: Plan) -> int:
    """Pages by which one event may raise the top at most, and the rest of a huge page."""
    return pages_for(plan.huge_bytes, plan.tail_bytes) + HUGE_PAGES


def grown(records: Records, length: int, nothing: Iterable[str]) -> Records:
    """The same records and zeroed ones up to `length`, but for the fields in `nothing`, which are -1."""
    longer = np.zeros(length, records.dtype)
    longer[: len(records)] = records
    for field in nothing:
        longer[field][len(records) :] = -1
    return longer


def grown_ints(ints: Ints, length: int, value: int) -> Ints:
    """The same numbers and `value` up to `length`."""
    longer = np.full(length, value, np.int64)
    longer[: len(ints)] = ints
    return longer


def grown_fronts(fronts: Records, classes: Records, heaps: int, plan: Plan) -> Records:
    """The same fronts and empty ones up to `heaps` heaps, each with its place in the slots and in the library."""
    longer = grown(fronts, heaps * len(classes), ())
    heap, cls = np.arange(heaps)[:, np.newaxis], np.arange(len(classes))[np.newaxis, :]
    first, layout = classes["slot_base"][np.newaxis, :], plan.layout
    start = HEAPS + heap * layout.heap_bytes
    longer["base"] = (plan.transfer_slots + heap * (plan.slots_per_heap + plan.quarantine) + first).ravel()
    longer["top_at"] = (start + WORD * (1 + cls)).ravel()
    longer["end_at"] = longer["top_at"] + layout.end
    longer["front_at"] = (start + layout.front + FRONT_BYTES * cls).ravel()
    longer["slots_at"] = (start + layout.slot + WORD * first).ravel()
    return longer


def grown_stores(stores: Records, classes: Records, heaps: int, plan: Plan) -> Records:
    """The same stores and empty ones up to `heaps` heaps, each with its place in the library; one if all share it."""
    owned = plan.design.row("remote").OWNED
    longer = grown(stores, (heaps if owned else 1) * len(classes), ("hot", "head"))
    heap, cls = np.divmod(np.arange(len(longer)), len(classes))
    start = HEAPS + heap * plan.layout.heap_bytes + plan.layout.store if owned else STORE_AT
    longer["at"] = start + STORE_BYTES * cls
    return longer


def grown_blocks(blocks: Records, length: int) -> Records:
    """The same blocks and unborn ones up to `length`."""
    longer = grown(blocks, length, ())
    longer["handle"][len(blocks) :] = DEAD
    return longer
