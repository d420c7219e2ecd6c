"""The arrays of a simulator's state: how they begin and how they grow (model/heap/records.py)."""

from collections.abc import Iterable
from mmap import MADV_NOHUGEPAGE, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from types import ModuleType

import numpy as np

from heapsmith.model import policy
from heapsmith.model.compile.kernel import Ints, Records
from heapsmith.model.constants import HUGE_KEPT_MAPPINGS, RUN_BINS
from heapsmith.model.design.plan import Plan, heap_fields
from heapsmith.model.heap import records
from heapsmith.model.memory import layout
from heapsmith.model.memory.application import PARTS, TOUCHED_FROM, Application
from heapsmith.model.memory.state import State
from heapsmith.model.parts import charge, levels
from heapsmith.model.parts.extents import HUGE_PAGES
from heapsmith.model.parts.large import pages_for
from heapsmith.model.parts.needs import Needs
from heapsmith.model.policy.emitted import BEHIND_COUNTS

SLACK_BYTES = 1 << 21
"""What an event may touch for the first time besides its block, and the blocks of a new heap:
records, and a superslab.
"""
COPIED_PAGES = 64
"""Page records that are copied together: about a page of memory."""


def scalars_of(plan: Plan, application: Application) -> Records:
    """Return the scalars of a new simulator: the Plan's numbers, the application, zero counters."""
    scalars = np.zeros(3, records.SCALARS)
    for field in records.PLAN_NUMBERS:
        scalars[field] = getattr(plan, field)
    for name, number in plan.numbers.items():
        scalars[name] = number
    scalars["shared_slots"] = needs(plan).shared
    scalars["slab_words"] = plan.design.row("freed_blocks").words(max(row.blocks for row in plan.classes))
    for field, table in records.CODES.items():
        scalars[field] = policy.code(table, plan.design.row(table).NAME)
    scalars["has_drains"] = plan.has_drains
    scalars["levels_table"] = plan.has_levels_table
    scalars["rare_rows"] = policy.has_rare_choices(rows_of(plan), plan.numbers)
    scalars["owned"] = owned = plan.design.row("remote").OWNED
    scalars["aging"] = plan.design.row("release").AGES
    scalars["store_step"] = plan.class_count if owned else 0
    asking = [row for row in rows_of(plan) if hasattr(row, "looks_again")]
    scalars["looks_again"] = any(row.looks_again(plan.design) for row in asking)
    scalars["heap_slots"] = heap_slots(plan)
    scalars["abandoned"] = scalars["free_node"] = scalars["oldest"] = scalars["newest"] = -1
    for field in records.HEAP_OFFSETS:
        scalars[f"heap_{field}"] = getattr(plan.layout, field)
    scalars["size_classes"] = len(plan.sized)
    scalars["heap_bytes"] = plan.layout.heap_bytes
    scalars["by_row"] = plan.dispatch != "table"
    scalars["by_table"] = plan.by_table
    scalars["births"] = PARTS.index(application.births)
    scalars["deaths"] = PARTS.index(application.deaths)
    scalars["replays"] = application.replays
    scalars["table"] = application.table
    for field, share in zip(TOUCHED_FROM, application.shares(), strict=True):
        scalars[field] = share
    scalars["huge_runs"] = plan.design.row("thp").huge_runs(plan.design, application.fills)
    scalars["stride"] = 1
    scalars["block_index_at"] = plan.design.row("block_index").AT
    scalars["commit_step"] = commit_step(plan)
    scalars["slack_bytes"] = SLACK_BYTES + needs(plan).first_bytes
    for table, at in _slots_at(plan).items():
        scalars[f"{table}_slots_at"] = at
    for table, at in heap_fields_at(plan).items():
        scalars[f"{table}_at"] = at
    return scalars


def rows_of(plan: Plan) -> list[ModuleType]:
    """Return the rows that a design uses, each once: of its classes' fronts, and of its fields."""
    kinds = dict.fromkeys(row.front.kind for row in plan.classes)
    fields = [field for field in policy.TABLES if field != "front"]
    return [policy.row("front", kind) for kind in kinds] + [plan.design.row(field) for field in fields]


def needs(plan: Plan) -> Needs:
    """Return the sums of what the rows of a design need; those of the plan that was asked for last are known."""
    if _Latest.plan is not plan:
        _Latest.plan, _Latest.needs = plan, _needs(plan)
    return _Latest.needs


class _Latest:
    """Each simulator asks for its plan's several times."""

    plan: Plan | None = None
    needs = Needs()


def _needs(plan: Plan) -> Needs:
    found = [row.needs(plan) for row in rows_of(plan) if hasattr(row, "needs")]
    return Needs(*(sum(column) for column in zip(Needs(), *found, strict=True)))


def commit_step(plan: Plan) -> int:
    """Return the bytes by which committed memory rises: a page, or a batch that is populated."""
    row = plan.design.row("populate")
    return max(plan.page_bytes, row.batch_bytes(plan.design) if hasattr(row, "batch_bytes") else 0)


def class_records(plan: Plan) -> Records:
    """Return the size classes and their fronts, with counters at 0 and empty pools."""
    classes = np.zeros(plan.class_count, records.CLASS)
    for record, row in zip(classes, plan.classes, strict=True):
        for field in records.CLASS_NUMBERS:
            record[field] = getattr(row, field)
        for name, number in (row.numbers | row.fields).items():
            record[name] = number
        for batch in records.BATCHES:
            record[f"{batch}_batch"] = getattr(row.front, batch)
        record["capacity"] = row.front.capacity
        record["list_capacity"] = row.front.list_capacity
        record["below"] = len(row.front.levels)
        record["stretch"] = row.front.stretch
        record["stretch_depth"] = row.front.stretch_depth
        record["by_row"] = row.stack > 0 and plan.dispatch != "table"
        record["front"] = policy.code("front", row.front.kind)
        record["guarded"] = row.front.guard_slots > 0
        record["batched"] = policy.row("front", row.front.kind).BATCHED
    return classes


def levels_of(plan: Plan) -> Ints:
    """Return the numbers of the levels below level 0, by class and depth (model/parts/levels.py)."""
    found = np.zeros((plan.class_count, levels.DEEPEST, levels.LEVEL_NUMBERS), np.int64)
    for of_class, row in zip(found, plan.classes, strict=True):
        for numbers, level in zip(of_class, row.front.levels, strict=False):
            numbers[:] = (level.code, level.capacity, level.out, level.up, row.room + level.at, level.is_apart)
    return found.reshape(-1)


def fresh_state(plan: Plan, application: Application) -> State:
    """Return the state of a simulator before its first event; arrays that grow are empty."""
    state = State()
    state.listener = state.threads = state.slots = state.marks = np.empty(0, np.int64)
    state.scalars = scalars_of(plan, application)
    state.classes = class_records(plan)
    # Behind the classes of sizes those of groups of call sites, by group and class of a size.
    tables = (plan.size_class, *(plan.group_classes if plan.design.segregation else ()))
    state.lookup = np.concatenate([np.array(table, np.int64) for table in tables])
    state.levels = levels_of(plan)
    state.groups = np.empty(0, np.uint8)
    state.processors = state.homes = state.samplers = state.samples_of = state.guards = np.empty(0, np.int64)
    state.cores = np.empty(0, np.uint32)
    state.heaps, state.nodes = np.zeros(0, records.HEAP), np.zeros(0, records.NODE)
    state.fronts, state.stores = np.zeros(0, records.FRONT), np.zeros(0, records.STORE)
    state.slabs = np.zeros(0, records.SLAB)
    state.pages, state.blocks = np.zeros(0, records.PAGE_RECORD), np.zeros(0, records.BLOCK)
    state.bins = np.full(RUN_BINS, -1, np.int64)
    state.kept = np.zeros(HUGE_KEPT_MAPPINGS + 1, records.KEPT)
    state.moved = np.empty(batch_room(plan), np.int64)
    state.timeline = np.zeros(records.SAMPLES, records.SAMPLE)
    state.meter, state.charges = np.zeros(0, charge.METER), np.zeros(0, charge.CHARGE)
    state.paths = np.zeros(len(charge.PATHS), np.int64)
    state.scalar_words, state.class_words = state.scalars.view(np.int64), state.classes.view(np.int64)
    return state


def batch_room(plan: Plan) -> int:
    """Return the blocks of the largest batch: a refill, a flush with a spill, or a whole front."""
    return max(
        max(row.front.refill, row.room + row.front.slots_below + row.front.stretch, row.front.flush + row.front.spill)
        for row in plan.classes
    )


def slabs_per_event(plan: Plan) -> int:
    """Return how many slabs an event may acquire: of its refill, and for what rows do besides."""
    refill = max(-(-row.front.refill // row.blocks) for row in plan.classes) + 1
    return refill + needs(plan).slabs


def _slots_at(plan: Plan) -> dict[str, int]:
    """Return by table where a heap has the SLOTS of its row, one of them after the other, behind all others."""
    at, found = plan.slots_per_heap + plan.quarantine + needs(plan).slots, {}
    for table in policy.SLOTTED:
        found[table] = at
        at += getattr(plan.design.row(table), "SLOTS", 0) * plan.class_count
    return found


def heap_slots(plan: Plan) -> int:
    """Return the slots of a heap: of its fronts, its quarantine, and what rows need besides."""
    last = policy.SLOTTED[-1]
    return _slots_at(plan)[last] + getattr(plan.design.row(last), "SLOTS", 0) * plan.class_count


def heap_fields_at(plan: Plan) -> dict[str, int]:
    """Return by table where struct heap has the first field of its row, in bytes."""
    at, found = plan.layout.front + layout.FRONT_BYTES * plan.front_records, dict[str, int]()
    for table, field in heap_fields(plan.design):
        at = max(at, plan.layout.caches) if field.place == BEHIND_COUNTS else at
        found.setdefault(table, at)
        at += layout.WORD * field.words
    return found


def pages_per_event(plan: Plan) -> int:
    """Return by how many pages an event may raise the top, with the rest of a huge page."""
    return pages_for(plan.huge_bytes, plan.tail_bytes) + needs(plan).pages + HUGE_PAGES


def grown(old: Records, length: int, fields: Iterable[str] = (), value: int = -1) -> Records:
    """Copy the records and add zeroed records up to `length`, in which these fields are `value`."""
    longer = np.zeros(length, old.dtype)
    longer[: len(old)] = old
    for field in fields:
        longer[field][len(old) :] = value
    return longer


def grown_pages(pages: Records, length: int) -> Records:
    """Copy the page records and add zeroed records up to `length`.

    Kernels write only the records of pages where a run or an extent begins or ends. Records that no
    kernel has written take no memory.
    """
    memory = mmap(-1, length * records.PAGE_RECORD.itemsize, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    memory.madvise(MADV_NOHUGEPAGE)
    longer: Records = np.frombuffer(memory, records.PAGE_RECORD)
    whole = len(pages) // COPIED_PAGES * COPIED_PAGES
    parts, longer_parts = (part[:whole].reshape(-1, COPIED_PAGES) for part in (pages, longer))
    written = np.flatnonzero(parts.view(np.int64).any(axis=1))
    longer_parts[written] = parts[written]
    longer[whole : len(pages)] = pages[whole:]
    return longer


def grown_ints(ints: Ints, length: int, value: int) -> Ints:
    """Copy the numbers and add `value` up to `length`."""
    longer = np.full(length, value, np.int64)
    longer[: len(ints)] = ints
    return longer


def grown_fronts(fronts: Records, classes: Records, heaps: int, plan: Plan) -> Records:
    """Add fronts up to `heaps` heaps, each with its place in the slots and in the library."""
    longer = grown(fronts, heaps * len(classes))
    heap, cls = np.arange(heaps)[:, np.newaxis], np.arange(len(classes))[np.newaxis, :]
    first, offsets = classes["slot_base"][np.newaxis, :], plan.layout
    start = layout.HEAPS + heap * offsets.heap_bytes
    longer["base"] = (needs(plan).shared + heap * heap_slots(plan) + first).ravel()
    longer["top_at"] = (start + layout.WORD * (1 + cls)).ravel()
    longer["end_at"] = longer["top_at"] + offsets.end
    longer["front_at"] = (start + offsets.front + layout.FRONT_BYTES * cls).ravel()
    own = start + offsets.slot + layout.WORD * first
    row = plan.design.row("opening")
    begins, moves_to = row.places(plan, start + offsets.slot, own) if hasattr(row, "places") else (own, own * 0)
    longer["slots_at"][len(fronts) :] = begins.ravel()[len(fronts) :]
    longer["moves_to"][len(fronts) :] = moves_to.ravel()[len(fronts) :]
    opens_at_once = (classes["stack"] > 0) & (
        (np.arange(len(classes)) == 0) | (plan.design.row("heaps").OPENS_ALL or plan.has_guards)
    )
    closed_at = np.where(opens_at_once[np.newaxis, :], 0, start + offsets.slot).ravel()
    longer["closed_at"][len(fronts) :] = closed_at[len(fronts) :]
    return longer


def grown_stores(stores: Records, classes: Records, heaps: int, plan: Plan) -> Records:
    """Add stores up to `heaps` heaps, each with its place in the library, or the shared stores."""
    owned, shards = plan.design.row("remote").OWNED, plan.design.row("shards")
    longer = grown(stores, (heaps if owned else shards.copies(plan)) * len(classes), records.STORE_LINKS)
    heap, cls = np.divmod(np.arange(len(longer)), len(classes))
    start = layout.HEAPS + heap * plan.layout.heap_bytes + plan.layout.store if owned else layout.STORE_AT
    place = shards.store_place(plan, heap, cls) if hasattr(shards, "store_place") else cls
    longer["at"] = start + layout.STORE_BYTES * place
    return longer
